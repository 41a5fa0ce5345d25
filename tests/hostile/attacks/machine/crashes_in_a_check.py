# A null pointer is read inside a check, and the stack overflows.

# %% exercise
import sys

sys.setrecursionlimit(10**9)


def double(x):
    def deeper(n):
        return [deeper(n + 1) for _ in range(2)]

    return deeper(0)
