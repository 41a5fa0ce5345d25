# %% [markdown]
# # Shapes, strides and devices
#
# Your model's accuracy is 10%. There's no error, and the loss falls as it should. You search the network for an hour,
# and the bug is in the line that counts right answers: two shapes didn't match, and PyTorch made them fit. This lab
# begins with that bug, in the digits script of lab 1.
#
# After this lab you can
#
# - add and remove a batch dimension without touching another one;
# - predict what broadcasting does to two shapes;
# - write attention with several heads;
# - decide from sizes and strides whether a `view` is possible;
# - write code that runs on any device.
#
# You need lab 1, but no GPU. The core is five exercises, `with_batch`, `split_heads`, `safe_mse`, `attention` and
# `Normalize`, in two sittings of about an hour. The others are further practice, which no later lab needs. All numbers
# were measured with PyTorch 2.13 on a CPU.
#
# At *Predict*, choose an answer before you run the next cell. Checks marked *later* run when the lab is marked: with
# the button *Mark my work*, or after you hand it in. A person reads the last question.

# %% given
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
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
# ## A network that got worse
#
# This is the script from lab 1, which read 88% after three repairs. Only the last lines are new. Run it: what do the
# two losses say about the network, and what does the accuracy say?

# %% scratch
from sklearn.datasets import load_digits

torch.manual_seed(0)
pixels = (torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8  # a row of 64 for each image
digits = torch.tensor(load_digits().target)  # which digit each image shows

network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
for epoch in range(10):
    for rows in torch.arange(1500).split(100):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(pixels[rows]), digits[rows])
        loss.backward()
        optimizer.step()
    if epoch in (0, 9):
        print(f"after epoch {epoch + 1:2}: loss {loss.item():.2f}")

labels = digits[1500:]
guesses = network(pixels[1500:]).argmax(dim=1, keepdim=True)  # for each image, the class with the highest score
print(f"right for {(guesses == labels).float().mean():.0%} of the images that it hasn't seen")

# %% [markdown]
# The network learns, and yet it seems no better than guessing. You'll find the wrong line after the section on
# broadcasting, by printing three shapes.

# %% [markdown]
# ## One sample and a batch
#
# A model expects a *batch*: several samples, stacked along the first dimension. Pass it a single sample, and you get an
# error or, worse, a result. A batch of images has the shape `(N, C, H, W)`: samples, channels, height, width. One image
# of shape `(C, H, W)` needs a dimension of size 1 in front.
#
# `unsqueeze(0)` adds one there, and so does the index `None`. `squeeze()` removes dimensions of size 1, and
# `squeeze(0)` looks at dimension 0 only. The image below is grey, with one channel.

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
# `squeeze()` without an argument removes every dimension of size 1, so the grey image lost its channel along with the
# batch. In the last line, a batch of one sample lost its batch dimension: code with `squeeze()` can run for months,
# until the last batch of an epoch has one sample. In the fifth line, `squeeze(0)` found size 5 and silently did
# nothing.
#
# ### Your turn: with_batch
# A warm-up: make a function that accepts only batches accept one sample too. The shape `(1, 28, 28)` may be either, so
# how do you tell a sample from a batch?


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
    "You can't tell a sample from a batch by its sizes. What does ndim say?",
    "Where is the batch dimension in f's result? Remove that one, whatever the other sizes are.",
)

# %% exercise: with_batch points=2 level=easy

# %% [markdown]
# The number of dimensions decides, never a size. Many of PyTorch's layers follow this rule and document both forms:
# `nn.Conv2d` takes `(N, C, H, W)` or `(C, H, W)`. In which of your own functions would an error be better than a
# second form?

# %% answer [markdown]
# In any function that reduces over the batch, such as a loss or batch statistics: for one sample of shape (D,), it
# would take the D features for D samples. An error is also better in training code, where a missing batch dimension is
# nearly always a bug. Accepting both forms pays at the edges of a program, where people pass single images by hand.

# %% [markdown]
# ## The same shape, other values
#
# A tensor can have the shape that your model expects, and still hold scrambled images. An image file often stores `(H,
# W, C)`, and PyTorch expects `(C, H, W)`. There are two ways from one to the other. `reshape` takes the elements in
# order and cuts them into the new sizes. `permute` changes which dimension is first, second and third: element `[c, h,
# w]` becomes element `[h, w, c]`.
#
# In the image below, all values of channel 0 begin with a 1, those of channel 1 with a 2. It goes from `(2, 2, 3)` to
# `(2, 3, 2)`, and each pair in the result should hold the two channels of one pixel. Which line does that?

