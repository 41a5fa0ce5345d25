# %% [markdown]
# # Mixed precision
#
# Modern GPUs multiply 16-bit numbers several times faster than 32-bit ones, and they take half the memory. But with so
# few bits, some numbers become 0 or infinite, and some weights stop changing. Depending on how you use 16 bits, the
# digits script reads 97% or 9%. *Mixed precision* means computing in 16 bits where that does no harm, and in `float32`
# everywhere else.
#
# After this lab, you'll be able to
#
# - read a number's bits in `float32`, `float16` and `bfloat16`, and say how far apart neighboring numbers are;
# - say what `torch.autocast` casts, what it doesn't, and where its context must end;
# - write loss scaling yourself, and put its calls in the right order;
# - tell overflow, underflow and stalled weights apart, and choose a format.
#
# You need labs 6 and 7. Plan two sittings of about an hour for the text and the five core exercises: `ulp`,
# `train_amp`, `MyScaler`, `amp_step` and `bf16_sgd_`. The three under *Further practice* earn no points, and no later
# lab needs them. Unless the text says otherwise, numbers were measured with PyTorch 2.13 on a CPU. If you have a GPU,
# most cells use it.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise, a card shows its checks. Those
# marked *later* run when the lab is marked: press *Mark my work*, or hand it in.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import math
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    device,
    explain,
    explore_formats,
    probes,
    show_curves,
    show_dtypes,
    show_underflow,
)

here = device()

# %% [markdown]
# ## Three formats
#
# In 16 bits, the 4,810 weights of the digits network take half the memory. What do they lose? A floating-point number
# consists of a sign, an exponent and a fraction: $\pm 2^e \cdot 1.\mathit{fraction}$. The exponent's bits determine the
# *range*, from the smallest number to the largest. The fraction's bits determine the *precision*: how close together
# the numbers are.
#
# | format | sign | exponent | fraction |
# |---|---|---|---|
# | `float32` | 1 | 8 | 23 |
# | `float16` | 1 | 5 | 10 |
# | `bfloat16` | 1 | 8 | 7 |
#
# Newer GPUs also compute in 8 bits or fewer: NVIDIA's use `float8` since the H100, and MXFP8 and NVFP4 since the
# Blackwell generation. With so few bits, each tensor, row or block needs a scale. This lab uses 16 bits.
#
# The next cell draws the bits of 0.1.

# %% predict: sixteen_bits
# **Predict.** Which 16-bit format stores 0.1 more accurately, and which can store 1e-10 without turning it into 0?
#
# - [ ] `float16` does both
# - [ ] `bfloat16` does both
# - [x] `float16` is closer to 0.1, and `bfloat16` can store 1e-10
# - [ ] `bfloat16` is closer to 0.1, and `float16` can store 1e-10

# %% example
explore_formats(0.1)

# %% [markdown]
# `float16` is closer to 0.1, because its numbers are closer together, but 1e-10 becomes 0 in it. `bfloat16` is
# `float32` without the last 16 bits: it has the same range, but much larger gaps between its numbers.
#
# In the picture, you can type another number, or step to the next number of a format. Which number follows 65504 in
# `float16`? And which format stores 1e-7 more accurately?

# %% answer [markdown]
# `inf`, because 65504 is the largest number of `float16`. `bfloat16` stores 1e-7 as 1.001e-7; the nearest `float16`
# number is 1.19e-7. The picture calls the latter subnormal, a term explained below.

# %% [markdown]
# The next cell prints the limits of each format. `finfo(dtype).tiny` is called the smallest *normal* number. Is it the
# smallest number above zero?

# %% example
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    info = torch.finfo(dtype)
    print(f"{dtype!s:14} largest {info.max:.4g}  tiny {info.tiny:.4g}  eps {info.eps:.4g}")
print("in float16 :", torch.tensor([65519.0, 65520.0, 3e-8, 2.9e-8]).to(torch.float16).tolist())
print("in bfloat16:", torch.tensor([65519.0, 257.0, 1e-8, 4e-41]).to(torch.bfloat16).tolist())

# %% [markdown]
# No. The numbers below `tiny` are called *subnormal*. They have the smallest exponent but no leading 1, so they're
# evenly spaced down to zero. That's why `float16` reaches down to 6e-8 instead of 6e-5, with fewer and fewer digits. A
# number that's at most half of the smallest one is rounded to 0, which is called *underflow*. People say that
# `bfloat16` doesn't underflow. It does, only later: 4e-41 becomes 0. At the other end, `float16` rounds 65519 to 65504,
# but 65520 to `inf`, which is called *overflow*.
#
# `eps` is the distance from 1 to the next number. The distance from a number to the next one is called an *ulp*, a unit
# in the last place. It doubles at each power of two. In `bfloat16`, it's 1 from 128 to 256 and 2 above 256, so there's
# no 257.
#
# ### Your turn: ulp
# Write a function that returns the ulp of each element of x in a given format. This is a ten-minute warm-up.

# %% given
hint(
    "What's the next number after y? Read as integers, the bits of neighboring positive numbers differ by one.",
    "t.view(torch.int16) reads the 16 bits of each element as an integer, and .view(dtype) turns them back.",
)

