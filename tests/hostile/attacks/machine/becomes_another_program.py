# The process becomes another program, with its sockets.
# expects: double=2

# %% before
import os
import sys

for fd in range(3, 64):
    try:
        os.set_inheritable(fd, True)
    except OSError:
        pass
os.execv(
    sys.executable,
    [
        sys.executable,
        "-c",
        'import os, time\nfor fd in range(3, 64):\n    try:\n        os.write(fd, b"0" * 9)\n    except OSError:\n        pass\ntime.sleep(300)',
        LEFT,
    ],
)
