# %% [markdown]
# # Layers you can trust, and data that arrives in time
#
# You train a network on the digits and measure 99% accuracy. Then you build it into a program that reads one digit at a
# time, and it gets one digit in thirteen wrong. The weights are the same and nothing raises an error, but one layer
# doesn't do what you thought. Most of a model consists of layers that someone else wrote, and most of a training script
# feeds them data. Mistakes in either often raise no error. This lab shows how they arise and how to find them.
#
# After this lab, you'll be able to
#
# - say what a layer does to a shape, what it stores, and what `eval()` changes;
# - write layer norm, RMS norm, batch norm, and attention with a KV cache;
# - find the first layer whose output isn't finite;
# - say which process reads which sample, and with which random numbers;
# - prepare a batch while a step runs, and say what you have to wait for.
#
# The core is five exercises; no later lab depends on the others. About how long the parts take:
#
# | | core | further practice |
# |---|---|---|
# | Part 1 | `apply_norm`, `attend_next`, `first_bad`: 70 minutes | 45 minutes |
# | Part 2 | `pad_collate`, `my_part`: 40 minutes | 25 minutes |
#
# If you're in a hurry, skip the sections that begin with *Further practice*: *How many values does a convolution
# return?*, *Where does a sequence end?*, *A row that doesn't learn*, *A model without values*, and *While the step
# runs*. The interview questions ask about three of them; look those up then.
#
# All numbers were measured with PyTorch 2.13 on one CPU thread; statements about GPUs follow PyTorch's documentation.
#
# Where it says *Predict*, choose an answer before you run the next cell. Below each exercise, a card shows its checks.
# Those marked *later* run when you press *Mark my work* or hand the lab in. A folded cell above an exercise contains
# helpers for its checks: run it, but you don't have to read it.
#

# %% given
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    device,
    explain,
    probes,
)

# %% [markdown]
# ## Part 1: Layers you can trust
#
# You need lab 6, and attention from lab 2.
#
# ## What a convolution looks for
#
# The fully connected network from the earlier labs reads 96% of the unseen digits correctly, but it doesn't know which
# pixels are neighbors. A convolution does. It slides a small grid of weights, its *kernel*, across the image. At each
# position, it multiplies the weights by the pixels under them and adds up the products. The 3 x 3 kernel below
# subtracts the pixels on its left from those on its right. PyTorch expects images as (N, C, height, width), for N
# samples with C channels, so `[None, None]` adds two dimensions of size 1. Where will the result be positive?

# %% example
picture = torch.zeros(5, 8)
picture[:, 3:5] = 1  # a vertical stroke, two pixels wide
kernel = torch.tensor([[-1.0, 0.0, 1.0]] * 3)
edges = nn.functional.conv2d(picture[None, None], kernel[None, None])[0, 0]
for numbers in (kernel, picture, edges):
    print(numbers.int(), tuple(numbers.shape))

# %% [markdown]
# The result is 3 at the stroke's left edge, -3 at its right edge, and 0 where the pixels don't change. It's smaller
# than the picture, because the kernel fits at only 3 x 6 positions; with `padding=1`, a border of zeros preserves the
# size.
#
# `nn.Conv2d(1, 16, 3, padding=1)` learns 16 such kernels and returns an image, or channel, for each. Each kernel of the
# next convolution reads all 16 channels, so its size is 16 x 3 x 3. `nn.MaxPool2d(2)` keeps the largest number in each
# 2 x 2 square.
#
# ## Right in training, wrong in use
#
# Two convolutions make a better digit reader if you use it correctly. After each one, a norm layer *normalizes* the
# output: it brings each channel to mean 0 and variance 1. So the next layer gets numbers of about the same size,
# however the weights before it change, and training is faster. The pooling layers halve each side twice, from 8 to 2,
# so the last layer gets 32 · 2 · 2 = 128 numbers. The last line reads the 297 held-out scans one at a time. Run the
# cell, then change the 1 in that line to 297 to read them all at once.
#

# %% scratch
from sklearn.datasets import load_digits

order = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
scans = (torch.tensor(load_digits().images, dtype=torch.float32)[order, None] - 8) / 8  # (N, 1, 8, 8); None adds the 1
digits = torch.tensor(load_digits().target)[order]


def make_reader():
    torch.manual_seed(0)
    return nn.Sequential(  # the stars insert each row's layers
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )


def measure(network, size):
    """The share of the last 297 scans that the network gets right, given `size` scans at a time."""
    with torch.no_grad():
        guesses = torch.cat([network(part).argmax(dim=1) for part in scans[1500:].split(size)])
    return (guesses == digits[1500:]).float().mean().item()