# %% example
image = torch.tensor([[[10, 11, 12], [13, 14, 15]], [[20, 21, 22], [23, 24, 25]]])
results = {"reshape(2, 3, 2)": image.reshape(2, 3, 2), "permute(1, 2, 0)": image.permute(1, 2, 0)}
figure, panels = plt.subplots(1, 2, figsize=(6.4, 3))
for panel, (text, t) in zip(panels, results.items(), strict=True):
    print(text, t.tolist())
    pairs = t.reshape(6, 2)  # one row for each pixel of the result
    panel.imshow(pairs // 10, cmap="coolwarm", alpha=0.5)
    for i in range(6):
        for j in range(2):
            panel.text(j, i, pairs[i, j].item(), ha="center", va="center")
    panel.set(title=text, xticks=(0, 1), yticks=range(6), xlabel="channel", ylabel="pixel")
plt.show()

# %% [markdown]
# In the picture, each row is a pixel of the result; blue values are from channel 0, red ones from channel 1. With
# `permute`, each column has one colour, and each row is a pixel such as 10 and 20. With `reshape`, the upper three rows
# are blue and the lower three red: each pair holds two neighbours of one channel. No error says so, and a model trained
# on such images learns less than it could.
#
# Keep three families apart:
#
# - `view`, `reshape`, `flatten`, `unflatten`: the same elements in the same order, cut differently. `view` never
#   copies: what you write into it appears in the original too. If that's impossible, it raises an error. `reshape`
#   gives a view where it can, and copies where it must.
# - `permute`, `transpose`, `movedim`, `.mT` (which exchanges the last two): the dimensions in another order. They never
#   copy: they exchange strides.
# - `einsum("chw->hwc", image)`: the same as `permute(1, 2, 0)`, with names instead of numbers.
#
# `einsum` can do more. Dimensions with the same letter are lined up and multiplied, and a letter that's missing after
# the arrow is summed over. What do the three lines print?

# %% example
query = torch.arange(12.0).reshape(2, 3, 2)  # batch, time, features
key = torch.arange(16.0).reshape(2, 4, 2)  # batch, another time, features
print(tuple(torch.einsum("btd,bsd->bts", query, key).shape))
print(torch.equal(torch.einsum("btd,bsd->bts", query, key), query @ key.transpose(1, 2)))
print(tuple(torch.einsum("btd->d", query).shape))

# %% [markdown]
# The first is, for each batch, the product of each row of `query` with each row of `key`. `@` does the same with a
# transposed operand. The last sums over batch and time.
#
# ### Your turn: split_heads
# *Attention*, which you'll write later in this lab, divides the features of each position among several heads: with 8
# features and 4 heads, head 0 gets features 0 and 1, head 1 gets 2 and 3, and so on. The head dimension then goes next
# to the batch, so that each head can compute on its own. Do you cut first, or change the order first?

# %% given
hint(
    "Which dimension do you cut, and into which two? Write down the shape after that cut, with names.",
    "After the cut you have batch, time, head, feature. Which two have to change places?",
)

# %% exercise: split_heads points=3 level=medium

# %% [markdown]
# Many people write `x.view(batch, heads, time, -1)` the first time. The shape is right, the loss falls, and each head
# sees a mixture of positions. What would you put into a test tensor so that no wrong order can hide?

# %% answer [markdown]
# `torch.arange(n)`, reshaped: all elements differ, so one in the wrong place shows. Also choose sizes that all differ,
# such as (2, 5, 12) with 3 heads. If two sizes are equal, exchanging their dimensions leaves the shape as it is. As for
# the order: cut first, and then change places. Cutting a transposed tensor divides the time among the heads.

# %% [markdown]
# ## Broadcasting
#
# An operation on two tensors of different shapes may still work, and that's what went wrong in the script above.
# *Broadcasting* stretches tensors of different shapes to one common shape. It has two rules:
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
# Alignment is from the right. A `(4,)` is a row and a `(4, 1)` is a column, so together they make a matrix, without a
# warning.
#
# Try shapes of your own below, written as `4, 1`. Find two shapes of three dimensions each that are both stretched, and
# two that differ in one size only and don't fit. Can a size of 0 take part?

# %% example
explore_broadcasting((2, 1, 4), (3, 1))

# %% answer [markdown]
# `2, 1, 3` and `1, 4, 3` are both stretched, and give (2, 4, 3). `2, 3, 4` and `2, 5, 4` differ only in the middle, and
# neither size is 1, so they don't fit. A 0 follows the same rule: `0, 3` and `1, 3` give (0, 3), because the 1 is
# stretched to 0. `0` and `2` don't fit.

# %% [markdown]
# Stretching costs no memory: `t.expand(sizes)` gives the dimension a stride of 0. `repeat` makes copies. How many bytes
# does each keep? And what does the last line print, after a write to one element?

# %% example
column = torch.tensor([[1.0], [2.0], [3.0]])
wide, copied = column.expand(3, 1000), column.repeat(1, 1000)
print("expand: strides", wide.stride(), " storage", wide.untyped_storage().nbytes(), "bytes")
print("repeat: strides", copied.stride(), " storage", copied.untyped_storage().nbytes(), "bytes")
wide[0, 0] = 50
print("column after a write to wide[0, 0]:", column.flatten().tolist(), " wide[0, 999]:", wide[0, 999].item())

# %% [markdown]
# The write went through: all thousand elements of that row are one slot. An in-place operation on the whole of `wide`,
# such as `wide.add_(1)`, raises a RuntimeError. So read from an expanded tensor, and write to a copy.
#
# ### The accident
# A model returns predictions of shape `(N, 1)`, one column. The targets were read from a file, in the shape `(N,)`.
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
print("difference has shape", tuple(difference.shape), " mean squared error:", difference.square().mean().item())

figure, panel = plt.subplots(figsize=(3.4, 3.2))
panel.imshow(difference.square(), cmap="Oranges", vmax=150)
for i in range(3):
    for j in range(3):
        panel.text(j, i, f"{difference[i, j]:+.0f}", ha="center", va="center", weight="bold" if i == j else "normal")
    panel.add_patch(plt.Rectangle((i - 0.47, i - 0.47), 0.94, 0.94, fill=False, edgecolor="tab:blue", linewidth=3))
panel.set(xticks=range(3), yticks=range(3), xticklabels=target.int().tolist(), xlabel="target", ylabel="predicted")
panel.set_yticklabels(predicted.flatten().int().tolist())
plt.show()

# %% [markdown]
# It should be 1. You wanted the three differences on the diagonal, framed in blue: -1, +1 and -1. But `(3, 1)` and
# `(3,)` broadcast to `(3, 3)`, so every prediction was compared with every target. In training, the loss falls all the
# same. At the end of this lab, you'll say what the model learns from it.
#
# `nn.functional.mse_loss` computes the same wrong number, with a warning.
#
# ### Your turn: safe_mse
# Write a mean squared error that can't have this accident. Which pairs of shapes do you accept?

# %% given
hint(
    "How many shapes are allowed for each of the two? What do they have in common?",
    "First decide which shapes are allowed, and raise the error for all others. Only then bring both to one shape. "
    "Which function makes (N,) of (N, 1), even if N is 1?",
)

# %% exercise: safe_mse points=3 level=easy

# %% [markdown]
# In a library, so much checking pays: the error appears where the mistake is, instead of three days later in a plot. In
# your own code, one assertion is enough: `assert p.shape == t.shape`.

# %% [markdown]
# ## Why the network got worse
#
# You can now find the bug in the script at the top. Run the next cell: which of the three shapes is wrong? And why is
# the accuracy 10%, and not 5% or 50%? Then change one line of the script, and run both cells again.

# %% scratch
matches = guesses == labels
print("guesses", tuple(guesses.shape), " labels", tuple(labels.shape), " guesses == labels", tuple(matches.shape))
print(f"right: {matches.float().mean():.1%}")

# %% answer [markdown]
# `keepdim=True` kept the reduced dimension, so `guesses` has the shape (297, 1). Compared with labels of shape (297,),
# it gives a table of 297 by 297: each guess meets all labels. About a tenth of the labels are equal to any one digit,
# so about a tenth of the table is True, whatever the network learned. For this network it's 10.0%, and for an
# untrained one 9.9%.
#
# Delete `, keepdim=True`. The shapes are then (297,), (297,) and (297,), and the accuracy is 88.2%. The line `assert
# guesses.shape == labels.shape` would have found the bug in the first run.

# %% [markdown]
# ## A good place to stop
#
# Your network reads 88% again. Attention is next, and then devices. After a break, Python has forgotten everything:
# choose *Run > Run All Above Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Attention
#
# Every transformer is built around this function, and interviewers like to ask for it. You've written its first step,
# `split_heads`. The next one multiplies matrices, one for each sample and head.
#
# `@` multiplies matrices in the last two dimensions: `(t, d) @ (d, s)` gives `(t, s)`. The dimensions in front are
# batch dimensions, which are broadcast by the rules above. The last two never are: both sizes `d` must be equal.

# %% predict: batched_product
# **Predict.** What is the shape of `torch.zeros(2, 4, 5, 3) @ torch.zeros(4, 3, 7)`?
#
# - [x] (2, 4, 5, 7)
# - [ ] (4, 5, 7)
# - [ ] (2, 4, 4, 7)
# - [ ] an error: the numbers of dimensions differ

# %% example
for left_shape, right_shape in (
    ((2, 4, 5, 3), (4, 3, 7)),
    ((5, 3), (2, 4, 3, 7)),
    ((2, 4, 5, 3), (2, 3, 7)),
    ((2, 4, 5, 3), (2, 4, 1, 7)),
):
    try:
        outcome = tuple((torch.zeros(left_shape) @ torch.zeros(right_shape)).shape)
    except RuntimeError as error:
        outcome = type(error).__name__
    print(f"{left_shape!s:13} @ {right_shape!s:13} {outcome}")

# %% [markdown]
# The third line fails because the batch dimensions (2, 4) and (2,) don't fit, and the fourth because an inner size of 1
# isn't stretched to 3.
#
# In attention, each position of a sequence looks up information at other positions. It has three rows of `d` numbers: a
# *query* in `q`, a *key* in `k` and a *value* in `v`, each of shape `(n, heads, t, d)`. There are four steps:
#
# 1. The *score* of positions i and j is the dot product of query i and key j. `q @ k.mT` has all of them: `(n, heads,
#    t, t)`.
# 2. The scores are divided by the square root of `d`.
# 3. A softmax over j turns each row of scores into *weights* that add up to 1.
# 4. The result at position i is the mean of all values, weighted.
#
# Why divide? For random queries and keys of 64 numbers, how large is a score, and the largest of ten weights?

# %% example
generator = torch.Generator().manual_seed(0)
some_queries, some_keys = torch.randn(2, 1000, 10, 64, generator=generator)
some_scores = some_queries @ some_keys.mT
for text, scores in {"as they are": some_scores, "divided by 8": some_scores / 64**0.5}.items():
    largest = scores.softmax(dim=-1).amax(dim=-1).mean()
    print(f"scores {text:12} standard deviation {scores.std():.1f}, largest weight {largest:.2f} on average")

# %% [markdown]
# A sum of `d` products of standard normal numbers has variance `d`. Undivided, such scores give one position nearly all
# of the weight.
#
# A model that predicts the next word mustn't see it: position i may use positions 0 to i only. That's called *causal*
# attention. The scores of later positions are replaced by minus infinity *before* the softmax, since the exponential of
# that is 0. What are the weights if all other scores are equal?

# %% example
equal = torch.zeros(4, 4)
later = torch.ones(4, 4, dtype=torch.bool).triu(1)  # above the diagonal: j > i
print(equal.masked_fill(later, float("-inf")).softmax(dim=-1))

# %% [markdown]
# Each row adds up to 1, over the positions that it may see.
#
# ### Your turn: attention
# Put the steps together. PyTorch's `nn.functional.scaled_dot_product_attention` gives the same result, so you can
# compare with it, but not call it in your function.

# %% given
hint(
    "Write down the shape after each step. Which dimension of the scores belongs to the position that looks, and which "
    "to the positions that it looks at?",
    "scores = q @ k.mT / sqrt(d); if causal, scores = scores.masked_fill(mask, -inf), which returns a new tensor; then "
    "softmax over the last dimension, and @ v.",
)

# %% exercise: attention points=3 level=medium

# %% [markdown]
# What does the first position get with `causal=True`? And what would happen to a row in which *every* score is minus
# infinity, as in a batch where one sequence is all padding?

# %% answer [markdown]
# The first position sees only itself, so its weight is 1 and its result is `v[..., 0, :]` unchanged. In a row of
# nothing but minus infinity, the softmax divides 0 by 0: every weight is nan. The causal mask never leaves such a row,
# because each position sees itself. A mask for padding may, so set the result of such rows to 0 yourself.

# %% [markdown]
# `scaled_dot_product_attention(q, k, v, is_causal=True)` does all this in one operation. Its fast kernels never store
# the whole table of scores, so use it everywhere else.
#
# The heads then have to be merged: from `(n, heads, t, d)` back to `(n, t, heads * d)`, where each position has the
# features of head 0, then those of head 1. Which of the three lines does that?

# %% example
parts = torch.arange(24).reshape(1, 2, 3, 4)  # n, heads, t, d
print("reshape(1, 3, 8)            ", parts.reshape(1, 3, 8)[0, 0].tolist())
print("transpose(1, 2).flatten(2)  ", parts.transpose(1, 2).flatten(2)[0, 0].tolist())
try:
    parts.transpose(1, 2).view(1, 3, 8)
except RuntimeError as error:
    print("transpose(1, 2).view(1, 3, 8)", type(error).__name__)

# %% [markdown]
# `reshape` gave position 0 features of position 1. `transpose` and `flatten` do the steps of `split_heads` in the
# opposite order. In the last line, `view` refuses, because `flatten` had to copy. The next section says how to tell.

# %% [markdown]
# ## When is a view possible?
#
# This decides whether your code copies, raises an error, or does neither. You may have read that `view` needs a
# contiguous tensor. None of the tensors below is contiguous.
#
# `channels_last` is a batch of images in another *memory format*: its shape is `(N, C, H, W)`, but the channels of one
# pixel are next to each other in memory, which some convolution kernels prefer.

# %% predict: refused_views answer=3
# **Predict.** How many of the seven lines raise an error? Keep the strides in mind.

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
# Three raise an error, and four don't. So being contiguous is enough, but not needed. The error's text recommends
# `reshape`, which copies in such a case, and does not say so: what you write into the copy never reaches the original.
#
# A view needs one stride for each of its dimensions, and that gives the rule:
#
# - *Cutting* one dimension in two always works. If the old one has stride $s$ and is cut into $a$ times $b$, the new
#   strides are $b \cdot s$ and $s$.
# - *Joining* two neighbours works only if a walk along the inner one ends where the next step of the outer one begins:
#   $\text{outer stride} = \text{inner size} \cdot \text{inner stride}$.
#
# `grid.T` has strides (1, 6) and sizes (6, 4). Joining would need $1 = 4 \cdot 6$. `grid[:, ::2]` has strides (6, 2)
# and sizes (4, 3). Here $6 = 3 \cdot 2$, so the two can be joined into one dimension with stride 2. Follow the colours
# into the storage:

# %% example
show_strides(grid[:, ::2])

# %% [markdown]
# When is a tensor contiguous? `narrow(dim, start, length)` keeps a range of one dimension, like a slice, and
# `select(dim, index)` keeps one index and drops the dimension. Which of the eight tensors are contiguous?

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
# Four of them are. Look at the strides, not at the operation: a row of a matrix has no gap, a column has. Sizes of 1
# don't count: no step is ever taken along such a dimension, so its stride means nothing.
#
# A view is possible if each new dimension stays inside one *block* of old dimensions that can be joined. A contiguous
# tensor is a single block, so it never refuses. `grid.T` is two blocks. How many is `channels_last`, and which views
# does it allow?

# %% answer [markdown]
# Its shape is (2, 3, 4, 5) and its strides are (60, 1, 15, 3). Only the last two dimensions can be joined, because $15
# = 5 \cdot 3$. So it's three blocks: samples, channels, and pixels. `view(2, 3, 20)` works, and so does any cut, such
# as `view(2, 3, 2, 2, 5)`. `view(2, 60)` and `view(2, 12, 5)` would have to join channels and rows, so they raise an
# error.

# %% [markdown]
# ### Your turn: view_strides
# Do what `view` does before it touches anything: find the new strides, or find out that there are none.

# %% given
hint(
    "First join all old neighbours that can be joined, and leave out sizes of 1. What remains are blocks, each with a "
    "number of elements and a stride. A new dimension can never reach from one block into the next.",
    "Go through the new shape from the right. Keep two numbers for the current block: how many of its elements are "
    "still to be divided, and the stride of the next dimension. When must you give up?",
)

# %% exercise: view_strides points=4 level=hard further

# %% [markdown]
# ## Devices
#
# Your script should run on a laptop and on a machine with a GPU, without a change. A tensor's memory is on a *device*,
# which `t.device` names: a type with an optional index, such as `cpu`, `cuda`, `cuda:1` or `mps`. An operation runs
# where its operands are. Ask for the device once, at the top, and use the answer everywhere. You'll often see this
# line:
#
# `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`
#
# It leaves out Apple's `mps`, which has `torch.backends.mps.is_available()`. `torch.accelerator.current_accelerator()`
# names the accelerator that this PyTorch was built for, even if the machine has none, unless you pass
# `check_available=True`; without any, it returns `None`. This course uses labkit's `device()`. Don't write `x.cuda()`:
# it raises an error on every machine without CUDA.
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
# If there's nothing to do, `to` returns the same object; `copy=True` makes a copy.
#
# The last line is True for another reason. The `to` of a *module*, an object that holds tensors and computes with them,
# moves those tensors and returns the module itself. A tensor's `to` never changes the tensor. So `model.to(device)` is
# a complete statement, and `x.to(device)` without an assignment does nothing.
#
# ### A second device
# To see what happens when two devices meet, you need two. Every machine has a device called `meta`, whose tensors
# usually have a shape but no values. Inside `with probes.TwoDevices()`, they have values too, and follow the rules of a
# GPU.

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
# the *CPU* works with tensors on any device, because its one value can be sent along like a Python number. The reverse
# doesn't: to read the 0-dim `far.sum()`, the program would have to wait until the GPU has computed it. PyTorch leaves
# that to you: `far.sum().item()` and `far.sum().cpu()` both wait. Finally, a tensor on the accelerator may be indexed
# by a tensor on the CPU.
#
# `torch.arange(3)` is a frequent mistake: a tensor that a function creates on the CPU, whatever the device of its
# input. The last line shows the repair: `device=far.device`. Would your `attention` run on the second device?

# %% answer [markdown]
# Look at the line that makes the causal mask. `torch.ones(t, t)` creates it on the CPU, so `masked_fill` gets a mask
# and scores on different devices, and raises an error. `torch.ones(t, t, device=q.device)` works everywhere, and so
# does `torch.ones_like(scores)`. The softmax and both products have operands on q's device anyway.

# %% [markdown]
# ### Your turn: sum_device
# Say where a sum is, without computing it. One more rule: for PyTorch, `torch.device("cuda")` and
# `torch.device("cuda:0")` are not equal. `cuda` without an index means the current CUDA device, which is `cuda:0` here.

# %% given
hint(
    "Bring both devices to a form that can be compared. When do they agree?",
    "They differ, and one of them is the CPU. What else has to hold, and for which of the two tensors?",
)

# %% exercise: sum_device points=2 level=easy further

# %% [markdown]
# ## A module that moves as a whole
#
# If a model runs on your laptop and raises an error about two devices on the GPU, one of its tensors probably didn't
# move with `model.to(device)`. A module knows two kinds of tensors:
#
# - *parameters*, made by `nn.Parameter(...)`: they are trained;
# - *buffers*, made by `self.register_buffer("name", tensor)`: they aren't trained.
#
# Both are moved by `to`, cast by `double()` and `half()`, and saved in `state_dict()`, the dict in which a model is
# stored. What about a tensor that is simply assigned, `self.table = tensor`? Below, three modules add the same table to
# their input. Each is moved, and gets its input on the second device. Which of them have their table in their
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
# The attribute stayed on the CPU, which you would never notice on a machine without a GPU. The parameter moves, but an
# optimizer changes it: a constant that learns. A buffer is the right place for a constant.
#
# ### Your turn: Normalize
# Images are *normalised* before a model sees them: each channel's mean is subtracted, and the difference is divided by
# the channel's standard deviation. Put that into the model, so that it moves, is cast and is saved with it.
#
# Mind the shapes. `mean` has the shape `(C,)`, and has to line up with dimension 1 of an `(N, C, H, W)`. Which
# dimension would it meet without your help?

# %% given
hint(
    "Which of the three modules above is the model for this one? And does register_buffer copy its argument?",
    "(C,) is aligned from the right, so it meets W. Which shape must it have to meet C? You may store that shape.",
)

# %% exercise: Normalize points=4 level=medium

# %% [markdown]
# How would you find `AsAttribute` without a GPU? Every machine has `meta`: move the module there, and call it with an
# input on `meta`. That's often enough, but an index that stayed on the CPU raises no error, since indices may be there.
# So look into the module as well: `vars(module)` holds its plain attributes. Parameters, buffers and modules are kept
# elsewhere, so a tensor that you find there is one that doesn't move.
#
# Some people call `model.double()` as a test, since it needs no device. The next cell tries all three on the modules
# from above, and on two that hold integers. What does each find?


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
# `double()` finds nothing. `AsAttribute` adds a float32 table to a float64 input, and gets float64. The integer buffer,
# which does move, follows no cast. `meta` finds the table, but not the index. `vars` finds both. For a model with
# parts, look into each of `model.modules()`. Only a tensor inside a list or a dict escapes `vars`.
#
# A buffer that can be computed again needn't be saved: `register_buffer(name, tensor, persistent=False)` moves it, but
# leaves it out of the `state_dict`. Why would that be wrong for `mean` and `std`?

# %% answer [markdown]
# They're measured on the training data, so a program that only loads the model can't compute them again. Its
# `Normalize` would keep the numbers that it was created with, and the model would see inputs on another scale than in
# training, without an error.

# %% [markdown]
# ## The digits on any device
#
# The digits script assumes the CPU. In the function below, only the model is moved. Run the cell: which line raises the
# error on the second device, `meta`? Add one line so that the script runs anywhere.


# %% scratch
def train(where):
    """Train a network for the digits on a device, and return its accuracy and where that was computed."""
    torch.manual_seed(0)
    inputs, targets = pixels, digits
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(where)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.3)
    for _ in range(10):
        for rows in torch.arange(1500).split(100):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(inputs[rows]), targets[rows]).backward()
            optimizer.step()
    hits = model(inputs[1500:]).argmax(dim=1) == targets[1500:]
    return f"{hits.float().mean():.1%}, computed on {hits.device}"


