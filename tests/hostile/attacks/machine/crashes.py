# A null pointer is read.
# ruff: noqa
# expects: double=2

# %% before
import ctypes

ctypes.string_at(0)


# %% exercise
def double(x):
    return 2 * x
