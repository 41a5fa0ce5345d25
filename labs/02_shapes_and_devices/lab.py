# %% [markdown]
# # Shapes, strides and devices
#
# Many errors in a first model are about shapes, and many on a first GPU are about devices. Those are the harmless ones,
# because they raise an error. In this lab you also meet the others: code that runs, gives a result of the right shape,
# and is wrong.
#
# After it you can
#
# - add and remove a batch dimension without touching another one;
# - decide from sizes and strides alone whether a `view` is possible;
# - build overlapping windows that cost no memory;
# - predict what broadcasting does to two shapes;
# - write code that runs on any device.
#
# You need lab 1, and no GPU: this lab brings a second device along. Plan two sittings of about an hour. All numbers
# were measured with PyTorch 2.13 on a CPU.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise a card shows its checks. Those
# marked *later* run when the lab is marked: with the button *Mark my work*, or after handing in. A person reads the
# last question.

# %% given
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from labkit import (
    assert_answered,
    assert_close,
    assert_letters,
    check,
    device,
    explain,
    explore_broadcasting,
    probes,
    show_broadcasting,
    show_strides,
)

# %% [markdown]
# ## One sample and a batch
#
# A model works on batches. A *batch* is a number of samples at once, side by side along the first dimension. A batch of
# `N` images has the shape `(N, C, H, W)`: samples, channels, height, width. One image alone has the shape `(C, H, W)`.
# To give it to the model, it needs a dimension of size 1 in front.
#
# `unsqueeze(0)` puts one there, and so does the index `None`. `squeeze()` takes dimensions of size 1 away, and
# `squeeze(0)` looks at dimension 0 only. The image has one channel: it is grey.

# %% predict: squeezed_shape
# **Predict.** `grey` has the shape (1, 28, 28). What is the shape of `grey.unsqueeze(0).squeeze()`?
#
# - [ ] (1, 1, 28, 28)
# - [ ] (1, 28, 28)
# - [x] (28, 28)

# %% example
grey = torch.zeros(1, 28, 28)
for text, t in {
    "grey.unsqueeze(0)": grey.unsqueeze(0),
    "grey[None]": grey[None],
    "grey.unsqueeze(0).squeeze(0)": grey.unsqueeze(0).squeeze(0),
    "grey.unsqueeze(0).squeeze()": grey.unsqueeze(0).squeeze(),
    "torch.zeros(5, 10).squeeze(0)": torch.zeros(5, 10).squeeze(0),
    "torch.zeros(1, 10).squeeze()": torch.zeros(1, 10).squeeze(),
}.items():
    print(f"{text:31} {tuple(t.shape)}")

# %% [markdown]
# Two of these are traps. `squeeze()` without an argument takes every dimension of size 1: the channel of the grey image
# went with the batch. And in the last line a batch of one sample lost its batch dimension. Code with `squeeze()` in it
# runs for months, until the last batch of an epoch has one sample.
#
# The fifth line is a trap of another kind. `squeeze(0)` found the size 5 there, did nothing, and said nothing.
#
# ### Your turn: with_batch
# A warm-up, done in ten minutes. Somebody gives you a function that takes batches only. Make it take one sample too.
# What do you have to know in order to tell a sample from a batch? The shape `(1, 28, 28)` may be either.


# %% given
# Functions to try your solution on. The checks use them too.
def channel_means(batch):
    """(N, C, H, W) -> (N, C)"""
    return batch.mean(dim=(2, 3))


def row_totals(batch):
    """(N, D) -> (N,)"""
    return batch.sum(dim=1)


def row_spread(batch):
    """(N, D) -> (N, 1)"""
    return batch.amax(dim=1, keepdim=True) - batch.amin(dim=1, keepdim=True)


def mirrored(batch):
    """(N, C, H, W) -> (N, C, H, W)"""
    return batch.flip(3)


def identity(batch):
    """Any shape -> the batch itself"""
    return batch


# %% given
hint(
    "You cannot tell a sample from a batch by its sizes. What does ndim say?",
    "What comes out of f has a batch dimension, and where is it? Take away that one, whatever the other sizes are.",
)

# %% exercise: with_batch points=2

# %% [markdown]
# The number of dimensions decides, never a size. Many layers of PyTorch go by it and document both forms: `nn.Conv2d`
# takes `(N, C, H, W)` or `(C, H, W)`. In which of your own functions would an error be better than a second form?

# %% [markdown]
# ## The same shape, other values
#
# An image file often comes as `(H, W, C)`: height, width, channels. PyTorch wants `(C, H, W)`. Two ways lead from one
# shape to the other. `reshape` takes the elements in their order and cuts them into the new sizes. `permute` changes
# which dimension comes first, second and third: element `[c, h, w]` becomes element `[h, w, c]`.
#
# The image below has two channels. All values of the first begin with a 1, those of the second with a 2. It goes from
# `(2, 2, 3)` to `(2, 3, 2)`. In the result, each pair should be the two channels of one pixel. Which line does it?

# %% example
image = torch.tensor([[[10, 11, 12], [13, 14, 15]], [[20, 21, 22], [23, 24, 25]]])
print("reshape:", image.reshape(2, 3, 2).tolist())
print("permute:", image.permute(1, 2, 0).tolist())

