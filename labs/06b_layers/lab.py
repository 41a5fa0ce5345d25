# %% [markdown]
# # Layers you can trust
#
# You train a network on the digits and measure 99% accuracy. Then you build it into a program that reads one digit at a
# time, and it gets one digit in thirteen wrong. The weights are the same and nothing raises an error, but one layer
# doesn't do what you thought. This lab shows how to find such mistakes, and how to know a layer well enough to avoid
# them.
#
# After this lab, you'll be able to
#
# - write a convolution, and layer norm, RMS norm, and batch norm;
# - say what a layer does to a shape, what it stores, and what `eval()` changes;
# - continue a sequence with attention's KV cache;
# - find the layer that turns a loss into `nan`.
#
# You need lab 6, and attention from lab 2. The core has four exercises and takes about 135 minutes. At the end, two
# sections of further practice take about 25 more and earn no points. All numbers were measured with PyTorch 2.13 on one
# CPU thread.
#
# Where it says *Predict*, choose an answer before you run the next cell. Checks marked *later* run when you press *Mark
# my work* or hand the lab in. A folded cell above an exercise contains helpers for its checks: run it, but you don't
# have to read it.
#
# Run the next cell first. It imports what this lab uses.

# %% given
from collections.abc import Callable
from typing import Any

import matplotlib.pyplot as plt
import torch
from torch import Tensor, nn

from labkit import Seen, assert_answered, assert_close, assert_letters, check, device, explain, probes

# %% [markdown]
# ## What a convolution looks for
#
# The fully connected network of lab 6 reads 97% of the unseen digits correctly, but it doesn't know which pixels are
# neighbors: if you shuffled the pixels of all scans in the same way, it would learn just as well. A *convolution* takes
# neighbors into account: it slides a small grid of weights, its *kernel*, across the image. At each position, it
# returns the sum of the weights times the pixels under them.
#
# The 3 x 3 kernel below subtracts the pixels on its left from those on its right. PyTorch expects images as (N, C,
# height, width), for N samples with C channels, so `[None, None]` adds two dimensions of size 1. Where will the result
# be positive?

# %% example
picture = torch.zeros(5, 8)
picture[:, 3:5] = 1  # a vertical stroke, two pixels wide
kernel = torch.tensor([[-1.0, 0.0, 1.0]] * 3)
edges = nn.functional.conv2d(picture[None, None], kernel[None, None])[0, 0]
for numbers in (kernel, picture, edges):
    print(numbers.int(), tuple(numbers.shape))

# %% [markdown]
# The result is 3 at the stroke's left edge, -3 at its right edge, and 0 where the pixels don't change. With only nine
# weights, a kernel finds its pattern wherever it is.
#
# The result is smaller than the picture, because the kernel fits at only 3 x 6 positions. With `padding=1`, a border of
# zeros surrounds the picture, and a 3 x 3 kernel preserves its size. With `stride=2`, the kernel moves two pixels at a
# time.
#
# `nn.Conv2d(1, 16, 3, padding=1)` learns 16 such kernels, and a *bias* for each one, a number that's added at every
# position. It returns an image, or channel, for each kernel. Each kernel of the next convolution reads all 16 channels,
# so its size is 16 x 3 x 3.
#
# ### Your turn: convolve
# If you pass the wrong size to the `nn.Linear` after a convolution, the model raises an error. Write the convolution
# yourself, and you'll know the size. A loop over all windows is slow. A loop over the kernel's weights, its *taps*,
# takes only kh x kw rounds.

# %% given
hint(
    "How many windows fit from top to bottom? The first one starts at the border's top. Where does the last one start?",
    "Tap (0, 0) lies on the first pixel of every window. Which slice of x has these pixels, one for each window?",
    "For tap (i, j), it's x[:, :, i::stride, j::stride], cut to as many rows and columns as there are windows.",
)

# %% exercise: convolve points=3 level=medium

