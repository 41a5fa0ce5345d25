# Prints without end, on one line, in many lines, and to the descriptors.
# expects: double=2

# %% before
import os
import sys

print("x" * 50_000_000)
for _ in range(200_000):
    print("line")
sys.stderr.write("y" * 50_000_000)
for _ in range(200):
    os.write(1, b"z" * 100_000)
    os.write(2, b"z" * 100_000)
