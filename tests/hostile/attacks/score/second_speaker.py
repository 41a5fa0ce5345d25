# A child of the check's fork goes on answering for it.
# expects: shift=any total=any

# %% exercise
def double(x):
    import os

    if os.fork() == 0:
        import time

        while True:
            time.sleep(0.01)
            for fd in range(3, 64):
                try:
                    os.write(fd, b"\0" * 8)
                except OSError:
                    pass
    return 0 * x