# %% [markdown]
# Now you can compute the size of a convolution's output, unless the convolution is *dilated*, with gaps between its
# taps. Pooling counts its windows the same way, and its stride defaults to the kernel size.
#
# ## Right in training, wrong in use
#
# The digit reader below has these four layers, and it's the one that gets a digit in thirteen wrong. Besides ReLUs, it
# contains two kinds of layers that may be new to you:
#
# - `nn.BatchNorm2d` *normalizes* its input: it shifts and scales each channel to have mean 0 and variance 1. Training
#   then usually takes fewer steps.
# - `nn.MaxPool2d(2)` keeps the largest number in each 2 x 2 square. Two of these shrink each side from 8 to 2, so the
#   last layer gets 32 · 2 · 2 = 128 numbers.
#
# The last line reads the 297 held-out scans one at a time. Run the cell, then change the 1 in that line to 297 to read
# them all at once.

# %% scratch
from sklearn.datasets import load_digits

order = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
scans = (torch.tensor(load_digits().images, dtype=torch.float32)[order, None] - 8) / 8  # (N, 1, 8, 8); None adds the 1
digits = torch.tensor(load_digits().target)[order]


def make_reader(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(  # the stars insert each row's layers
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )


def measure(network, size, x=scans):
    """The share of the last 297 scans that the network gets right, given `size` scans at a time."""
    with torch.no_grad():
        guesses = torch.cat([network(part).argmax(dim=1) for part in x[1500:].split(size)])
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
# With the same weights and scans, the accuracy is 92% or 93% (depending on your machine) if the scans are read one at a
# time, but 99% if they're read all at once. Which layer's output for one scan depends on the other scans in the batch?
# Which line is missing?

# %% answer [markdown]
# `nn.BatchNorm2d`. In training mode, it uses the batch's mean and standard deviation. If the batch is a single scan,
# these are that scan's own. Reading all 297 at once hides the problem, because a mix of digits has nearly the same
# statistics as the training batches. `torch.no_grad()` turns off recording, not training mode.
#
# Add `digit_reader.eval()` above the last line. Batch norm then uses running averages from training:
#
# | scans at a time | 1 | 2 | 10 | 297 |
# |---|---|---|---|---|
# | without `eval()` | 92.3% | 98.0% | 99.3% | 99.3% |
# | with `eval()` | 99.0% | 99.0% | 99.0% | 99.0% |

# %% [markdown]
# Now that the reader works, put your own function into it. The next cell runs its trained layers one after the other,
# but computes both convolutions with your `convolve`.

# %% scratch
digit_reader.eval()
x = scans[1500:]
with torch.no_grad():
    expected = digit_reader(x)
    try:
        for layer in digit_reader:
            own = isinstance(layer, nn.Conv2d)
            x = convolve(x, layer.weight, 1, 1) + layer.bias[:, None, None] if own else layer(x)
        print("the same predictions:", torch.equal(x.argmax(dim=1), expected.argmax(dim=1)))
    except Exception as error:
        print("This cell needs a working convolve:", repr(error))

# %% [markdown]
# ### What are neighbors worth?
#
# The next cell shuffles the pixels of all scans in the same way. It trains the reader, and a fully connected network of
# about the same size that also has a batch norm, on both the original and the shuffled scans.

# %% predict: shuffled_pixels
# **Predict.** Which network reads fewer digits correctly if the pixels are shuffled?
#
# - [ ] neither
# - [x] only the one with convolutions
# - [ ] only the fully connected one
# - [ ] both


# %% example
def make_connected(seed):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 80), nn.BatchNorm1d(80), nn.ReLU(), nn.Linear(80, 10))