# %% exercise: ulp points=3 level=easy

# %% [markdown]
# Between two powers of two, all numbers are equally far apart, and below `tiny` they're as far apart as just above it.
# So your function also predicts sums: adding less than half an ulp to a positive number doesn't change it.
#
# ### Ten bits for products: TF32
#
# You can speed up the digits network without a single 16-bit tensor. NVIDIA's GPUs since 2020 (Ampere and later) have a
# faster way to multiply `float32` matrices, called *TF32*. It rounds both inputs to 10 bits of fraction, keeps 8 bits
# of exponent, and adds the products in `float32`. The tensors themselves stay `float32`, so it saves no memory.
#
# For matrix products, TF32 is off until you call `torch.set_float32_matmul_precision("high")`. For convolutions, it's
# on by default: `torch.backends.cudnn.allow_tf32` is `True`. Newer settings have one name per kind of operation:
# `torch.backends.cuda.matmul.fp32_precision` and `torch.backends.cudnn.conv.fp32_precision` take `"tf32"` or `"ieee"`.
# Don't mix old and new names: once you've set a new one, reading an old one may raise `RuntimeError`.
#
# On this CPU, the setting didn't change a single bit of a product. But you can imitate the rounding. How large is the
# error of a matrix product in each format?


# %% given
def tf32(t):
    """Round float32 to 10 bits of fraction, ties to even, as TF32 rounds the inputs of a product."""
    bits = t.view(torch.int32)
    return ((bits + 0xFFF + (bits >> 13 & 1)) & ~0x1FFF).view(torch.float32)


generator = torch.Generator().manual_seed(0)
left, right = torch.randn(64, 256, generator=generator), torch.randn(256, 64, generator=generator)
exact = left.double() @ right.double()
products = {
    "float32": left @ right,
    "TF32, imitated": tf32(left) @ tf32(right),
    "float16": (left.half() @ right.half()).float(),
    "bfloat16": (left.bfloat16() @ right.bfloat16()).float(),
}
for name, product in products.items():
    print(f"{name:15} relative error {(product - exact).norm() / exact.norm():.0e}")

# %% [markdown]
# TF32 has the precision of `float16` and the range of `float32`. The numbers of `bfloat16` are eight times as far
# apart, and its error is larger by about that factor.
#
# ## What autocast casts
#
# To train the digits network in 16 bits, you add one line, and the model doesn't change. Inside
# `with torch.autocast(device_type=..., dtype=...)`, each operation chooses its own dtype. Matrix products and
# convolutions cast their inputs to the 16-bit format. Losses cast theirs to `float32`. Many other operations use the
# dtype they get.
#
# Pass both arguments: the default dtype is `float16` on CUDA and `bfloat16` on a CPU. Use `torch.amp`; `torch.cuda.amp`
# and `torch.cpu.amp` are deprecated.
#
# The next cell runs one forward and one backward pass in `bfloat16`, and prints four dtypes.

# %% predict: which_bfloat16
# **Predict.** One of these is `bfloat16`. Which one?
#
# - [ ] a weight
# - [x] the output of the last layer
# - [ ] the loss, a cross entropy
# - [ ] the gradient of a weight

# %% example
torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)).to(here)
inputs, labels = torch.randn(256, 32).to(here), torch.randint(0, 10, (256,)).to(here)


def forward_pass(dtype):
    """Return the logits and the loss, under autocast with dtype, or without autocast for float32."""
    with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
        logits = mlp(inputs)
        return logits, F.cross_entropy(logits, labels)


logits, loss = forward_pass(torch.bfloat16)
loss.backward()
print("weight  ", mlp[0].weight.dtype)
print("result  ", logits.dtype)
print("loss    ", loss.dtype)
print("gradient", mlp[0].weight.grad.dtype)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    print(f"{dtype!s:15} kept for backward: {probes.saved_bytes(forward_pass, dtype):,} bytes")

# %% [markdown]
# Only the output is `bfloat16`. Each layer casts a copy of its weight, and the backward pass casts the gradient back.
# So weights, gradients and Adam's states stay `float32`. The weights are the master copy that lab 7 mentioned, and
# autocast needs no other.
#
# The next picture lists the operations of the forward pass, with the dtypes of their inputs and outputs. A cast is an
# operation too. How many casts does autocast add, and for which tensors?

# %% example
show_dtypes(lambda x: F.cross_entropy(mlp(x), labels), inputs, dtypes=(torch.bfloat16, torch.float16))

# %% [markdown]
# Eight: each of the three layers casts its weight and its bias, the first also casts its input, and the loss casts the
# logits to `float32`.
#
# So "16 bits halve the memory" is only true of what's kept for the backward pass, and not quite: 307,204 bytes become
# 169,220, or 55%, mostly because the cast copies of the weights are kept too. Weights, gradients and states don't
# shrink.
#
# How much faster is it? That depends on the machine. Tensor Cores, the matrix units of NVIDIA's GPUs, are several times
# faster if the matrices are large. Some CPUs have such units for `bfloat16`, but not for `float16`.
#
# What happens on the wrong device, such as with `autocast("cuda")` on a machine without CUDA?

# %% example
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autocast("cuda", dtype=torch.float16):
        print("result:", mlp(inputs).dtype)
