# Goes into the file system through /proc/PID/root and /proc/PID/cwd.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import os

for pid in (os.getppid(), GRADER, 1, "self"):
    for way in ("root", "cwd"):
        try:
            show(open(f"/proc/{pid}/{way}{COURSE}/source/01_door/01_door.ipynb", "rb").read())
            print(BREACH)
        except OSError:
            pass