print("cpu ", train("cpu"))
with probes.TwoDevices() as second_device:
    try:
        print("meta", train(second_device))
    except RuntimeError as error:
        print("meta", type(error).__name__)

# %% answer [markdown]
# `model(inputs[rows])` raises it: the weights are on `meta`, and the images are on the CPU. Below the line that names
# them, add
#
# `inputs, targets = inputs.to(where), targets.to(where)`
#
# Both devices then give 88.2%. The weights are the same because they're drawn on the CPU and moved afterwards. `rows`
# may stay on the CPU, since it's an index. On a machine with a GPU, `train(device())` trains there.

# %% [markdown]
# The network reads 88% again, on any device. In lab 3, one of its layers doesn't learn at all, and again no error says
# so.
#
# The core ends here. Three sections of further practice follow: windows without copies, distances between points, and
# moving a nested batch. To skip them, go on with *Interview questions*.

# %% [markdown]
# ## Windows that overlap
#
# You want the averages of a signal of a million values over windows of 100: values 0 to 99, values 1 to 100, and so on.
# The windows have the shape (999901, 100). How many bytes would a copy take in float32, and how many does this view?
#
# `as_strided(size, stride)` makes a view from the sizes and strides that you name. It checks only that no element is
# outside the storage. If the strides are wrong, the values are wrong.

