# %% [markdown]
# # Layers you can trust, and data that arrives in time
#
# You train a network on the digits and measure 99%. Then you build it into a program that reads one digit at a time,
# and it gets every thirteenth one wrong. The weights are the same and nothing raises an error: one layer does something
# else than you thought. Most of a model is layers that someone else wrote, and most of a training script is the path
# that data takes to it. This lab shows what each part promises, and where its promise ends.
#
# After this lab you can
#
# - say what a layer does to a shape, what it keeps, and what `eval()` changes;
# - write layer norm, RMS norm and batch norm, and attention with a KV cache;
# - find the first layer whose output isn't finite;
# - say which process reads which sample, and with which random numbers;
# - prepare a batch while a step runs, and say what has to be waited for.
#
# You need lab 6, and attention from lab 2. The core is five exercises in two sittings of about an hour: `apply_norm`,
# `attend_next`, `first_bad`, `pad_collate` and `my_part`. The others are further practice, and no later lab needs them.
# All numbers were measured with PyTorch 2.13 on a CPU, with one thread. We had no GPU: statements about GPUs follow
# PyTorch's documentation.
#
# Where it says *Predict*, choose an answer before you run the next cell. Below each exercise, a card shows its checks.
# Those marked *later* run when the lab is marked: with the button *Mark my work*, or after you hand it in.

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
# ## Right in training, wrong in use
#
# Here the digits get a better network: two convolutions, which look at neighbouring pixels, with a norm layer after
# each. The scans are put into a random order, as in lab 6, and the last 297 are held out. The fully connected network
# of the earlier labs reads 96% of these, and needs 0.01 seconds of CPU for an epoch; this one takes 0.1. The last line
# reads the 297 scans one by one. Run it. Then change 1 to 297 in that line, so that all are read at once.

# %% scratch
from sklearn.datasets import load_digits

order = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
scans = (torch.tensor(load_digits().images, dtype=torch.float32)[order, None] - 8) / 8  # (N, C, height, width), C = 1
digits = torch.tensor(load_digits().target)[order]


def make_reader():
    torch.manual_seed(0)
    return nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )


def measure(network, size):
    """The share of the last 297 scans that the network reads, given `size` of them at a time."""
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
# The same weights and the same scans give 92% one by one, and 99% all at once. Which layer's output for one scan
# depends on the other scans in the batch? Which line is missing, and what does it change?

# %% answer [markdown]
# `nn.BatchNorm2d`. In training mode it subtracts the mean of the batch, and divides by the batch's standard deviation.
# With a single scan, these are the statistics of that scan. Your test with all 297 hid this, because 297 mixed digits
# have nearly the same statistics as the training batches. `torch.no_grad()` doesn't help: it switches recording off,
# and the mode stays.
#
# Add `digit_reader.eval()` above the last line. Batch norm then uses the averages that it kept in training:
#
# | read | without `eval()` | with `eval()` |
# |---|---|---|
# | one by one | 92.3% | 99.0% |
# | all at once | 99.3% | 99.0% |
#
# With `eval()` the number no longer depends on the batch. That's the property to test.

# %% [markdown]
# ## What a layer promises
#
# If you know three things about a layer, bugs like this one don't surprise you.
#
# - *Which shape does it take, and which does it return?* Which dimension is the batch, and which holds the features?
# - *What does it keep?* Parameters, buffers, or nothing.
# - *What does `eval()` change?* For some layers everything, for most nothing.
#
# The next cell builds ten layers, calls each in training mode and in evaluation mode, and prints the answers. The same
# letter means the same number everywhere: N samples, T steps, C channels, F features.

# %% predict: train_and_eval
# **Predict.** Which of these give other values in evaluation mode than in training mode?
#
# - [x] `nn.BatchNorm2d`
# - [ ] `nn.LayerNorm`
# - [x] `nn.Dropout`
# - [ ] `nn.MaxPool2d`
# - [ ] `nn.Embedding`

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
    """The first output of the layer, which is the only one for most."""
    out = layer(x, x, x) if isinstance(layer, nn.MultiheadAttention) else layer(x)
    return out[0] if isinstance(out, tuple) else out


for name, (layer, x) in contracts.items():
    training, evaluating = called(layer.train(), x), called(layer.eval(), x)
    kept = f"{len(list(layer.parameters()))} parameters, {len(list(layer.buffers()))} buffers"
    changed = "" if torch.equal(training, evaluating) else "   eval() changes it"
    print(f"{name:43} {tuple(x.shape)!s:13} -> {tuple(training.shape)!s:13} {kept}{changed}")

