# Reads its own environment and that of others.

# %% before
import os

show(dict(os.environ))
for pid in {"self", os.getppid(), GRADER, 1, *os.listdir("/proc")}:
    for name in ("environ", "cmdline"):
        try:
            show(open(f"/proc/{pid}/{name}", "rb").read())
        except OSError:
            pass