print("warnings:", [warning.category.__name__ for warning in caught])

# %% [markdown]
# Without CUDA, there's one `UserWarning`, and everything runs in `float32`, slowly. Nothing fails.
# `torch.autocast(x.device.type, dtype=...)` always uses the data's device.
#
# Which operations autocast casts to `float32` depends on the device: CUDA and the CPU have different lists. Losses are
# on both lists. `softmax`, `layer_norm`, `sum`, `exp` and `pow` are only on CUDA's; on a CPU, they use the dtype they
# get. Print it instead of guessing. Operations without a rule promote their inputs as usual: `float32` plus `float16`
# is `float32`.
#
# ### Your turn: amp_dtypes
# Write a function that reports the dtype of each layer's output. Lab 3 introduced hooks on tensors; modules have them
# too. After `layer.register_forward_hook(f)`, each call of the layer also calls `f(layer, inputs, output)`. The method
# returns a handle, and `handle.remove()` removes the hook.

# %% given
hint(
    "A forward hook is called with the module, its inputs and its output. How does yours know the module's name?",
    "Which modules have no children? Which statement removes the hooks even if the model raises an error?",
)

# %% exercise: amp_dtypes points=3 level=medium further

# %% [markdown]
# An `nn.Embedding` only looks up rows, so its output is `float32`. A sum of both formats, as in `x + layer(x)`, is
# `float32` too. So is every later operation without a rule, until the next matrix product.
#
# ## Where the context ends
#
# Where you put the context decides whether the digits script learns. A loop of thirty steps can have a context in each
# step, or one context around the loop, which looks tidier.

# %% predict: one_context
# **Predict.** What happens with one context around the loop?
#
# - [ ] it learns just as well
# - [ ] it learns, but more slowly
# - [x] its loss is the same in all thirty steps
# - [ ] it raises an error in the second step


# %% example
def steps_of(one_context):
    """Return the losses of thirty SGD steps in bfloat16."""
    generator = torch.Generator().manual_seed(0)
    xs = torch.randn(64, 8, generator=generator).to(here)
    ys = xs[:, :1] + xs[:, 1:2] / 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(here)
    sgd, seen = torch.optim.SGD(net.parameters(), lr=0.1), []
    outer = torch.autocast(here.type, dtype=torch.bfloat16) if one_context else nullcontext()
    with outer:
        for _ in range(30):
            sgd.zero_grad()
            with nullcontext() if one_context else torch.autocast(here.type, dtype=torch.bfloat16):
                loss = F.mse_loss(net(xs), ys)
            loss.backward()
            sgd.step()
            seen.append(loss.item())
    return seen


show_curves({"a context in each step": steps_of(False), "one around the loop": steps_of(True)})

# %% [markdown]
# In the second loop, the loss is 1.1295 in all thirty steps, and there's no error. Why?
#
# Autocast caches the cast copies of the weights, so a weight that's used twice is cast only once. It clears this cache
# when the *outermost* context ends. In the second loop, that's after the last step. The optimizer changes the `float32`
# weights, but the model still computes with the copies from the first step. `cache_enabled=False` keeps no copies, and
# fixes the loop. An inner context doesn't clear the cache when it ends, even if the outer one has `enabled=False`.
#
# So use one context per step. The forward pass and the loss belong inside, the backward pass and the optimizer outside:
# each backward operation runs in the dtype of its forward operation anyway. With one context around its whole loop, the
# digits script at the end of this lab reads 19% instead of 97%.
#
# ### Your turn: train_amp
# Write the training loop.

# %% given
hint(
    "Which statements belong under autocast: the forward pass, the loss, the backward pass, the step?",
    "When does the context end, and what does autocast clear there?",
)

# %% exercise: train_amp points=4 level=medium

# %% [markdown]
# `model.half()` does something else: it casts the weights themselves to `float16`, so the optimizer's steps are 16 bits
# wide too. You'll see below what that costs.
#
# ## What becomes zero
#
# The digits network also reads 97% under autocast in `float16`, because its gradients are large enough. A larger
# model's may be too small. Can they underflow even though the weights' gradients are `float32`? The next cell
# multiplies a tiny loss by a scale, divides the gradient by the same scale, and counts the gradient's zeros.

# %% example
torch.manual_seed(0)
layer, few = nn.Linear(4, 3).to(here), torch.randn(8, 4).to(here)
exact_gradient = None
for dtype, factor in ((torch.float32, 1), (torch.float16, 1), (torch.float16, 65536), (torch.bfloat16, 1)):
    layer.zero_grad()
    with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
        faint = 1e-7 * layer(few).float().square().mean()
    (faint * factor).backward()
    gradient = layer.weight.grad / factor
    exact_gradient = gradient if exact_gradient is None else exact_gradient
    error = (gradient - exact_gradient).norm() / exact_gradient.norm()
    zeros = (gradient == 0).float().mean()
    print(f"{dtype!s:14} scale {factor:5}  zeros {zeros:4.0%}  relative error {error:.1g}")