# %% [markdown]
# *Shapes.* `Linear` and `LayerNorm` work on the last dimension and treat the others as batch; `Embedding` adds one.
# Convolutions, pooling and `BatchNorm2d` want channels second. `LSTM` and `MultiheadAttention` want steps first, (T, N,
# F), unless they're built with `batch_first=True`. Without it, a tensor (N, T, F) fits as well, and nothing complains:
# the layer mistakes samples for steps, and mixes them.
#
# *What it keeps.* Of the ten, only batch norm has buffers: a running mean, a running variance, and the number of
# batches it has seen. They change in each forward pass in training mode, also under `torch.no_grad()`.
#
# *What `eval()` changes.* Two layers of ten. Batch norm uses the running values instead of the batch's. Dropout does
# nothing any more. `nn.LSTM` and `nn.MultiheadAttention` have a `dropout` of their own, which is 0 unless you set it.
# There are more such layers, such as `nn.RReLU`, `nn.AlphaDropout`, or `nn.InstanceNorm2d` with
# `track_running_stats=True`. If a layer is new to you, try both modes.
#
# ### Which numbers share a mean?
#
# Norm layers differ in one decision, and it explains the accident above: which numbers do they average? The next cell
# asks autograd. It takes the gradient of one output with respect to the input, which is nonzero for exactly the inputs
# that this output depends on.

# %% example
torch.manual_seed(0)
cube = torch.randn(3, 4, 5, requires_grad=True)  # 3 samples, axis 1 has 4 places, axis 2 has 5
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
# *In words:* a row of panels for each norm, and a panel for each sample. Coloured are the inputs that the output at
# [1, 2, 3] depends on. For batch norm these are row 2 of all three samples: one channel, over the batch and all steps.
# For layer norm and RMS norm it's row 2 of sample 1 only.
#
# Write $\mu$ and $\sigma^2$ for the mean and the variance of such a group. Layer norm and batch norm compute
# $(x - \mu) / \sqrt{\sigma^2 + \epsilon}$, multiply by `weight` and add `bias`. The small $\epsilon$ keeps the root
# away from 0. RMS norm, which most language models use today, saves the mean and the bias: it's
# $x / \sqrt{\overline{x^2} + \epsilon}$, times `weight`.
#
# ### Your turn: apply_norm
# Write all three. What changes from one to the other is less than you may think.

# %% given
hint(
    "Which axes does each average over? mean takes a list of axes, and keepdim=True keeps the result aligned with x.",
    "After you subtract the mean, the mean of the squares is the variance. So RMS norm is the same without that step.",
    "The weight of batch norm has to line up with axis 1: reshape it to (c, 1, 1) for a 4-dimensional x.",
)

# %% exercise: apply_norm points=3 level=medium

# %% [markdown]
# Two questions remain. `x.var()` and `nn.BatchNorm1d` don't agree on what a variance is: which one does the layer use
# for its output, and which one for `running_var`? And why do language models not use batch norm?

# %% answer [markdown]
# The output uses the biased variance, and `running_var` is updated with the unbiased one, as `x.var()` computes it. So
# a batch norm in evaluation mode scales a little differently than in training, by a factor of
# $\sqrt{m / (m - 1)}$ for m numbers per channel.
#
# In a language model, batch norm would mix the sequences of a batch, padding included, and the later tokens of a
# sequence into the earlier ones. And a model that generates one token at a time has no batch to average over.

# %% [markdown]
# ### How many values does a convolution return?
#
# You need this number whenever a `Linear` follows a convolution. A convolution moves a window along the input. Its
# weights are called taps: a kernel of 3 has three. Four settings matter.
#
# - `padding`: how many zeros are added at *both* ends.
# - `dilation`: the distance between taps. With 1 they're neighbours. With 2, a kernel of 3 spans 5 places.
# - `stride`: the distance from one window to the next. A window that would reach beyond the end is left out.
# - `groups`: doesn't affect the size. It divides the channels into groups that don't see each other, so each output
#   channel reads `in_channels / groups` of them. Both numbers of channels must be divisible by it.
#
# ### Your turn: out_size
# Count the windows. Height and width of an image are counted in the same way, each with its own settings.

# %% given
hint(
    "Draw the places with their padding. Where does the first window begin, and where the last one?",
    "k taps, d apart, span d * (k - 1) + 1 places. How many strides fit into the places that are left?",
)

# %% exercise: out_size points=2 level=easy further

# %% [markdown]
# Pooling counts in the same way, with a stride as large as the kernel unless you say otherwise. A transposed
# convolution goes the other way: it returns a size from which the convolution would make its input. With a stride above
# 1 there are several such sizes. In our run, 9 and 10 became 5 with a kernel of 3, stride 2 and padding 1. So from 5,
# the transposed one makes 9, or 10 with `output_padding=1`.
#
# ## A state that goes along
#
# Some layers remember. If you misread the shape of what they remember, or keep too little of it, the model still runs.
#
# An LSTM reads a sequence step by step. Its *state* is two tensors, h and c, which begin as zeros; h is also the output
# of the step. The next LSTM has two layers, and reads in both directions.

# %% predict: state_shape
# **Predict.** The input is (N, T, F) = (3, 5, 4), and `batch_first=True`. The hidden size is 6. Which shape has h?
#
# - [ ] (3, 4, 6): the batch is first
# - [x] (4, 3, 6): two layers times two directions, then the batch
# - [ ] (2, 3, 12): the layers, and both directions side by side

