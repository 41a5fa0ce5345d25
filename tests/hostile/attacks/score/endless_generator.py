# The result gives numbers for as long as somebody asks.

# %% exercise
import itertools


def double(x):
    return itertools.count()
