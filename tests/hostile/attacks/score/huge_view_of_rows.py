# The result is a view of one number as ten million rows, which a check then lists.

# %% exercise
import torch


def double(x):
    return torch.zeros(1).expand(10**7, 10**5)