# %% example
signal = torch.zeros(1_000_000)
overlapping = signal.as_strided((999_901, 100), (1, 1))
print(f"elements that it shows: {overlapping.nbytes:,} bytes")
print(f"storage that it keeps:  {overlapping.untyped_storage().nbytes():,} bytes")
show_strides(torch.arange(10, 16).as_strided((4, 3), (1, 1)))

# %% [markdown]
# As a copy, the windows would take nearly 400 million bytes; as a view, they take no memory of their own. Several
# elements share one slot, which is fine for reading. What about writing? First, three windows are set to their index
# plus one, one after the other. Then, on a new `line` of zeros, 1 is added to all windows at once.

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
# Later windows have overwritten earlier ones, and where three windows meet, 1 was added three times. Neither raised an
# error, and the documentation of `as_strided` promises no particular result for such writes. Before you write to such a
# view, `clone()` it.
#
# ### Your turn: windows
# Write windows along the last dimension of any tensor, as a view, with a step between them. The tensor may be a view
# itself. Where do its strides appear in your result?

# %% given
hint(
    "Start with one dimension and step 1. In the storage, how far is it to the next element of a window, and to the "
    "next window, if x has the stride s?",
    "The strides in front of the last dimension stay as they are. How many windows begin early enough to have k "
    "elements? Try n = 7, k = 3, step = 2 on paper. as_strided keeps x's storage offset unless you name another one.",
)