# %% [markdown]
# Both have the shape `(2, 3, 2)`. Only `permute` keeps a pixel together. After `reshape`, every pair holds two
# neighbours of one channel. No error tells you. A model that is trained on such images learns something, and less than
# it could.
#
# Keep three families apart:
#
# - `view`, `reshape`, `flatten`, `unflatten`: the same elements in the same order, cut differently. `view` never
#   copies: what you write into it stands in the original too. It raises an error where that is impossible. `reshape`
#   gives a view where it can, and copies where it must.
# - `permute`, `transpose`, `movedim`, `.mT` (which exchanges the last two): another order of the dimensions. They never
#   copy: they exchange strides.
# - `einsum("chw->hwc", image)`: the same as `permute(1, 2, 0)`, with names instead of numbers.
#
# `einsum` can do more. Every dimension of every operand gets a letter. What has the same letter is lined up and
# multiplied, and a letter that is missing after the arrow is summed over. What do the three lines print? Write it down
# before you run the cell.

# %% example
query = torch.arange(12.0).reshape(2, 3, 2)  # batch, time, features
key = torch.arange(16.0).reshape(2, 4, 2)  # batch, another time, features
print(tuple(torch.einsum("btd,bsd->bts", query, key).shape))
print(torch.equal(torch.einsum("btd,bsd->bts", query, key), query @ key.transpose(1, 2)))
print(tuple(torch.einsum("btd->d", query).shape))

# %% [markdown]
# The first is a matrix of products: each row of `query` with each row of `key`, batch by batch. The second says that
# `@` does the same with a transposed operand. The last sums over batch and time.
#
# ### Your turn: split_heads
# In *attention* with several heads, the features of each position are divided among the heads: with 8 features and 4
# heads, head 0 gets features 0 and 1, head 1 gets 2 and 3, and so on. Afterwards the heads stand beside the batch, so
# that each of them can do the computation above on its own. Cut first, or change the order first?

# %% given
hint(
    "Which dimension is to be cut, and into which two? Write the shape after that cut, with names.",
    "After the cut you have batch, time, head, feature. Which two have to change places?",
)

# %% exercise: split_heads points=3

# %% [markdown]
# ### Your turn: attention
# temporary

# %% exercise: attention points=3

# %% [markdown]
# Many people write `x.view(batch, heads, time, -1)` the first time. The shape is right, the loss goes down, and each
# head sees a mixture of positions. A test with a tensor of ones would pass too. What would you put into a test tensor
# so that no wrong order can hide?
#
# To put the heads back together, you do the two steps in the opposite order: `transpose(1, 2)`, then `flatten(2)`.

# %% [markdown]
# ## When is a view possible?
#
# You may have read that `view` needs a contiguous tensor. Is that so? In each of the next lines, `view` is called on a
# tensor that is *not* contiguous.
#
# One of these tensors is new: `channels_last`. A batch of images has the shape `(N, C, H, W)` in either *memory
# format*. In the format `torch.channels_last` the channels of one pixel lie side by side in memory, and then comes the
# next pixel. Some convolution kernels prefer that. What are the strides of such a tensor of shape (2, 3, 4, 5)?

# %% predict: refused_views answer=3
# **Predict.** How many of the seven lines raise an error? Keep the strides in mind, and take your time. This is the
# question of the next exercise.

# %% example
grid = torch.arange(24).reshape(4, 6)
channels_last = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
trials = {
    "grid.T.view(24)": (grid.T, (24,)),
    "grid.T.view(3, 2, 4)": (grid.T, (3, 2, 4)),
    "grid.T.view(6, 2, 2)": (grid.T, (6, 2, 2)),
    "grid[:, :4].view(16)": (grid[:, :4], (16,)),
    "grid[:, :4].view(2, 2, 4)": (grid[:, :4], (2, 2, 4)),
    "grid[:, ::2].view(12)": (grid[:, ::2], (12,)),
    "channels_last.view(2, 60)": (channels_last, (2, 60)),
}
for text, (t, shape) in trials.items():
    assert not t.is_contiguous()
    try:
        print(f"{text:26} strides {t.stride()} -> {t.view(shape).stride()}")
    except RuntimeError as error:
        print(f"{text:26} strides {t.stride()}: {type(error).__name__}")

# %% [markdown]
# Three raise an error, and four do not. So "contiguous" is not the rule. It is enough, and it is not needed. The error,
# where there is one, comes at once, and its text recommends `reshape`. `reshape` copies in such a case, and does not
# say so. What you write into the copy never reaches the original.
#
# Now the rule. A view needs one stride for each of its dimensions.
#
# - *Cutting* one dimension in two always works. If the old one has stride $s$ and is cut into $a$ times $b$, the new
#   strides are $b \cdot s$ and $s$.
# - *Joining* two neighbours works only if walking along the inner one ends where the next step of the outer one
#   begins: $\text{outer stride} = \text{inner size} \cdot \text{inner stride}$.
#
# In `grid.T` the strides are (1, 6) and the sizes (6, 4). Joining would need $1 = 4 \cdot 6$. In `grid[:, ::2]` the
# strides are (6, 2) and the sizes (4, 3): $6 = 3 \cdot 2$, so its two dimensions can be joined to one with stride 2.
#
# `show_strides` shows that. Follow the colours in the storage.

# %% example
show_strides(grid[:, ::2])

# %% [markdown]
# And when is a tensor contiguous? Three operations of the next cell are new. `narrow(dim, start, length)` keeps a range
# of one dimension, like a slice. `select(dim, index)` keeps one index, and that dimension is gone. `expand` stretches
# dimensions of size 1 to other sizes without a copy.
#
# All of these eight come from operations that are often called "non-contiguous". Which of them are contiguous?

