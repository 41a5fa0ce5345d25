# Stops itself and never continues.
# expects: double=2

# %% before
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