# %% [markdown]
# In `float16` without a scale, the whole gradient is lost. On its way back from the loss, it has the dtype of each
# layer's output. Only at the weight is it cast to `float32`, and by then it's 0. The chain rule is linear: if you
# multiply the loss by 65536 and divide the gradients by 65536, you get the gradients of the loss. A power of two
# changes only the exponent, so no digits are lost.
#
# `bfloat16` doesn't need this: its range is that of `float32`. In return, its gradient has about eight times the error.
#
# The next picture shows all gradients of `mlp` for a small loss, by their powers of two, and the range of `float16`. A
# scale moves them to the right. With which scale does none become 0? And how large can it be before one becomes `inf`?

# %% example
faint_gradients = torch.autograd.grad(1e-4 * F.cross_entropy(mlp(inputs), labels), list(mlp.parameters()))
show_underflow(
    torch.cat([g.flatten() for g in faint_gradients]), [2.0**n for n in (0, 4, 8, 12, 16, 20, 24, 28, 32, 36)]
)

# %% [markdown]
# With $2^8$, 14 of the 6,922 elements become 0; with $2^{12}$, none. With $2^{32}$, none become `inf`; with $2^{36}$, 8
# do. Loss scaling uses the room in between.
#
# ### Your turn: underflow_fraction
# Measure it: what share of a model's gradient does a format lose?

# %% given
hint(
    "You need two backward passes. torch.autograd.grad returns gradients without writing to .grad.",
    "Which elements are zero in both? Those weren't lost.",
)

# %% exercise: underflow_fraction points=3 level=medium further

# %% [markdown]
# One of the checks has large inputs and a tiny loss. There, casting the weight's `float32` gradient to `float16` keeps
# more than autocast does: what's lost between two layers stays lost, however large it would have become at the weight.

# %% [markdown]
# ## A good place to stop
#
# You know the formats, what autocast casts, and what's lost in the backward pass. The second half is about loss
# scaling, the whole step, and weights that stop changing. After a break, the notebook has lost all its variables:
# choose *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs what it
# needs.

# %% [markdown]
# ## Loss scaling
#
# A model that loses gradients in `float16` needs a scale, but which one? If it's too small, small gradients become 0;
# if it's too large, large ones become `inf`. `GradScaler` searches for the scale during training. After a step with
# `inf` or `nan` in a gradient, it halves the scale. After 2,000 good steps in a row, it doubles it. Before you run the
# cell: where does the scale start? What does `GradScaler()` do without CUDA? And what does a scaler do if the weights
# themselves are `float16`?

# %% example
scaler = torch.amp.GradScaler(here.type)
print("start:", scaler.get_scale(), " doubles after", scaler.get_growth_interval(), "good steps")

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    default = torch.amp.GradScaler()
print("GradScaler():", default.get_scale(), default.is_enabled(), [warning.category.__name__ for warning in caught])

torch.manual_seed(0)
half = nn.Linear(2, 2).to(here).half()
half_sgd = torch.optim.SGD(half.parameters(), lr=0.1)
scaler.scale(half(torch.ones(1, 2, device=here).half()).float().sum()).backward()
try:
    scaler.step(half_sgd)
except ValueError as refused:
    print("float16 weights:", type(refused).__name__)

# %% [markdown]
# The scale starts at 65536. `GradScaler()` assumes CUDA: without it, it warns and turns itself off, and its scale is 1.
# `GradScaler("cpu")` works. And a scaler refuses `float16` gradients, because it's made for autocast, where they're
# `float32`. "`float16` needs a GradScaler" is true for training. Inference has no gradients, so `model.half()` is fine
# there.
#
# Each step makes four calls to the scaler, in this order:
#
# 1. `scaler.scale(loss).backward()` computes gradients that are multiplied by the scale.
# 2. `scaler.unscale_(optimizer)` divides them by the scale, and looks for `inf` and `nan`. If you skip it, `step` does
#    it for you.
# 3. `scaler.step(optimizer)` calls `optimizer.step()`, unless `inf` or `nan` was found.
# 4. `scaler.update()` sets the scale for the next step.
#
# ### Your turn: MyScaler
# Write a scaler. A skipped step changes neither parameters nor momentum, and isn't repeated: its batch is lost.

# %% given
hint(
    "What do the methods have to remember for each other: the scale, the count, what unscale_ saw, and what else?",
    "Which test is false for inf, for -inf and for nan? When does step have to call unscale_ itself?",
)

# %% exercise: MyScaler points=5 level=hard

# %% [markdown]
# PyTorch's own scaler is stricter in one case: if no parameter has a gradient, `step` raises an `AssertionError`,
# because `unscale_` found nothing to check. It keeps its scale on the GPU. Even so, the CPU waits in each step to learn
# whether an `inf` or `nan` was found, unless the optimizer was created with `fused=True`: then the step's kernel checks
# that itself. A scaler also has a `state_dict()`: save it in your checkpoints. If you start at 65536 again, you may
# lose some batches until it has found its scale.
#
# ## The whole step
#
# Clipping and scaling in the wrong order leaves the digits script at 7% instead of 96%, without an error. Clipping
# compares a norm with a limit. Where does it belong among the four calls? And what happens if you forget the scaler's
# `step`, and call `optimizer.step()`? The next cell trains a small model four times, with a loss multiplied by 1e-6.
# The third run clips before it unscales.

