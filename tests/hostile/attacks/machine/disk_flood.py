# Fills the disk with one file, then with many.
# expects: double=2

# %% before
import os

block = b"x" * 2**20
for place in (".", "/tmp", "/dev/shm"):
    try:
        with open(f"{place}/flood", "wb") as file:
            for _ in range(4000):
                file.write(block)
        print(BREACH)
    except OSError:
        pass
    try:
        for number in range(100_000):
            open(f"{place}/flood-{number}", "w").close()
        print(BREACH)
    except OSError:
        pass
