# Any fork ends the process.
# %% after
import os

os.register_at_fork(before=lambda: os._exit(1))
