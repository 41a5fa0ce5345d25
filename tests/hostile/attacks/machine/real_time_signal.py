# The process ends by a signal that has no name.
# %% before
import os

os.kill(os.getpid(), 40)