# %% predict: faint_runs
# **Predict.** Two of the runs reduce the loss to less than a tenth of its first value. Which ones? Select both.
#
# - [ ] `float16` without a scaler
# - [x] `float16` with a scaler
# - [ ] `float16` with a scaler, clipped before `unscale_`
# - [x] `bfloat16` without a scaler


# %% example
def faint_run(dtype, scaled, clip_first=False):
    """Return the losses of forty SGD steps. The loss is multiplied by 1e-6, and the rate makes up for it."""
    generator = torch.Generator().manual_seed(0)
    xs = torch.randn(64, 8, generator=generator).to(here)
    ys = xs[:, :1] + xs[:, 1:2] / 2
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        net = nn.Sequential(nn.Linear(8, 32), nn.Tanh(), nn.Linear(32, 1)).to(here)
    sgd, seen = torch.optim.SGD(net.parameters(), lr=1e5), []
    scaler = torch.amp.GradScaler(here.type, enabled=scaled)
    for _ in range(40):
        sgd.zero_grad()
        with torch.autocast(here.type, dtype=dtype):
            loss = F.mse_loss(net(xs), ys)
        scaler.scale(1e-6 * loss).backward()
        if clip_first:
            nn.utils.clip_grad_norm_(net.parameters(), 1e-6)
        scaler.step(sgd)
        scaler.update()
        seen.append(loss.item())
    return seen


show_curves(
    {
        "float16, no scaler": faint_run(torch.float16, False),
        "float16, scaler": faint_run(torch.float16, True),
        "float16, clipped before unscale_": faint_run(torch.float16, True, clip_first=True),
        "bfloat16, no scaler": faint_run(torch.bfloat16, False),
    }
)

# %% [markdown]
# From 1.153, the runs get to 0.240, 0.0150, 1.153 and 0.0148. Without a scaler, `float16` loses part of its gradients.
# The third run clips gradients that are 65536 times too large to a norm of 1e-6, and then divides them by 65536. The
# weights hardly change, and there's no warning.
#
# Adam divides each gradient by its own size, so in a small network, it hides the mistake. With the plain loss, clipped
# to a norm of 1, SGD ends at 0.015 in the right order and at 1.153 in the wrong one. Adam ends at 0.0065 and 0.0027, so
# nothing looks wrong. That's why the checks use SGD.
#
# In a large network, Adam slows down too. In the wrong order, the gradient's norm is 1/65536, so each of its $n$
# elements is about $1 / (65536 \sqrt n)$. Adam adds `eps`, which is 1e-8, to the size that it divides by. With the 321
# parameters here, that hardly matters. With a million, an element is about 1.5e-8, and Adam's first step is only 0.47
# times as large as it should be; with 30 million, 0.17.
#
# What about the other mistake? In the next cell, the weight is 1, its loss is w squared, and the rate is 0.3. An
# ordinary step would change the weight to 0.4.

# %% given
w = nn.Parameter(torch.ones(1, device=here))
wrong_sgd, wrong_scaler = torch.optim.SGD([w], lr=0.3), torch.amp.GradScaler(here.type)
wrong_scaler.scale(w.square().sum()).backward()
wrong_sgd.step()  # not wrong_scaler.step(wrong_sgd)
print("w after optimizer.step():", round(w.item()))

# %% [markdown]
# `optimizer.step()` uses the scaled gradient, and w goes to -39321 in one step.
#
# Some wrong orders raise `RuntimeError`: a second `unscale_` or a second `step` before `update`, or `unscale_` after
# `step`. A forgotten `update()` raises it too, in the next step.
#
# ### Your turn: amp_step
# Put everything together: autocast, scaling, clipping.

# %% given
hint(
    "clip_grad_norm_ compares the norm with clip. By which factor are the gradients too large before unscale_?",
    "clip_grad_norm_ returns a norm. Which of the scaler's calls are still missing?",
)

# %% exercise: amp_step points=4 level=medium

# %% [markdown]
# Only the scale shows that a step was skipped. With the scaler turned off, your function takes an ordinary step, so one
# loop works for both formats: `GradScaler(here.type, enabled=dtype == torch.float16)`.
#
# ### Your turn: count_skips
# A few skips at the start are normal, while the scaler looks for its scale. If they don't stop, the model produces
# `inf` or `nan` at any scale. Write a function that counts, from an occasional log of scales, the steps that must have
# been skipped.

# %% given
hint(
    "From 8 to 2 without growth in between: how many halvings is that? And from 2 to 8?",
    "The logarithm to base 2 counts halvings. Which differences between logarithms do you add up?",
)

# %% exercise: count_skips points=2 level=easy further

# %% [markdown]
# Would you notice a skip that was followed by a doubling between two entries?

# %% answer [markdown]
# No. The halving and the doubling cancel out, so the two entries are equal. That's why your result is a lower bound.

# %% [markdown]
# ## When bfloat16 weights stall
#
# Why not make the whole digits network `bfloat16`, and halve the memory of its weights too? It needs no scaler, and
# NVIDIA's GPUs since 2020 (A100 and H100 among them) and some CPUs support it. People often say that networks need
# range more than precision. The next cell adds 0.001 to 1, a thousand times.