# %% example
for text, t in {
    "grid.T": grid.T,
    "grid[:1].T": grid[:1].T,
    "grid.narrow(0, 1, 2)": grid.narrow(0, 1, 2),
    "grid.narrow(1, 1, 2)": grid.narrow(1, 1, 2),
    "grid.select(0, 1)": grid.select(0, 1),
    "grid.select(1, 1)": grid.select(1, 1),
    "grid[:, :1].expand(4, 6)": grid[:, :1].expand(4, 6),
    "grid.expand(4, 6)": grid.expand(4, 6),
}.items():
    print(f"{text:26} shape {tuple(t.shape)!s:8} strides {t.stride()!s:8} {t.is_contiguous()}")

# %% [markdown]
# Four of them are. Look at the strides, not at the operation: a row of a matrix has no gap, a column has. Sizes of 1 do
# not count: no step is ever taken along such a dimension, so its stride means nothing.
#
# ### Your turn: view_strides
# Do what `view` does before it touches anything: find the new strides, or find out that there are none. No tensor is
# needed for that.

# %% given
hint(
    "First join all old neighbours that can be joined, and leave out sizes of 1. What remains are blocks, each with a "
    "number of elements and a stride. A new dimension can never reach from one block into the next.",
    "Go through the new shape from the right. Keep two numbers for the block that you are in: how many of its elements "
    "are still to be divided, and the stride of the next dimension. When must you give up?",
)

# %% exercise: view_strides points=4

# %% [markdown]
# So a view is possible if every new dimension stays inside one block. A contiguous tensor is one single block, and that
# is why it never refuses. `grid.T` is two blocks, and `channels_last` is three. Which are they, and which views does it
# allow?

# %% [markdown]
# ## Windows that overlap
#
# A signal of a million values is to be averaged over windows of 100: values 0 to 99, values 1 to 100, and so on. As a
# tensor, the windows have the shape (999901, 100). How many bytes would they take in float32? And how many do they
# take here?
#
# `as_strided(size, stride)` makes a view from the sizes and strides that you name. It checks only that no element lies
# outside the storage. If the strides are wrong, the values are wrong.

# %% example
signal = torch.zeros(1_000_000)
overlapping = signal.as_strided((999_901, 100), (1, 1))
print(f"elements that it shows: {overlapping.nbytes:,} bytes")
print(f"storage behind it:      {overlapping.untyped_storage().nbytes():,} bytes")
show_strides(torch.arange(10, 16).as_strided((4, 3), (1, 1)))

# %% [markdown]
# As a copy, the windows would take nearly 400 million bytes. They take none of their own. In the picture, the third
# window begins where the first one ends: many elements stand for one slot. For reading that is fine.
#
# What about writing? First, three windows are set to their index plus one, one after the other. Then, on a new `line`
# of zeros, 1 is added to all windows at once.

# %% predict: written_windows
# **Predict.** `line` has five zeros, and its three windows have three elements each.
# What is `line` after `line.as_strided((3, 3), (1, 1)).add_(1)`?
#
# - [ ] `[1, 1, 1, 1, 1]`
# - [x] `[1, 2, 3, 2, 1]`
# - [ ] `[3, 3, 3, 3, 3]`
# - [ ] unchanged, because the windows are a copy

# %% example
line = torch.zeros(5)
triples = line.as_strided((3, 3), (1, 1))
for i in range(3):
    triples[i] = i + 1
print("set one after the other:", line.tolist(), " first window:", triples[0].tolist())

line = torch.zeros(5)
line.as_strided((3, 3), (1, 1)).add_(1)
print("1 added to all windows: ", line.tolist())

# %% [markdown]
# The later windows have overwritten the earlier ones: the first window is no longer three times 1. And where three
# windows meet, 1 was added three times. There was no error in either case. The documentation of `as_strided` promises
# no particular result for such writes. So this kind of view is for reading. Before you write, `clone()` it.
#
# ### Your turn: windows
# Write windows along the last dimension of any tensor, as a view, with a step between them. The tensor may be a view
# itself. Where do its strides stand in your result?

# %% given
hint(
    "Start with one dimension and step 1. Going to the next element of a window and going to the next window: how far "
    "is it in the storage, if x has the stride s?",
    "The strides of x in front stay as they are. How many windows begin early enough to have k elements? Try n = 7, "
    "k = 3, step = 2 on paper. as_strided keeps the storage offset of x unless you name another one.",
)

# %% exercise: windows points=3

# %% [markdown]
# PyTorch has this as `x.unfold(-1, k, step)`. A convolution can be written as such windows times a kernel, and a
# pooling layer as their maximum. Reading all windows still costs time, of course. What would you do about the memory of
# `windows(signal, 100, 1) - windows(signal, 100, 1).mean(-1, keepdim=True)`?

# %% [markdown]
# ## Broadcasting
#
# An operation on two tensors of different shapes may still work. *Broadcasting* is the stretching of tensors of
# different shapes to one common shape. It has two rules:
#
# 1. The shapes are aligned at their *last* dimension. The shorter one gets dimensions of size 1 in front.
# 2. In each dimension, the sizes must be equal, or one of them must be 1. A size of 1 is stretched to the other.
#
# What is the shape of a `(4, 1)` and a `(3,)` together? Of a `(4,)` and a `(4, 1)`? Write both down first.