def trained(network, x):
    optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
    for rows in torch.arange(1500).split(100) * 10:  # ten epochs
        loss = nn.functional.cross_entropy(network(x[rows]), digits[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network.eval()


shuffled = scans.flatten(2)[:, :, torch.randperm(64, generator=torch.Generator().manual_seed(0))].view_as(scans)
for make in (make_reader, make_connected):
    print(make.__name__, sum(p.numel() for p in make(0).parameters()), "parameters")
    for text, x in {"plain": scans, "shuffled": shuffled}.items():
        shares = [measure(trained(make(seed), x), 297, x) for seed in range(3)]
        print(f"    {text:9} three seeds:", *(f"{share:.1%}" for share in shares))

# %% [markdown]
# With shuffled pixels, the reader falls from 98 or 99% to about 97%, which is what the fully connected network gets
# either way. This was the case with each of ten seeds. Whatever a convolution gains, it gains from neighboring pixels.
#
# ## What a layer promises
#
# Three questions about each layer would have prevented the mistake. *What shape does it take, and what does it return?
# What does it store? What does `eval()` change?*
#
# The next cell asks a batch norm what it stores, and then calls it in both modes with images in which every pixel is
# 10.

# %% example
norm = nn.BatchNorm2d(3)
print("parameters:", [name for name, _ in norm.named_parameters()])
print("buffers:   ", [name for name, _ in norm.named_buffers()])
print("state_dict:", list(norm.state_dict()))
with torch.no_grad():
    for mode in ("training", "evaluation"):
        norm.train(mode == "training")
        norm(torch.full((2, 3, 9, 7), 10.0))
        print(f"after a call in {mode} mode:", norm.running_mean.tolist(), norm.num_batches_tracked.item())

# %% [markdown]
# The optimizer changes the *parameters*. It doesn't change the *buffers*, which also belong to the model. Here, the
# forward pass does: in training mode, it moves the running mean and variance a tenth of the way toward those of the
# batch, even under `no_grad`. So the mean went from 0 to 1. (That's its `momentum=0.1`, the weight of the *new* value.
# An optimizer's momentum is the weight of the old ones.) In evaluation mode, nothing moved. `state_dict()` contains
# parameters and buffers, so a loaded model normalizes as the saved one did.
#
# So without `eval()`, your reader wasn't only wrong: each unseen scan also changed it.
#
# Now ask these questions about eight layers. N counts samples, C the channels of an image, T the steps of a sequence,
# such as its words, and F the features of each step. `Embedding` looks up a row of its table for each index (for
# `padding_idx`, see the first section of further practice), `LSTM` reads a sequence step by step, and
# `MultiheadAttention` is lab 2's attention.

# %% predict: train_and_eval
# **Predict.** Which of these layers return different values in evaluation mode than in training mode?
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
reader, x = contracts["LSTM(4, 6, batch_first=True)"]
print("the LSTM's state is two tensors:", *(tuple(part.shape) for part in reader(x)[1]))

# %% [markdown]
# *What shape does it take?* There are three conventions.
#
# - `Linear` and `LayerNorm(4)` work on the last dimension; all others are batch dimensions. `Embedding` adds a
#   dimension at the end.
# - Convolutions, pooling, and `BatchNorm2d` expect the channels second.
# - `LSTM` and `MultiheadAttention` expect the steps first, (T, N, F), unless they're built with `batch_first=True`.
#
# The last one is a trap. Without `batch_first=True`, they also accept (N, T, F), but mistake samples for steps and mix
# them.
#
# From step to step, an LSTM passes two vectors with `hidden` numbers each, its *state*; one of the two is also its
# output. Stacked layers each have their own, and so does the other direction with `bidirectional=True`. So the table's
# last line shows two tensors (layers times directions, N, hidden), however long the sequence. `batch_first` moves the
# axes of the input and the output, but not those of the state.
#
# *What does `eval()` change?* Two of the eight: batch norm uses its running values, and dropout does nothing. Settings
# can add others: `nn.MultiheadAttention` and `nn.LSTM` have their own `dropout`, 0 by default (an LSTM's acts only
# between stacked layers), and `nn.InstanceNorm2d` has running values if you pass `track_running_stats=True`. If a layer
# is new to you, put it into this cell.
#
# ### Which numbers share a mean?
#
# Why does `eval()` matter for batch norm, but not for layer norm? They differ in which numbers they average. The next
# cell asks autograd: the gradient of one output is nonzero only at the inputs that this output depends on.

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
# Batch norm treats axis 1 as the channels, so it averages row 2 of all three samples. The others treat axis 1 as the
# steps and average only row 2 of sample 1. So only batch norm mixes samples.
#
# The pixels that an output can depend on are its *receptive field*. How large is it after each convolution and each
# pooling of your reader?

# %% answer [markdown]
# After one 3 x 3 convolution, 3 x 3 pixels. In a second convolution, each tap reads such an output, so together the
# taps reach 5 x 5. With pooling in between, they're two pixels apart and reach further. Each layer adds (kernel - 1)
# times the distance between its taps:
#
# | after | distance between taps | receptive field |
# |---|---|---|
# | 3 x 3 convolution | 1 | 3 x 3 |
# | 2 x 2 pooling | 1 | 4 x 4 |
# | 3 x 3 convolution | 2 | 8 x 8 |
# | 2 x 2 pooling | 2 | 10 x 10 |
#
# On an 8 x 8 scan, the last of these windows extend past the edge, so each of their 2 x 2 outputs depends on only 7 x 7
# pixels. The linear layer at the end is the first that sees the whole scan.

# %% [markdown]
# How far is a small batch's mean from the mean of all 297 unseen scans? The next cell asks the reader's second batch
# norm, whose input has 4 x 4 numbers per scan and channel.

# %% example
with torch.no_grad():
    inputs = digit_reader[:5].eval()(scans[1500:])
center, spread = inputs.mean((0, 2, 3)), inputs.std((0, 2, 3))
for size in (1, 4, 16, 64):
    means = torch.stack([part.mean((0, 2, 3)) for part in inputs.split(size)])
    off = ((means - center) / spread).square().mean().sqrt()
    print(f"{size:2} scans, {16 * size:4} numbers per channel: off by {off:.2f} standard deviations")

# %% [markdown]
# With four times as many scans, the mean is about half as far off: that of k independent scans varies $1 / \sqrt{k}$
# times as much as that of one. With one scan, each channel's mean is off by a quarter of a standard deviation,
# differently for every scan. Its variance is off, too. The layers after it didn't learn from such inputs, and that cost
# you seven points.
#
# Layer norm returns the same result for a sample, whatever else is in the batch, so it has nothing to store and nothing
# to switch. If your batches of images must be small, use `nn.GroupNorm`, which has the same advantage: it normalizes
# groups of channels within each sample. In a language model, batch norm has another drawback: in training, a token's
# output would depend on later tokens.
#
# Let $\mu$ and $\sigma^2$ be the mean and variance of the numbers that share a mean. Layer norm and batch norm compute
# $(x - \mu) / \sqrt{\sigma^2 + \epsilon}$, multiply by `weight`, and add `bias`. The small $\epsilon$ prevents
# division by 0. RMS norm, which most language models use, skips the mean and the bias: it computes
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
# ## A state to pass along
#
# The reader was wrong because an output depended on other samples in the call. Here, an output *should* depend on
# earlier calls, and the mistake is the opposite one: forgetting them. A model that writes text computes one *token*, a
# word or a part of one, appends it, and repeats. For each token, it needs a state from the earlier ones, and
# recomputing that state each time is slow.
#
# An LSTM's state keeps its size. Attention's state grows, because it compares each token with all earlier ones. In each
# head (lab 2), a token has a query, a key, and a value: products of its features with three weights, the *projections*.
# Its output is a weighted mean of values, its own and the earlier ones. The weights come from its query and these
# tokens' keys.
#
# So the next token needs the earlier keys and values, but not the earlier queries. Can you store them, or does a new
# token change them? The next cell computes the keys of two layers for 4 tokens, and then for 5. Are the first 4 keys
# the same?

# %% example
generator = torch.Generator().manual_seed(0)
projections = torch.randn(2, 3, 8, 8, generator=generator)  # for each of two layers: to queries, keys, and values
five_tokens = torch.randn(1, 5, 8, generator=generator)


def keys_of_layers(tokens, is_causal):
    found = []
    for weights in projections:
        query, key, value = tokens @ weights[:, None]
        found.append(key)
        tokens = nn.functional.scaled_dot_product_attention(query, key, value, is_causal=is_causal)
    return found


for is_causal in (True, False):
    pairs = zip(keys_of_layers(five_tokens[:, :4], is_causal), keys_of_layers(five_tokens, is_causal), strict=True)
    same = [torch.allclose(four, five[:, :4], atol=1e-5) for four, five in pairs]
    print(f"{'with' if is_causal else 'without':7} a causal mask: the same in layer 1 {same[0]}, in layer 2 {same[1]}")

# %% [markdown]
# In the first layer, a key depends only on its own token. In later layers, it's computed from an output of the layer
# before, so it stays the same only if no token sees later ones, that is, in *causal* attention. That holds for values,
# too. Stored keys and values are a *KV cache*.
#
# Several new tokens in one call need a mask, because none may see a later one. `tril(k)` keeps the numbers on diagonal
# k and to its left, and `triu(k + 1)` keeps the others. Diagonal 0 starts in the top left corner.
#
# ```python
# torch.ones(2, 5).tril(0)  # 1 0 0 0 0   torch.ones(2, 5).triu(1)  # 0 1 1 1 1
#                           # 1 1 0 0 0                             # 0 0 1 1 1
# ```
#
# ### Your turn: attend_next
# The next tokens can be a single token or a whole prompt. With 3 tokens in the cache and 2 new ones, the mask has a row
# for each new token and a column for each key, with a 1 where the token sees the key. Which diagonal is that?
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

# %% answer [markdown]
# The mask is `tril(3)`, and after s cached tokens, it's `tril(s)`.

# %% [markdown]
# Now a new token costs one projection, and its query meets all s + 1 keys. Your `torch.cat` also copies the whole
# cache; other programs allocate it once and write into it. The next cell runs your function for 300 tokens, one by one:
# first with the cache, and then from scratch for every token, which projects 1 + 2 + ... + 300 = 45,150 tokens.

# %% scratch
from time import perf_counter

weights = torch.randn(64, 192, generator=torch.Generator().manual_seed(0)) / 8
text = torch.randn(1, 300, 64, generator=torch.Generator().manual_seed(1))


def project_text(tokens):
    """The queries, keys, and values of 4 heads, with 16 numbers each."""
    return (tokens @ weights).unflatten(2, (3, 4, 16)).permute(2, 0, 3, 1, 4)


try:
    begin, cache = perf_counter(), None
    for i in range(300):
        out, cache = attend_next(project_text, text[:, i : i + 1], cache)
    middle = perf_counter()
    for i in range(300):
        again, _ = attend_next(project_text, text[:, : i + 1], None)
    print(f"{300 / (middle - begin):,.0f} tokens per second with the cache", end=", ")
    print(f"{300 / (perf_counter() - middle):,.0f} without")
    print("the same last output:", torch.allclose(out, again[:, :, -1:], atol=1e-4))
except Exception as error:
    print("This cell needs a working attend_next:", repr(error))

# %% [markdown]
# We measured several times as many tokens per second with the cache, and the ratio grows with the length of the text.
# The cache costs memory instead: for 4,096 tokens in bfloat16, a model with 32 layers of 32 heads and d = 128 stores 2
# · 32 · 32 · 4096 · 128 numbers of 2 bytes, 2 GiB for one sequence. That's why, in many models, several heads share
# their keys and values.
#
# PyTorch's `scaled_dot_product_attention` doesn't know about the cache: with `is_causal=True`, a single new query would
# see only key 0, and you'd get no error. Pass it `attn_mask=torch.ones(t, s + t, dtype=torch.bool).tril(s)`, or
# `torch.nn.attention.bias.causal_lower_right(t, s + t)`.
#
# ## A good place to stop
#
# Stop for the day if you like. When you come back, your variables may be gone: choose *Run > Run All Above Selected
# Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs the cells it needs.
#
# ## Looking inside
#
# The digit reader is wrong if you forget `eval()`, so you'd like a norm that doesn't need it. `ScanNorm` computes the
# mean and variance of each channel separately for each scan, which is called *instance norm*. The cell below trains
# with it, on scans like those that a scanner would send: one of the sheets was blank.


# %% scratch
class ScanNorm(nn.Module):
    """Brings each channel of each scan to mean 0 and variance 1."""

    def forward(self, x):
        x = x - x.mean((2, 3), keepdim=True)
        return x / x.square().mean((2, 3), keepdim=True).sqrt()


torch.manual_seed(0)
own_reader = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), ScanNorm()),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), ScanNorm()),
    *(nn.Flatten(), nn.Linear(128, 10)),
)
sheets = scans.clone()
sheets[1234] = -1  # no ink
optimizer = torch.optim.SGD(own_reader.parameters(), lr=0.3)
for step, rows in enumerate(torch.arange(1500).split(100) * 10):  # ten epochs
    loss = nn.functional.cross_entropy(own_reader(sheets[rows]), digits[rows])
    if not loss.isfinite():
        print(f"step {step}: the loss is {loss.item()}")
        break
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
else:
    print(f"right for {measure(own_reader, 1):.1%} of the unseen scans, one at a time")

