# Writes over labkit, the autograder and torch on disk.

# %% before
import os
import autograder
import labkit
import torch

for module in (labkit, autograder, torch, os):
    folder = os.path.dirname(module.__file__)
    spoil(os.path.join(folder, LEFT + ".py"))
    try:
        os.rename(module.__file__, module.__file__ + LEFT)
        os.rename(module.__file__ + LEFT, module.__file__)
        print(BREACH)
    except OSError:
        pass