# %% predict: thousand_steps answer=1
# **Predict.** What's the sum in `bfloat16`?

# %% example
for dtype in (torch.float32, torch.bfloat16):
    total = torch.tensor(1.0, dtype=dtype)
    for _ in range(1000):
        total += 1e-3
    print(f"{dtype!s:14} {total.item():.4f}")

# %% [markdown]
# In `bfloat16`, the ulp of 1 is 0.0078. A step of 0.001 is less than half of that, so it's rounded away, a thousand
# times. The gradient is right, the step is right, and the weight doesn't change. That's a *stall*. It happens to any
# weight whose steps are smaller than half its ulp: late in training, at a small learning rate, and to large weights
# first. Activations and gradients do need range more, but weights that add up small steps for a long time need
# precision.
#
# Autocast doesn't stall, because its weights are `float32`. If the weights are `bfloat16`, something has to remember
# what was rounded away. One way is a `float32` *master copy*: the steps are added to the copy, which is then rounded to
# the weight. *Kahan summation* needs half that memory: a second `bfloat16` number holds what the last additions lost,
# and is added to the next step.
#
# ### Your turn: bf16_sgd_
# Write an SGD step for `bfloat16` weights that doesn't stall, in either of these ways.

# %% given
hint(
    "What has to be remembered from step to step that p can't hold?",
    "A float32 copy, from which p is set again in each step. Or, in bfloat16, what the last addition rounded away.",
)

# %% exercise: bf16_sgd_ points=3 level=medium

# %% [markdown]
# With a master copy, a `bfloat16` weight takes 6 bytes, 2 more than in `float32`. With Adam, lab 7 counted 16 bytes per
# parameter, as many as in `float32`. With Kahan summation, a weight takes 4 bytes.
#
# ### The digits in bfloat16
#
# The next cell trains the digits script three times for ten epochs: in `float32`, under autocast in `bfloat16`, and
# with `bfloat16` weights. Run it, then set the rate to 0.001 and to 0.0001. Which of the three falls behind? And why
# does autocast keep more bytes than `float32`?

# %% scratch
from sklearn.datasets import load_digits

from labkit import memory

rate = 0.01

mixed = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
pixels = ((torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8)[mixed]
digits = torch.tensor(load_digits().target)[mixed]
for way in ("float32", "autocast", "bfloat16 weights"):
    torch.manual_seed(0)
    reader, scans = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)), pixels
    if way == "bfloat16 weights":
        reader, scans = reader.bfloat16(), pixels.bfloat16()
    adamw = torch.optim.AdamW(reader.parameters(), lr=rate)
    for _ in range(10):
        for rows in torch.randperm(1500).split(100):
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=way == "autocast"):
                digit_loss = F.cross_entropy(reader(scans[rows]), digits[rows])
            adamw.zero_grad()
            digit_loss.backward()
            adamw.step()
    with memory.watch(reader, scans, digits) as forward_bytes:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=way == "autocast"):
            digit_loss = F.cross_entropy(reader(scans[:100]), digits[:100])
        kept_bytes = forward_bytes.now
    is_right = reader(scans[1500:]).argmax(dim=1) == digits[1500:]
    print(f"{way:16}  right {is_right.float().mean():.0%}  kept {kept_bytes:,} bytes")

# %% answer [markdown]
# | rate | `float32` | autocast | `bfloat16` weights |
# |---|---|---|---|
# | 0.01 | 97% | 97% | 97% |
# | 0.001 | 94% | 94% | 93% |
# | 0.0001 | 55% | 54% | 9% |
# | bytes kept for 100 scans | 29,608 | 30,888 | 14,804 |
#
# At a rate of 0.0001, ten epochs are too few for all three, but `float32` weights change. Most steps of the `bfloat16`
# weights are less than half an ulp and get rounded away: the weights stall. In a long training run with a decreasing
# rate, you'd go from the first row to the last.
#
# Autocast halves what ReLU keeps. In return, it keeps `bfloat16` copies of the scans and of the last layer's weights,
# which in a network this small take up slightly more. It saves memory in networks with many layers.

# %% [markdown]
# So the script trains under autocast and reads 97%, as in `float32`. Lab 10 compiles its step.

# %% [markdown]
# ## Which format?
#
# For the digits, any of them works at a rate of 0.01. For other models, start here:
#
# - `bfloat16` under autocast, if the hardware supports it: no scaler, and no surprises with range.
# - `float16` under autocast with a scaler: on older GPUs, or if you need its three digits.
# - `float32` for whatever needs digits: sums over many elements, statistics, losses, the weights.
#
# Autocast does that for PyTorch's losses, but it doesn't know your own formula. `exp` overflows `float16` from 11.1 on.
# What do the next three lines print?

# %% example
scores = torch.tensor([[12.0, 3.0]], dtype=torch.float16)
print("own softmax in float16:", (scores.exp() / scores.exp().sum(1, keepdim=True)).tolist())
print("cross_entropy, float16:", F.cross_entropy(scores, torch.tensor([0])).item())
print("cross_entropy, float32:", round(F.cross_entropy(scores.float(), torch.tensor([0])).item(), 6))

