# %% [markdown]
# # Shapes, strides and devices
#
# Your model's accuracy is 10%, even though there's no error and the loss falls as it should. This lab starts with such
# a bug in lab 1's digits script. To find it, you'll learn what PyTorch does with shapes that don't match.
#
# After this lab, you'll be able to
#
# - add and remove a batch dimension without affecting the others;
# - tell from sizes and strides whether a `view` is possible;
# - predict what broadcasting does with two shapes;
# - write multi-head attention, the core of every transformer;
# - write code that runs on any device.
#
# You should have done lab 1, but you don't need a GPU. The core consists of five exercises (`with_batch`,
# `split_heads`, `safe_mse`, `attention` and `multi_head_attention`) and takes two sittings, of about 55 and 65 minutes.
# Further practice follows at the end, and no later lab relies on it. All numbers were measured with PyTorch 2.13 on a
# CPU.
#
# Run the next cell first. It imports `torch` with `nn` and `Tensor`, Matplotlib's `plt`, and this course's own tools
# from `labkit`.

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
# This is the script from lab 1 that reached 88% after three fixes. It now has a few changes. Run it. What do the two
# losses say about the network, and what does the accuracy say?

# %% scratch
from sklearn.datasets import load_digits

torch.manual_seed(0)
pixels = (torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8  # 64 numbers per image
digits = torch.tensor(load_digits().target)  # the digit in each image

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
guesses = network(pixels[1500:]).argmax(dim=1, keepdim=True)  # the class with the highest score for each image
print(f"right for {(guesses == labels).float().mean():.0%} of the images that it hasn't seen")

# %% [markdown]
# The falling loss says that the network is learning; the accuracy says that it's no better than guessing. You'll find
# the faulty line after the section on broadcasting.

# %% [markdown]
# ## One sample and a batch
#
# A model expects a *batch*: several samples stacked along the first dimension. If you pass it a single sample, you get
# an error or, worse, a result. A batch of images has shape `(N, C, H, W)`: samples, channels, height, width. A single
# image of shape `(C, H, W)` needs an extra first dimension of size 1.
#
# `unsqueeze(0)` adds it, and so does indexing with `None`. `squeeze(0)` removes dimension 0 if its size is 1, whereas
# `squeeze()` removes all dimensions of size 1. The image below is grayscale, so it has one channel.

# %% predict: squeezed_shape
# **Predict.** `grey` has shape (1, 28, 28). What's the shape of `grey.unsqueeze(0).squeeze()`?
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
# `squeeze()` removed the grayscale image's channel along with the batch dimension. In the fifth line, `squeeze(0)`
# found a size of 5 and silently did nothing. In the last line, a batch of one sample lost its batch dimension: such
# code can work for months, until the last batch of an epoch has only one sample.
#
# ### Your turn: with_batch
# Take a function that accepts only batches, and make it accept a single sample too. A tensor of shape `(1, 28, 28)`
# could be either: one image with one channel, or a batch of one 28-by-28 table. So your function is also told `ndim`,
# the number of dimensions of a batch.


# %% given
# Functions for trying out your solution. The checks use them too.
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
    "You can't tell a sample from a batch by its sizes. What does ndim tell you?",
    "Where is the batch dimension in f's result? Remove only that one, no matter what the other sizes are.",
)

# %% exercise: with_batch points=2 level=easy

# %% [markdown]
# Many PyTorch layers tell the two apart in the same way, and their documentation lists both forms: `nn.Conv2d` takes
# `(N, C, H, W)` or `(C, H, W)`.

# %% [markdown]
# ## The same shape, different values
#
# A tensor can have the right shape and still contain a scrambled image. PyTorch expects images as `(C, H, W)`. An image
# file often stores its pixels as `(H, W, C)`, and Matplotlib draws them in that order. Two methods convert the shape,
# but only one of them is right here:
#
# - `reshape(H, W, C)` takes the elements in order and arranges them in the new shape.
# - `permute(1, 2, 0)` reorders the dimensions: element `[c, h, w]` becomes element `[h, w, c]`.
#
# In the image below, all values in channel 0 start with a 1, and those in channel 1 with a 2. Its shape should change
# from `(2, 2, 3)` to `(2, 3, 2)`, with each pair in the result holding both channels of one pixel. Which line does
# that?