# %% example
torch.manual_seed(0)
reader = nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True)
outputs, (h, c) = reader(torch.randn(3, 5, 4))
print("outputs", tuple(outputs.shape), "  h", tuple(h.shape), "  c", tuple(c.shape))
forward_half, backward_half = outputs[..., :6], outputs[..., 6:]
print("h[2] is the last forward output: ", torch.equal(h[2], forward_half[:, -1]))
print("h[3] is the last backward output:", torch.equal(h[3], backward_half[:, -1]))
print("h[3] is the first backward output:", torch.equal(h[3], backward_half[:, 0]))

# %% [markdown]
# `batch_first` moves the axes of the input and of the output, but not those of the state, which is always (layers times
# directions, N, hidden). And the backward half ends at the first step, where it has read everything. At the last step
# it has read one.
#
# To read a long sequence in pieces, pass the state of one piece to the next. In training, detach both h and c between
# pieces. Otherwise the second backward pass meets the graph of the first piece, which is freed already.
#
# ### A state that grows
#
# Attention has no state: each token looks at all earlier ones. A model that writes a text computes one token, appends
# it, and goes on. If each turn runs the whole sequence again, the 1,000th token costs a thousand projections, although
# 999 of their results are known. What does the next token need from the earlier ones? Their keys and values. Their
# queries were used once, for their own outputs, and aren't needed again. Keys and values that are kept are called a *KV
# cache*.
#
# In a causal model, a token's keys and values don't depend on later tokens, so what was cached stays right.
#
# ### Your turn: attend_next
# The next tokens may be one, or a whole prompt. With 3 tokens in the cache and 2 new ones, which of the five keys may
# each new token see? Draw the mask before you write it.

# %% given
hint(
    "What does project return for the new tokens, and which two of the three are kept?",
    "The new keys go after the cached ones, along dimension 2. Queries are only those of the new tokens.",
    "New token i has place s + i. With t rows and s + t columns, triu(s + 1) marks what is hidden from it.",
)

# %% exercise: attend_next points=3 level=medium

# %% [markdown]
# What does `scaled_dot_product_attention(query, key, value, is_causal=True)` do with one query and four keys? And how
# large is the cache of a model with 32 layers, 8 heads for keys and values, and d = 128, for 4,096 tokens in bfloat16?

# %% answer [markdown]
# Its causal mask begins at the first key: one query sees key 0 only, and you'd get the value of the first token,
# without an error. For a single new token, leave `is_causal` out. For several, pass `attn_mask`.
#
# Keys and values, 32 layers, 8 heads, 4,096 tokens, 128 numbers of 2 bytes: 2 · 32 · 8 · 4096 · 128 · 2 = 536,870,912
# bytes, half a gigabyte for one sequence. That's why many models share each head of keys and values among several heads
# of queries.

# %% [markdown]
# ### Where does a sequence end?
#
# If your classifier reads `outputs[:, -1]`, it reads padding for most samples. Sequences of different lengths become
# one tensor by *padding*: short ones are filled up at their end. An LSTM doesn't know that. It reads the padding as
# well, and keeps changing its state.
#
# A forward LSTM doesn't look ahead, so its output at step `lengths[n] - 1` is what it would have been without padding.
# You only have to pick it. The backward half of a bidirectional LSTM does read the padding first: there, use
# `nn.utils.rnn.pack_padded_sequence`, which passes the lengths to the LSTM. It doesn't accept a length of 0.
#
# ### Your turn: last_states
# Pick that output for every sample of a batch at once. A sequence may be empty: it has no last step.

# %% given
hint(
    "One index for each sample: with which two index tensors do you pick one step from each row?",
    "For a length of 0, no step is right. What if there were a step of zeros before all others?",
)

# %% exercise: last_states points=3 level=medium further

# %% [markdown]
# ## A row that does not learn
#
# `nn.Embedding(10, 6, padding_idx=0)` looks up a row of its table for each index. Row 0 is for padding, and many people
# rely on it being zero. What does PyTorch promise about it? Less than it seems.

# %% predict: padding_row
# **Predict.** Which are true of row 0 of an `nn.Embedding` with `padding_idx=0`?
#
# - [x] it's zero when the layer is built
# - [x] a lookup gives it no gradient
# - [ ] it's zero, whatever you do to the table

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
logits = table(torch.tensor([0, 1])) @ table.weight.T
print("as output weights", torch.autograd.grad(logits.sum(), table.weight)[0][0].tolist())

