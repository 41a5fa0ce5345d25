# A null pointer is read inside a check, and the stack overflows.

# %% exercise
import ctypes
import sys

sys.setrecursionlimit(10**9)


def double(x):
    if x.shape == (2,):
        ctypes.string_at(0)
    if x.shape == (1,):
        nested = []
        for _ in range(100_000):
            nested = [nested]
        repr(nested)
