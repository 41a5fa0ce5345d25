# Goes into the file system through /proc/PID/root and /proc/PID/cwd.

# %% before
import os

for pid in (os.getppid(), GRADER, 1, "self"):
    for way in ("root", "cwd"):
        try:
            show(open(f"/proc/{pid}/{way}{COURSE}/source/01_door/01_door.ipynb", "rb").read())
            print(BREACH)
        except OSError:
            pass
