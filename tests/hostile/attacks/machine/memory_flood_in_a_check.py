# Takes all memory inside a check.
# ruff: noqa

# %% exercise
def double(x):
    hoard = []
    while True:
        hoard.append(bytearray(b"x") * (64 * 2**20))
