# Sends every signal to the grader, its parent, its group and every other process.
# expects: shift=any total=any

# %% before
import os
import signal

for pid in (GRADER, os.getppid(), 1, 0, -1):
    for number in (signal.SIGTERM, signal.SIGSTOP, signal.SIGKILL):
        if pid in (0, -1) or pid == os.getpid():
            continue
        try:
            os.kill(pid, number)
        except OSError:
            pass
os.kill(-1, signal.SIGKILL)
