# The result is an endless generator of numbers.
# night: endless_call reaches the same limit by day

# %% exercise
import itertools


def double(x):
    return itertools.count()
