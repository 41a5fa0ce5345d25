# Takes all memory in children, each within its own limit.
# night: memory_flood reaches the same bound by day
# expects: shift=any total=any

# %% before
import os
import time

for _ in range(20):
    if os.fork() == 0:
        hoard = bytearray(b"x") * (300 * 2**20)
        time.sleep(300)
time.sleep(2)