digit_reader = make_reader()
optimizer = torch.optim.SGD(digit_reader.parameters(), lr=0.3)
for _ in range(10):
    for rows in torch.arange(1500).split(100):
        loss = nn.functional.cross_entropy(digit_reader(scans[rows]), digits[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"right for {measure(digit_reader, 1):.0%} of the unseen scans")

# %% [markdown]
# With the same weights and scans, the accuracy is 92% one at a time but 99% all at once. Which layer's output for one
# scan depends on the other scans in the batch? Which line is missing, and what would it change?

# %% answer [markdown]
# `nn.BatchNorm2d`. In training mode, it subtracts the batch's mean and divides by the batch's standard deviation. If
# the batch is a single scan, these are that scan's own statistics. Reading all 297 at once hides the problem, because a
# mix of digits has nearly the same statistics as the training batches. `torch.no_grad()` doesn't help: it turns off
# recording, not training mode.
#
# Add `digit_reader.eval()` above the last line. Batch norm then uses running averages from training:
#
# | read | without `eval()` | with `eval()` |
# |---|---|---|
# | one at a time | 92.3% | 99.0% |
# | all at once | 99.3% | 99.0% |
#
# With `eval()`, the result no longer depends on the batch. That's the property to test for.

# %% [markdown]
# ## What a layer promises
#
# If you know three things about a layer, bugs like the digit reader's won't surprise you.
#
# - *What shape does it take, and what shape does it return?* Which dimension is the batch, and which one holds the
#   features?
# - *What does it store?* Parameters, *buffers*, which belong to the model but aren't trained (lab 6), or nothing.
# - *What does `eval()` change?* The output of some layers, and nothing for most.
#
# The next cell builds ten layers, calls each one in both modes, and prints the answers. N counts samples, C an image's
# channels, T the steps of a sequence, such as its words, and F the features of each step. Some may be new: `Embedding`
# looks up a row of its table for each index, `LSTM` reads a sequence step by step, and `ConvTranspose2d` enlarges
# images. With `stride=2`, a convolution's kernel moves two pixels at a time.

# %% predict: train_and_eval
# **Predict.** Which of these layers return different values in evaluation mode than in training mode?
#
# - [x] `nn.BatchNorm2d`
# - [ ] `nn.LayerNorm`
# - [x] `nn.Dropout`
# - [ ] `nn.MaxPool2d`
# - [ ] `nn.Embedding`
#

# %% example
torch.manual_seed(0)
images, steps = torch.randn(2, 3, 9, 7), torch.randn(2, 5, 4)  # (N, C, height, width) and (N, T, F)
contracts = {
    "Linear(4, 6)": (nn.Linear(4, 6), steps),
    "Conv2d(3, 8, 3, stride=2, padding=1)": (nn.Conv2d(3, 8, 3, stride=2, padding=1), images),
    "ConvTranspose2d(3, 8, 3, stride=2)": (nn.ConvTranspose2d(3, 8, 3, stride=2), images),
    "MaxPool2d(2)": (nn.MaxPool2d(2), images),
    "BatchNorm2d(3)": (nn.BatchNorm2d(3), images),
    "LayerNorm(4)": (nn.LayerNorm(4), steps),
    "Dropout(0.5)": (nn.Dropout(0.5), steps),
    "Embedding(10, 6, padding_idx=0)": (nn.Embedding(10, 6, padding_idx=0), torch.tensor([[3, 1, 0]])),
    "LSTM(4, 6, batch_first=True)": (nn.LSTM(4, 6, batch_first=True), steps),
    "MultiheadAttention(4, 2, batch_first=True)": (nn.MultiheadAttention(4, 2, batch_first=True), steps),
}


def called(layer, x):
    """The layer's first output; most layers have only one."""
    out = layer(x, x, x) if isinstance(layer, nn.MultiheadAttention) else layer(x)
    return out[0] if isinstance(out, tuple) else out


for name, (layer, x) in contracts.items():
    training, evaluating = called(layer.train(), x), called(layer.eval(), x)
    kept = f"{len(list(layer.parameters()))} parameters, {len(list(layer.buffers()))} buffers"
    changed = "" if torch.equal(training, evaluating) else "   eval() changes it"
    print(f"{name:43} {tuple(x.shape)!s:13} -> {tuple(training.shape)!s:13} {kept}{changed}")

# %% [markdown]
# *Shapes.* `Linear` and `LayerNorm` work on the last dimension and treat the others as batch dimensions; `Embedding`
# adds a dimension. Convolutions, pooling, and `BatchNorm2d` expect the channels second. `LSTM` and `MultiheadAttention`
# expect the steps first, (T, N, F), unless they're built with `batch_first=True`. Without it, they also accept (N, T,
# F), but they mistake samples for steps and mix them.
#
# *What it stores.* Of the ten, only batch norm has buffers: a running mean, a running variance, and the number of
# batches it has seen. Each forward pass in training mode moves the first two a tenth of the way toward the batch's
# values (`momentum=0.1`), even under `torch.no_grad()`.
#
# *What `eval()` changes.* Only two of the ten layers: batch norm uses its running values instead of the batch's, and
# dropout does nothing. `nn.LSTM` and `nn.MultiheadAttention` have their own `dropout`, which is 0 unless you set it. It
# also changes a few rarer layers, such as `nn.InstanceNorm2d` with `track_running_stats=True`. If a layer is new to
# you, try both modes.
#
# ### Which numbers share a mean?
#
# Norm layers differ in one decision, which also explains the digit reader's mistake: which numbers do they average? The
# next cell asks autograd: the gradient of one output with respect to the input is nonzero only at the elements that
# this output depends on.
#

# %% example
torch.manual_seed(0)
cube = torch.randn(3, 4, 5, requires_grad=True)  # 3 samples, axis 1 has size 4, axis 2 has size 5
norms = {"BatchNorm1d(4)": nn.BatchNorm1d(4), "LayerNorm(5)": nn.LayerNorm(5), "RMSNorm(5)": nn.RMSNorm(5)}
_, panels = plt.subplots(len(norms), 3, figsize=(6, 5), layout="constrained")
for row, (name, layer) in zip(panels, norms.items(), strict=True):
    (slope,) = torch.autograd.grad(layer(cube)[1, 2, 3], cube)
    for number, panel in enumerate(row):
        panel.pcolormesh((slope[number] != 0).float(), cmap="Blues", vmin=0, vmax=1.6, edgecolors="lightgrey")
        panel.set(xticks=[], yticks=[], title=f"{name}, sample {number}", ylim=(4, 0))
        panel.title.set_fontsize(9)
    row[1].text(3.5, 2.5, "out", ha="center", va="center")
plt.show()

# %% [markdown]
# *In words:* each norm has a row of panels, one for each sample. The output at [1, 2, 3] depends on the colored inputs.
# For batch norm, that's row 2 of all three samples: one channel, across the batch and all steps. For layer norm and RMS
# norm, it's row 2 of sample 1 only.
#
# Let $\mu$ and $\sigma^2$ be the mean and variance of such a group. Layer norm and batch norm compute
# $(x - \mu) / \sqrt{\sigma^2 + \epsilon}$, multiply by `weight`, and add `bias`. The small $\epsilon$ prevents division
# by 0. RMS norm, which most language models use, skips the mean and the bias: it computes
# $x / \sqrt{\overline{x^2} + \epsilon}$ and multiplies by `weight`.
#
# ### Your turn: apply_norm
# Write all three. They differ less than you might think.

# %% given
hint(
    "Which axes does each norm average over? mean takes a list of axes; keepdim=True keeps the result aligned with x.",
    "After you subtract the mean, the mean of the squares is the variance. So RMS norm just skips that subtraction.",
    "Batch norm's weight has to line up with axis 1: for a 4-dimensional x, reshape it to (c, 1, 1).",
)

# %% exercise: apply_norm points=3 level=medium

# %% [markdown]
# Two questions remain. By default, `x.var()` is *unbiased*: for m numbers, it divides by m - 1 instead of m.
# `nn.BatchNorm1d` uses both definitions. Which one does it use for its output, and which for `running_var`? And why
# don't language models use batch norm?

# %% answer [markdown]
# The output uses the biased variance, and `running_var` the unbiased one, as `x.var()` does. So even for the same
# batch, the divisor is larger in evaluation mode, by a factor of nearly $\sqrt{m / (m - 1)}$ for m numbers per channel.
#
# While a language model trains, batch norm would mix a batch's sequences, including their padding, and leak information
# from later tokens into earlier ones. In use, running averages would replace those statistics, so the model would
# compute something other than what it was trained for.

# %% [markdown]
# ### How many values does a convolution return?
#
# *Further practice; the core continues at "A state to pass along".* If the size that you pass to the first `nn.Linear`
# after a convolution is wrong, the model raises an error. To compute it, count the windows that the kernel reads. A
# kernel's weights along a dimension are called *taps*. Four settings matter.
#
# - `padding`: how many zeros are added at *each* end.
# - `dilation`: the distance between taps. With 1, they're neighbors. With 2, a kernel of size 3 spans 5 positions.
# - `stride`: the distance from one window to the next. Windows that would extend past the end are left out.
# - `groups`: doesn't affect the size. Each output channel reads only `in_channels / groups` input channels.
#
# ### Your turn: out_size
# Count the windows along one dimension. For an image, you'd do this for the height and for the width.

# %% given
hint(
    "Draw the positions, including the padding. Where does the first window start, and where does the last one?",
    "k taps, d apart, span d * (k - 1) + 1 positions. How many strides fit into the remaining positions?",
)

# %% exercise: out_size points=2 level=easy further

# %% [markdown]
# Pooling counts its windows the same way, and its stride defaults to the kernel size. A transposed convolution goes the
# other way: with kernel size 3, stride 2, and padding 1, a convolution turns 9 values into 5, and a transposed one
# turns 5 into 9.
#
# ## A state to pass along
#
# A digit reader that followed the pen would read a sequence, using layers that remember. If you misread the shape of
# what they remember, or keep too little of it, the model still runs.
#
# An LSTM reads a sequence step by step. Its *state* is two tensors, h and c, which start out as zeros. At each step, it
# computes from the input and the old h how much of c to keep and what to add to it. The new h, computed from c, is also
# the step's output. The LSTM below has two layers, of which the second reads the first one's output, and reads in both
# directions.

# %% predict: state_shape
# **Predict.** The input is (N, T, F) = (3, 5, 4), the hidden size is 6, and `batch_first=True`. What's the shape of h?
#
# - [ ] (3, 4, 6): the batch is first
# - [x] (4, 3, 6): two layers times two directions, then the batch
# - [ ] (2, 3, 12): the layers, then the batch, with both directions side by side
#

# %% example
torch.manual_seed(0)
reader = nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True)
outputs, (h, c) = reader(torch.randn(3, 5, 4))
print("outputs", tuple(outputs.shape), "  h", tuple(h.shape), "  c", tuple(c.shape))
forward_half, backward_half = outputs[..., :6], outputs[..., 6:]
# h[0] and h[1] are layer 0, forward and backward; h[2] and h[3] are layer 1
print("h[2] is the last forward output: ", torch.equal(h[2], forward_half[:, -1]))
print("h[3] is the last backward output:", torch.equal(h[3], backward_half[:, -1]))
print("h[3] is the first backward output:", torch.equal(h[3], backward_half[:, 0]))

