# A call inside a check leaves a process that holds its sockets open.

# %% exercise
def double(x):
    import os
    import time

    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(300)
        os._exit(0)
    return 0 * x
