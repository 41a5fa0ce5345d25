# The result is an endless generator of numbers.

# %% exercise
import itertools


def double(x):
    return itertools.count()