# %% example
show_broadcasting((4, 1), (3,))

# %% example
show_broadcasting((4,), (4, 1))

# %% [markdown]
# Alignment is from the right. That is where people go wrong: a `(4,)` beside a `(4, 1)` is a row and a column, and
# together they make a matrix. Nothing warns you.
#
# Now try shapes of your own. Find two shapes of three dimensions each in which both are stretched, and two that differ
# in one size only and do not fit. Is there a pair in which a size of 0 takes part? Type them into the two
# fields below. A shape is written as `4, 1`.

# %% example
explore_broadcasting((2, 1, 4), (3, 1))

# %% [markdown]
# Stretching costs no memory. `t.expand(sizes)` is that stretching alone: it gives the dimension a stride of 0. `repeat`
# makes copies. How many bytes does each keep? And what do you expect from the last line, which writes to one element?

# %% example
column = torch.tensor([[1.0], [2.0], [3.0]])
wide, copied = column.expand(3, 1000), column.repeat(1, 1000)
print("expand: strides", wide.stride(), " storage", wide.untyped_storage().nbytes(), "bytes")
print("repeat: strides", copied.stride(), " storage", copied.untyped_storage().nbytes(), "bytes")
wide[0, 0] = 50
print("column after a write to wide[0, 0]:", column.flatten().tolist(), " wide[0, 999]:", wide[0, 999].item())

# %% [markdown]
# The write went through: all thousand elements of that row are one slot. An operation in place on the whole of `wide`,
# such as `wide.add_(1)`, raises a RuntimeError. So read from an expanded tensor, and write to a copy.
#
# ### The accident
# A model gives its predictions in the shape `(N, 1)`, one column. The targets come from a file in the shape `(N,)`.
# Below, each prediction is off by exactly 1, up or down. What should the mean squared error be?

# %% predict: difference_shape
# **Predict.** `predicted` has the shape (3, 1), `target` has the shape (3,). What is `predicted - target`?
#
# - [ ] a tensor of shape (3, 1)
# - [ ] a tensor of shape (3,)
# - [x] a tensor of shape (3, 3)
# - [ ] an error: the shapes differ

# %% example
predicted = torch.tensor([[1.0], [4.0], [9.0]])
target = torch.tensor([2.0, 3.0, 10.0])
difference = predicted - target
print("mean squared error:", difference.square().mean().item())
print("difference has shape", tuple(difference.shape))

# %% [markdown]
# It should be 1. But `(3, 1)` and `(3,)` broadcast to `(3, 3)`, and every prediction was compared with every target.
# The loss goes down in training all the same. You will say at the end of this lab what the model learns from it.
#
# `nn.functional.mse_loss` computes the same wrong number, with a warning.
#
# ### Your turn: safe_mse
# Write a mean squared error that cannot have this accident. Which pairs of shapes do you let through?

# %% given
hint(
    "How many shapes are allowed for each of the two? What do they all have in common?",
    "Decide first which shapes are allowed, and raise the error for all others. Only then bring both to one shape. "
    "Which function makes (N,) of (N, 1), also where N is 1?",
)

# %% exercise: safe_mse points=3

# %% [markdown]
# All these checks for one line of arithmetic. Is that too much? In a library, no: the error appears where the
# mistake is, and not three days later in a plot. In your own code, one assertion is enough:
# `assert p.shape == t.shape`.

# %% [markdown]
# ## A good place to stop
#
# Behind you: batches, views, windows, and what broadcasting does to shapes. Next come distances between points, and
# then devices. After a break, Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or press
# *Check*, which runs what it needs.

# %% [markdown]
# ## Every point with every other
#
# The same stretching is a tool when you ask for it. You want a table with one entry for each pair of a point in `a` and
# a point in `b`. Give `a` the shape `(n, 1, d)` and `b` the shape `(1, m, d)`. What shape has their difference? The
# picture has n = 4, m = 5, d = 3.

# %% example
show_broadcasting((4, 1, 3), (1, 5, 3))

# %% [markdown]
# From the difference to the distance it is one sum over the last dimension and a square root.
#
# Many programs avoid the large table of differences. They use $|a - b|^2 = |a|^2 - 2\,a \cdot b + |b|^2$, where the
# middle part is a matrix product. In exact arithmetic both are the same. Below, two points lie 0.01 apart, and 1000
# away from zero. What will the three lines print?

# %% example
first, second = torch.tensor([1000.0, 0.0]), torch.tensor([1000.01, 0.0])
print("through the difference: ", (first - second).square().sum().sqrt().item())
expanded = first @ first - 2 * first @ second + second @ second
print("through the expansion:  ", expanded.sqrt().item())
print("in float64:             ", (first.double() - second.double()).square().sum().sqrt().item())

# %% [markdown]
# The two large squares agree in nearly all of their digits. In float32, what remains of them is rounding error. Here it
# is 0. It may even be negative, and its root is nan. The difference of the points themselves lost nothing here: it is
# the same number in float64. (The points are float32, so 1000.01 is not exact. The third line says how far apart they
# really are.)
#
# ### Your turn: pairwise_distances
# Write the table of distances. Is there a pair of points for which your way loses digits?

# %% given
hint(
    "Which index gives a dimension of size 1 in the middle, and which in front?",
    "Which dimension of the differences do you sum over, if you count from the end?",
)

# %% exercise: pairwise_distances points=3