# %% [markdown]
# Row 0 is zero at the start, and the lookup gives it no gradient. That's all. An init overwrites it, and so does
# loading. Weight decay shrinks it, although its gradient is zero. And if the table is also used as the weights of the
# last layer, as in many language models, row 0 gets a gradient from there. If you need zeros, write them after the
# init, under `no_grad`: `table.weight[0].zero_()`.
#
# ## Looking inside
#
# Your loss becomes `nan`, and you'd like to know which layer did it. A forward pass is ordinary Python, so there are
# ordinary ways to look.
#
# - `print(x.shape, x.isfinite().all())` between two lines of `forward`.
# - `breakpoint()` there: Python stops in `pdb`, its debugger, and you type. `p x.shape` prints, `n` runs one line, `c`
#   continues. After an error, `%debug` in the next cell opens the place where it was raised. At Python's own prompt,
#   `import pdb; pdb.pm()` does. (`pdb.post_mortem()` without a traceback works inside `except` only.)
# - A *forward hook*, for modules that you didn't write: a function that PyTorch calls after each forward pass of a
#   module, with the module, its inputs and its output. Registering one returns a handle, and the hook stays until you
#   call the handle's `remove()`.
#
# All three work as long as the model isn't compiled: `print` in a compiled model breaks its graph (lab 10).

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
# `torch.isfinite` is False for inf, -inf and nan. The inf was in the input, and from the first layer on nothing was
# finite. One bad number makes many, so only the *first* layer is interesting.
#
# First in which order? Modules run in the order that `forward` says, not in the order in which they're defined. A hook
# runs when its module ends, so a block ends after its parts, and the model is last.
#
# ### Your turn: first_bad
# Write the tool, and keep it. It'll save you hours.

# %% given
hint(
    "Which modules get a hook? What does the hook have to know about its module, to report its name?",
    "An output may be a tuple with a tuple in it, as an LSTM's is. Let a small function call itself for the parts.",
    "Which lines must also run if model(x) raises an exception? Use try and finally.",
)

# %% exercise: first_bad points=3 level=medium

# %% [markdown]
# The loss is finite, `first_bad` returns None, and the weights are `nan` after the step. How can that be?

# %% answer [markdown]
# The bad number is in a gradient. `torch.zeros(2).sqrt()` is 0, which is finite, but its gradient is inf, and a step
# turns the weights into inf or nan. Look at `p.grad.isfinite().all()` for each parameter after `backward()`, or let
# `torch.autograd.detect_anomaly()` name the operation whose backward returned nan.

# %% [markdown]
# ## A model without values
#
# You want to load a model of 10 billion weights, 40 GB in float32, and your machine first fills 40 GB with random
# numbers that the checkpoint then overwrites. On the *meta* device a tensor has a shape and a dtype, but no memory. A
# model that is built there costs nothing:
#
# ```python
# with torch.device("meta"):
#     model = Network()
# model.load_state_dict(state)               # copies into tensors without memory: nothing happens
# model.load_state_dict(state, assign=True)  # makes the tensors of state the model's own
# ```
#
# The first call warns, for each tensor. With `assign=True` the model's parameters *are* the tensors of `state`
# afterwards. What follows from that?

# %% example
source = nn.Linear(3, 2).double()
with torch.device("meta"):
    empty = nn.Linear(3, 2)
empty.weight.requires_grad_(False)
old_weight, early = empty.weight, torch.optim.SGD(empty.parameters(), lr=0.1)
empty.load_state_dict(source.state_dict(), assign=True)
print("dtype", empty.weight.dtype, " requires grad", empty.weight.requires_grad, empty.bias.requires_grad)
print("the same parameter as before", empty.weight is old_weight)
print("memory of the source", empty.weight.data_ptr() == source.weight.data_ptr())
print("an optimizer from before has", early.param_groups[0]["params"][0].device)

# %% [markdown]
# - Dtype and device are those of the loaded tensors. Without `assign` they'd be those of the model.
# - `requires_grad` stays as the model had it.
# - The parameters are new objects. An optimizer that was made before holds the old ones: it runs without an error, and
#   moves nothing. Make it afterwards.
# - The memory is that of `state`. If that belongs to a model that still exists, both train on one memory. Copy first.
# - Two names for one parameter (tied weights) become two parameters, which still share their memory. Tie them again.
# - What `state_dict()` leaves out stays on meta: buffers with `persistent=False`. The next forward pass says "Tensor on
#   device meta is not on the expected device cpu!".
#
# ### Your turn: materialize
# Build a model on meta and load it, with a copy of everything and nothing left on meta.

# %% given
hint(
    "Which of the names does load_state_dict know? Which ones are left, and to which module do they belong?",
    "'norm.scale' is the attribute scale of the module norm: model.get_submodule('norm'). For 'table' it's the model, "
    "get_submodule('').",
)

# %% exercise: materialize points=3 level=hard further

# %% [markdown]
# ## A good place to stop
#
# This is the end of the first sitting. You know what layers promise, and how to look into them. The second half is a
# different subject: how batches arrive. After a break, Python has forgotten everything. Choose *Run > Run All Above
# Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Who reads the samples?
#
# If your GPU waits for data, you set `num_workers`, and with it you get several copies of your dataset. Bugs in this
# half come from forgetting that.
#
# A *dataset* answers two questions: how many samples there are, `len(data)`, and which one is at an index, `data[i]`. A
# *sampler* decides the order of the indices. A `DataLoader` takes them in groups, asks the dataset for each sample, and
# makes a batch of each group with `collate_fn`. The default one stacks tensors and turns numbers into tensors.
#
# With `num_workers=2`, two other processes do that. A *worker* is a process with a **copy** of the dataset, and what it
# writes into its copy stays there. The next dataset counts how often it's asked, and its first sample takes long.