# %% [markdown]
# `batch_first` moves the axes of the input and the output, but not those of the state, whose shape is always (layers
# times directions, N, hidden). The backward half ends at the first step, where it has read everything; at the last
# step, it has read only that one.
#
# To read a long sequence in pieces, pass the state from each piece to the next. In training, detach both h and c in
# between, or the second backward pass runs into the first piece's graph, which has already been freed.
#
# ### A state that grows
#
# A model that writes text computes one *token*, a word or a part of one, appends it, and repeats. An LSTM's state has a
# fixed size; attention needs something from every earlier token. In each head (lab 2), a token has a query, a key, and
# a value. Its query is compared with its own key and those of all earlier tokens, and the result is the weighted mean
# of their values. So the next token needs the earlier keys and values, but not the earlier queries. The stored keys and
# values, which later tokens don't change, are called a *KV cache*. Without it, the 1,000th token costs a thousand
# *projections* (the products with weights that make these three from a token's features), although 999 of the results
# are already known.
#
# ### Your turn: attend_next
# The next tokens can be a single token or a whole prompt. With 3 tokens in the cache and 2 new ones, the mask has a row
# for each new token and a column for each key, with a 1 where the token sees the key:
#
# ```text
#              keys: 0  1  2  3  4
# new token 3        1  1  1  1  0
# new token 4        1  1  1  1  1
# ```

# %% given
hint(
    "What does project return for the new tokens, and which two of those three results do you keep?",
    "The new keys go after the cached ones, along dimension 2. There are queries for the new tokens only.",
    "New token i is at position s + i. In a boolean mask of shape (t, s + t), triu(s + 1) marks what it can't see.",
)

# %% exercise: attend_next points=3 level=medium

# %% [markdown]
# What does PyTorch's own attention, `scaled_dot_product_attention(query, key, value, is_causal=True)`, do with one
# query and four keys? And for 4,096 tokens in bfloat16, how large is the cache of a model with 32 layers of 8 heads,
# each with its own keys and values, and d = 128?

# %% answer [markdown]
# Its causal mask starts at the first key, so a single query sees only key 0. You'd get the first token's value without
# any error. For a single new token, leave `is_causal` out. For several, pass `attn_mask`.
#
# Keys and values, 32 layers, 8 heads, 4,096 tokens, and 128 numbers of 2 bytes each: 2 · 32 · 8 · 4096 · 128 · 2 =
# 536,870,912 bytes, half a gigabyte for one sequence. That's why, in many models, several heads share the same keys and
# values.

# %% [markdown]
# ### Where does a sequence end?
#
# *Further practice; the core continues at "Looking inside".* If your classifier reads `outputs[:, -1]`, it reads
# padding for most samples. To fit sequences of different lengths into one tensor, the shorter ones are *padded* at the
# end. An LSTM reads the padding too, and keeps updating its state.
#
# A forward LSTM doesn't look ahead, so its output at step `lengths[n] - 1` is the same as without padding, and you only
# have to select it. The backward half of a bidirectional LSTM reads the padding first. In that case, use
# `nn.utils.rnn.pack_padded_sequence`, which passes the lengths to the LSTM. The lengths have to be on the CPU and at
# least 1. Unless they're in descending order, pass `enforce_sorted=False`.
#
# ### Your turn: last_states
# Select that output for every sample in a batch at once. An empty sequence has no last step.

