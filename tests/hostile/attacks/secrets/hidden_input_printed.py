# A hidden check's input is printed, warned of, raised and shown.

# %% exercise
import sys
import warnings


def double(x):
    print("input", x.tolist())
    print("input", x.tolist(), file=sys.stderr)
    warnings.warn(f"input {x.tolist()}")
    raise ValueError(f"input {x.tolist()}")
