# Forks until nothing is left.
# expects: shift=any total=any

# %% before
import os

while True:
    try:
        os.fork()
    except OSError:
        break
while True:
    pass
