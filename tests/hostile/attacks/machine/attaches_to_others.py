# Traces its parent and the grader.

# %% before
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)
for pid in (GRADER, os.getppid()):
    for request in (16, 0x4206):
        if libc.ptrace(request, pid, 0, 0) == 0:
            print(BREACH)
for pid in (GRADER, os.getppid()):
    handle = libc.syscall(434, pid, 0)
    if handle >= 0 and (libc.syscall(438, handle, 3, 0) >= 0 or libc.syscall(424, handle, 0, 0, 0) >= 0):
        print(BREACH)