# %% [markdown]
# The first 12 steps go well, and then the loss is `nan`. Which layer caused it? In a `forward` that you wrote, put
# `breakpoint()` between two lines: Python stops in its debugger, where `p x.isfinite().all()` prints a value, and `c`
# continues. After an error, `%debug` in the next cell takes you to the line that raised it.
#
# For other layers, there are *forward hooks*: functions that PyTorch calls after each forward pass of a module, with
# the module, its inputs, and its output. The hooks below print the range of each output in the first reader.


# %% example
def make_printer(name):
    """A hook that prints the range of a module's output below this name."""

    def print_range(module, inputs, output):
        print(f"{name!r:3} {type(module).__name__:11} {output.min().item():5.1f} to {output.max().item():4.1f}")

    return print_range


handles = [module.register_forward_hook(make_printer(name)) for name, module in digit_reader.named_modules()]
try:
    digit_reader(scans[1500:])
finally:
    for handle in handles:
        handle.remove()

# %% [markdown]
# - A hook stays in place until you call its handle's `remove()`. In `finally`, that happens even after an error.
# - `make_printer` gives each hook its name. A hook defined in the loop itself would print
#   the last module's name for all of them, because Python looks up the loop's variable only when the hook runs.
# - If a hook returns something other than None, that replaces the output.
# - A hook misses anything that isn't a call to a module: `nn.functional.relu(x)`, or `module.forward(x)` called
#   directly.
#
# The last line is for the model itself, whose name is `""`: a forward hook runs once its module's `forward` has
# returned.
#
# ### Your turn: first_bad
# One bad number usually leads to more, so you need only the *first* layer with one. `torch.isfinite` is False for inf,
# -inf, and nan. The long folded cell below only builds models for the checks.

