# Reads the grader's memory with process_vm_readv, and attaches to it with ptrace.

# %% before
import ctypes
import os

libc = ctypes.CDLL(None, use_errno=True)


class Vector(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("length", ctypes.c_size_t)]


buffer = ctypes.create_string_buffer(4096)
for pid in (GRADER, os.getppid(), 1):
    local, remote = Vector(ctypes.addressof(buffer), 4096), Vector(ADDRESS, 4096)
    if libc.process_vm_readv(pid, ctypes.byref(local), 1, ctypes.byref(remote), 1, 0) > 0:
        show(buffer.raw)
    if libc.ptrace(16, pid, 0, 0) == 0:
        print(BREACH)
