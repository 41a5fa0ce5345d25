# The answer arrives byte by byte, so there is always something to read.
# night: endless_call reaches the same limit by day
# expects: shift=any total=any

# %% exercise
def double(x):
    import os
    import socket
    import stat
    import struct
    import time

    if x.shape != (2,):
        return None
    sockets = [fd for fd in range(3, 64) if _is_socket(fd)]
    for fd in sockets:
        try:
            os.write(fd, struct.pack(">Q", 1000))
        except OSError:
            pass
    while True:
        time.sleep(0.2)
        for fd in sockets:
            try:
                os.write(fd, b"x")
            except OSError:
                pass


def _is_socket(fd):
    import os
    import stat

    try:
        return stat.S_ISSOCK(os.fstat(fd).st_mode)
    except OSError:
        return False