# %% given
hint(
    "Which modules get a hook? What does a hook have to know to report its module's name?",
    "An output may be a tuple that contains a tuple, like an LSTM's. Have a small function call itself on the parts.",
    "Which lines must run even if model(x) raises an exception? Use try and finally.",
)

# %% exercise: first_bad points=3 level=medium

# %% [markdown]
# Now find the layer that made your loss `nan`. The loop stopped before the step, so `own_reader`'s weights are still
# those that led to the `nan`, and `rows` is the batch.

# %% scratch
try:
    print("the first bad module:", first_bad(own_reader, sheets[rows]))
except Exception as error:
    print("This cell needs a working first_bad:", repr(error))

# %% [markdown]
# What happened in that module? `own_reader[:4](sheets[rows]).isnan().flatten(1).any(dim=1).nonzero()` lists the scans
# for which it returns nan, and `own_reader[:3](sheets[rows])[34]` is the module's input for one of them. Fix
# `ScanNorm`, and train again.

# %% answer [markdown]
# It's module 3, the first `ScanNorm`. Scan 34 of this batch is the blank sheet: in three of its channels, the ReLU
# returns only zeros. Their mean and variance are 0, and 0 / 0 is nan. One such scan makes the whole batch's loss nan.
#
# Divide by `(x.square().mean((2, 3), keepdim=True) + 1e-5).sqrt()`, as you did in `apply_norm`. All 150 steps run, and
# the reader gets 98 to 99% right, one at a time or all at once, without `eval()`.

