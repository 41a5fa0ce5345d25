# Stops itself, and is never heard of again.
# ruff: noqa
# expects: double=2

# %% before
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)


# %% exercise
def double(x):
    return 2 * x
