# A call never ends.
# ruff: noqa

# %% exercise
def double(x):
    while True:
        try:
            while True:
                pass
        except BaseException:
            pass
