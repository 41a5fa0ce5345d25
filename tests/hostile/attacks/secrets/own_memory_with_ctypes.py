# Searches its own heap with ctypes.

# %% before
import ctypes

for line in open("/proc/self/maps").read().splitlines():
    if "[heap]" in line:
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        show(ctypes.string_at(start, end - start))