# %% [markdown]
# PyTorch has `torch.cdist(a, b)`. Its default uses the expansion where one side has more than 25 points, because a
# matrix product is fast. For 30 random points in a cube of side 1, a thousand away from zero, we measured an error of
# 0.8 in a distance on our machine. For 20 such points it was 8e-8. `compute_mode="donot_use_mm_for_euclid_dist"`
# switches the expansion off. When would you accept the error?

# %% [markdown]
# ## Devices
#
# A tensor's memory lies on a *device*: the CPU's memory, or that of an accelerator such as a GPU. `t.device` says
# which. Its name is a type with an optional index: `cpu`, `cuda`, `cuda:1`, `mps`. An operation runs where its operands
# lie.
#
# Code should run on any machine. So ask for the device once, at the top, and use the answer everywhere. You will often
# see this line for it:
#
# `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`
#
# It works, and leaves Apple's `mps` out, which `torch.backends.mps.is_available()` asks for.
# `torch.accelerator.current_accelerator()` names the accelerator that this PyTorch was built for, or gives `None`. A
# build for CUDA says `cuda` on a machine without a GPU too, unless you ask with `check_available=True`. In this course,
# `device()` from labkit does the work. What you should not write is `x.cuda()`: it raises an error on every machine
# without CUDA.
#
# `t.to(device)` gives the tensor on that device. Here everything is on the right device already. Which of the five
# lines print True?

# %% example
here = device()
x = torch.ones(3, device=here)
layer = nn.Identity()
print("x.to(here) is x:           ", x.to(here) is x)
print("x.to(torch.float32) is x:  ", x.to(torch.float32) is x)
print("x.to(torch.float64) is x:  ", x.to(torch.float64) is x)
print("x.to(here, copy=True) is x:", x.to(here, copy=True) is x)
print("layer.to(here) is layer:   ", layer.to(here) is layer)

# %% [markdown]
# Where nothing is to do, `to` returns the same object. So it is no copy that you may write to. `copy=True` makes one.
#
# The last line is True for another reason. A *module* is an object that holds tensors and computes with them. Its `to`
# moves the tensors inside it, and returns the module itself. A tensor's `to` never changes the tensor. So
# `model.to(device)` is a complete statement, and `x.to(device)` without an assignment does nothing.
#
# ### A second device
# What happens where two devices meet? To see it you need two. PyTorch has a device called `meta` on every machine. Its
# tensors usually have a shape and no values: it serves to try out shapes. Inside `with probes.TwoDevices()` it has
# values too, and keeps to the rules of a GPU.

# %% predict: two_devices
# **Predict.** `far` is on the second device, `near` is on the CPU, and both have the shape (3,).
# Which lines raise an error?
#
# - [x] `far + near`
# - [ ] `far + torch.tensor(1.0)`
# - [x] `near + far.sum()`
# - [ ] `far[torch.tensor([2, 0])]`
# - [x] `far * torch.arange(3)`

# %% example
with probes.TwoDevices() as elsewhere:
    far = torch.tensor([10.0, 20.0, 30.0]).to(elsewhere)
    near = torch.tensor([1.0, 2.0, 3.0])
    print("far is on", far.device, "and near is on", near.device)
    for text, line_of_code in {
        "far + near": lambda: far + near,
        "far + 1": lambda: far + 1,
        "far + torch.tensor(1.0)": lambda: far + torch.tensor(1.0),
        "near + far.sum()": lambda: near + far.sum(),
        "far[torch.tensor([2, 0])]": lambda: far[torch.tensor([2, 0])],
        "far * torch.arange(3)": lambda: far * torch.arange(3),
        "far * torch.arange(3, device=far.device)": lambda: far * torch.arange(3, device=far.device),
    }.items():
        try:
            print(f"{text:41} {line_of_code().tolist()}")
        except RuntimeError as error:
            print(f"{text:41} {type(error).__name__}")

# %% [markdown]
# "All tensors on the same device" is the rule, and it has exceptions. A Python number has no device. A 0-dim tensor on
# the *CPU* may stand beside tensors on any device, because its one value can be sent along. The other way round does
# not work: `far.sum()` is 0-dim too, but it lies on the second device, and `near` has dimensions. And a tensor on the
# accelerator may be indexed by a tensor on the CPU.
#
# `torch.arange(3)` is a frequent mistake: a tensor that is made in the middle of a function, on the CPU, whatever the
# device of the input is. The last line shows the repair: `device=far.device`.
#
# ### Your turn: sum_device
# Say where the result lies, without computing it. One more thing to know: for PyTorch, `torch.device("cuda")` and
# `torch.device("cuda:0")` are not equal. `cuda` alone means the current one of the CUDA devices. Here that is
# `cuda:0`.

# %% given
hint(
    "Bring both devices to a form that can be compared. When do they agree?",
    "They differ, and one of them is the CPU. What else has to hold, and for which of the two tensors?",
)

# %% exercise: sum_device points=2

# %% [markdown]
# Why is one 0-dim tensor allowed, and the other not? The value of the one on the CPU can be read at once, and goes
# along like a Python number. To read the one on a GPU, the program would have to wait until the GPU has computed it.
# PyTorch leaves that to you: `far.sum().item()` and `far.sum().cpu()` both wait.

