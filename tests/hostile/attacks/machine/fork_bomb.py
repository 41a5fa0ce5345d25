# Forks until nothing is left.
# night: the sandbox's own tests reach the limit of processes by day
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
