# Searches all its memory, including what a fork inherits.

# %% before
import re

for line in open("/proc/self/maps").read().splitlines():
    start, end = (int(x, 16) for x in line.split()[0].split("-"))
    if "r" in line.split()[1] and "[v" not in line and end - start < 2**28:
        try:
            with open("/proc/self/mem", "rb", buffering=0) as memory:
                memory.seek(start)
                show(memory.read(end - start))
        except (OSError, ValueError, OverflowError):
            pass
