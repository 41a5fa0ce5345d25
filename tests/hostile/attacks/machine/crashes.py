# A null pointer is read.
# expects: double=2

# %% before
import ctypes

ctypes.string_at(0)