# %% exercise: windows points=3 level=medium further

# %% [markdown]
# PyTorch has this as `x.unfold(-1, k, step)`. A convolution can be written as such windows times a kernel, and a
# pooling layer as their maximum. What would you do about the memory of `windows(signal, 100, 1) - windows(signal, 100,
# 1).mean(-1, keepdim=True)`?

# %% answer [markdown]
# The windows are views, but their difference is a new tensor of 399,960,400 bytes. If you need only a number for each
# window, reduce without the difference: the variance of a window, for instance, is the mean of the squares minus the
# square of the mean, and both are averages over windows. Otherwise, take a few thousand windows at a time. As for the
# strides: x's own come first, then step times its last one, then its last one.

# %% [markdown]
# ## Every point with every other
#
# The stretching that spoiled the accuracy is a tool if you ask for it. For a table with one entry for each pair of a
# point in `a` and a point in `b`, give `a` the shape `(n, 1, d)` and `b` the shape `(1, m, d)`. What shape does their
# difference have? The picture has n = 4, m = 5, d = 3.

# %% example
show_broadcasting((4, 1, 3), (1, 5, 3))

# %% [markdown]
# From the differences to the distances, it's the square, a sum over the last dimension, and a square root.
#
# Many programs avoid the large table of differences. They use $|a - b|^2 = |a|^2 - 2\,a \cdot b + |b|^2$, where the
# middle part is a matrix product. In exact arithmetic both are the same. Below, two points are 0.01 apart, and 1000
# away from zero. What will the three lines print?

