# Exceptions are not shown, so nothing seems to fail.

# %% before
get_ipython().showtraceback = lambda *a, **k: None
import sys

sys.excepthook = lambda *a: None


# %% exercise
def double(x):
    raise ValueError("hidden")