# %% [markdown]
# ## Moving a whole batch
#
# A data loader may give anything: a dict of tensors and names, a list of pairs, tensors inside tuples inside dicts.
# Before the model sees it, all tensors have to move. And one thing goes along: the model may compute in another dtype.
# `module.to(device, dtype)` casts floating-point and complex tensors, and leaves integers alone: a complex64 buffer
# becomes float64 with `to(torch.float64)`, and loses its imaginary part, with a warning. (`module.double()` casts
# floating-point tensors only.) What would happen to labels that are cast to bfloat16?

# %% example
labels = torch.tensor([255, 256, 257, 1000])
print(labels.to(torch.bfloat16).long().tolist())

# %% [markdown]
# bfloat16 has eight significant bits, so 257 becomes 256. A label has become another class. 1000 stays as it is: it is
# 125 times 8, and 125 fits into eight bits.
#
# ### Your turn: to_device
# Write it once, for any nesting. A *named tuple* is a tuple whose items have names, as `Sample` and `Pair` below: it is
# made by `Sample(image, label)`, not by `Sample([image, label])`. Its class has an attribute `_fields`.


# %% given
class Sample(NamedTuple):
    """One item of a data set, to try your solution on. The checks use it too, and other nestings."""

    image: Tensor
    label: Tensor


class Pair(NamedTuple):
    """Two views of one image, or two samples, or anything else."""

    left: Any
    right: Any


# %% given
hint(
    "What does the function do with a tensor? And with a list, if it knows how to treat each of its items?",
    "type(batch) is the class of the container. A named tuple wants its items one by one, a list or a tuple wants them "
    "together. Which tensors may be cast? t.is_floating_point() tells.",
)

# %% exercise: to_device points=4

# %% [markdown]
# PyTorch has such a walk over nested containers for its own use: `torch.utils._pytree.tree_map`. The underscore says
# that it may change. Libraries for training bring a function like yours along.
#
# `to` also takes `non_blocking=True`. From *pinned* memory, which the operating system never moves, a copy to a GPU
# then runs beside your program.

# %% [markdown]
# ## A module that moves as a whole
#
# You have a model, and move it with `model.to(device)`. Which of its tensors move? A module knows two kinds:
#
# - *parameters*, made by `nn.Parameter(...)`: they are trained;
# - *buffers*, made by `self.register_buffer("name", tensor)`: they are not trained.
#
# Both are moved by `to`, cast by `double()` and `half()`, and saved in `state_dict()`, the dict in which a model is
# stored. What about a tensor that is simply assigned, `self.table = tensor`? Here are three modules that add the same
# table to their input. Each is moved, and gets its input on the second device. Which of them have their table in their
# `state_dict`?

# %% predict: moved_tables
# **Predict.** Which of the three modules work on the second device, after they were moved?
#
# - [ ] `AsAttribute`: `self.table = table`
# - [x] `AsParameter`: `self.table = nn.Parameter(table)`
# - [x] `AsBuffer`: `self.register_buffer("table", table)`


