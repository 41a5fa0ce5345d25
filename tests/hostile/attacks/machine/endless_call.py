# A call never ends.

# %% exercise
def double(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
