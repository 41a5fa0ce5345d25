# Kills its own process group and session.
# expects: shift=any total=any double=2

# %% before
import os
import signal

os.killpg(0, signal.SIGKILL)