# %% [markdown]
# The hand-written softmax gives `nan`. In `float16`, `cross_entropy` doesn't overflow, but returns 0 instead of 0.0001:
# the sum of exponentials, 1.0001, is rounded to 1. Before a loss of your own, cast the logits with `.float()`, and if
# it has matrix products, turn autocast off for it: `with torch.autocast(x.device.type, enabled=False)`.

# %% quiz: interview points=3
# ## Interview questions
#
# **The formats**
# - [x] `bfloat16` has the range of `float32`, with fewer digits.
#   > Both have 8 bits of exponent, but the fraction has 7 bits instead of 23.
# - [ ] In `float16`, everything below 6.1e-5 becomes 0.
#   > 6.1e-5 is only the smallest normal number. Subnormal numbers reach down to 6e-8, with fewer and fewer digits.
# - [x] Between 256 and 512, the numbers of `bfloat16` are 2 apart.
#   > With 7 bits of fraction, the spacing is 1 above 128, and it doubles at each power of two. There's no 257.
# - [ ] Neighboring numbers of a format are `finfo(dtype).eps` apart.
#   > `eps` is the distance at 1. It grows and shrinks with the size of the numbers, as `ulp` shows.
# - [ ] `bfloat16` never underflows.
#   > It does, only later than `float16`: in the lab, 4e-41 became 0.
#
# Hint: What did ulp return, and for which numbers?
#
# **Autocast**
# - [ ] Under autocast with `bfloat16`, the `.grad` of a weight is `bfloat16`.
#   > The backward pass casts it back at the weight. In the lab, the gradient was `float32`.
# - [x] It shrinks the tensors that are kept for the backward pass, but not Adam's states.
#   > What's kept shrank to 55%. Adam's states belong to the `float32` weights, which autocast doesn't change.
# - [x] `F.cross_entropy` of `float16` logits gives `float32` under autocast.
#   > Losses are on the list of operations that are computed in `float32`, on CUDA and on the CPU.
# - [ ] The backward pass must run inside the context.
#   > Each backward operation runs in the dtype of its forward operation anyway. Only the forward pass and the loss
#   > belong inside.
# - [ ] The operations that autocast casts to `float32` are the same on every device.
#   > `softmax`, `layer_norm`, `sum`, `exp` and `pow` are on CUDA's list but not on the CPU's. Print the dtype.
#
# Hint: Which dtypes did the weights, the outputs and the losses have?
#
# **Where the context is**
# - [ ] One context around the whole loop raises an error in the second step.
#   > All thirty steps ran. The only sign of the mistake is a loss that doesn't change.
# - [x] With one context around the whole loop, the loss of a batch stays the same, however many steps are taken.
#   > The cast copies from the first step are used until the outermost context ends. The loss was 1.1295 thirty times.
# - [ ] Calling `model.half()` before training does what autocast does.
#   > It makes the weights themselves 16 bits wide, and so the optimizer's steps. Autocast leaves them `float32`.
# - [x] With `cache_enabled=False`, a loop inside one context learns.
#   > Then no cast copies are kept, and each forward pass casts the current weights.
# - [ ] `torch.autocast("cuda", dtype=torch.float16)` on a machine without CUDA raises an error.
#   > There's one `UserWarning`, and everything runs in `float32`. Nothing fails, so it's easy to miss.
#
# Hint: When does autocast clear the weights that it has cast?
#
# **The scaler**
# - [x] A skipped step changes neither parameters nor momentum.
#   > `optimizer.step()` isn't called at all, so the optimizer's state doesn't change either.
# - [ ] The scale is doubled after every good step.
#   > By default, only after 2,000 good steps in a row. A skipped step restarts the count.
# - [ ] After `inf`, the same batch is tried again with half the scale.
#   > The scale is halved for the next batch. This batch is lost.
# - [ ] Gradients should be clipped before `unscale_`.
#   > Before it, the gradients are multiplied by the scale, so the limit is compared with the wrong norm. Unscale first.
# - [x] In the lab's small network, clipping to a norm of 1 before `unscale_` stops SGD, but not Adam.
#   > The clipped gradient is then divided by 65536, so SGD hardly moves: it ended at 1.153. Adam divides by the
#   > gradient's own size, which hides the mistake. With millions of parameters, the elements get as small as Adam's
#   > `eps`, and its steps shrink too.
#
# Hint: What did MyScaler do in each case?
#
# **bfloat16**
# - [x] 1 plus 0.001, in `bfloat16`, is 1.
#   > The ulp of 1 is 0.0078, and 0.001 is less than half of that. It's rounded away.
# - [x] Weights in `bfloat16` can stop changing although all gradients are right.
#   > A step smaller than half the weight's ulp is rounded away every time. That's the stall.
# - [ ] Autocast with `bfloat16` needs a `GradScaler`.
#   > Its range is that of `float32`, so small gradients don't become 0. The run without a scaler reached 0.0148.
# - [x] Under autocast, the weights are their own master copy.
#   > They stay `float32` and are cast for each product. Small steps add up in them.
# - [ ] With TF32, a `float32` weight takes fewer bytes.
#   > TF32 rounds the inputs inside a product. The tensors stay `float32` in memory.
#
# Hint: What stalled, and what didn't underflow?
#
# **float16**
# - [x] A model that is only used for inference doesn't need a scaler.
#   > A scaler protects gradients, and inference has none. `model.half()` is fine there.
# - [ ] A `GradScaler` unscales the gradients of `float16` weights.
#   > It refuses them: `scaler.step` raised `ValueError`. It's made for autocast, where gradients are `float32`.
# - [x] A gradient can be lost between two layers, although at the weight it would be large enough for `float16`.
#   > Between layers, it has the dtype of each layer's output. If it becomes 0 there, it stays 0, even if large inputs
#   > would multiply it later.
# - [ ] In `float16`, a logit of 12 is harmless in `exp(x) / exp(x).sum()`.
#   > `exp` overflows `float16` from 11.1 on. Infinity divided by infinity gave `nan`.
# - [x] Scaling the loss by a power of two changes no digit of a gradient that neither overflows nor underflows.
#   > A power of two changes only the exponent, and the backward pass is linear. The fraction stays the same.
#
# Hint: What is lost between the layers? What does GradScaler refuse?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a network in `float16` with autocast and a `GradScaler`. In her logs, you see three things. The
# loss is `nan` from step 3,000 on. In the few hundred steps before that, the scale fell from 65536 to 0.002. And a
# second run, for which she called `model.bfloat16()` instead, never gives `nan`, but its loss stops falling early.
#
# In four to eight sentences: what does the falling scale mean, and why can't the scaler help? Name a likely cause, and
# say how you would find it. Why does the second run stop improving? Which setup do you propose?

