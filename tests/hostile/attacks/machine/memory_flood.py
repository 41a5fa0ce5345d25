# Takes all memory.
# expects: shift=any total=any double=2
# message: memory | time limit

# %% before
hoard = []
while True:
    hoard.append(bytearray(64 * 2**20))