# %% given
hint(
    "You need one index per sample. Which two index tensors select one step from each row?",
    "For a length of 0, no step is the right one. What if there were a step of zeros before all the others?",
)

# %% exercise: last_states points=3 level=medium further

# %% [markdown]
# ## A row that doesn't learn
#
# *Further practice; the core continues at "Looking inside".* Many models rely on padding being zero, but PyTorch
# promises less than that. `nn.Embedding(10, 6, padding_idx=0)` looks up a row of its table for each index, and row 0 is
# meant for padding.

# %% predict: padding_row
# **Predict.** Which of these are true of row 0 of an `nn.Embedding` with `padding_idx=0`?
#
# - [x] it's zero when the layer is built
# - [x] a lookup gives it no gradient
# - [ ] it stays zero, whatever you do to the table
#

# %% example
torch.manual_seed(0)
table = nn.Embedding(4, 2, padding_idx=0)
print("at the start     ", table.weight[0].tolist())
(gradient,) = torch.autograd.grad(table(torch.tensor([0, 1, 0])).sum(), table.weight)
print("its gradient     ", gradient[0].tolist(), " that of row 1", gradient[1].tolist())
nn.init.normal_(table.weight)
print("after an init    ", table.weight[0].tolist())
loaded = nn.Embedding(4, 2, padding_idx=0)
loaded.load_state_dict(table.state_dict())
print("after loading    ", loaded.weight[0].tolist())
logits = table(torch.tensor([0, 1])) @ table.weight.T  # the table is also the last layer's weights, a common choice
print("as output weights", torch.autograd.grad(logits.sum(), table.weight)[0][0].tolist())

# %% [markdown]
# Row 0 starts out as zeros, and the lookup gives it no gradient. That's all. Initializing or loading the table
# overwrites the row. Weight decay then shrinks it, even though its gradient is zero. And if the table also serves as
# the weights of the last layer, as in many language models, row 0 gets a gradient from there. If you need zeros, write
# them after the initialization, under `no_grad`: `table.weight[0].zero_()`.
#
# ## Looking inside
#
# When your digit reader's loss becomes `nan`, you want to know which layer caused it. A forward pass is ordinary
# Python, so ordinary tools work.
#
# - `print(x.shape, x.isfinite().all())` between two lines of `forward`.
# - `breakpoint()` there: Python stops in its debugger, `pdb`, and waits for commands. `p x.shape` prints a value, `n`
#   runs one line, and `c` continues. After an error, `%debug` in the next cell takes you to the line that raised it.
# - A *forward hook*, for modules that you didn't write: a function that PyTorch calls after each forward pass of a
#   module, with the module, its inputs, and its output. Registering it returns a handle; the hook stays in place until
#   you call the handle's `remove()`.

# %% example
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))


def show(module, inputs, output):
    print(f"{type(module).__name__:10} returns {tuple(output.shape)}, finite: {output.isfinite().all().item()}")


handles = [module.register_forward_hook(show) for module in network]
try:
    network(torch.tensor([[1.0, 2.0, torch.inf]]))
finally:
    for handle in handles:
        handle.remove()

# %% [markdown]
# `torch.isfinite` is False for inf, -inf, and nan. The inf was in the input, so no layer's output was finite. One bad
# number leads to many more, so you need only the *first* layer.
#
# First in what order? Modules run when `forward` calls them, not in the order in which they're defined. A forward hook
# runs once its module's `forward` has returned. If a model calls a block, and the block calls two layers, the hooks run
# in this order: first layer, second layer, block, model.
#
# ### Your turn: first_bad
# Write this tool and keep it. Skip the long folded cell below: it only builds models for the checks.

# %% given
hint(
    "Which modules get a hook? What does a hook have to know to report its module's name?",
    "If all hooks report the last name: a function made in a loop sees the loop variable's last value. Make each hook "
    "in a function that takes the name.",
    "An output may be a tuple that contains a tuple, like an LSTM's. Have a small function call itself on the parts.",
    "Which lines must run even if model(x) raises an exception? Use try and finally.",
)

# %% exercise: first_bad points=3 level=medium

# %% [markdown]
# The loss is finite, `first_bad` returns None, and yet the weights are `nan` after the step. How can that be?

# %% answer [markdown]
# The bad number is in a gradient. `torch.zeros(2).sqrt()` is 0, which is finite, but its gradient is inf, and a step
# turns the weights into inf or nan. Check `p.grad.isfinite().all()` for each parameter after `backward()`.
# `torch.autograd.detect_anomaly()` names the operation whose backward pass returns nan, but doesn't report inf, so it
# misses this one.

# %% [markdown]
# ## A model without values
#
# *Further practice; the core continues at "A good place to stop".* The digit reader's 6,186 parameters load instantly.
# For a model with 10 billion, your machine first fills 40 GB with random float32 numbers that the checkpoint then
# overwrites. On the *meta* device, a tensor has a shape and a dtype but no memory, so building a model there costs
# nothing:
#
# ```python
# with torch.device("meta"):
#     model = Network()
# model.load_state_dict(state)               # copies into tensors without memory: nothing happens
# model.load_state_dict(state, assign=True)  # makes the tensors in state the model's own
# ```
#
# The first call only issues a warning for each tensor. What follows from the second one?
#

# %% example
source = nn.Linear(3, 2).double()
with torch.device("meta"):
    empty = nn.Linear(3, 2)
empty.weight.requires_grad_(False)
old_weight, early = empty.weight, torch.optim.SGD(empty.parameters(), lr=0.1)
empty.load_state_dict(source.state_dict(), assign=True)
print("dtype", empty.weight.dtype, " requires grad", empty.weight.requires_grad, empty.bias.requires_grad)
print("the same parameter as before", empty.weight is old_weight)
print("in the source's memory", empty.weight.data_ptr() == source.weight.data_ptr())
print("the early optimizer's parameter is on", early.param_groups[0]["params"][0].device)

