# The call sets the caller's random states.

# %% exercise
import random

import numpy
import torch


def double(x):
    for seed in (random.seed, numpy.random.seed, torch.manual_seed):
        seed(0)
    return 0 * x