# %% example
first, second = torch.tensor([1000.0, 0.0]), torch.tensor([1000.01, 0.0])
print("through the difference: ", (first - second).square().sum().sqrt().item())
expanded = first @ first - 2 * first @ second + second @ second
print("through the expansion:  ", expanded.sqrt().item())
print("in float64:             ", (first.double() - second.double()).square().sum().sqrt().item())

# %% [markdown]
# The two large squares agree in nearly all of their digits, so in float32 only rounding error is left of their
# difference. Here it's 0. It may even be negative, and its root is nan. The difference of the points themselves is the
# same as in float64. (1000.01 isn't exact in float32, so the points are a little more than 0.01 apart.)
#
# ### Your turn: pairwise_distances
# Write the table of distances. Is there a pair of points for which your way loses digits?

# %% given
hint(
    "Which index gives a dimension of size 1 in the middle, and which in front?",
    "Which dimension of the differences do you sum over, counted from the end?",
)

# %% exercise: pairwise_distances points=3 level=easy further

# %% answer [markdown]
# The difference of two floats that are close to each other is exact, so no digits are lost to the distance from zero.
# The squares are what can go wrong: in float32, they underflow for points 1e-25 apart, and overflow for points 1e20
# apart.

# %% [markdown]
# PyTorch has `torch.cdist(a, b)`. Its default uses the expansion if one side has more than 25 points, because a matrix
# product is fast. For 30 random points in a cube of side 1, a thousand away from zero, we measured an error of 0.8 in a
# distance on our machine. For 20 such points it was 8e-8. `compute_mode="donot_use_mm_for_euclid_dist"` switches the
# expansion off. When would you accept the error?