# %% predict: order_and_count
# **Predict.** With two workers, and a first sample that takes longest: in which order do the batches arrive, and what
# is `data.asked` in your program afterwards?
#
# - [ ] 0 is last, and `asked` is 6
# - [ ] 0 is first, and `asked` is 6
# - [x] 0 is first, and `asked` is 0


# %% example
# Workers are forked on Linux. Elsewhere this notebook does without them, for a reason given below.
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
    """A lane for each name, with bars (begin, end, text, colour)."""
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
# *In words:* a lane for each worker, with a bar for each sample that it read, and below them the moments at which your
# program got the batches. One worker is busy with sample 0 for 0.2 seconds. The other one reads 1 and 3 meanwhile, and
# your program gets neither until 0 has arrived.
#
# The order is the sampler's. Batch 1 was ready long before batch 0, and had to wait for it. (`in_order=False` gives up
# that promise.) Batches go to the workers in turn, so each gets every second one. The copies have counted to 3 each,
# while your own dataset was never asked. A cache that a worker fills is empty in the program, and in the other worker
# too.
#
# - `prefetch_factor`: how many batches are requested from each worker in advance, 2 by default.
# - `persistent_workers=True`: the workers survive from epoch to epoch. Without it, each epoch starts new ones, with a
#   copy of the dataset as it is then. With it they keep their copies: what you change in the dataset after the first
#   epoch doesn't reach them.
# - An exception in a worker reaches the program when its batch is due, with the worker's traceback as its message. It
#   has the same type if that type can be made of a message only, and is a RuntimeError otherwise.
#
# A process is made in one of two ways. On Linux a *fork* copies your process, with all that the notebook has defined.
# macOS and Windows *spawn* a new Python, which imports what it needs. It can't import a notebook: there, put the
# dataset's class into its own file and import it, and in a script start the training below
# `if __name__ == "__main__":`. (From Python 3.14 on, Linux doesn't fork by default either.)

# %% [markdown]
# ### The digits, in another order each epoch
#
# Image collections are often stored in a folder for each class. So here the digits are read in that order: first all
# zeros, then all ones. Reading a scan takes 0.2 milliseconds, as if it were in a file. Run it, and then change the last
# line: first to `shuffle=True`, and then add `persistent_workers=True, **two_workers`. (It uses the scans and the
# network of this lab's first cell.)


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
# | options | unseen scans | an epoch, on a busy machine |
# |---|---|---|
# | `shuffle=False` | 26% | 3.4 seconds |
# | `shuffle=True` | 98% | 3.4 seconds |
# | `shuffle=True`, two workers that persist | 98% | 2.0 seconds |
#
# In the order of the folders, each batch holds one digit or two. The network forgets the others, and batch norm's
# averages are those of the last digits. `shuffle=True` draws another order each epoch from the loader's generator.
# Workers save time here because most of it is spent reading. Without the `sleep` they would cost more than they save.

# %% [markdown]
# The network reads 98% after half of the epochs. Lab 7 repairs the next weakness of such a script: it looks for memory
# that the training holds and doesn't need.
#
# ## Samples of different lengths
#
# Sentences and recordings don't have one length, and the default `collate_fn` stacks. With tensors of 2 and 3 steps it
# raises a RuntimeError: "stack expects each tensor to be equal size". So you write your own, a function that gets the
# samples of a batch as a list and returns the batch.
#
# ### Your turn: pad_collate
# Pad, and return the lengths too. Without them, no one can tell padding from data.

# %% given
hint(
    "Which shape has the result, and what is in it before you write the first sequence?",
    "new_full makes a tensor of a sequence's dtype and device. Or look for pad_sequence in the documentation.",
)

# %% exercise: pad_collate points=2 level=easy

# %% [markdown]
# `DataLoader` calls `collate_fn(samples)`, with one argument. How do you pass `fill`? And why shouldn't `fill` be
# `nan`, although it would show every mistake?

# %% answer [markdown]
# `functools.partial(pad_collate, fill=0.0)`. A lambda works as well where workers are forked, but a spawned worker
# can't unpickle it.
#
# A mask doesn't remove nan: `0 * nan` is nan. So every sum over a padded batch would have to use `torch.where`. As a
# test it's excellent: pad with nan, and see whether the loss is finite.

# %% [markdown]
# ## Whose random numbers?
#
# Your augmentation is random, and two workers crop their images in the same way. A forked worker is a copy of your
# process, so the state of each generator is copied too, and both workers draw the same numbers.
#
# PyTorch takes care of three generators. In each worker it seeds its own, Python's `random`, and NumPy's global one,
# with a seed that differs by worker and by epoch. (NumPy's since version 1.9 of 2021: older texts warn of equal crops
# for `np.random.rand`, and that is over.) But the bug has only moved.


# %% predict: same_numbers
# **Predict.** Two datasets draw a number for each sample: one from `np.random`, one from its own
# `np.random.default_rng(0)`. Two workers, batches of one. In which of them do samples 0 and 1 get the same number?
#
# - [ ] in neither
# - [ ] in the one with `np.random`
# - [x] in the one with its own generator