# %% [markdown]
# - The dtype and device are those of the loaded tensors. Without `assign`, they'd be the model's.
# - `requires_grad` stays as it was in the model.
# - The parameters are new objects. An optimizer created earlier still holds the old ones: it runs without an error but
#   doesn't update the model, so create it afterward.
# - The memory is that of `state`. If `state` belongs to another model, training one also changes the other, so copy the
#   tensors first.
# - Two names for one parameter (tied weights) become two parameters, which may still share memory. Tie them again, as
#   in `model.head.weight = model.table.weight`.
# - Buffers with `persistent=False` stay on meta, because `state_dict()` leaves them out. The next forward pass fails
#   with "Tensor on device meta is not on the expected device cpu!".
#
# ### Your turn: materialize
# Build a model on meta and load its values. Copy everything, and leave nothing on meta.

# %% given
hint(
    "Which of the names does load_state_dict know? Which ones are left, and which modules do they belong to?",
    "'norm.scale' is the scale attribute of the norm module, model.get_submodule('norm'). 'table' belongs to the model "
    "itself, get_submodule('').",
)

# %% exercise: materialize points=3 level=hard further

# %% [markdown]
# ## A good place to stop
#
# Part 1 ends here. Stop for the day if you like. When you come back, your variables may be gone: choose *Run > Run All
# Above Selected Cell*, or press *Check*, which runs the cells it needs.

# %% [markdown]
# ## Part 2: Data that arrives in time
#
# You need the `DataLoader` from lab 6 and, from Part 1, only the scans and the digit reader.
#
# ## Who reads the samples?
#
# The digits fit in memory, but a million photos have to be read from disk while you train. If your GPU has to wait for
# them, you set `num_workers` and get several copies of your dataset. Most bugs in this part come from forgetting those
# copies.
#
# A *dataset* has a length, `len(data)`, and returns the sample at an index, `data[i]`. A *sampler* decides the order of
# the indices. A `DataLoader` groups them and calls `collate_fn` to turn each group of samples into a batch. By default,
# it stacks tensors and turns numbers into tensors.
#
# With `num_workers=2`, two other processes do this work. A *worker* is a process with a **copy** of the dataset, and
# what it writes to its copy stays there. The dataset below counts how often it's asked for a sample, and takes the
# longest to read its first one. (On macOS and Windows, this notebook runs without workers, so some of its results
# differ there.)

# %% predict: order_and_count
# **Predict.** With two workers and a first sample that takes the longest, in what order do the batches arrive, and
# what's `data.asked` in your program afterward?
#
# - [ ] 0 is last, and `asked` is 6
# - [ ] 0 is first, and `asked` is 6
# - [x] 0 is first, and `asked` is 0
#

# %% example
# Workers are forked on Linux. Elsewhere, this notebook does without them, for a reason given below.
forked = "fork" in multiprocessing.get_all_start_methods() and sys.platform == "linux"
two_workers: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"} if forked else {}


class Slow(Dataset):
    def __init__(self):
        self.asked = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.asked += 1
        begin = time.perf_counter()
        time.sleep(0.2 if index == 0 else 0.04)
        return index, self.asked, os.getpid(), begin, time.perf_counter()


def draw_lanes(lanes, unit):
    """Draw a lane for each name, with bars (begin, end, text, color)."""
    _, panel = plt.subplots(figsize=(7, 0.5 + 0.5 * len(lanes)), layout="constrained")
    for place, bars in enumerate(lanes.values()):
        for begin, end, text, colour in bars:
            panel.broken_barh([(begin, end - begin)], (place - 0.4, 0.8), color=colour, edgecolor="white")
            panel.text((begin + end) / 2, place, text, ha="center", va="center", fontsize=8)
    panel.set(yticks=range(len(lanes)), yticklabels=lanes, xlabel=unit)
    panel.invert_yaxis()
    plt.show()


data, read, zero = Slow(), {}, time.perf_counter()
program = []
for index, asked, process, begin, end in DataLoader(data, batch_size=1, **two_workers):
    taken = time.perf_counter() - zero
    print(f"sample {index.item()}, number {asked.item()} of process {process.item()}")
    bar = (begin.item() - zero, end.item() - zero, str(index.item()), "lightsteelblue")
    read.setdefault(f"process {process.item()}", []).append(bar)
    program.append((taken, taken + 0.01, str(index.item()), "orange"))
print("asked in this process:", data.asked)
draw_lanes({**read, "your program": program}, "seconds")

# %% [markdown]
# *In words:* each worker has a lane with a bar for each sample that it read; the last lane shows when your program got
# each batch. While one worker is busy with sample 0 for 0.2 seconds, the other reads samples 1 and 3, but your program
# gets neither until 0 has arrived.
#
# The order is the sampler's. The workers take turns, so each of them gets every second batch. Each copy has counted to
# 3, while your own dataset was never asked. Without workers, it counts to 6.
#
# - `prefetch_factor`: how many batches are requested from each worker in advance, 2 by default.
# - `persistent_workers=True`: the workers survive from epoch to epoch and keep their copies, so changes that you make
#   to the dataset after the first epoch don't reach them. Without it, each epoch starts new workers with new copies.
# - An exception in a worker reaches your program when its batch is due, with the worker's traceback as its message. If
#   its type can't be created from just a message, a RuntimeError arrives instead.
#
# On Linux, a *fork* copies your process, including everything that the notebook has defined. macOS and Windows *spawn*
# a new Python process, which imports what it needs but can't import a notebook. There, put the dataset class in its own
# file and, in a script, start training under `if __name__ == "__main__":`.
#
# ### The digits, in another order each epoch
#
# Image collections often have a folder for each class, and that order can ruin a digit reader. Below, it trains on all
# the zeros first, then on the ones, and so on, and reading a scan takes at least 0.2 milliseconds, as if it came from a
# file. Run the cell. Then change the last line twice: first set `shuffle=True`, and then, on Linux, add
# `persistent_workers=True, **two_workers`.
#


# %% scratch
class Folders(Dataset):
    def __init__(self):
        self.rows = digits[:1500].argsort(stable=True)  # sorted by digit, as in ten folders

    def __len__(self):
        return 1500

    def __getitem__(self, index):
        time.sleep(0.0002)
        return scans[self.rows[index]], digits[self.rows[index]]


