# Six short exercises and one picture, to measure what grading a class costs if its answers cost almost nothing.

# %% given
import matplotlib.pyplot as plt
import torch
from torch import Tensor

from labkit import assert_close, check

# %% [markdown]
# # A light lab
#
# ## Rows and columns
#
# Which of the two dimensions does `sum(0)` remove, and which does `sum(1)`?

# %% example
table = torch.arange(12.0).reshape(3, 4)
print(table.sum(0), table.sum(1))

# %% exercise: row_means points=3

# %% exercise: center_columns points=3

# %% [markdown]
# ## A picture
#
# Where does the curve of the running maximum stay flat?

# %% example
steps = torch.randn(60, generator=torch.Generator().manual_seed(3)).cumsum(0)
plt.figure(figsize=(5, 2.5))
plt.plot(steps.tolist())
plt.xlabel("step")
plt.show()

# %% exercise: running_max points=4

# %% exercise: one_hot points=3

# %% exercise: squared_distances points=4

# %% exercise: polynomial points=3