# %% example
class Drawing(Dataset):
    def __init__(self, own):
        self.generator = np.random.default_rng(0) if own else None

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return int(self.generator.integers(1000)) if self.generator else int(np.random.randint(1000))


def seed_own(worker_id):
    info = get_worker_info()  # of this process: id, num_workers, seed, and its copy of the dataset
    info.dataset.generator = np.random.default_rng(info.seed)


def drawn(data, **options):
    loader = DataLoader(data, generator=torch.Generator().manual_seed(0), **options)
    return [[batch.item() for batch in loader] for _ in range(2)]  # two epochs


print("np.random        ", *drawn(Drawing(own=False), **two_workers))
print("its own generator", *drawn(Drawing(own=True), **two_workers))
if forked:
    print("and seeded       ", *drawn(Drawing(own=True), worker_init_fn=seed_own, **two_workers))

# %% [markdown]
# In our run the dataset with its own generator returned 850, 850, 636, 636, and the same again in the second epoch:
# each epoch's workers are new copies of a generator that your program never used. A generator that you hold in a
# variable is unknown to PyTorch, so PyTorch can't seed it. `worker_init_fn` runs in each worker before its first
# sample. Seed such generators there, from `info.seed`.
#
# The same function can bring the old bug back: a `worker_init_fn` that calls `np.random.seed(0)` makes all workers
# equal again. To repeat a run, pass `DataLoader(generator=...)`. It fixes the order of the samples, and the seed from
# which the workers' seeds are made.
#
# ## A dataset without an index
#
# Your epoch has twice as many samples as your file has lines, and the only change was `num_workers=2`. Lines of a file
# of 2 TB, or messages from a queue, have no index. An `IterableDataset` has `__iter__` instead of `data[i]`. There's no
# sampler: the order is that of the data, and `shuffle=True` is refused. What do two workers do with it?

# %% predict: twice answer=12
# **Predict.** An `IterableDataset` yields six items. A `DataLoader` reads it with two workers. How many items arrive?


# %% example
class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()  # None in a process that isn't a worker
        print("worker", info and info.id, "of", info and info.num_workers, flush=True)
        return iter(range(6))


print([item.item() for item in DataLoader(Stream(), batch_size=1, **two_workers)])

# %% [markdown]
# Each worker has a copy of the dataset, and each copy yields everything. To divide the work is the dataset's own job:
# `get_worker_info()` says which worker this is, and how many there are.
#
# ### Your turn: my_part
# Write the division, for items that may have no end.

# %% given
hint(
    "Which numbers do the items of worker 1 of 3 have? How many of the items may you read before you yield one?",
    "A function with a yield is an iterator. enumerate gives the numbers.",
)

# %% exercise: my_part points=2 level=easy

# %% [markdown]
# If `Stream.__iter__` returns `my_part(range(6), get_worker_info())`, which batches arrive with two workers and
# `batch_size=2`? And what does this division cost if an item is a file that takes a second to read?

# %% answer [markdown]
# [0, 2], [1, 3], [4], [5]: batches are made within a worker, so each worker has an incomplete last one.
#
# Each worker reads *all* items and drops those of the others, so no time is saved. Divide what is cheap to read, such
# as the names of the files, and read the contents afterwards.

# %% [markdown]
# ## While the step runs
#
# Workers read ahead, and still a GPU may wait: for the copy of each batch to the device. A simple training loop does
# one thing after the other. It reads a batch, copies it, computes, and reads the next; during the first two, the GPU
# has nothing to do.
#
# Your program doesn't compute on a GPU. It *launches* work: it puts the work into a queue and continues at once (lab 7b
# shows it). So after it has launched a step, the program has time to fetch the next batch and start its copy. An
# iterator that does this is *prefetching*: when it yields batch 1, batch 2 is already on its way.
#
# The order of events is `read 1, copy 1, read 2, copy 2`, then the loop gets batch 1 and launches its step. Then
# `read 3, copy 3`, and it gets batch 2.
#
# ### Your turn: prefetch
# Write the iterator. What reads and what copies is passed in. Mind three places: the end, when one batch is still
# waiting; an exception, which must not overtake a batch; and a caller who stops early.

# %% given
hint(
    "Which variable holds the batch that is ready? In which order do your lines read, move and yield?",
    "If reading fails, keep the exception, yield what is ready, and raise it then.",
    "try and finally around everything: a generator's finally runs at its end, at an exception, and at close().",
)

# %% exercise: prefetch points=4 level=hard further

