# The call sets the random states of whoever asks.

# %% exercise
import random

import numpy
import torch


def double(x):
    for seed in (random.seed, numpy.random.seed, torch.manual_seed):
        seed(0)
    return 0 * x
