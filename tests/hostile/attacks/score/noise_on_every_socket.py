# Noise is written to every socket while cells run, and the sockets are closed.

# %% before
import os

for fd in range(3, 64):
    try:
        os.write(fd, b"\xff" * 100)
    except OSError:
        pass

# %% after
import os

for fd in range(3, 64):
    try:
        os.close(fd)
    except OSError:
        pass