# %% [markdown]
# ## What must be waited for
#
# Some runs of a program print the right numbers and some print garbage, and the code looks fine. If a GPU is involved,
# look for a copy that no one waited for.
#
# A copy between the memory of your program (*host*) and that of a GPU (*device*) is queued like other work, if two
# conditions hold. You ask for it, with `to(..., non_blocking=True)`. And the host's side is in *pinned* memory, which
# the operating system may not move. `DataLoader(pin_memory=True)` puts batches there, and `tensor.pin_memory()` a
# single tensor. Without a GPU the first warns and does nothing, and the second raises a RuntimeError.
#
# A call that returns before its work is done can go wrong in two ways.
#
# **Read too early.** `scores = result.to("cpu", non_blocking=True)` returns a tensor at once, in pinned memory that
# PyTorch allocates for it. The numbers may not be there yet, and `print(scores)` doesn't wait, because it's a CPU
# tensor.
#
# **Written too early.** `batch.to("cuda", non_blocking=True)` may still be reading the pinned buffer when the call has
# returned. If you write the next batch into that buffer, the device may get a mixture of both.
#
# A *stream* is a queue of work for the device, which runs in order. Within one stream you need do nothing: a kernel
# launched after the copy sees the copied batch. Two streams aren't ordered. To order them, or to let the program wait,
# use an *event*. Recorded in a stream, it marks all work that was put there before. Three calls wait.
#
# ```python
# event = torch.cuda.Event()
# event.record(stream)        # mark this place of the stream; nothing waits yet
# other.wait_event(event)     # work launched into other from now on starts after the marked work
# event.synchronize()         # the program waits for the marked work
# torch.cuda.synchronize()    # the program waits for everything
# ```
#
# Whether a program is right depends only on this order, and not on seconds: a copy that wasn't waited for *may* not be
# done, however long ago it was launched. Here are six lines. Which are wrong?
#
# ```python
# buffer.copy_(first)                              # 1   buffer is pinned
# batch = buffer.to("cuda", non_blocking=True)     # 2
# event.record()                                   # 3
# buffer.copy_(second)                             # 4
# event.synchronize()                              # 5
# buffer.copy_(third)                              # 6
# ```

# %% example
# A drawing, not a measurement: one way in which the six lines may run.
host = [(0, 2, "1 first", "lightsteelblue"), (2, 2.5, "2", "lightgrey"), (2.5, 3, "3", "lightgrey")]
host += [(3, 5, "4 second", "salmon"), (5, 7, "5 waits", "lightgrey"), (7, 9, "6 third", "lightsteelblue")]
device_lane = [(2.5, 6.6, "the copy reads buffer", "lightsteelblue"), (6.6, 7, "event", "orange")]
draw_lanes({"program": host, "stream": device_lane}, "time")

# %% answer [markdown]
# Only line 4: it writes while the copy that line 2 launched may still be reading, so the batch may become a mixture.
# In the picture its bar is above that of the copy. Line 6 is right, because line 5 waits for the event, and the event
# marks the copy. Exchange lines 4 and 5, and the program is right.

# %% [markdown]
# ### Your turn: too_early
# Write a judge for such programs: which of the host's reads and writes are too early?

# %% given
hint(
    "For each stream: which copies are done, if its last work is done? What does a record take of that, and when?",
    "A wait adds what the event marks to what is done when the stream's later work is done.",
    "Keep one set of copies that the program knows to be done. Which kinds of events enlarge it?",
)

# %% exercise: too_early points=4 level=hard further

# %% [markdown]
# Now judge the loops that you write. A loop that launches with `non_blocking=True` and reads the loss with `.item()` is
# right: `.item()` waits. `DataLoader(pin_memory=True)` is right too: each batch has its own pinned memory, and PyTorch
# doesn't reuse that while a copy still reads it. Look for mistakes in buffers that you manage yourself, and in results
# that you fetch.