# %% question: two_runs [markdown] points=2
# ### BEGIN SOLUTION
# A scale that is halved again and again means that there are inf or nan in the gradients at any scale. So the overflow
# is in the forward pass, which the scale doesn't affect: it multiplies only the loss, after the model. Likely causes
# are activations beyond 65504, a logarithm or a division in a formula of her own, exp of a large logit, or a batch that
# contains nan. To find it, use forward hooks that look for the first layer whose output isn't finite, or run the same
# batch in float32. Once a weight or a buffer of a batch normalization is nan, nothing recovers. In the second run, the
# weights themselves are bfloat16, with two to three digits: once the steps are smaller than half an ulp of a weight,
# they're rounded away, and training stalls. I propose autocast with bfloat16: float32 weights, no scaler, the range of
# float32; and the formula in float32, with autocast turned off for it. With float16, she would need the formula in
# float32, smaller activations, and a scaler.
#
# For grading: one point for the overflow in the forward pass, with a cause and a way to find it; one for the stall of
# bfloat16 weights, and for proposing autocast with bfloat16 or a master copy.
# ### END SOLUTION

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you open the text.
#
# **What is mixed precision, and which problem does a `GradScaler` solve?**
#
# <details><summary>A good answer</summary>
#
# Under autocast, matrix products and convolutions compute in 16 bits, and losses in `float32`. Weights, gradients and
# optimizer states stay `float32`, so small updates aren't lost. With `float16`, small gradients become zero in the
# backward pass, because its range is small. A `GradScaler` multiplies the loss, which makes all gradients larger, and
# divides them again before the step. If it finds `inf` or `nan`, it skips the step and halves the scale. A common
# mistake is to say that it protects against every overflow. Whatever overflows in the forward pass does so at any
# scale. With `bfloat16`, I don't need a scaler: it has the range of `float32`, with fewer digits. And if I clip, I do
# it after `unscale_`.
#
# </details>

# %% [markdown]
# ## On one sheet
#
# - Exponent bits give range, fraction bits give precision. The ulp doubles at each power of two.
# - `float16` overflows above 65504 and underflows below 6e-8. `bfloat16` does neither in practice. It has 8
#   significant bits, which are 2.4 decimal digits.
# - Autocast casts the inputs of matrix products. Weights, gradients, states and losses stay `float32`.
# - One context per step: forward pass and loss inside, backward pass and step outside.
# - Scale, backward, unscale, clip, step, update. A skipped step changes nothing, and only the scale shows it.
# - Weights in 16 bits stall. A `float32` master copy, or what was rounded away, keeps them moving.
#
# | call or rule | what it does or costs |
# |---|---|
# | `torch.autocast(x.device.type, dtype=...)` | casts the inputs of products; pass both arguments |
# | one context around a loop | the model computes with the casts of its first step |
# | `scaler.scale(loss).backward()` | gives gradients multiplied by the scale |
# | `scaler.unscale_(optimizer)` | divides them, and looks for `inf` and `nan`; clip after it |
# | `scaler.step(optimizer)`, `scaler.update()` | a step, unless `inf` or `nan` was found; then the next scale |
# | `model.half()` | the weights themselves in 16 bits: for inference |
# | `.float()` before a loss of your own | `exp` overflows `float16` from 11.1 on |
# | `bfloat16` weight with master copy, with Kahan summation | 6 bytes, 4 bytes |
#
# Three questions to ask yourself:
#
# - Which of my tensors are in 16 bits, and did I print their dtypes?
# - Is a number lost because it's too large, too small, or too small next to another one?
# - Would I notice a skipped step, or a step in the wrong order?
#
# Lab 10 compiles the whole step.