def train(**options):
    network, epochs = make_reader(), 5
    optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
    loader = DataLoader(Folders(), batch_size=100, generator=torch.Generator().manual_seed(0), **options)
    begin = time.perf_counter()
    for _ in range(epochs):
        for x, y in loader:
            loss = nn.functional.cross_entropy(network(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    seconds = (time.perf_counter() - begin) / epochs
    print(f"right for {measure(network.eval(), 1):.0%} of the unseen scans, {seconds:.2f} seconds an epoch")


train(shuffle=False)

# %% answer [markdown]
# | options | right | minimum time to read an epoch |
# |---|---|---|
# | `shuffle=False` | 26% | 1,500 · 0.2 ms = 0.30 seconds |
# | `shuffle=True` | 98% | 1,500 · 0.2 ms = 0.30 seconds |
# | `shuffle=True`, two persistent workers | 98% | 800 · 0.2 ms = 0.16 seconds |
#
# In folder order, each batch contains only one or two different digits. The network forgets the others, and batch
# norm's averages are those of the last digits. `shuffle=True` draws a new order for each epoch from the loader's
# generator.
#
# The times follow from the `sleep`. The 15 batches go to the workers in turn, so one reads 800 scans while the other
# reads 700. Your cell prints longer times, which include training and, with workers, starting them and moving batches
# between processes. Without the `sleep`, the workers made our run slower.

# %% [markdown]
# ## Samples of different lengths
#
# The digit scans all have the same size, but sentences and recordings don't, and the default `collate_fn` can only
# stack. Given tensors of 2 and 3 steps, it raises a RuntimeError: "stack expects each tensor to be equal size". So you
# write your own `collate_fn`, which turns a list of samples into a batch.
#
# ### Your turn: pad_collate
# Pad the sequences, and return their lengths, without which no one can tell padding from data.

# %% given
hint(
    "What's the shape of the result, and what does it contain before you write the first sequence?",
    "new_full makes a tensor with a sequence's dtype and device. Or look up pad_sequence in the documentation.",
)

# %% exercise: pad_collate points=2 level=easy

# %% [markdown]
# `DataLoader` calls `collate_fn(samples)`, with one argument. How do you pass `fill`? And why shouldn't `fill` be
# `nan`, even though that would expose every mistake?

# %% answer [markdown]
# Use `functools.partial(pad_collate, fill=0.0)`. A lambda works too if workers are forked, but it can't be pickled, so
# it can't be sent to a spawned worker.
#
# Multiplying by a mask doesn't remove nan, because `0 * nan` is nan. Every sum over a padded batch would have to use
# `torch.where`. It makes an excellent test, though: pad with nan and see whether the loss stays finite.

# %% [markdown]
# ## Whose random numbers?
#
# Suppose you shift the digits at random to train on more variety, but two workers shift theirs in the same way. A
# forked worker is a copy of your process, including the state of every generator, so both draw the same numbers.
#
# PyTorch prevents this for three generators: its own, Python's `random`, and NumPy's global one. It seeds them once in
# each worker, with a different seed for each. Each epoch's new workers get new seeds; in persistent workers, the
# generators continue.

# %% predict: same_numbers
# **Predict.** Two datasets draw a number for each sample: one from `np.random`, and one from its own
# `np.random.default_rng(0)`. With two workers and batches of one, in which dataset do samples 0 and 1 get the same
# number?
#
# - [ ] in neither
# - [ ] in the one with `np.random`
# - [x] in the one with its own generator
#


# %% example
class Drawing(Dataset):
    def __init__(self, own):
        self.generator = np.random.default_rng(0) if own else None

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return int(self.generator.integers(1000)) if self.generator else int(np.random.randint(1000))


def seed_own(worker_id):
    info = get_worker_info()  # this process's id, num_workers, seed, and copy of the dataset
    info.dataset.generator = np.random.default_rng(info.seed)


def drawn(data, **options):
    loader = DataLoader(data, generator=torch.Generator().manual_seed(0), **options)
    return [[batch.item() for batch in loader] for _ in range(2)]  # two epochs


print("np.random        ", *drawn(Drawing(own=False), **two_workers))
print("its own generator", *drawn(Drawing(own=True), **two_workers))
if forked:
    print("and seeded       ", *drawn(Drawing(own=True), worker_init_fn=seed_own, **two_workers))

# %% [markdown]
# The dataset with its own generator returned 850, 850, 636, 636, and the same again in the second epoch, because each
# epoch's workers start with new copies of a generator that your program never used. (Without workers, the only
# generator returns 850, 636, 511, 269, and continues in the second epoch.) PyTorch doesn't know about a generator that
# you keep in a variable, so it can't seed it for you. Seed it yourself, from `info.seed` in `worker_init_fn`, which
# runs once in each worker, before its first sample.
#
# If that function calls `np.random.seed(0)`, all workers draw the same numbers again. To reproduce a run, pass
# `DataLoader(generator=...)`, which determines the order of the samples and the workers' seeds.
#
# ## A dataset without an index
#
# If your epoch has twice as many samples as your file has lines, and all you've done is add `num_workers=2`, look at
# the dataset's type. Lines in a 2 TB file and messages from a queue have no index. An `IterableDataset` has `__iter__`
# instead of `data[i]`. There's no sampler: samples arrive in the order of the data, and `shuffle=True` is rejected.

# %% predict: twice answer=12
# **Predict.** An `IterableDataset` yields six items, and a `DataLoader` reads it with two workers. How many items
# arrive?
#


# %% example
class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()  # None in a process that isn't a worker
        print("worker", info and info.id, "of", info and info.num_workers, flush=True)
        return iter(range(6))


print([item.item() for item in DataLoader(Stream(), batch_size=1, **two_workers)])

# %% [markdown]
# Each worker has a copy of the dataset, and each copy yields everything; without workers, 6 items arrive. Dividing the
# work is the dataset's own job: `get_worker_info()` tells it which worker this is and how many there are.
#
# ### Your turn: my_part
# Write a function that divides up the items, even if they never end.

# %% given
hint(
    "Of the items 0 to 8, which belong to worker 1 of 3? How many items may you read before you yield one?",
    "A function with a yield returns an iterator. enumerate supplies the numbers.",
)

# %% exercise: my_part points=2 level=easy

# %% [markdown]
# If `Stream.__iter__` returns `my_part(range(6), get_worker_info())`, which batches arrive with two workers and
# `batch_size=2`? And what does this division cost if an item is a file that takes a second to read?

# %% answer [markdown]
# [0, 2], [1, 3], [4], [5]: batches are made within a worker, so each worker's last batch is incomplete.
#
# Each worker reads *all* items and drops the other workers' share, so this saves no time. Instead, divide something
# cheap to read, such as file names, and read the contents afterward.

# %% [markdown]
# ## While the step runs
#
# *Further practice; the core continues at "What you have to wait for".* Even if workers read ahead, a GPU may still
# wait for each batch to be copied to it.
#
# Your program only adds the GPU's work to a queue (lab 7b), so it can read the next batch while a step runs. A copy in
# the same queue waits for the step; one in a second queue can run at the same time. An iterator that launches copies a
# step early is *prefetching*: before it yields batch 1, it reads batch 2 and launches its copy.
#
# ```text
# first next():   read 1, copy 1, read 2, copy 2, yield 1
# second next():  read 3, copy 3, yield 2
# ```
#
# The function that copies chooses the queue. In the steps' queue, copy 3 runs after step 1, because it's launched
# later. In another queue, they can overlap, but step 3 has to wait for copy 3; the next section shows how.
#
# ### Your turn: prefetch
# Write the iterator; the batches and the function that copies them are passed in. Take care of three things: the end,
# when one batch is still waiting; an exception, which must not overtake a batch; and a caller that stops early.

# %% given
hint(
    "Which variable holds the batch that's ready? In what order do your lines read, move, and yield?",
    "If reading fails, keep the exception, yield the batch that's ready, and then raise it.",
    "Put try and finally around everything: a generator runs finally at its end, after an exception, and on close().",
)

# %% exercise: prefetch points=4 level=hard further

# %% [markdown]
# ## What you have to wait for
#
# If a GPU program prints the right numbers in some runs and garbage in others, look for a copy that it didn't wait for.
#
# A GPU's work is *launched*: your program adds it to a queue and continues immediately (lab 7b). A copy between your
# program's memory (*host*) and the GPU's (*device*) can be queued too, under two conditions: you ask for it with
# `to(..., non_blocking=True)`, and the host side is in *pinned* memory, which the operating system isn't allowed to
# move. `DataLoader(pin_memory=True)` puts batches there, and `tensor.pin_memory()` does the same for a single tensor.
# Even then, the call only *may* return early. If it does, two things can go wrong.
#
# **Read too early.** `scores = result.to("cpu", non_blocking=True)` may return a tensor, in pinned memory that PyTorch
# allocates for it, before the numbers have arrived. `print(scores)` doesn't wait for them, because `scores` is a CPU
# tensor.
#
# **Written too early.** After `batch.to("cuda", non_blocking=True)` returns, the copy may still be reading the pinned
# buffer. If you write the next batch to that buffer, the device may get a mixture of the two.
#
# A *stream* is a queue of work that the device runs in order. Within one stream, you don't have to do anything: work
# launched after the copy sees the copied batch. PyTorch uses one, the *current stream*, unless you choose another, for
# instance to copy a batch while a step runs. Two streams aren't ordered. To order them, or to make the program wait,
# use an *event*. When you record an event in a stream, it marks all work launched there so far. Three calls wait:
#
# ```python
# event = torch.cuda.Event()
# event.record(stream)        # marks this point in the stream, by default the current one; nothing waits yet
# other.wait_event(event)     # work launched into other from now on starts after the marked work
# event.synchronize()         # the program waits for the marked work
# torch.cuda.synchronize()    # the program waits for everything
# ```
#
# Until you've waited for a copy, it *may* be unfinished, however long ago you launched it. Which of these six lines are
# wrong?
#
# ```python
# buffer.copy_(first)                              # 1   buffer is pinned
# batch = buffer.to("cuda", non_blocking=True)     # 2
# event.record()                                   # 3   in the current stream
# buffer.copy_(second)                             # 4
# event.synchronize()                              # 5
# buffer.copy_(third)                              # 6
# ```
#

# %% example
# A drawing, not a measurement: one way in which the six lines might run.
host = [(0, 2, "1 first", "lightsteelblue"), (2, 2.5, "2", "lightgrey"), (2.5, 3, "3", "lightgrey")]
host += [(3, 5, "4 second", "salmon"), (5, 7, "5 waits", "lightgrey"), (7, 9, "6 third", "lightsteelblue")]
device_lane = [(2.5, 6.6, "the copy reads buffer", "lightsteelblue"), (6.6, 7, "event", "orange")]
draw_lanes({"program": host, "stream": device_lane}, "time")

# %% answer [markdown]
# Only line 4: it writes while the copy launched in line 2 may still be reading, so the batch may end up as a mixture.
# In the picture, the two bars overlap in time. Line 6 is fine, because line 5 waits for the event, and the event marks
# the copy. Swap lines 4 and 5, and the program is correct.

# %% [markdown]
# ### Your turn: too_early
# Write a function that checks such programs: which reads and writes are too early?

# %% given
hint(
    "For each stream, which copies are done once its latest work is done? Which of them does record save, and when?",
    "A wait adds the work that the event marks to what must be done before the stream's later work.",
    "Keep one set of copies that the program knows are done. Which kinds of events add to it?",
)

# %% exercise: too_early points=4 level=hard further

# %% [markdown]
# Now check your own loops. `loss.item()` waits for the work launched so far in the current stream. After it, you may
# refill a buffer whose copy was part of that work. It doesn't protect a buffer that you refill earlier, or one whose
# copy is in another stream that the current one didn't wait for. `DataLoader(pin_memory=True)` is safe: each batch has
# its own pinned memory, and PyTorch doesn't reuse it while a copy is still reading it.

# %% quiz: interview points=3
# ## Interview questions
#
# **Layers**
# - [x] Under `torch.no_grad()`, a batch norm in training mode still changes its buffers.
#   > What counts is the mode, not the recording. Evaluation needs `eval()`.
# - [ ] `nn.LayerNorm` needs `eval()` to return the same result for a sample on its own as in a batch.
#   > It uses the mean and variance of each position's features, in both modes.
# - [x] An `nn.LSTM` without `batch_first=True` accepts (N, T, F) without an error.
#   > It takes the first dimension for the steps, and any (N, T, F) fits that.
# - [ ] `padding_idx` keeps its row at zero, whatever you load into the table.
#   > The lookup gives the row no gradient, but loading and initialization overwrite it.
#
# Hint: Which of these did you see in the table of ten layers, and which in the embedding example?
#
# **States and caches**
# - [ ] With `batch_first=True`, an LSTM's state is (N, layers, hidden).
#   > It's (layers times directions, N, hidden), with or without `batch_first`.
# - [ ] A KV cache also holds the queries of all earlier tokens.
#   > An earlier query was used only for its own output, but keys and values are needed again.
# - [x] Two new tokens after a cache of three need a mask with 2 rows and 5 columns.
#   > There's a row for each new query and a column for each key.
# - [x] For a sequence that's padded but not packed, a forward LSTM's h is the state after the padding.
#   > It doesn't know where the padding starts; the lengths say which step is really the last.
#
# Hint: Look at the mask in `attend_next`. What do its rows stand for?
#
# **`assign=True`**
# - [x] The parameters have the dtype of the loaded tensors.
#   > The loaded tensors become the model's own. Without `assign`, the values are converted to the model's dtype.
# - [ ] An optimizer that was created before loading trains the new parameters.
#   > It holds the old ones, so it doesn't change anything that the model uses.
# - [x] If the model was built on meta, its buffers with `persistent=False` stay there.
#   > `state_dict()` leaves them out, so nothing replaces them.
# - [ ] All parameters require grad after loading.
#   > Each requires grad if the model's old parameter did.
#
# Hint: What do the four lines printed by the `empty` example show?
#
# **Workers**
# - [ ] By default, a fast worker's batch may arrive before one that was requested earlier.
#   > The order is the sampler's, unless you pass `in_order=False`.
# - [x] If a worker writes to its dataset, the program's dataset doesn't change.
#   > The worker writes to its own copy.
# - [x] An `IterableDataset` that doesn't call `get_worker_info()` yields each item once for each worker.
#   > Each copy yields everything.
# - [ ] With `persistent_workers=True`, a change to the dataset between two epochs reaches the workers.
#   > The workers keep the copies that they started with.
#
# Hint: What does a worker have a copy of, and when was that copy made?
#
# **Random numbers**
# - [x] In PyTorch 2, `np.random.rand()` in a dataset draws different numbers in different workers.
#   > PyTorch has seeded NumPy's global generator in each worker since version 1.9.
# - [x] If a dataset creates `np.random.default_rng(0)` in `__init__`, it draws the same numbers in all workers.
#   > Each worker has a copy of it in the same state.
# - [ ] `DataLoader(generator=...)` affects only the order of the samples.
#   > The workers' seeds are derived from it too.
#
# Hint: Which generators does PyTorch know about?
#
# **Copies**
# - [ ] You can safely read a CPU tensor as soon as `to("cpu", non_blocking=True)` has returned it.
#   > The copy may still be running, so the program has to wait for it.
# - [x] You may overwrite a pinned buffer once you've waited for an event recorded after its copy.
#   > By then, the copy has read it.
# - [ ] `event.record()` waits until the stream has reached that point.
#   > It marks the point; `event.synchronize()` waits.
# - [x] Work that's launched later on the copy's stream sees the copied data.
#   > Work in one stream runs in order.
#
# Hint: Which of the six lines waits, and which only marks a point?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague has sped up his training. His dataset crops images at random, with `self.rng = np.random.default_rng(0)`
# in `__init__`, and it now runs with eight workers instead of none. His own loop copies each batch into the same pinned
# buffer, calls `buffer.to("cuda", non_blocking=True)`, launches the step, and fills the buffer with the next batch.
# Training is much faster and ends without an error, but the accuracy is a little worse than before.
#
# In four to eight sentences: which two things are wrong, and why does neither raise an error? How would you make each
# of them show up in a small experiment, and what would you change?

# %% question: faster_and_worse [markdown] points=2
# ### BEGIN SOLUTION
# First, each of the eight workers has a copy of the dataset, including a copy of the generator in the same state. So
# eight samples get the same crop, and the crops start over in each epoch, unless the workers persist. PyTorch seeds
# only the generators that it knows about. To show it, I'd print the numbers that the dataset draws, for two workers and
# two epochs. The fix is to seed the generator in `worker_init_fn` from `get_worker_info().seed`. Second, the buffer is
# overwritten while the previous batch's copy may still be reading it, so some batches are a mixture of two. Nothing
# checks that, because writing to CPU memory is always allowed. To show it, I'd fill each batch with its own number,
# copy the batches back after `torch.cuda.synchronize()`, and look for batches that contain two numbers. I'd record an
# event after the copy and synchronize it before overwriting the buffer, or alternate between two buffers with an event
# each, or leave it to `DataLoader(pin_memory=True)`.
#
# For grading: one point for the copied generator with an experiment or a fix, one for the buffer that's overwritten too
# early, with a wait as its fix.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Ask of each layer: what shape does it take, what does it store, and what does `eval()` change? Of the ten in the
#   table, it changes batch norm and dropout.
# - Layer norm and RMS norm average over one position's features, and batch norm over everything but the channel.
# - An LSTM's state is (layers times directions, N, hidden). A KV cache holds keys and values, each (N, heads, T, d).
# - `padding_idx` means that the lookup gives the row no gradient. Nothing else protects the row.
# - Look for the *first* output that isn't finite, in the order in which modules finish.
# - After `assign=True`, the parameters are new, with the dtype, device, and memory of the loaded tensors. Create the
#   optimizer afterward.
# - A worker has its own copies of the dataset, its counters, and its generators.
# - A copy that you haven't waited for may be unfinished.
#
# | call | what it promises |
# |---|---|
# | `register_forward_hook(f)` | calls f(module, inputs, output) until you call `remove()` |
# | `DataLoader(num_workers=n)` | n processes, each with a copy; the sampler's order |
# | `get_worker_info()` | this worker's id, seed, and dataset; None outside a worker |
# | `worker_init_fn(worker_id)` | runs once in each worker, before its first sample |
# | `pin_memory`, `non_blocking=True` | the call may return before the copy is done |
# | `event.record()`, `event.synchronize()` | mark a point in a stream; wait for it |
#
# Three questions to ask yourself:
#
# - If this layer got a batch of one, or one more step, would its output for the first sample change?
# - Which process draws this random number, and from a copy of what?
# - Who is still reading this buffer, and how do I know when they're done?
#
# Lab 7 asks where the memory goes.
