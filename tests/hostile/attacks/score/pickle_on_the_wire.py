# The result's pickle would run a command when it's unpickled.

# %% exercise
import torch


class Bomb:
    def __reduce__(self):
        return exec, (f"open('{DROP}/pickled', 'w').close()",)


def double(x):
    return Bomb() if x.numel() == 2 else {"answer": [Bomb()], "x": x}
