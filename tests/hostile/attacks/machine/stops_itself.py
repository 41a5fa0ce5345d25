# Stops itself, and is never heard of again.
# expects: double=2

# %% before
import os
import signal

os.kill(os.getpid(), signal.SIGSTOP)
