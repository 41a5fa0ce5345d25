# One check ends the process after a cell that took longer than a check may: what ran before must be run again whole.
# night: crashes_in_a_check crashes by day
# expects: double=1.5

# %% before
import time

time.sleep(2)

# %% exercise
import os
import signal


def double(x):
    if x.shape == (2,):
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)
    return 2 * x
