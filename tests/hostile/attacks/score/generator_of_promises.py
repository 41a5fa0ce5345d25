# The function is a generator that never gives what it promises.
# ruff: noqa

# %% exercise
def double(x):
    yield x * 2