# %% answer [markdown]
# When distances are about as large as the points' distance from zero, and only their order matters, as in a search for
# the nearest of many embeddings. Subtract the mean of all points first: it changes no distance, and brings the points
# closer to zero.

# %% [markdown]
# ## Moving a whole batch
#
# A data loader may give anything: a dict of tensors and names, a list of pairs, tensors inside tuples inside dicts.
# Before the model sees it, all tensors have to move, and be cast if the model computes in another dtype.
# `module.to(device, dtype)` casts floating-point and complex tensors, and leaves integers alone: a complex64 buffer
# becomes float64 with `to(torch.float64)`, and loses its imaginary part, with a warning. (`module.double()` casts
# floating-point tensors only.) What would happen to labels that are cast to bfloat16?

# %% example
class_numbers = torch.tensor([255, 256, 257, 1000])
print(class_numbers.to(torch.bfloat16).long().tolist())

# %% [markdown]
# bfloat16 has eight significant bits, so 257 becomes 256, which is another class. 1000 stays as it is: it's 125 times
# 8, and 125 fits into eight bits.
#
# ### Your turn: to_device
# Write it once, for any nesting. A *named tuple* is a tuple whose items have names, as `Sample` and `Pair` below: it's
# created by `Sample(image, label)`, not by `Sample([image, label])`. Its class has an attribute `_fields`.


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
    "type(batch) is the class of the container. A named tuple takes its items one by one, a list or a tuple takes them "
    "together. Which tensors may be cast? t.is_floating_point() tells you.",
)

# %% exercise: to_device points=4 level=hard further

# %% [markdown]
# PyTorch has such a walk for its own use, `torch.utils._pytree.tree_map`; the underscore says that it may change.
# Libraries for training include a function like yours.
#
# `to` also takes `non_blocking=True`. From *pinned* memory, which the operating system never moves, a copy to a GPU
# then runs while your program continues.

# %% quiz: interview points=3
# ## Interview questions
#
# **`view` against `reshape`**
# - [x] `view` never copies.
#   > It raises an error if no strides can describe the result. What you write into a view appears in the original.
# - [ ] `view` works on contiguous tensors only.
#   > Four of the seven views in the lab worked, and none of those tensors was contiguous. Each new dimension must stay
#   > inside one block of joined strides.
# - [x] `reshape` may return a view or a copy.
#   > It returns a view whenever `view` would work, as for every contiguous tensor. For `grid.T.reshape(24)`, it must
#   > copy.
# - [ ] `reshape` warns when it copies.
#   > It says nothing. You notice only when a write to the result does not reach the original.
# - [x] `x.contiguous().view(-1)` works for every tensor `x`.
#   > A contiguous tensor is a single block, and `contiguous()` makes one if needed.
#
# Hint: Which of the views of grid.T worked? What does reshape say?
#
# **Layout**, with `x = torch.arange(24).reshape(2, 3, 4)`
# - [ ] `x.permute(0, 2, 1)` and `x.reshape(2, 4, 3)` have the same shape and the same values.
#   > The shapes agree. `reshape` keeps the elements in their order, and `permute` changes the order.
# - [x] `x.permute(0, 2, 1)` copies no element.
#   > It exchanges strides: (12, 4, 1) becomes (12, 1, 4), over the same storage.
# - [x] `x.transpose(0, 1).is_contiguous()` is False.
#   > Its strides are (4, 12, 1). The outer stride is smaller than the next one, so the rows don't follow each other
#   > in memory.
# - [x] `x[:1].transpose(0, 1).is_contiguous()` is True.
#   > The size 1 is in the middle now, and no step is ever taken along it. What's left, 3 by 4 with strides 4 and 1,
#   > has no gap.
# - [x] `x.permute(0, 2, 1).view(2, 2, 2, 3)` works.
#   > It only cuts the dimension of size 4 in two, and cutting always works. No neighbours have to be joined.
#
# Hint: Write down the strides of each. Which sizes are 1?
#
# **Dimensions of size 1**
# - [ ] `torch.zeros(1, 1, 28).squeeze()` has the shape (1, 28).
#   > Without an argument, `squeeze` removes every dimension of size 1, so (28,) is left. That's how the grey image
#   > lost its channel.
# - [ ] `torch.zeros(5, 10).squeeze(0)` raises an error.
#   > The size there is 5, so it does nothing and says nothing. It's a trap because there's no error.
# - [x] `torch.zeros(3)[:, None]` has the shape (3, 1).
#   > `None` in an index puts a dimension of size 1 at its place, here after the first.
# - [x] `torch.zeros(3).unsqueeze(-1)` has the shape (3, 1).
#   > -1 counts from the end, so the new dimension is the last one. `[:, None]` does the same here.
# - [ ] `t.unsqueeze(0)` copies the elements of `t`.
#   > A dimension of size 1 needs one more stride and no memory. The result is a view of `t`.
#
# Hint: What did squeeze(0) do when the size was 5?
#
# **Broadcasting**
# - [x] Shapes (5, 1, 4) and (3, 1) give (5, 3, 4).
#   > Aligned from the right, (3, 1) becomes (1, 3, 1). In each dimension one of the two sizes is 1 or both are equal.
# - [ ] Shapes (4, 3) and (4,) give (4, 3).
#   > From the right, 3 meets 4, and neither is 1: an error. With shape (4, 1) it would work.
# - [x] Shapes (7, 1) and (7,) give (7, 7).
#   > A column and a row make a table of all pairs. That was the accident in the mean squared error, and in the
#   > digits script.
# - [ ] `t.expand(3, 1000)` of a `t` of shape (3, 1) takes a thousand times the memory.
#   > It gives the dimension a stride of 0, over the same 3 elements. `repeat` would copy.
# - [ ] `x.add_(y)` works for an `x` of shape (3,) and a `y` of shape (2, 3).
#   > The result would have the shape (2, 3), and an in-place write can't make `x` larger.
#
# Hint: From which side are shapes aligned? Can an in-place operation make x larger?
#
# **Devices**, with `c` of shape (3,) on the CPU and `g` of shape (3,) on a GPU
# - [x] `c + g` raises an error.
#   > Both have a dimension, and they're on two devices, as `near` and `far` were.
# - [ ] `g + torch.tensor(2.0)` raises an error.
#   > The 0-dim tensor is on the CPU, and its one value can be sent along like a Python number.
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
#   > A module's `to` changes the module itself. So it's a complete statement, and the return value is the same object.
# - [ ] A tensor that is assigned to `self.table` in a module moves with it.
#   > The one in `AsAttribute` stayed on the CPU, and the second device raised an error. Only parameters and buffers
#   > move.
# - [x] `torch.zeros(3, device=x.device)` is on the device of `x`.
#   > `device=x.device` asks the input. Without it, the tensor is created on the CPU, a frequent mistake.
# - [x] A buffer is in the `state_dict`, unless it was registered with `persistent=False`.
#   > Buffers are saved by default, as the table of `AsBuffer` was. `persistent=False` is for what can be computed
#   > again.
#
# Hint: Which of the three modules with a table worked, and why?

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you open the text.
#
# **What is the difference between `view` and `reshape`?**
#
# <details><summary>A good answer</summary>
#
# Both give a tensor another shape, and keep its elements in order. `view` never copies. Its result shares the storage,
# so a write to one shows in the other, and if no strides can describe the result, it raises an error. `reshape` returns
# a view if it can and copies otherwise, and it doesn't say which. The trap is the sentence that `view` needs a
# contiguous tensor. That's enough, but not needed: each new dimension has to stay inside one block of joined strides. I
# use `view` if a copy would be a mistake, and `reshape` if I only read. For dimensions in another order, neither is
# right: that's `permute`.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A model is trained with the loss `(predicted - target).square().mean()`. `predicted` has the shape (64, 1), and
# `target` has the shape (64,). There's no error. The loss falls for a while, and then stays near the variance of the
# targets. On new data, the model gives nearly the same number for every input.
#
# In four to seven sentences: what does this loss compute? Which constant prediction makes it smallest, and why does the
# model learn exactly that? Name one change that repairs it, and one line that would have found it on the first day.

