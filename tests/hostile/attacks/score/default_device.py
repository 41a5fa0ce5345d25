# The default device becomes meta, where all values are equal.
# expects: shift=any total=any

# %% before
import torch

torch.set_default_device("meta")

# %% exercise
import torch


def double(x):
    torch.set_default_device("meta")
    return torch.empty(x.shape, device="meta")