# %% example
class AsAttribute(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = table

    def forward(self, x):
        return x + self.table


class AsParameter(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.table = nn.Parameter(table)

    def forward(self, x):
        return x + self.table


class AsBuffer(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.register_buffer("table", table)

    def forward(self, x):
        return x + self.table


for kind in (AsAttribute, AsParameter, AsBuffer):
    module = kind(torch.tensor([1.0, 2.0, 3.0]))
    try:
        seen = probes.on_second_device(module, torch.zeros(2, 3))["devices"]
    except RuntimeError as error:
        seen = f"({type(error).__name__})"
    trained = [name for name, _ in module.named_parameters()]
    print(f"{kind.__name__:12} result on {seen:14}  state_dict {list(module.state_dict())}  trained {trained}")

# %% [markdown]
# The attribute stayed behind. On a machine with a CPU only, you would never notice. The parameter moves, and an
# optimizer changes it: a constant that learns. The buffer is what a constant of a model should be.
#
# ### Your turn: Normalize
# Images are *normalised* before a model sees them: from each channel its mean is subtracted, and the difference is
# divided by the channel's standard deviation. Put that into the model, so that it moves, is cast and is saved with it.
#
# Mind the shapes. `mean` has the shape `(C,)`, and is to be lined up with dimension 1 of an `(N, C, H, W)`. Which
# dimension would it meet by itself?

# %% given
hint(
    "Which of the three modules above is the model for this one? And does register_buffer copy what it is given?",
    "(C,) is aligned from the right, so it meets W. Which shape must it have to meet C? You may store that shape.",
)

# %% exercise: Normalize points=4

# %% [markdown]
# How would you find `AsAttribute` without a second device? You have one: every machine has `meta`. Move the module
# there, and call it with an input on `meta`. Often that is enough, but not always. An index that stayed behind raises
# no error, since indices may be on the CPU. So look into the module as well. `vars(module)` holds the attributes that
# Python knows. Parameters, buffers and modules are kept elsewhere, so a tensor that you find there is one that does not
# move.
#
# Some people call `model.double()` as a test, since it needs no device. What does it find? The next cell tries all
# three on the modules from above, and on two that hold integers.


# %% example
class AsIndex(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.places = table.long() - 1

    def forward(self, x):
        return x[:, self.places]


class AsIntegerBuffer(AsBuffer):
    def __init__(self, table):
        super().__init__(table.long())


def outcome_of(run):
    try:
        return str(run().dtype).removeprefix("torch.")
    except RuntimeError:
        return "RuntimeError"


for kind in (AsAttribute, AsParameter, AsBuffer, AsIndex, AsIntegerBuffer):
    module = kind(torch.tensor([1.0, 2.0, 3.0]))
    left_behind = [name for name, value in vars(module).items() if isinstance(value, Tensor)]
    double = outcome_of(lambda: module.double()(torch.zeros(2, 3, dtype=torch.float64)))
    meta = outcome_of(lambda: module.to("meta")(torch.zeros(2, 3, dtype=torch.float64, device="meta")))
    print(f"{kind.__name__:16} double(): {double:8} on meta: {meta:13} in vars: {left_behind}")

# %% [markdown]
# `double()` finds nothing. `AsAttribute` adds a float32 table to a float64 input, and gets float64. And the integer
# buffer, which does move, follows no cast. `meta` finds the table, but not the index. `vars` finds both. For a model
# with parts, ask each of `model.modules()`. A tensor inside a list or a dict is the one that it overlooks.
#
# A buffer that can be computed again need not be saved: `register_buffer(name, tensor, persistent=False)` moves it and
# leaves it out of the `state_dict`. Why would that be wrong for `mean` and `std`?

# %% quiz: interview points=3
# ## Interview questions
#
# **`view` against `reshape`**
# - [x] `view` never copies.
#   > It raises an error where new strides cannot describe the result. What you write into a view stands in the
#   > original.
# - [ ] `view` works on contiguous tensors only.
#   > Four of the seven views in the lab worked, and none of those tensors was contiguous. Each new dimension must stay
#   > inside one block of joined strides.
# - [x] `reshape` may return a view or a copy.
#   > It gives a view wherever `view` would work, as for every contiguous tensor. For `grid.T.reshape(24)` it must copy.
# - [ ] `reshape` warns when it copies.
#   > It says nothing. You notice only when a write to the result does not reach the original.
# - [x] `x.contiguous().view(-1)` works for every tensor `x`.
#   > A contiguous tensor is one single block, and `contiguous()` makes one where it is needed.
#
# Hint: Which of the views of grid.T worked? What does reshape say?
#
# **Layout**, with `x = torch.arange(24).reshape(2, 3, 4)`
# - [ ] `x.permute(0, 2, 1)` and `x.reshape(2, 4, 3)` have the same shape and the same values.
#   > The shapes agree. `reshape` keeps the elements in their order, and `permute` changes the order.
# - [x] `x.permute(0, 2, 1)` copies no element.
#   > It exchanges strides: (12, 4, 1) becomes (12, 1, 4), over the same storage.
# - [x] `x.transpose(0, 1).is_contiguous()` is False.
#   > Its strides are (4, 12, 1). The outer stride is smaller than the one behind it, so the rows do not follow each
#   > other in memory.
# - [x] `x[:1].transpose(0, 1).is_contiguous()` is True.
#   > The size 1 stands in the middle now, and no step is ever taken along it. What is left, 3 by 4 with strides 4 and
#   > 1, has no gap.
# - [x] `x.permute(0, 2, 1).view(2, 2, 2, 3)` works.
#   > It only cuts the dimension of size 4 in two, and cutting always works. No neighbours have to be joined.
#
# Hint: Write down the strides of each. Which sizes are 1?
#
# **Dimensions of size 1**
# - [ ] `torch.zeros(1, 1, 28).squeeze()` has the shape (1, 28).
#   > Without an argument `squeeze` takes every dimension of size 1, so (28,) is left. That is how the grey image lost
#   > its channel.
# - [ ] `torch.zeros(5, 10).squeeze(0)` raises an error.
#   > The size there is 5, so it does nothing and says nothing. It is a trap because there is no error.
# - [x] `torch.zeros(3)[:, None]` has the shape (3, 1).
#   > `None` in an index puts a dimension of size 1 at its place, here behind the first.
# - [x] `torch.zeros(3).unsqueeze(-1)` has the shape (3, 1).
#   > -1 counts from the end, so the new dimension is the last one. `[:, None]` does the same here.
# - [ ] `t.unsqueeze(0)` copies the elements of `t`.
#   > A dimension of size 1 needs one more stride and no memory. The result is a view of `t`.
#
# Hint: What did squeeze(0) do where the size was 5?
#
# **Broadcasting**
# - [x] Shapes (5, 1, 4) and (3, 1) give (5, 3, 4).
#   > Aligned from the right, (3, 1) becomes (1, 3, 1). In each dimension one of the two sizes is 1 or both are equal.
# - [ ] Shapes (4, 3) and (4,) give (4, 3).
#   > From the right, 3 meets 4, and neither is 1: an error. With shape (4, 1) it would work.
# - [x] Shapes (7, 1) and (7,) give (7, 7).
#   > A column beside a row makes a table of all pairs. This is the accident in the mean squared error.
# - [ ] `t.expand(3, 1000)` of a `t` of shape (3, 1) takes a thousand times the memory.
#   > It gives the dimension a stride of 0, over the same 3 elements. `repeat` would copy.
# - [ ] `x.add_(y)` works for an `x` of shape (3,) and a `y` of shape (2, 3).
#   > The result would have the shape (2, 3), and a write in place cannot make `x` larger.
#
# Hint: From which side are shapes aligned? Can an operation in place grow x?
#
# **Devices**, with `c` of shape (3,) on the CPU and `g` of shape (3,) on a GPU
# - [x] `c + g` raises an error.
#   > Both have a dimension and they lie on two devices, as `near` and `far` did.
# - [ ] `g + torch.tensor(2.0)` raises an error.
#   > The 0-dim tensor lies on the CPU, and its one value can be sent along like a Python number.
# - [ ] `g[torch.tensor([0, 2])]` raises an error.
#   > Indices are an exception: a tensor on the accelerator may be indexed by one on the CPU.
# - [ ] `c.to(g.device)` changes the device of `c`.
#   > A tensor's `to` never changes the tensor. Without an assignment, the line does nothing.
# - [x] `torch.device("cuda") == torch.device("cuda:0")` is False.
#   > `cuda` without an index means the current device, and the comparison does not look up which one that is.
#
# Hint: Which of the seven lines with far and near raised an error?
#
# **Code for any device**
# - [ ] `t.to(device)` always makes a copy.
#   > If device and dtype are right already, it returns `t` itself. `copy=True` makes a copy.
# - [x] `model.to(device)` moves parameters and buffers, and returns `model`.
#   > A module's `to` changes the module itself. So it is a complete statement, and the return value is the same object.
# - [ ] A tensor that is assigned to `self.table` in a module moves with it.
#   > `AsAttribute` stayed behind and raised an error on the second device. Only parameters and buffers move.
# - [x] `torch.zeros(3, device=x.device)` goes where `x` is.
#   > `device=x.device` asks the input. Without it, the tensor is made on the CPU, which is a frequent mistake.
# - [x] A buffer is in the `state_dict`, unless it was registered with `persistent=False`.
#   > Buffers are saved by default, as the table of `AsBuffer` was. `persistent=False` is for what can be computed
#   > again.
#
# Hint: Which of the three modules with a table worked, and why?

# %% [markdown]
# Were there statements that you believed a while ago? Write them down. They are what to explain to the next person.

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you open the text.
#
# **What is the difference between `view` and `reshape`?**
#
# <details><summary>A good answer</summary>
#
# Both give a tensor another shape, and keep its elements in their order. `view` never copies. The result lies over the
# same storage, so a write to one shows in the other. Where no strides can describe the result, it raises an error.
# `reshape` gives a view where it can and copies where it must, and it does not say which. The trap is the sentence that
# `view` needs a contiguous tensor. That is enough, and not needed: each new dimension has to stay inside one block of
# joined strides. I take `view` where a copy would be a mistake, and `reshape` where I only read. If I want the
# dimensions in another order, neither is right. That is `permute`.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A model is trained with the loss `(predicted - target).square().mean()`. `predicted` has the shape (64, 1) and
# `target` has the shape (64,). There is no error. The loss goes down for a while, and then stays near the variance of
# the targets. On new data, the model gives nearly the same number for every input.
#
# In four to seven sentences: what does this loss compute? Which constant prediction makes it smallest, and why does the
# model learn just that? Name one change that repairs it, and one line that would have found it on the first day.

# %% question: constant_predictions [markdown] points=2
# ### BEGIN SOLUTION
# The shapes are aligned from the right. (64, 1) and (64,) are a column and a row, so the difference has the shape
# (64, 64), and each prediction is compared with all 64 targets. The mean is taken over 4096 pairs. For each single
# prediction the loss is its mean squared distance from all targets of the batch, whatever its own target is. That is
# smallest at the mean of the targets, and the least value is their variance. So the input tells nothing about what the
# loss wants: every prediction is drawn to the same number, the mean. The loss goes down until the predictions have
# arrived there.
#
# Repair: bring both to one shape, such as `predicted.squeeze(1) - target` or `target[:, None]`. `assert predicted.shape
# == target.shape` would have found it, and so would the warning of `nn.functional.mse_loss`.
#
# For grading: one point for the table of all pairs and for the mean of the targets as its minimum, one for a repair and
# a line that finds it.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - A batch dimension is told by the number of dimensions, never by a size. `squeeze()` takes too much.
# - `reshape` keeps the order of the elements, `permute` changes it. Test with values and sizes that all
#   differ.
# - A view is possible if every new dimension stays inside one block of joined strides. Contiguous is enough, and not
#   needed.
# - Overlapping windows and expanded tensors cost no memory. Read from them, and write to a clone.
# - Broadcasting aligns shapes from the right. (N, 1) with (N,) gives (N, N), and nothing warns you.
# - One device for all operands, but for Python numbers, 0-dim CPU tensors, and indices.
# - `t.to` may return `t` itself, and never changes it. `module.to` changes the module.
# - A constant of a model is a buffer. Run the model on `meta`, and look into `vars(module)` for tensors that would not
#   move.
#
# | call or rule | what it does or costs |
# |---|---|
# | `squeeze()` | takes every dimension of size 1, the channel too |
# | `view` | never copies, raises an error where it would have to |
# | `reshape` | a view where it can, else a copy, and says nothing |
# | `permute`, `transpose`, `.mT` | exchange strides, never copy |
# | `expand` | stride 0: no memory, for reading |
# | `repeat` | copies |
# | (N, 1) with (N,) | (N, N), without a warning |
# | `x.to(device)` | a tensor that you must assign, perhaps `x` itself |
# | `model.to(device)` | moves parameters and buffers, and nothing else |
# | `torch.arange(n, device=x.device)` | is made where `x` lies |
#
# Three questions to ask yourself:
#
# - If I print both shapes before this operation, which one do I expect after it?
# - Is this a view or a copy, and will anybody write to it?
# - Which line of my model would fail on a machine with a GPU?
#
# Lab 3 starts from what an operation leaves behind besides its values: the record from which gradients are computed.