# %% [markdown]
# If `first_bad` returns None and the weights are `nan` after the step, look at the gradients. `torch.zeros(2).sqrt()`
# is finite, but its gradient is inf. Check `p.grad.isfinite().all()` for each parameter after `backward()`.
#
# ## What the reader gained
#
# The table shows how many of the 297 unseen scans each network reads correctly when it gets them one at a time. We
# measured the first row separately, with lab 6's network and this lab's 1,500 scans.
#
# | the network | right |
# |---|---|
# | fully connected, 60 epochs with AdamW | 97% |
# | two convolutions, 10 epochs with SGD, still in training mode | 92% |
# | the same with `eval()` | 99% |
# | two convolutions with the repaired `ScanNorm`, in either mode | 98 to 99% |
#
# One layer in the wrong mode cost seven points. The two points between the first row and the third are only about six
# scans, and the optimizer and the epochs differ too. The better evidence that convolutions help is the experiment with
# shuffled pixels, which used more seeds and gave both networks the same training.

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
# - [x] A batch norm in training mode averages each channel over all samples and positions of the batch.
#   > That's why its output for one sample depends on the other samples.
#
# Hint: Which of these did you see in the table of layers, and which in the colored panels?
#
# **States and caches**
# - [ ] With `batch_first=True`, an LSTM's state is (N, layers, hidden).
#   > It's (layers times directions, N, hidden), with or without `batch_first`.
# - [ ] A KV cache also holds the queries of all earlier tokens.
#   > An earlier query was used only for its own output, but keys and values are needed again.
# - [x] Two new tokens after a cache of three need a mask with 2 rows and 5 columns.
#   > There's a row for each new query and a column for each key.
# - [x] In `attend_next`, a single new token needs no mask.
#   > It sees all cached keys and its own, and there are no others.
#
# Hint: Look at the mask in `attend_next`. What do its rows stand for?
#
# **Looking inside**
# - [x] The hook of a block runs after the hooks of the layers that the block calls.
#   > A forward hook runs once its module's `forward` has returned, and the block's returns last.
# - [ ] Modules run in the order in which `named_modules()` lists them.
#   > They run when `forward` calls them. `named_modules()` follows the order of definition.
# - [x] A hook stays on its module until you call the handle's `remove()`, even after an exception.
#   > That's why `remove()` belongs in a `finally` block.
# - [ ] If every output and the loss are finite, so are the weights after the step.
#   > A gradient may be inf or nan all the same, as that of `sqrt` at 0 is.
#
# Hint: When does a hook run, and what doesn't it see?
#
# **Sizes and means**
# - [x] `nn.Conv2d(3, 8, 5, stride=2, padding=2)` turns (N, 3, 9, 7) into (N, 8, 5, 4).
#   > (9 + 4 - 5) // 2 + 1 = 5 and (7 + 4 - 5) // 2 + 1 = 4.
# - [ ] An output of two stacked 3 x 3 convolutions with stride 1 depends on at most 3 x 3 pixels.
#   > Each tap of the second one reads an output of the first, so together they reach 5 x 5.
# - [x] Averaged over four times as many independent scans, a channel's mean varies about half as much.
#   > The mean of k varies 1 / sqrt(k) times as much as that of one.
# - [ ] For a row of threes, a new `nn.RMSNorm` returns zeros, like a new `nn.LayerNorm`.
#   > It doesn't subtract the mean, so it returns about (1, 1, 1). (Layer norm returns its bias, at first zeros.)
#
# Hint: Count the windows of a small example, and normalize three threes by hand.

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague's model reads pen strokes. `nn.LSTM(3, 64)` reads tensors of shape (N, T, 3), its output at the last step
# goes through `nn.BatchNorm1d(64)`, and a linear layer returns the logits. She evaluates it under `torch.no_grad()`,
# 100 sequences at a time, and never calls `eval()`. Then she evaluates the same weights on the same sequences again, 10
# at a time and sorted by class. The accuracy is much lower.
#
# In four to eight sentences: which two things are wrong, and why does neither raise an error? How would you make each
# of them show up in a small experiment, and what would you change?

