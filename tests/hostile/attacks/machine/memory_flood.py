# Takes all memory.
# ruff: noqa
# expects: shift=any total=any double=2
# told: memory

# %% before
hoard = []
while True:
    hoard.append(bytearray(64 * 2**20))


# %% exercise
def double(x):
    return 2 * x
