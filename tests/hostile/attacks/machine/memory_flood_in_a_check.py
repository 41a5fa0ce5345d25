# Takes all memory inside a check.
# night: memory_flood reaches the same bound by day

# %% exercise
def double(x):
    hoard = []
    while True:
        hoard.append(bytearray(b"x") * (64 * 2**20))