# %% question: other_batches [markdown] points=2
# ### BEGIN SOLUTION
# First, the LSTM was built without `batch_first=True`, so it expects (T, N, F). It takes the samples for steps and the
# steps for samples: the state passes from one sample to the next, and never from one step to the next. Any tensor whose
# last dimension is 3 fits, so there's no error. To show it, I'd change all steps of a sample but the last: the logits
# stay the same. Or I'd change the first sample, and those of the second one change, even in evaluation mode. The fix is
# `batch_first=True`, and new training, because the weights have learned from mixed samples. Second, without `eval()`,
# batch norm uses the mean and variance of the batch, and 10 sequences of one class have other statistics than 100 mixed
# ones. `no_grad` only turns off recording, and both modes are legal, so there's no error here either. To show it, I'd
# put a sample first in two batches, so that nothing precedes it in the LSTM, with different samples after it: its
# logits differ in training mode and are equal in evaluation mode. Or I'd print `running_mean` before and after an
# evaluation: it has moved. The fix is `model.eval()` before the evaluation and `model.train()` after it.
#
# For grading: one point for the mixed-up dimensions, one for batch norm in training mode, each with an experiment or a
# fix. "Put it in eval mode" alone, as an answer to both, earns one.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Along a dimension, a convolution returns (size + 2 · padding - kernel) // stride + 1 numbers, one for each window.
# - Ask of each layer: what shape does it take, what does it store, and what does `eval()` change? Of the eight in the
#   table, it changes batch norm and dropout.
# - Layer norm and RMS norm average over one position's features, and batch norm over everything but the channel. RMS
#   norm subtracts no mean and adds no bias.
# - An LSTM's state is (layers times directions, N, hidden). A KV cache holds keys and values, each (N, heads, T, d).
# - After s cached tokens, new token i sees keys 0 to s + i.
# - Look for the *first* output that isn't finite, in the order in which modules finish. Add eps inside the square root.
#
# Three questions to ask yourself:
#
# - If the other samples in the batch were different, or the sequence had one more step, would this layer's output for
#   this sample change?
# - What does this layer store that isn't trained, and when does it change?
# - Which module finished first with a number that isn't finite?
#
# Lab 6c asks how the data gets to these layers. Lab 7 asks where the memory goes.

