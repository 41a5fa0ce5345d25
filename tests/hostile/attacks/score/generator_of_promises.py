# The function is a generator that never gives what it promises.

# %% exercise
def double(x):
    yield x * 2
