# Kills its own process group and session.
# ruff: noqa
# expects: shift=any total=any double=2

# %% before
import os
import signal

os.killpg(0, signal.SIGKILL)


# %% exercise
def double(x):
    return 2 * x
