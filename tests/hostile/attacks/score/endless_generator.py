# The result gives numbers for as long as somebody asks.
# ruff: noqa

# %% exercise
import itertools


def double(x):
    return itertools.count()
