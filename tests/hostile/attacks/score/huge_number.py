# The result is a number of a million digits, which takes minutes to write down.

# %% exercise
def double(x):
    return 10**1_000_000