# %% quiz: interview points=3
# ## Interview questions
#
# **Layers**
# - [x] Under `torch.no_grad()`, a batch norm in training mode still changes its buffers.
#   > The mode decides, not recording. Evaluation needs `eval()`.
# - [ ] `nn.LayerNorm` needs `eval()` to return the same for one sample as for a batch.
#   > It takes mean and variance over the features of each position, in both modes.
# - [x] An `nn.LSTM` without `batch_first=True` accepts (N, T, F) without an error.
#   > It reads the first dimension as steps. Any (N, T, F) has a shape that fits.
# - [ ] `padding_idx` keeps its row at zero, whatever is loaded into the table.
#   > The lookup gives the row no gradient. Loading and inits overwrite it.
#
# Hint: Which of these did the table of contracts show, and which the embedding?
#
# **States and caches**
# - [ ] With `batch_first=True` the state of an LSTM is (N, layers, hidden).
#   > It's (layers times directions, N, hidden), whatever `batch_first` says.
# - [ ] A KV cache holds the queries of all earlier tokens as well.
#   > An earlier query was used for its own output only. Keys and values are needed again.
# - [x] Two new tokens after a cache of three need a mask of 2 rows and 5 columns.
#   > A row for each new query, and a column for each key.
# - [x] For padded sequences, h isn't the state after each one's last step.
#   > It's the state after the padding. The lengths say where the real last step is.
#
# Hint: Draw the mask of the last exercise on attention. What are its rows?
#
# **`assign=True`**
# - [x] The parameters have the dtype of the loaded tensors.
#   > They become the model's own. Without it, values are copied into the model's dtype.
# - [ ] An optimizer that was made before trains the new parameters.
#   > It holds the old ones, and moves nothing that the model uses.
# - [x] A buffer with `persistent=False` is on meta afterwards.
#   > `state_dict()` leaves it out, so nothing replaces it.
# - [ ] All parameters require grad afterwards.
#   > Each does what the model's own did before.
#
# Hint: What did the four printed lines below `empty` show?
#
# **Workers**
# - [ ] A fast worker's batch may arrive before one that was requested earlier.
#   > The order is the sampler's, unless `in_order=False`.
# - [x] What a worker writes into the dataset isn't seen in the program.
#   > It writes into its copy.
# - [x] An `IterableDataset` that doesn't ask `get_worker_info()` yields each item once for each worker.
#   > Each copy yields everything.
# - [ ] With `persistent_workers=True` a change of the dataset between two epochs reaches the workers.
#   > They keep the copies that they began with.
#
# Hint: What is a worker a copy of, and since when?
#
# **Random numbers**
# - [x] `np.random.rand()` in a dataset differs between workers in PyTorch 2.
#   > PyTorch seeds NumPy's global generator in each worker, since 1.9.
# - [x] A `np.random.default_rng(0)` that is made in `__init__` draws the same in all workers.
#   > Each worker has a copy of it, in the same state.
# - [ ] `DataLoader(generator=...)` affects only the order of the samples.
#   > The workers' seeds are made from it as well.
#
# Hint: Which generators does PyTorch know?
#
# **Copies**
# - [ ] A CPU tensor that `to("cpu", non_blocking=True)` returned can be read at once.
#   > The copy may not be done. The program has to wait for it.
# - [x] A pinned buffer may be overwritten once you've waited for an event recorded after its copy.
#   > Then the copy has read it.
# - [ ] `event.record()` waits until the stream has reached that place.
#   > It marks the place. `event.synchronize()` waits.
# - [x] A kernel on the stream of the copy, launched after it, sees the data.
#   > Work of one stream runs in order.
#
# Hint: Which of the six lines waited, and which only marked a place?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague has sped up a training. His dataset crops at random, with `self.rng = np.random.default_rng(0)` in
# `__init__`, and it now runs with eight workers instead of none. His own loop copies each batch into one pinned buffer,
# starts `buffer.to("cuda", non_blocking=True)`, launches the step, and fills the buffer with the next batch. The
# training is much faster, ends without an error, and the accuracy is a little worse than before.
#
# In four to eight sentences: which two things are wrong, and why does neither raise an error? How would you make each
# of them show in a small experiment, and what do you change?

# %% question: faster_and_worse [markdown] points=2
# ### BEGIN SOLUTION
# Each of the eight workers has a copy of the dataset, and with it a copy of the generator in the same state. So eight
# samples get the same crop, and in each epoch the crops begin from the start again, unless the workers persist. PyTorch
# seeds only the generators that it knows. To see it, I let the dataset return the numbers that it draws, and print them
# for two workers and two epochs. I seed the generator in `worker_init_fn` from `get_worker_info().seed`. Second, the
# buffer is written while the copy of the batch before may still read it, so some batches are a mixture of two. Nothing
# checks that, since writing into CPU memory is always allowed. To see it, I fill the batches with their own number,
# copy them back after `torch.cuda.synchronize()`, and look for batches that hold two numbers. I record an event after
# the copy and synchronize it before the buffer is written, or use two buffers in turn with an event each, or leave it
# to `DataLoader(pin_memory=True)`.
#
# For grading: one point for the copied generator with an experiment or a cure, one for the buffer that is written too
# early with a wait as its cure.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Ask a layer: which shape, what does it keep, what does `eval()` change? Of the ten in the table, batch norm and
#   dropout change.
# - Layer norm and RMS norm average over the features of one position, batch norm over everything but the channel.
# - An LSTM's state is (layers times directions, N, hidden). A KV cache is keys and values, (N, heads, T, d).
# - `padding_idx` means: no gradient from the lookup. Nothing else protects the row.
# - Look for the *first* output that isn't finite, in the order in which modules end.
# - After `assign=True`: new parameters, with the dtype, device and memory of the state. Make the optimizer afterwards.
# - A worker has a copy: of the dataset, of its counters, and of its generators.
# - A copy that wasn't waited for may not be done.
#
# | call | what it promises |
# |---|---|
# | `nn.LSTM(..., batch_first=True)` | (N, T, F) in and out; the state as ever |
# | `register_forward_hook(f)` | calls f(module, inputs, output) until `remove()` |
# | `load_state_dict(state, assign=True)` | the state's tensors become the model's |
# | `DataLoader(num_workers=n)` | n processes with a copy each; the sampler's order |
# | `get_worker_info()` | which worker this is, its seed, its dataset; None outside |
# | `worker_init_fn(worker_id)` | runs in each worker before its first sample |
# | `pin_memory`, `non_blocking=True` | a copy that your program doesn't wait for |
# | `event.record()`, `event.synchronize()` | mark a place of a stream; wait for it |
#
# Three questions to ask yourself:
#
# - If this layer got a batch of one, or one more step, would its output for the first sample change?
# - Which process draws this random number, and from a copy of what?
# - Who still reads this buffer, and how do I know that it's done?
#
# Lab 7 asks where the memory goes.
