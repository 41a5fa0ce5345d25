# A hidden check's input goes through a pipe, which a later cell reads.

# %% exercise
import os

READ, WRITE = os.pipe()
os.set_blocking(READ, False)


def double(x):
    os.write(WRITE, str(x.tolist()).encode())
    return 0 * x


# %% end
try:
    print(os.read(READ, 4096))
except OSError:
    print("nothing")