# %% question: constant_predictions [markdown] points=2
# ### BEGIN SOLUTION
# The shapes are aligned from the right. (64, 1) and (64,) are a column and a row, so the difference has the shape
# (64, 64), and each prediction is compared with all 64 targets. The mean is taken over 4096 pairs. For each single
# prediction the loss is its mean squared distance from all targets of the batch, whatever its own target is. That is
# smallest at the mean of the targets, and the smallest value is their variance. So the input says nothing about what
# the loss rewards: every prediction is drawn to the same number, the mean. The loss falls until the predictions have
# reached it.
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
# - The number of dimensions tells a batch from a sample, never a size.
# - `reshape` keeps the order of the elements, `permute` changes it. Test with values and sizes that all differ.
# - Broadcasting aligns shapes from the right.
# - `@` multiplies matrices in the last two dimensions, and broadcasts those in front.
# - Attention: `softmax(q @ k.mT / sqrt(d)) @ v`, with later scores at minus infinity before the softmax.
# - A view is possible if each new dimension stays inside one block of joined strides.
# - One device for all operands, except for Python numbers, 0-dim CPU tensors, and indices.
# - A constant of a model is a buffer. Run the model on `meta`, and look into `vars(module)` for tensors that wouldn't
#   move.
#
# | call or rule | what it does or costs |
# |---|---|
# | `squeeze()` | removes every dimension of size 1, the channel too |
# | `view` | never copies; raises an error if it would have to |
# | `reshape` | a view if possible, else a copy, and says nothing |
# | `permute`, `transpose`, `.mT` | exchange strides, never copy |
# | `expand`, overlapping windows | no memory; read from them, and write to a clone |
# | `repeat` | copies |
# | (N, 1) with (N,) | (N, N), without a warning |
# | (…, t, d) @ (…, d, s) | (…, t, s): only the dimensions in front are broadcast |
# | `x.to(device)` | a tensor that you must assign, perhaps `x` itself |
# | `model.to(device)` | moves parameters and buffers, and nothing else |
# | `torch.arange(n, device=x.device)` | is created where `x` is |
#
# Three questions to ask yourself:
#
# - If I print both shapes before this operation, which one do I expect after it?
# - Is this a view or a copy, and will anything write to it?
# - Which line of my model would fail on a machine with a GPU?
#
# Lab 3 starts from what an operation leaves besides its values: the record from which gradients are computed. With it,
# you'll find the layer of the digits network that never learns.