# %% example
image = torch.tensor([[[10, 11, 12], [13, 14, 15]], [[20, 21, 22], [23, 24, 25]]])
results = {"reshape(2, 3, 2)": image.reshape(2, 3, 2), "permute(1, 2, 0)": image.permute(1, 2, 0)}
figure, panels = plt.subplots(1, 2, figsize=(6.4, 3))
for panel, (text, t) in zip(panels, results.items(), strict=True):
    print(text, t.tolist())
    pairs = t.reshape(6, 2)  # one row per pixel of the result
    panel.imshow(pairs // 10, cmap="coolwarm", alpha=0.5)
    for i in range(6):
        for j in range(2):
            panel.text(j, i, pairs[i, j].item(), ha="center", va="center")
    panel.set(title=text, xticks=(0, 1), yticks=range(6), xlabel="channel", ylabel="pixel")
plt.show()

# %% [markdown]
# In the picture, each row is a pixel of the result; blue values are from channel 0, and red ones from channel 1. With
# `permute`, each row holds the values of one pixel, such as 10 and 20. With `reshape`, each pair holds two neighbors
# from one channel.
#
# PyTorch has two families of such methods:
#
# - `view`, `reshape`, `flatten`, `unflatten`: the same elements in the same order, split differently. For example,
#   `unflatten(-1, (4, 2))` splits a last dimension of size 8, and `flatten(2)` joins all dimensions from 2 on. `view`
#   never copies: what you write to it appears in the original too. If that's impossible, it raises an error. `reshape`
#   returns a view if it can, and copies if it must, and so does `flatten`. One of the sizes may be -1, and is then
#   computed from the others: `torch.zeros(2, 12).view(2, 3, -1)` has shape (2, 3, 4).
# - `permute`, `transpose`, `.mT`: the same dimensions in a different order. `transpose(1, 2)` swaps dimensions 1 and 2,
#   and `.mT` the last two. They never copy; they only reorder the strides.
#
# ### Your turn: split_heads
# Attention, which you'll write in the second half, describes each word of a sentence by a row of numbers, its
# *features*, and divides them among several *heads*. With 8 features and 4 heads, head 0 gets features 0 and 1, head 1
# gets 2 and 3, and so on. The head dimension then moves next to the batch dimension, so each head can compute
# independently. Do you split or transpose first?

# %% given
hint(
    "Which dimension do you split, and into which two? Write down the shape after the split, naming each size.",
    "After the split, the dimensions are batch, time, head and feature. Which two do you have to swap?",
)

# %% exercise: split_heads points=3 level=medium

# %% [markdown]
# A common first attempt is `x.view(batch, heads, time, -1)`. The shape is right and the loss falls, but each head sees
# only one stretch of the sequence, with the features of each position split across several rows. Which values in a test
# tensor would expose any wrong order?

# %% answer [markdown]
# A reshaped `torch.arange(n)`: all elements differ, so you'll notice any that are out of order. Also choose sizes that
# all differ, such as (2, 5, 12) with 3 heads. If two sizes are equal, swapping their dimensions doesn't change the
# shape. As for the order: split first, then transpose. Splitting a transposed tensor divides time among the heads.

# %% [markdown]
# ## When is a view possible?
#
# Sooner or later, `view` raises an error that recommends `reshape`. But `reshape` silently copies in such a case: what
# you write to the copy never reaches the original. You may have read that `view` requires a contiguous tensor. In fact,
# it works if all steps along each new dimension are equally long. That leads to two rules:
#
# - *Splitting* a dimension always works. If its stride is $s$ and you split it into $a$ times $b$, the new strides are
#   $b \cdot s$ and $s$.
# - *Joining* two adjacent dimensions works only if one step along the outer dimension equals a full pass over the inner
#   one: $\text{outer stride} = \text{inner size} \cdot \text{inner stride}$.
#
# For example, `grid` below has sizes (4, 6) and strides (6, 1). Since $6 = 6 \cdot 1$, `grid.view(24)` can join its
# dimensions. `grid.T` has sizes (6, 4) and strides (1, 6). Since $1$ isn't $4 \cdot 6$, `grid.T.view(24)` raises an
# error. Neither `grid.T` nor the other two tensors below are contiguous:
#
# | | sizes | strides |
# |---|---|---|
# | `grid.T` | (6, 4) | (1, 6) |
# | `grid[:, :4]` | (4, 4) | (6, 1) |
# | `grid[:, ::2]` | (4, 3) | (6, 2) |

# %% predict: possible_views
# **Predict.** Which of these views are possible? For each, ask which dimensions it has to split or join.
#
# - [x] `grid.T.view(3, 2, 4)`
# - [ ] `grid[:, :4].view(16)`
# - [x] `grid[:, ::2].view(12)`

# %% example
grid = torch.arange(24).reshape(4, 6)
for text, (t, shape) in {
    "grid.T.view(24)": (grid.T, (24,)),
    "grid.T.view(3, 2, 4)": (grid.T, (3, 2, 4)),
    "grid[:, :4].view(16)": (grid[:, :4], (16,)),
    "grid[:, ::2].view(12)": (grid[:, ::2], (12,)),
}.items():
    try:
        print(f"{text:22} strides {t.stride()} -> {t.view(shape).stride()}")
    except RuntimeError as error:
        print(f"{text:22} strides {t.stride()}: {type(error).__name__}")

# %% [markdown]
# The first view only splits a dimension. The second has to join two, and $6$ isn't $4 \cdot 1$: each row ends two slots
# before the next one starts. The third joins two as well, and $6 = 3 \cdot 2$: consecutive elements are always two
# slots apart.
#
# So `view` works for every contiguous tensor, and for some others. You'll need this for attention's last step, which
# merges contiguous heads of shape (n, heads, t, d). After `transpose(1, 2)`, the head dimension has stride $t \cdot d$.
# To join it with the $d$ features, it would need stride $d$, so `view` raises an error, and `flatten(2)` copies.
# (Dimensions of size 1 never prevent a view, since there's no step to take along them.)

# %% [markdown]
# ## Broadcasting
#
# An operation on two tensors of different shapes can still work, and that's what went wrong in the script.
# *Broadcasting* stretches both to a common shape. It has two rules:
#
# 1. The shapes are aligned at their *last* dimension. The shorter one gets dimensions of size 1 at the front.
# 2. In each dimension, the sizes must be equal, or one of them must be 1. A size of 1 is stretched to match the other.
#
# Stretching copies nothing: as with `expand` in lab 1, the stretched dimension gets a stride of 0. An in-place
# operation, such as `x.add_(y)`, can stretch only `y`. If the result needs a larger shape than `x` has, you get an
# error.
#
# What shape do you get from `(4, 1)` and `(3,)`?

# %% example
show_broadcasting((4, 1), (3,))

# %% [markdown]
# And from `(4,)` and `(4, 1)`? Write down your answer before you look. Then try your own shapes, in the form `4, 1`.
# Find two that are incompatible even though they differ in only one size.

# %% example
explore_broadcasting((4,), (4, 1))

# %% answer [markdown]
# `(4,)` acts as a row and `(4, 1)` as a column, so you get a 4-by-4 matrix without a warning. `2, 3, 4` and `2, 5, 4`
# differ only in the middle, where neither size is 1, so they're incompatible.

# %% [markdown]
# ### The accident
# A model returns predictions of shape `(N, 1)`, a column. The targets were read from a file and have shape `(N,)`.
# Below, each prediction is off by exactly 1, in either direction. What should the mean squared error be?

# %% predict: difference_shape
# **Predict.** `predicted` has shape (3, 1), and `target` has shape (3,). What is `predicted - target`?
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
# `(3,)` broadcast to `(3, 3)`, so every prediction was compared with every target. The loss still falls during
# training.
#
# `nn.functional.mse_loss` computes the same wrong number, but with a warning.
#
# ### Your turn: safe_mse
# Write a mean squared error function that's safe from this accident: it accepts a column or a flat tensor for either
# argument, and raises an error for any other shapes.

# %% given
hint(
    "How many shapes are allowed for each argument? What do those shapes have in common?",
    "First decide which shapes are allowed, and raise an error for all others. Only then give both tensors the same "
    "shape. Which function turns (N, 1) into (N,), even if N is 1?",
)

# %% exercise: safe_mse points=3 level=easy

# %% [markdown]
# In a library, this much checking is worthwhile. In your own code, `assert p.shape == t.shape` is enough.

# %% [markdown]
# ## Why the network got worse
#
# Run the next cell. Which of the three shapes are wrong? And why is the accuracy 10% rather than 5% or 50%? Then change
# one line of the script, and rerun both cells.

# %% scratch
matches = guesses == labels
print("guesses", tuple(guesses.shape), " labels", tuple(labels.shape), " guesses == labels", tuple(matches.shape))
print(f"right: {matches.float().mean():.1%}")

# %% answer [markdown]
# `keepdim=True` kept the reduced dimension, so `guesses` has shape (297, 1). Comparing it with labels of shape (297,)
# gives a 297-by-297 table that compares each guess with every label. About a tenth of the labels equal any given digit,
# so about a tenth of the table is True, no matter what the network learned. For this network, it's 10.0%; for an
# untrained one, 9.9%.
#
# Delete `, keepdim=True`. All three shapes are then (297,), and the accuracy is 88.2%. The line `assert guesses.shape
# == labels.shape` would have caught the bug on the first run.

# %% [markdown]
# ## A good place to stop
#
# Your network is back at 88%. Attention and devices come next. When you come back, your variables may be gone: choose
# *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs the cells it
# needs.

# %% [markdown]
# ## Attention
#
# In the next ten lines or so, you can make both of the mistakes that you've just seen: a wrong split and an unintended
# broadcast.
#
# A network represents each word of a text as a row of numbers. In *a tired cat*, the row for *cat* should end up
# reflecting that the cat is tired, but a layer that handles each word separately can't make that happen. *Attention*
# can: it lets each position in a sequence collect information from others, as a weighted mean. Every transformer is
# built around it.
#
# Each position has a *query* that says what it's looking for, a *key* that others can find it by, and a *value* that
# they get from it. In the queries and keys below, the first number means "adjective", and the second means "article".
# The query of *cat* is (2, 0), so it's looking for adjectives:
#
# | | key | score: query · key | $e^{\text{score}}$ | weight | value |
# |---|---|---|---|---|---|
# | *a* | (0, 1) | 0 | 1 | 1 / 9.389 = 0.1065 | (0, 0) |
# | *tired* | (1, 0) | 2 | 7.389 | 7.389 / 9.389 = 0.7870 | (10, 0) |
# | *cat* | (0, 0) | 0 | 1 | 1 / 9.389 = 0.1065 | (0, 10) |
#
# The *score* of a word is the dot product of the query with its key. A softmax turns the scores into *weights* that add
# up to 1. The weighted mean of the values is what *cat* gets. Compute it by hand before you run the cell.

# %% example
cat_query = torch.tensor([[2.0, 0.0]])
word_keys = torch.tensor([[0.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
word_values = torch.tensor([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
word_weights = (cat_query @ word_keys.mT).softmax(dim=-1)
print("weights", word_weights, " result", word_weights @ word_values)

# %% [markdown]
# The result is (7.9, 1.1), mostly the value of *tired*. Does such a lookup help with real data? Below, the query is a
# digit that the network hasn't seen. The keys are the 1,500 images that it was trained on, and their values are the
# digits, each as a row of nine zeros and a one. Nothing is trained here. How many digits will be right, compared with
# 88% for the network?

# %% example
known_digits = nn.functional.one_hot(digits[:1500], 10).float()
image_weights = (pixels[1500:] @ pixels[:1500].mT).softmax(dim=-1)
for text, mixing in {"equal weights": torch.ones(297, 1500) / 1500, "attention": image_weights}.items():
    right = ((mixing @ known_digits).argmax(dim=1) == digits[1500:]).float().mean()
    print(f"{text:13} right for {right:.0%}, largest weight {mixing.amax(dim=1).mean():.4f} on average")

# %% [markdown]
# 93%. With equal weights, the guess is the same for every image. Attention gives more weight to images whose dot
# product with the query is large: those that look like it, and those with large numbers. This result doesn't show that
# training is useless: this lookup keeps all 1,500 images (it's a soft *nearest-neighbor* search), and the network was
# trained for only ten passes.
#
# ### All positions at once
# Every position i of a sequence has a query, a key and a value: row i of the matrices `q`, `k` and `v`. For `n`
# samples, several heads, `t` positions and `d` numbers in a row, all three have shape `(n, heads, t, d)`. `@`
# multiplies matrices in the last two dimensions: `(t, d) @ (d, s)` gives `(t, s)`. All earlier dimensions are
# broadcast.

# %% predict: batched_product
# **Predict.** What's the shape of `torch.zeros(2, 4, 5, 3) @ torch.zeros(4, 3, 7)`?
#
# - [x] (2, 4, 5, 7)
# - [ ] (4, 5, 7)
# - [ ] (2, 4, 4, 7)
# - [ ] an error: the numbers of dimensions differ

# %% example
print(tuple((torch.zeros(2, 4, 5, 3) @ torch.zeros(4, 3, 7)).shape))

# %% [markdown]
# The batch dimensions (2, 4) and (4,) are broadcast. The two inner sizes, here 3, have to be equal.
#
# So `q @ k.mT` has shape `(n, heads, t, t)` and contains all scores: element `[i, j]` is the dot product of query i and
# key j. The softmax goes over j, the last dimension. With one more step, all of attention is
#
# $$\text{softmax}\left(q\,k^T / \sqrt d\right) v$$
#
# Why divide by $\sqrt d$? For random queries and keys of 64 numbers, how large are a typical score and the largest of
# ten weights? The cell also prints the mean *slope*, how much a weight $p$ changes per unit of its own score:
# $p (1 - p)$.

# %% example
generator = torch.Generator().manual_seed(0)
some_queries, some_keys = torch.randn(2, 1000, 10, 64, generator=generator)
some_scores = some_queries @ some_keys.mT
for text, scores in {"as they are": some_scores, "divided by 8": some_scores / 64**0.5}.items():
    p = scores.softmax(dim=-1)
    largest, slope = p.amax(dim=-1).mean(), (p * (1 - p)).mean()
    print(f"{text:12}  standard deviation {scores.std():.1f}; means: largest weight {largest:.2f}, slope {slope:.3f}")

# %% [markdown]
# The product of two independent standard normal variables has a variance of 1. A score is the sum of `d` of them, and
# variances of independent numbers add up. So its variance is `d` and its standard deviation $\sqrt d$, here 8. Without
# the division, one position gets nearly all the weight, and weights near 0 or 1 hardly react to their scores: the mean
# slope is 0.019 instead of 0.081.
#
# In the digits lookup, dividing would be a mistake: 85% instead of 93%. Nothing is trained there, so nothing can make
# the scores larger again. In a network, dividing lets training start where weights still react to their scores, and
# training can undo the division by making the numbers in the matrices larger. Such a factor is called a *temperature*:
# it sets how sharp the weights are.
#
# A model that predicts the next word must not see that word: position i can use only positions 0 to i. That's called
# *causal* attention. The scores of later positions are replaced with minus infinity *before* the softmax, because the
# exponential of minus infinity is 0. What are the weights if all other scores are equal?

# %% example
equal = torch.zeros(4, 4)
later = torch.ones(4, 4, dtype=torch.bool).triu(1)  # above the diagonal: j > i
print(equal.masked_fill(later, float("-inf")).softmax(dim=-1))

# %% [markdown]
# ### Your turn: attention
# Put the steps together. You can compare your results with `nn.functional.scaled_dot_product_attention`, but don't call
# it in your function.

# %% given
hint(
    "Write down the shape after each step. Which dimension of the scores is for the querying position, and which "
    "is for the positions it looks at?",
    "There are four steps: scores, mask, weights, mixture. Which of them does causal affect? Does that one come before "
    "or after the softmax?",
)

# %% exercise: attention points=3 level=medium

# %% [markdown]
# The causal mask never hides a whole row of scores, because each position sees itself. A *padding mask* hides the
# padding after a sentence. What if it hides a whole row?

# %% answer [markdown]
# The row's weights are NaN: the softmax subtracts the largest score, and -inf - (-inf) is NaN. Leave the scores of such
# rows finite, and set their results to 0, as `scaled_dot_product_attention` does.

# %% [markdown]
# ### Your turn: multi_head_attention
# A single head has only one set of weights for each position. With two heads, one can look at the previous word while
# the other looks further back. Now assemble a transformer's attention layer:
#
# 1. Three matrices turn each position's features into queries, keys and values.
# 2. All three are split into heads.
# 3. Each head attends.
# 4. The heads are merged.
# 5. A fourth matrix mixes what the heads found.
#
# You may call your own functions. If your `attention` isn't right yet, call
# `nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)`. Its fast kernels never store the full table
# of scores, so it's also what you'd use in a model. How do you undo `split_heads`?

# %% given
hint(
    "`@` multiplies every position of x by the same matrix. After the attention, the dimensions are batch, head, time "
    "and feature: in which order do you need them before you join the last two?",
    "To merge, transpose dimensions 1 and 2 first, and only then flatten dimensions 2 and 3. reshape alone would put "
    "features of other positions into each row.",
)

# %% exercise: multi_head_attention points=3 level=medium

# %% answer [markdown]
# To merge the heads, undo both steps of `split_heads` in reverse order: `transpose(1, 2)`, then `flatten(2)`.

# %% [markdown]
# PyTorch's `nn.MultiheadAttention` stores its matrices transposed, as `nn.Linear` does, and takes the causal mask as
# `attn_mask`. Be careful with boolean masks: in this module, True *hides* a position, but in
# `scaled_dot_product_attention`, True *shows* it. With the wrong kind of mask, you get no error, and each position sees
# only what comes after it. Does the module compute the same result as your function?

# %% example
torch.manual_seed(0)
mha = nn.MultiheadAttention(8, 2, bias=False, batch_first=True)
matrices = [w.T for w in (*mha.in_proj_weight.chunk(3), mha.out_proj.weight)]
words, later = torch.randn(3, 5, 8), torch.ones(5, 5, dtype=torch.bool).triu(1)
try:
    for causal, mask in ((False, None), (True, later)):
        theirs = mha(words, words, words, attn_mask=mask)[0]
        same = torch.allclose(multi_head_attention(words, matrices, 2, causal), theirs, atol=1e-6)
        print(f"causal {causal!s:5}  the same: {same}")
except Exception as error:
    print("This cell needs a working multi_head_attention:", repr(error))

# %% [markdown]
# ### Put your attention to work
# Can your function learn something that no single position knows? Each sequence below consists of eight random digits,
# and at each position, the task is to name the *previous* digit. Guessing gets 10% right. The four matrices are trained
# for 60 steps, once with your function and once with `scrambled`, which makes the mistake from `split_heads`. What will
# the wrong view do?
#
# You don't have to follow the whole cell. In short, each digit and each place is represented by a row of 32 random
# numbers, the layer gets their sum, and the dot product of its result with each digit's row is that digit's score.
# `Adam` is another optimizer (lab 6).


# %% scratch
def scrambled(x, weights, heads, causal):
    q, k, v = ((x @ w).view(len(x), heads, x.shape[1], -1) for w in weights[:3])  # splits without a transpose
    return nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal).reshape(x.shape) @ weights[3]


try:
    for layer in (multi_head_attention, scrambled):
        torch.manual_seed(0)
        digit_rows, place_rows = torch.randn(10, 32), torch.randn(8, 32)  # represent each digit, and each position
        weights: list[Tensor] = [nn.Parameter(torch.randn(32, 32) / 32**0.5) for _ in range(4)]
        optimizer = torch.optim.Adam(weights, lr=0.02)
        for step in range(61):
            sequence = torch.randint(10, (32 if step < 60 else 1000, 8))  # at the end, 1,000 new ones
            scores = (layer(digit_rows[sequence] + place_rows, weights, 4, causal=True) @ digit_rows.T)[:, 1:]
            loss = nn.functional.cross_entropy(scores.flatten(0, 1), sequence[:, :-1].flatten())
            if step < 60:
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        right = (scores.argmax(dim=-1) == sequence[:, :-1]).float()
        print(f"{layer.__name__:20} loss {loss.item():.2f}, right for {right.mean():.0%}")
        print("at positions 1 to 7: ", [f"{share:.0%}" for share in right.mean(dim=0).tolist()])
except Exception as error:
    print("This cell needs a working multi_head_attention:", repr(error))

# %% [markdown]
# Your function gets everything right. With the wrong view, the loss falls too, but each of the four heads sees only two
# of the eight positions: 0 and 1, 2 and 3, and so on. So positions 2, 4 and 6 can't see the digit before them, and can
# only guess.

# %% [markdown]
# ## Devices
#
# Your script should run unchanged on a laptop and on a machine with a GPU. A tensor's memory is on the *device* given
# by `t.device`, such as `cpu`, `cuda` or Apple's `mps`, and an operation runs on its operands' device. If there are
# several GPUs, an index tells them apart, as in `cuda:1`. Without an index, `cuda` means the current one, so
# `torch.device("cuda")` and `torch.device("cuda:0")` are not equal.
#
# Choose the device once, at the top of the script. You'll often see this line:
#
# `device = torch.device("cuda" if torch.cuda.is_available() else "cpu")`
#
# It ignores `mps`, which you'd check for with `torch.backends.mps.is_available()`. This line finds any accelerator:
#
# `device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")`
#
# This course uses labkit's `device()`, which lets a setting override the choice. Avoid `x.cuda()`: it raises an error
# on every machine without CUDA.
#
# `torch.zeros` and other functions create tensors on the *default device*, which is the CPU unless you change it with
# `torch.set_default_device(...)`. In lab 1 and some later labs, `use_device()` makes a CUDA GPU the default, if there
# is one. A function that others call can't rely on that, so pass `device=x.device`.
#
# `t.to(device)` returns the tensor on that device. Here, everything is already on the right device. Which of the three
# lines print True?

# %% example
here = device()
x = torch.ones(3, device=here)
layer = nn.Identity()
print("x.to(here) is x:           ", x.to(here) is x)
print("x.to(here, copy=True) is x:", x.to(here, copy=True) is x)
print("layer.to(here) is layer:   ", layer.to(here) is layer)

# %% [markdown]
# If there's nothing to change, `to` returns the same tensor; `copy=True` forces a copy. A tensor's `to` never changes
# the tensor, so `x.to(device)` without an assignment has no effect. But the `to` of a *module*, such as a layer or a
# model, moves the module's own tensors and returns the module, so you can call `model.to(device)` as a statement.
#
# ### A second device
# What fails on a machine with a GPU? To find out without one, use labkit's *pretend GPU*: inside `with
# probes.TwoDevices() as gpu`, tensors on `gpu` follow a GPU's rules, while the CPU computes.

# %% predict: two_devices
# **Predict.** `on_gpu` and `on_cpu` have shape (3,). Which lines raise an error?
#
# - [x] `on_gpu + on_cpu`
# - [ ] `on_gpu + torch.tensor(1.0)`
# - [x] `on_cpu + on_gpu.sum()`
# - [ ] `on_gpu[torch.tensor([2, 0])]`
# - [x] `on_gpu * torch.arange(3)`

# %% example
with probes.TwoDevices() as gpu:
    on_gpu = torch.tensor([10.0, 20.0, 30.0]).to(gpu)
    on_cpu = torch.tensor([1.0, 2.0, 3.0])
    for text, line_of_code in {
        "on_gpu + on_cpu": lambda: on_gpu + on_cpu,
        "on_gpu + 1": lambda: on_gpu + 1,
        "on_gpu + torch.tensor(1.0)": lambda: on_gpu + torch.tensor(1.0),
        "on_cpu + on_gpu.sum()": lambda: on_cpu + on_gpu.sum(),
        "on_gpu[torch.tensor([2, 0])]": lambda: on_gpu[torch.tensor([2, 0])],
        "on_gpu * torch.arange(3)": lambda: on_gpu * torch.arange(3),
        "on_gpu * torch.arange(3, device=on_gpu.device)": lambda: on_gpu * torch.arange(3, device=on_gpu.device),
    }.items():
        try:
            print(f"{text:47} {line_of_code().tolist()}")
        except RuntimeError as error:
            print(f"{text:47} {type(error).__name__}")

# %% [markdown]
# All tensors must be on the same device, with these exceptions:
#
# - A Python number has no device.
# - In an elementwise operation, a 0-dim tensor on the *CPU* works like a Python number. `torch.stack` and `torch.cat`
#   make no such exception. The reverse raises an error: to read the 0-dim
#   `on_gpu.sum()`, the program would have to wait for the GPU. `on_gpu.sum().item()` and `on_gpu.sum().cpu()` do wait.
# - A CPU tensor in brackets can index a tensor on the GPU.
#
# `torch.arange(3)` shows a common mistake: it creates a tensor on the default device, here the CPU, regardless of the
# other operand's device. The last line shows the fix: `device=on_gpu.device`.
#
# Would your `attention` run on a GPU?

# %% answer [markdown]
# Look at the causal mask. `torch.ones(t, t, dtype=torch.bool)` creates it on the default device. If that's the CPU,
# `masked_fill` gets tensors on different devices and raises an error. Add `device=q.device`, or call
# `torch.ones_like(scores, dtype=torch.bool)`.

# %% [markdown]
# ## A module that moves as a whole
#
# If a model runs on your laptop, but on a machine with a GPU it raises an error about two devices, one of its tensors
# probably didn't move with it. A *module* is an object of a class that inherits from `nn.Module`: `__init__` calls
# `super().__init__()` and then creates the tensors, and `forward` computes the result when you call `module(x)`.
#
# A module keeps track of two kinds of tensors:
#
# - *parameters*, created by `nn.Parameter(...)`, are trained;
# - *buffers*, created by `self.register_buffer("name", tensor)`, aren't trained.
#
# Both are moved by `to`, cast by `double()` if their dtype is floating-point, and included in `state_dict()`, a dict of
# names and tensors. To save a model, save this dict; `load_state_dict` copies it back.
#
# Below, three modules add the same table to their input, and `probes.on_second_device` moves each module and its input
# to the pretend GPU.

# %% predict: moved_tables
# **Predict.** Which of the three modules work on the GPU after you move them?
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
        probes.on_second_device(module, torch.zeros(2, 3))
        outcome = "works"
    except RuntimeError as error:
        outcome = type(error).__name__
    trained = [name for name, _ in module.named_parameters()]
    print(f"{kind.__name__:12} {outcome:12}  state_dict {list(module.state_dict())}  trained {trained}")

# %% [markdown]
# The attribute stayed on the CPU, which you'd never notice on a machine without a GPU. The parameter moves, but an
# optimizer would train it, even though it's meant to be constant. Use a buffer for constants.
#
# Only the parameter and the buffer are in the `state_dict`, so only they are saved. A buffer that can be recomputed
# doesn't have to be saved: with `register_buffer(name, tensor, persistent=False)`, it moves with the module but isn't
# in the `state_dict`.
#
# The optional section *The digits on any device*, below, contains a version of the digits script that runs on any
# device, and explains what's different about a real GPU. In lab 3, one of the network's layers doesn't learn at all,
# again without an error.

# %% quiz: interview points=3
# ## Interview questions
#
# **`view` versus `reshape`**
# - [x] `view` never copies.
#   > It raises an error if no strides can describe the result. What you write to a view appears in the original.
# - [ ] `view` works only on contiguous tensors.
#   > `grid.T.view(3, 2, 4)` and `grid[:, ::2].view(12)` worked, and neither tensor was contiguous. `view` can split any
#   > dimension, and join two if their strides allow it.
# - [x] `reshape` can return a view or a copy.
#   > It returns a view whenever `view` would work, which includes every contiguous tensor. `grid.T.reshape(24)` has to
#   > copy.
# - [ ] `reshape` warns when it copies.
#   > It copies silently. You notice only when a write to the result doesn't reach the original.
# - [x] `x.contiguous().view(-1)` works for every tensor `x`.
#   > All dimensions of a contiguous tensor can be joined, and `contiguous()` creates one if needed.
#
# Hint: Which of the views of grid.T worked? Does reshape tell you whether it copied?
#
# **Layout**, with `x = torch.arange(24).reshape(2, 3, 4)`
# - [ ] `x.permute(0, 2, 1)` and `x.reshape(2, 4, 3)` have the same shape and the same values.
#   > The shapes are the same, but `reshape` keeps the order of the elements, whereas `permute` changes it.
# - [x] `x.permute(0, 2, 1)` doesn't copy any elements.
#   > It swaps strides: (12, 4, 1) becomes (12, 1, 4), over the same storage.
# - [x] `x.transpose(0, 1).is_contiguous()` is False.
#   > Its strides are (4, 12, 1). The first stride is smaller than the second, so the elements aren't in order in
#   > memory.
# - [x] `x[:1].transpose(0, 1).is_contiguous()` is True.
#   > The dimension of size 1 is now in the middle, and its stride doesn't matter. The rest, 3 by 4 with strides 4 and
#   > 1, has no gaps.
# - [x] `x.permute(0, 2, 1).view(2, 2, 2, 3)` works.
#   > It only splits the dimension of size 4 in two, and splitting always works. It doesn't have to join any dimensions.
#
# Hint: Write down the strides of each. Which sizes are 1?
#
# **Dimensions of size 1**
# - [ ] `torch.zeros(1, 1, 28).squeeze()` has shape (1, 28).
#   > Without an argument, `squeeze` removes every dimension of size 1, leaving (28,). That's how the grayscale image
#   > lost its channel.
# - [ ] `torch.zeros(5, 10).squeeze(0)` raises an error.
#   > That dimension has size 5, so `squeeze` silently does nothing.
# - [x] `torch.zeros(3)[:, None]` has shape (3, 1).
#   > `None` in an index inserts a dimension of size 1 at that position, here after the first.
# - [x] `torch.zeros(3).unsqueeze(-1)` has shape (3, 1).
#   > Since -1 counts from the end, the new dimension comes last. `[:, None]` does the same here.
# - [ ] `t.unsqueeze(0)` copies the elements of `t`.
#   > A new dimension of size 1 requires a stride but no memory. The result is a view of `t`.
#
# Hint: What did squeeze(0) do when the size was 5?
#
# **Broadcasting**
# - [x] Shapes (5, 1, 4) and (3, 1) give (5, 3, 4).
#   > Aligned from the right, (3, 1) becomes (1, 3, 1). In each dimension, one of the two sizes is 1 or both are equal.
# - [ ] Shapes (4, 3) and (4,) give (4, 3).
#   > Aligned from the right, 3 is paired with 4, and neither is 1, so this raises an error. Shape (4, 1) would work.
# - [x] Shapes (7, 1) and (7,) give (7, 7).
#   > A column and a row give a table of all pairs. That was the accident in the mean squared error and in the digits
#   > script.
# - [ ] For a `t` of shape (3, 1), `t.expand(3, 1000)` takes a thousand times as much memory.
#   > It gives the dimension a stride of 0 over the same 3 elements. `repeat` would copy.
# - [ ] `x.add_(y)` works if `x` has shape (3,) and `y` has shape (2, 3).
#   > The result would have shape (2, 3), and an in-place operation can't make `x` larger.
#
# Hint: Which side are shapes aligned from? Can an in-place operation make x larger?
#
# **Devices**, with `c` of shape (3,) on the CPU and `g` of shape (3,) on a GPU
# - [x] `c + g` raises an error.
#   > Neither is 0-dim, and they're on different devices, as `on_cpu` and `on_gpu` were.
# - [ ] `g + torch.tensor(2.0)` raises an error.
#   > The 0-dim tensor is on the CPU, and its single value can be passed along like a Python number.
# - [ ] `g[torch.tensor([0, 2])]` raises an error.
#   > Indices in brackets are an exception: a CPU tensor can index a tensor on the accelerator.
# - [ ] `c.to(g.device)` changes the device of `c`.
#   > A tensor's `to` never changes the tensor. Without an assignment, the line has no effect.
# - [x] `torch.device("cuda") == torch.device("cuda:0")` is False.
#   > `cuda` without an index means the current device, but the comparison doesn't look up which one that is.
#
# Hint: Which of the seven lines with on_gpu and on_cpu raised an error?
#
# **Code for any device**
# - [ ] `t.to(device)` always makes a copy.
#   > If `t` is already on that device, it returns `t` itself. `copy=True` forces a copy.
# - [x] `model.to(device)` moves parameters and buffers, and returns `model`.
#   > A module's `to` changes the module itself. You don't have to assign the result, because it's the same object.
# - [ ] A tensor assigned to `self.table` in a module moves with the module.
#   > The one in `AsAttribute` stayed on the CPU, which raised an error on the pretend GPU. Only parameters and buffers
#   > move.
# - [x] `torch.zeros(3, device=x.device)` is on the same device as `x`.
#   > `device=x.device` uses the input's device. Without it, the tensor is created on the default device.
# - [x] A buffer is in the `state_dict` unless it was registered with `persistent=False`.
#   > Buffers are saved by default, as the one in `AsBuffer` was. `persistent=False` is for values that can be
#   > recomputed.
#
# Hint: Which of the three modules with a table worked, and why?

# %% [markdown]
# ## Asked in interviews
#
# Answer out loud before you open the sample answer.
#
# **What is the difference between `view` and `reshape`?**
#
# <details><summary>A good answer</summary>
#
# Both give a tensor a new shape and keep its elements in order. `view` never copies. Its result shares the storage, so
# a write to one shows up in the other, and if no strides can describe the result, `view` raises an error. `reshape`
# returns a view if it can and copies otherwise, without telling you which. A common misconception is that `view`
# requires a contiguous tensor. Contiguity is sufficient but not necessary: any dimension can be split, and two can be
# joined if the outer stride is the inner size times the inner stride. I use `view` if a copy would be a mistake, and
# `reshape` if I only read the result.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A model is trained with the loss `(predicted - target).square().mean()`. `predicted` has shape (64, 1), and `target`
# has shape (64,). There's no error. The loss falls for a while, then stays near the variance of the targets. On new
# data, the model predicts nearly the same number for every input.
#
# In four to seven sentences: what does this loss compute? Which constant prediction minimizes it, and why does the
# model learn exactly that? Name one change that fixes it, and one line that would have caught it on the first day.

# %% question: constant_predictions [markdown] points=2
# ### BEGIN SOLUTION
# The shapes are aligned from the right. (64, 1) and (64,) are a column and a row, so the difference has shape (64, 64),
# and each prediction is compared with all 64 targets. The mean is taken over 4,096 pairs. Each prediction contributes
# its mean squared distance from all targets in the batch, whatever its own target is. That's smallest at the mean of
# the targets, where it equals their variance. So the input doesn't matter to the loss: every prediction is pulled
# toward the same number, the mean. The loss falls until the predictions reach it.
#
# Fix: give both the same shape, with `predicted.squeeze(1) - target` or `target[:, None]`. `assert predicted.shape ==
# target.shape` would have caught it, and so would the warning from `nn.functional.mse_loss`.
#
# Grading: one point for the table of all pairs and for the fact that the targets' mean minimizes the loss, and one for
# a fix and a line that catches the bug.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Tell a batch from a sample by the number of dimensions, never by a size.
# - `reshape` keeps the order of the elements; `permute` changes it. Test with values and sizes that all differ.
# - Broadcasting aligns shapes from the right.
# - Attention: `softmax(q @ k.mT / sqrt(d)) @ v`; if it's causal, set the scores of later positions to minus infinity
#   before the softmax.
# - Several heads: project, split, attend, merge (`transpose(1, 2).flatten(2)`), project.
# - A view can split any dimension, and join two if the outer stride is the inner size times the inner stride.
# - All operands must be on the same device, except for Python numbers and CPU indices in brackets and, in elementwise
#   operations, 0-dim CPU tensors.
# - Store a model's constants in buffers: a tensor that's a plain attribute doesn't move with the model.
#
# | call or rule | what it does or costs |
# |---|---|
# | `squeeze()` | removes every dimension of size 1, including a channel dimension |
# | `view` | never copies; raises an error if it would have to |
# | `reshape` | a view if possible, otherwise a silent copy |
# | (N, 1) with (N,) | (N, N), without a warning |
# | (…, t, d) @ (…, d, s) | (…, t, s): only the other dimensions are broadcast |
# | `x.to(device)` | returns a tensor, possibly `x` itself, that you must assign |
# | `model.to(device)` | moves only parameters and buffers |
# | `torch.arange(n, device=x.device)` | is created on the same device as `x` |
#
# Lab 3 covers what an operation produces besides values: the graph that gradients are computed from.

# %% [markdown]
# ## Further practice
#
# The core ends here. The sections below build on it but earn no points.

# %% [markdown]
# ## The digits on any device
#
# The digits script assumes that it runs on the CPU. In the function below, only the model is moved. Run the cell. Which
# line raises the error on the pretend GPU? Add one line that makes the script run on any device.


# %% scratch
def train(where):
    """Train a digits network on a device. Return its accuracy there."""
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
    return f"{hits.float().mean():.1%}"


print("CPU:", train("cpu"))
with probes.TwoDevices() as gpu:
    try:
        print("GPU:", train(gpu))
    except RuntimeError as error:
        print("GPU:", type(error).__name__)

# %% answer [markdown]
# The call `model(inputs[rows])` does: the weights are on the GPU, and the images are on the CPU. Below the line that
# defines `inputs` and `targets`, add
#
# `inputs, targets = inputs.to(where), targets.to(where)`
#
# Both runs then reach 88.2%, since the pretend GPU computes on the CPU. The initial weights are the same because
# they're drawn on the CPU before they're moved. `rows` can stay on the CPU, since it's an index. If your machine has a
# GPU, `train(device())` trains on it; the accuracy may differ a little.

# %% [markdown]
# With a real GPU, these are the first three differences that you'll notice:
#
# - It works *asynchronously*: a call returns before its result is computed. To time it, call
#   `torch.accelerator.synchronize()` before you start the clock and before you stop it.
# - It adds numbers in a different order, so results differ because of rounding. Compare with `torch.allclose`, not
#   `torch.equal`.
# - Apple's `mps` has no float64, so a tensor with NumPy's default dtype can't be moved there.

# %% [markdown]
# ## Dimensions with letters
#
# `permute(1, 2, 0)` is hard to read; `einsum("chw->hwc", image)` does the same with letters. It also multiplies the
# elements of two tensors that have the same letters, and sums over any letter that's missing after the arrow: `a @ b`
# is `einsum("ij,jk->ik", a, b)`. What do the three lines print?

# %% example
query = torch.arange(12.0).reshape(2, 3, 2)  # batch, time, features
key = torch.arange(16.0).reshape(2, 4, 2)  # batch, a different number of time steps, features
print(tuple(torch.einsum("btd,bsd->bts", query, key).shape))
print(torch.equal(torch.einsum("btd,bsd->bts", query, key), query @ key.transpose(1, 2)))
print(tuple(torch.einsum("btd->d", query).shape))

# %% [markdown]
# The first two lines take the dot product of every query with every key, as in attention's scores. The last line sums
# over the batch and time dimensions.

# %% [markdown]
# ## Which tensors are contiguous?
#
# Many texts list operations that make a tensor non-contiguous. What matters, though, is the strides.
# `narrow(dim, start, length)` keeps a range of one dimension, like a slice, and `select(dim, index)` keeps one index
# and drops the dimension. Which of these eight tensors are contiguous?

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
# Four of them are: there are no gaps between adjacent rows, but there are gaps within a column. `grid[:1].T` is a
# single row, turned into a column: its six elements are adjacent in memory, and the stride of a dimension of size 1
# doesn't count. `grid.expand(4, 6)` has nothing to stretch, so its strides are still those of `grid`.
#
# Adjacent dimensions that can be joined form a block. A contiguous tensor is a single block, and `grid.T` consists of
# two. A view is possible if each new dimension stays within one block. `channels_last` below is a batch of images in a
# different *memory format*: its shape is (2, 3, 4, 5), but each pixel's channels are adjacent in memory, so its strides
# are (60, 1, 15, 3). How many blocks does it have, and which of the three views work?

# %% example
channels_last = torch.zeros(2, 3, 4, 5).to(memory_format=torch.channels_last)
for shape in ((2, 3, 20), (2, 60), (2, 12, 5)):
    try:
        print(shape, channels_last.view(shape).stride())
    except RuntimeError as error:
        print(shape, type(error).__name__)

# %% [markdown]
# It has three blocks: samples, channels and pixels. Only the last two dimensions can be joined, because $15 = 5 \cdot
# 3$. `channels_last.view(2, 60)` and `channels_last.view(2, 12, 5)` would have to join channels and rows.
#
# ### Your turn: view_strides
# Do the first thing that `view` does: compute the new strides, or find out that there are none.

# %% given
hint(
    "First join all adjacent old dimensions that can be joined, and skip sizes of 1. This leaves blocks, each with a "
    "number of elements and a stride. A new dimension can never span two blocks.",
    "Go through the new shape from the right. Track two numbers for the current block: how many of its elements are "
    "left to divide, and the stride of the next dimension. When must you give up?",
)

# %% exercise: view_strides points=4 level=hard further

# %% answer [markdown]
# You must give up when a new size doesn't divide the number of elements left in the block: that dimension would have to
# span two blocks. When only 1 is left, continue with the next block.

# %% [markdown]
# ## The device of a sum
#
# From the shapes and devices alone, could you tell whether `a + b` raises an error? The rules are those of *A second
# device*, and broadcasting doesn't affect them.
#
# ### Your turn: sum_device
# Determine a sum's device without computing the sum. Remember that `torch.device("cuda")` and `torch.device("cuda:0")`
# are not equal, even where both mean the same GPU.

# %% given
hint(
    "Convert both devices to a form in which you can compare them. When are they the same?",
    "If they differ and one is the CPU, what else must be true, and of which tensor?",
)

# %% exercise: sum_device points=2 level=easy further

# %% [markdown]
# Only the number of dimensions counts: with a tensor on a GPU, a CPU tensor of shape `()` works, but one of shape
# `(1,)` raises an error, although it, too, has only one element. That's why `losses.mean()` on the CPU can work where
# `losses.mean(dim=0, keepdim=True)` raises an error.

# %% [markdown]
# ## Statistics that move with a model
#
# Images are *normalized* before a model sees them: each channel's mean is subtracted, and the difference is divided by
# the channel's standard deviation. Put this into a module, so both statistics are moved, cast and saved with the model.
#
# ### Your turn: Normalize
# Watch the shapes. `mean` has shape `(C,)`, and must align with dimension 1 of an `(N, C, H, W)` tensor. Which
# dimension does it align with by default?

# %% given
hint(
    "Which of AsAttribute, AsParameter and AsBuffer should you imitate? And does register_buffer copy its argument?",
    "(C,) is aligned from the right, so it lines up with W. What shape lines up with C? You may store the "
    "statistics in that shape.",
)

# %% exercise: Normalize points=4 level=medium further

# %% answer [markdown]
# By default, `mean` aligns with W: for most sizes, that raises an error, but if W equals C, there's no error and the
# result is wrong. With shape `(C, 1, 1)`, it aligns with the channels.

# %% [markdown]
# Why would `persistent=False` be wrong for `mean` and `std`?

# %% answer [markdown]
# They're computed from the training data, so a program that only loads the model can't recompute them. Its `Normalize`
# would silently keep the values it was created with, and the model would see inputs on the wrong scale.

# %% [markdown]
# ### Tensors that don't move
# How would you find the bug in `AsAttribute` without a GPU and without labkit? One way is PyTorch's device `meta`,
# which exists on every machine: a tensor on it has a shape and a dtype but no values. Move the module there, and call
# it with an input on `meta`. That's often enough, but an index tensor that stayed on the CPU raises no error, since
# indices are allowed there. So look inside the module as well: `vars(module)` holds its plain attributes. Parameters,
# buffers and submodules are kept elsewhere, so any tensor in `vars(module)` won't move.
#
# Some people test with `model.double()`. The next cell tries all three on `AsAttribute`, `AsBuffer`, and a module that
# holds an index. What does each method find?


# %% example
class AsIndex(nn.Module):
    def __init__(self, table):
        super().__init__()
        self.places = table.long() - 1

    def forward(self, x):
        return x[:, self.places]


def outcome_of(run):
    try:
        return str(run().dtype).removeprefix("torch.")
    except RuntimeError:
        return "RuntimeError"


for kind in (AsAttribute, AsBuffer, AsIndex):
    module = kind(torch.tensor([1.0, 2.0, 3.0]))
    left_behind = [name for name, value in vars(module).items() if isinstance(value, Tensor)]
    double = outcome_of(lambda: module.double()(torch.zeros(2, 3, dtype=torch.float64)))
    meta = outcome_of(lambda: module.to("meta")(torch.zeros(2, 3, dtype=torch.float64, device="meta")))
    print(f"{kind.__name__:12} double(): {double:8} on meta: {meta:13} in vars: {left_behind}")

# %% [markdown]
# `double()` finds nothing. `AsAttribute` adds a float32 table to a float64 input and gets float64, and an index isn't
# affected by casts. `meta` finds the table but not the index, and `vars` finds both. If a model has submodules, check
# each of `model.modules()`. `vars` misses tensors inside other objects, such as a list or dict.

# %% [markdown]
# ## Windows that overlap
#
# You want to average a signal of a million values over windows of 100: values 0 to 99, values 1 to 100, and so on. A
# float32 copy of all windows, with shape (999901, 100), would take nearly 400 million bytes. How many does the view
# below take?
#
# `as_strided(size, stride)` creates a view with the sizes and strides that you specify. It checks only that no element
# is outside the storage. If the strides are wrong, so are the values.

# %% example
signal = torch.zeros(1_000_000)
overlapping = signal.as_strided((999_901, 100), (1, 1))
print(f"elements that it shows: {overlapping.nbytes:,} bytes")
print(f"storage that it keeps:  {overlapping.untyped_storage().nbytes():,} bytes")
show_strides(torch.arange(10, 16).as_strided((4, 3), (1, 1)))

# %% [markdown]
# It takes no memory beyond the signal's, because several elements share one slot. What happens if you write to them?

# %% predict: written_windows
# **Predict.** `line` contains five zeros, and its three windows have three elements each. What is `line` after
# `line.as_strided((3, 3), (1, 1)).add_(1)`? The documentation doesn't guarantee a result: assume that each window in
# turn is read, incremented and written back.
#
# - [ ] `[1, 1, 1, 1, 1]`
# - [x] `[1, 2, 3, 2, 1]`
# - [ ] `[3, 3, 3, 3, 3]`
# - [ ] unchanged, because the windows are a copy

# %% example
line = torch.zeros(5)
line.as_strided((3, 3), (1, 1)).add_(1)
print(line.tolist())

# %% [markdown]
# Where three windows overlap, 1 was added three times, without an error. Before you write to such a view, `clone()` it.
#
# ### Your turn: windows
# Return a view of the windows along the last dimension of any tensor, with a given step between them. The tensor itself
# can be a view. Where do its strides appear in your result?

# %% given
hint(
    "Start with one dimension and step 1. If x has stride s, how far apart in the storage are a window's neighboring "
    "elements, and how far apart are neighboring windows?",
    "The strides of all earlier dimensions don't change. How many windows start early enough to have k elements? Try "
    "n = 7, k = 3, step = 2 on paper. as_strided keeps x's storage offset unless you pass a different one.",
)

# %% exercise: windows points=3 level=medium further

# %% [markdown]
# Which method of a tensor does the same? And what would you do about the memory that `windows(signal, 100, 1) -
# windows(signal, 100, 1).mean(-1, keepdim=True)` takes?

# %% answer [markdown]
# `x.unfold(-1, k, step)` does.
#
# The windows are a view, but the difference is a new tensor of 399,960,400 bytes. If you need only one number per
# window, compute it without the difference: a window's variance, for instance, is the mean of the squares minus the
# square of the mean, and both are averages over windows. (Subtract the whole signal's mean first. The next section
# shows what happens if two large numbers nearly cancel.) Otherwise, process a few thousand windows at a time. For the
# strides, keep all of x's but the last, then append step times that last stride, followed by the last stride itself.

# %% [markdown]
# ## Every pair of points
#
# You need the distance from each point in `a`, of shape `(n, d)`, to each point in `b`, of shape `(m, d)`. Give `a`
# shape `(n, 1, d)` and `b` shape `(1, m, d)`. What's the shape of their difference? In the picture, n = 4, m = 5 and d
# = 3.

# %% example
show_broadcasting((4, 1, 3), (1, 5, 3))

# %% [markdown]
# To get distances from the differences, square them, sum over the last dimension, and take the square root.
#
# Many programs avoid the large table of differences by using the expansion $|a - b|^2 = |a|^2 - 2\,a \cdot b + |b|^2$,
# whose middle term is a matrix product. In exact arithmetic, both give the same result. Below, two points are 0.01
# apart and 1000 units from the origin. What will the three lines print?

# %% example
first, second = torch.tensor([1000.0, 0.0]), torch.tensor([1000.01, 0.0])
print("through the difference: ", (first - second).square().sum().sqrt().item())
expanded = first @ first - 2 * first @ second + second @ second
print("through the expansion:  ", expanded.sqrt().item())
print("in float64:             ", (first.double() - second.double()).square().sum().sqrt().item())

# %% [markdown]
# The large terms agree in nearly all their digits, so in float32 only rounding error is left after the subtraction.
# Here, the result is 0. It can even be negative, and then its square root is NaN. The difference between the points
# themselves is the same as in float64. (1000.01 isn't exactly representable in float32, so the points are a little more
# than 0.01 apart.)
#
# ### Your turn: pairwise_distances
# Write a function that returns the table of distances. Are there points for which your approach loses digits?

# %% given
hint(
    "Which index inserts a dimension of size 1 in the middle, and which one inserts it at the front?",
    "Which dimension of the differences do you sum over, counting from the end?",
)

# %% exercise: pairwise_distances points=3 level=easy further

# %% answer [markdown]
# If two floats are within a factor of two of each other, their difference is exact, so a large distance from the origin
# doesn't cost any precision. The squares can go wrong, though: in float32, they underflow for points 1e-25 apart and
# overflow for points 1e20 apart.

# %% [markdown]
# PyTorch has `torch.cdist(a, b)`. By default, it uses the expansion if one side has more than 25 points, because a
# matrix product is fast. For 30 random points in a unit cube a thousand units from the origin, we measured a distance
# error of 0.8 on our machine. For 20 such points, it was 8e-8. `compute_mode="donot_use_mm_for_euclid_dist"` turns off
# the expansion. When would you accept the error?

# %% answer [markdown]
# When the points are about as far from one another as from the origin, and only the order of the distances matters, as
# in a nearest-neighbor search over embeddings. Subtract the mean of all points first: that brings them closer to the
# origin without changing any distance.

# %% [markdown]
# ## Moving a whole batch
#
# A data loader can return anything: a dict of tensors and names, a list of pairs, tensors inside tuples inside dicts.
# Before the model sees a batch, all its tensors have to be moved, and floating-point ones may have to be cast to the
# model's dtype. `module.to(device, dtype)` casts floating-point and complex tensors, and leaves integers alone:
# `to(torch.float64)` turns a complex64 buffer into float64 and discards its imaginary part, with a warning. What would
# happen if you cast labels to bfloat16?

# %% example
class_numbers = torch.tensor([255, 256, 257, 1000])
print(class_numbers.to(torch.bfloat16).long().tolist())

# %% [markdown]
# bfloat16 has eight significant bits, so 257 becomes 256, which is a different class. 1000 doesn't change: it's 125
# times 8, and 125 fits in eight bits.
#
# ### Your turn: to_device
# Write a function that handles any nesting. A *named tuple*, such as `Sample` or `Pair` below, is a tuple whose items
# have names. You create one with `Sample(image, label)`, not `Sample([image, label])`. Its class has a `_fields`
# attribute.


# %% given
class Sample(NamedTuple):
    """One item in a data set, for trying out your solution. The checks use it too, in other nestings."""

    image: Tensor
    label: Tensor


class Pair(NamedTuple):
    """Two views of an image, two samples or anything else."""

    left: Any
    right: Any


# %% given
hint(
    "What does the function do with a tensor? And with a list, if it knows how to handle each item?",
    "type(batch) is the container's class. A named tuple takes its items as separate arguments, and a list or tuple "
    "takes them as one iterable. Which tensors should be cast? Check "
    "t.is_floating_point().",
)

# %% exercise: to_device points=4 level=hard further

# %% [markdown]
# The order of the cases matters. A named tuple is also a tuple, so test for `_fields` first. And a function that cast
# every tensor would silently corrupt the labels. PyTorch has a similar internal function,
# `torch.utils._pytree.tree_map`.
#
# `to` also takes `non_blocking=True`. With it, a copy to a GPU from *pinned* memory, which the operating system never
# moves, runs while your program continues.
