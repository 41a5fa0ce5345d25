# Whoever forks the process ends it.
# %% after
import os

os.register_at_fork(before=lambda: os._exit(1))
