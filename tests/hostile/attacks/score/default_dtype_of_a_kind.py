# The default dtype becomes one in which nearly all values are equal.

# %% exercise
import torch


def double(x):
    torch.set_default_dtype(torch.float8_e4m3fn if hasattr(torch, "float8_e4m3fn") else torch.float16)
    return 0 * x