# %% [markdown]
# ## A row that doesn't learn
#
# *Further practice.* Sequences of different lengths are *padded* to the same length with an extra token, and many
# models rely on its row in the embedding being zero. With `padding_idx=0`, that's row 0. Does it stay zero?
#
# ```python
# table = nn.Embedding(4, 2, padding_idx=0)                        # row 0 is zeros
# table(torch.tensor([0, 1, 0])).sum().backward()                  # its gradient is 0, and row 1's is 1
# nn.init.normal_(table.weight)                                    # row 0 isn't zeros any more
# (table(torch.tensor([0, 1])) @ table.weight.T).sum().backward()  # and gets a gradient
# ```
#
# Row 0 starts out as zeros, and the lookup gives it no gradient. That's all. Initializing or loading the table
# overwrites the row. Weight decay then shrinks it, even though its gradient is zero. And if the table also serves as
# the weights of the last layer, as in the last line and in many language models, row 0 gets a gradient from there. If
# you need zeros, write `table.weight[0].zero_()` under `no_grad` after the initialization, and with such tied weights,
# after each step.

# %% [markdown]
# ## A model without values
#
# *Further practice.* The digit reader's 6,186 parameters load instantly. For a model with 10 billion, your machine
# first fills 40 GB with random float32 numbers that the checkpoint then overwrites.
#
# On the *meta* device, a tensor has a shape and a dtype but no memory, so building a model there costs nothing:
#
# ```python
# with torch.device("meta"):
#     model = Network()
# model.load_state_dict(state)               # copies into tensors without memory: nothing happens
# model.load_state_dict(state, assign=True)  # makes the tensors in state the model's own
# ```
#
# The first call only issues a warning for each tensor. After the second one:
#
# - The dtype and device are those of the loaded tensors. Without `assign`, they'd be the model's.
# - `requires_grad` stays as it was in the model.
# - The parameters are new objects. An optimizer created earlier still holds the old ones: it runs without an error but
#   doesn't update the model, so create it afterward.
# - The parameters share their memory with `state`. If `state` belongs to another model, training one also changes the
#   other, so copy the tensors first.
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
