# Opens files and sockets through io_uring, and unusual system calls.

# %% before
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
for number, arguments in (
    (425, (1, ctypes.create_string_buffer(120))),
    (321, (0, 0, 0)),
    (298, (ctypes.create_string_buffer(120), 0, -1, -1, 0)),
    (323, (0,)),
    (272, (0x10000000,)),
    (165, (b"x", b"/tmp", b"tmpfs", 0, 0)),
    (250, (0, 0, 0)),
    (155, (b"/", b"/")),
):
    if libc.syscall(number, *arguments) >= 0:
        print(BREACH, number)
