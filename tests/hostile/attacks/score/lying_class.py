# The result claims to be a tensor by a false class.

# %% exercise
import torch


class Liar:
    __class__ = torch.Tensor

    def __eq__(self, other):
        return True

    def __sub__(self, other):
        return 0


def double(x):
    return Liar()
