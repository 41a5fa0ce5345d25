# Searches its own heap with ctypes.
# ruff: noqa

# %% before
import re


def show(data):
    data = data if isinstance(data, bytes) else str(data).encode()
    print(sorted({found.decode() for found in re.findall(rb"canary-[a-z]+-[0-9a-f]{16}", data)}))


import ctypes

for line in open("/proc/self/maps").read().splitlines():
    if "[heap]" in line:
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        show(ctypes.string_at(start, end - start))
