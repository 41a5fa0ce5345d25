# The process exits at once.
# expects: double=2

# %% before
import os

os._exit(0)
