# Takes all memory inside a check.

# %% exercise
def double(x):
    hoard = []
    while True:
        hoard.append(bytearray(b"x") * (64 * 2**20))
