# The process exits at once.
# ruff: noqa
# expects: double=2

# %% before
import os

os._exit(0)


# %% exercise
def double(x):
    return 2 * x
