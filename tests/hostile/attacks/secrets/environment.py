# Reads its own environment and that of others.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import os

show(dict(os.environ))
for pid in {"self", os.getppid(), GRADER, 1, *os.listdir("/proc")}:
    for name in ("environ", "cmdline"):
        try:
            show(open(f"/proc/{pid}/{name}", "rb").read())
        except OSError:
            pass
