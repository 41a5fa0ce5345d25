# Descriptors are used up, and sent to itself until the kernel has no more.
# expects: shift=any total=any

# %% before
import os
import socket

a, b = socket.socketpair()
try:
    while True:
        socket.send_fds(a, [b"x"], [a.fileno()] * 200)
except OSError:
    pass
kept = []
try:
    while True:
        kept.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
