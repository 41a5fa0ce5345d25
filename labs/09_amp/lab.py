# %% [markdown]
# # Mixed precision
#
# Modern GPUs multiply 16-bit numbers several times faster than 32-bit ones, and 16 bits are half the memory. But 16
# bits are few. Which numbers survive, and which become 0, or infinite, or stop changing? (The digits script will read
# 97% in 16 bits, or 9%.) *Mixed precision* computes in
# 16 bits where that does no harm, and in `float32` elsewhere.
#
# After this lab you can
#
# - read a number's bits in `float32`, `float16` and `bfloat16`, and say how far its neighbours are;
# - say what `torch.autocast` casts, what it leaves alone, and where its context must end;
# - write loss scaling yourself, and put its calls into the right order;
# - tell an overflow, an underflow and a stall apart, and choose a format.
#
# You need labs 6 and 7, and two sittings of about an hour. Unless the text says otherwise, numbers were measured with
# PyTorch 2.13 on a CPU. With a GPU, the cells use it.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

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
# A floating-point number is a sign, an exponent and a fraction: $\pm 2^e \cdot 1.\mathit{fraction}$. The exponent's
# bits decide the *range*: how large and how small a number can be. The fraction's bits decide the *precision*: how
# close together numbers are.
#
# | format | sign | exponent | fraction |
# |---|---|---|---|
# | `float32` | 1 | 8 | 23 |
# | `float16` | 1 | 5 | 10 |
# | `bfloat16` | 1 | 8 | 7 |
#
# Newer GPUs compute in 8 bits and fewer as well: `float8` since the H100, MXFP8 and NVFP4 since Blackwell. So few bits
# need a scale for each tensor, row or block. This lab stays with 16.
#
# Below are the bits of 0.1. You can type another number, or walk to the next number of a format. Try
# 65504: what comes next in `float16`? Then try 1e-7, and 1e-10.

# %% predict: sixteen_bits
# **Predict.** Which 16-bit format stores 0.1 more exactly, and which one can store 1e-10 without making it 0?
#
# - [ ] `float16` does both
# - [ ] `bfloat16` does both
# - [x] `float16` is nearer to 0.1, and `bfloat16` can store 1e-10
# - [ ] `bfloat16` is nearer to 0.1, and `float16` can store 1e-10

# %% example
explore_formats(0.1)

# %% [markdown]
# `float16` is nearer to 0.1: its neighbours are closer together. But 1e-10 becomes 0 there. `bfloat16` is `float32`
# with the last 16 bits cut off: the same range, and a coarse grid.
#
# The next cell asks PyTorch for the edges of each format. `finfo(dtype).tiny` is called the smallest *normal* number.
# Is it the smallest number above zero?

# %% example
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    info = torch.finfo(dtype)
    print(f"{dtype!s:14} largest {info.max:.4g}  tiny {info.tiny:.4g}  eps {info.eps:.4g}")
print("in float16 :", torch.tensor([65519.0, 65520.0, 3e-8, 2.9e-8]).to(torch.float16).tolist())
print("in bfloat16:", torch.tensor([65519.0, 257.0, 1e-8, 4e-41]).to(torch.bfloat16).tolist())

# %% [markdown]
# It is not. Below `tiny` come the *subnormal* numbers. Their exponent stays the smallest one, and the leading 1 is
# missing. They lie on an even grid down to zero. So `float16` reaches down to 6e-8, not to 6e-5, with ever fewer
# digits. Half of the smallest one and less is rounded to 0: that is *underflow*. People say that `bfloat16` does not
# underflow. It does, only later: 4e-41 is 0. At the other end, 65519 is rounded to 65504, and 65520 to `inf`: that is
# *overflow*.
#
# `eps` is the distance from 1 to the next number. The distance from a number to the next one is called a *ulp*, a unit
# in the last place. It doubles at each power of two. In `bfloat16` it is 1 above 128, and 2 above 256: 257 is not
# there.
#
# ### Your turn: ulp
# How far apart are the numbers of a format, at x? This is a warm-up of about ten minutes.

# %% given
hint(
    "Which number comes right after y? The bits of a positive number, read as an integer, are one more.",
    "t.view(torch.int16) reads the 16 bits of each element as an integer, and .view(dtype) reads them back.",
)

# %% exercise: ulp points=3

# %% [markdown]
# Between two powers of two all numbers are equally far apart, and below `tiny` they are as far apart as just above it.
# Your function says what a format does to a sum. If you add to x less than half of its ulp, nothing happens.
#
# ### Ten bits for products: TF32
#
# NVIDIA's GPUs since 2020 (Ampere and later) have a faster way to multiply `float32` matrices. *TF32* rounds both
# factors to 10 bits of fraction, keeps 8 bits of exponent, and adds the products in `float32`. The tensors stay
# `float32` in memory, so nothing gets smaller.
#
# For products of matrices it is off, until you call `torch.set_float32_matmul_precision("high")`. For convolutions it
# is on from the start: `torch.backends.cudnn.allow_tf32` is `True`. Newer names say the same for each kind of
# operation: `torch.backends.cuda.matmul.fp32_precision` and `torch.backends.cudnn.conv.fp32_precision` take `"tf32"` or
# `"ieee"`. Use the old names or the new ones: once a new one has been set, reading an old one may raise `RuntimeError`.
#
# This CPU has no TF32, and the setting changed no bit of a product. But the rounding can be imitated. How large is the
# error of a matrix product in each of the ways?


# %% given
def tf32(t):
    """float32, rounded to 10 bits of fraction, ties to even, as TF32 does with the factors of a product."""
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
# TF32 has the precision of `float16` and the range of `float32`. `bfloat16` is about eight times coarser than both.
#
# ## What autocast casts
#
# Inside `with torch.autocast(device_type=..., dtype=...)`, each operation chooses the dtype that it computes in.
# Matrix products and convolutions cast their inputs to the 16-bit format. Losses cast theirs to `float32`. Many other
# operations take what comes. You change nothing in the model.
#
# Say both arguments. The default dtype is `float16` on CUDA and `bfloat16` on a CPU. `torch.amp` is the module to use;
# `torch.cuda.amp` and `torch.cpu.amp` are deprecated.
#
# The next cell makes one forward and one backward pass in `bfloat16`, and prints four dtypes.

# %% predict: which_bfloat16
# **Predict.** One of these is `bfloat16`. Which one?
#
# - [ ] a weight
# - [x] the result of the last layer
# - [ ] the loss, a cross entropy
# - [ ] the gradient of a weight

# %% example
torch.manual_seed(0)
mlp = nn.Sequential(nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 10)).to(here)
inputs, labels = torch.randn(256, 32).to(here), torch.randint(0, 10, (256,)).to(here)


def forward_pass(dtype):
    """The results and the loss under autocast with dtype, or without it for float32."""
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
# Only the result is `bfloat16`. Each layer casts a copy of its weight. The backward pass casts the gradient back, so
# weights and gradients stay `float32`, and so do Adam's states. The weights are the `float32` master copy of which lab
# 7 spoke: autocast needs no other one.
#
# The next picture lists the operations of the forward pass, with the dtype of what goes in and of what comes out. A
# cast is an operation too. How many of them does autocast add, and for which tensors?

# %% example
show_dtypes(lambda x: F.cross_entropy(mlp(x), labels), inputs, dtypes=(torch.bfloat16, torch.float16))

# %% [markdown]
# Each of the three layers needs its weight and its bias cast, the first one its input too, and the loss wants `float32`
# again.
#
# So "16 bits halve the memory" is true for what is kept for the backward pass, and not quite: 307,204 bytes become
# 169,220, which is 55 %. The cast copies of the weights are kept as well. Weights, gradients and states do not shrink.
#
# How much faster is it? That depends on the machine. Tensor Cores, the matrix units of a GPU, gain several times where
# the matrices are large. Some CPUs have such units for `bfloat16` and none for `float16`. Measure it on yours.
#
# Now the same with the wrong device. What happens with `autocast("cuda")` on a machine without CUDA?

# %% example
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with torch.autocast("cuda", dtype=torch.float16):
        print("result:", mlp(inputs).dtype)
print("warnings:", [warning.category.__name__ for warning in caught])

# %% [markdown]
# Without CUDA there is one `UserWarning`, and everything is `float32`. Training goes on, slowly, and nothing fails.
# Write `torch.autocast(x.device.type, dtype=...)`, and it goes where the data is.
#
# The list of operations that autocast casts to `float32` depends on the device. Losses are on both lists. `softmax`,
# `layer_norm`, `sum`, `exp` and `pow` are on CUDA's list only; on a CPU they take what comes. Do not rely on their
# dtype: print it. What an operation without a rule gives follows from its inputs: `float32` plus `float16` is
# `float32`.
#
# ### Your turn: amp_dtypes
# Write the function that tells it: which dtype does each layer of a model give? Lab 3 had hooks on tensors. Modules
# have them too. `layer.register_forward_hook(f)` has `f(layer, inputs, output)` called after each call of the layer,
# and returns a handle. `handle.remove()` takes the hook away.

# %% given
hint(
    "A forward hook is called with the module, its inputs and its output. How does yours know the module's name?",
    "Which modules have no children? Which statement removes the hooks even if the model raises an error?",
)

# %% exercise: amp_dtypes points=3

# %% [markdown]
# A table is looked up, not multiplied: an `nn.Embedding` gives `float32`. A residual sum of both formats is `float32`
# too. So is everything after it that has no rule, until the next matrix product.
#
# ## Where the context ends
#
# A loop of thirty steps needs thirty forward passes under autocast. Two ways to write it: a context in each step, or
# one context around the loop. The second looks better.

# %% predict: one_context
# **Predict.** What happens with one context around the loop?
#
# - [ ] it learns just as the other way does
# - [ ] it learns, and more slowly
# - [x] its loss is the same in all thirty steps
# - [ ] it raises an error in the second step


# %% example
def steps_of(one_context):
    """Losses of thirty steps of SGD in bfloat16."""
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
# The loss of the second loop is 1.1295 in all thirty steps, to the last digit. There is no error. Why?
#
# Autocast keeps the cast copies of the weights, so that a weight that is used twice is cast once. It forgets them when
# the *outermost* context ends. In the second loop it does not end. The optimizer changes the `float32` weights, and the
# model goes on computing with the copies from the first step. `cache_enabled=False` keeps no copies, and mends it.
# A context inside another one does not end the outer one. That is so even if the outer one has `enabled=False`.
#
# So: one context for each step. The forward pass and the loss belong inside. The backward pass and the optimizer belong
# outside: each backward operation runs in the dtype of its forward operation by itself.
#
# ### Your turn: train_amp
# Write the training loop.

# %% given
hint(
    "Which statements belong under autocast: the forward pass, the loss, the backward pass, the step?",
    "When does the context end, and what does autocast forget there?",
)

# %% exercise: train_amp points=4

# %% [markdown]
# `model.half()` is something else. It makes the weights themselves 16 bits wide, and the optimizer's steps too. More of
# that below.
#
# ## What becomes zero
#
# The gradients of the weights are `float32`. Can they underflow all the same? The next cell has a faint loss, and asks
# how many elements of a gradient are zero. It divides the gradient by the scale afterwards.

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
# In `float16` everything is lost. The gradient travels back from the loss through the layers, and on its way it is in
# the dtype of each layer's result. It is cast to `float32` only at the weight, and there it is 0 already. With a larger
# loss it is larger everywhere. The chain rule is linear: multiply the loss by 65536, divide the gradients by 65536, and
# you have the gradients of the loss. A power of two changes the exponent only, so it costs no digit.
#
# `bfloat16` needs none of that: its range is that of `float32`. Its gradient has about eight times the error instead.
#
# The picture shows all gradients of `mlp` for a faint loss, by their powers of two, and the range of `float16`. A scale
# moves them to the right. With which scale does none become 0? And how far may you go before one becomes `inf`?

# %% example
faint_gradients = torch.autograd.grad(1e-4 * F.cross_entropy(mlp(inputs), labels), list(mlp.parameters()))
show_underflow(
    torch.cat([g.flatten() for g in faint_gradients]), [2.0**n for n in (0, 4, 8, 12, 16, 20, 24, 28, 32, 36)]
)

# %% [markdown]
# There is room between the two. Loss scaling lives from it.
#
# ### Your turn: underflow_fraction
# Measure it: how much of a model's gradient does a format lose?

# %% given
hint(
    "You need two backward passes. torch.autograd.grad gives gradients without writing to .grad.",
    "Which elements are zero in both? They were not lost.",
)

# %% exercise: underflow_fraction points=3

# %% [markdown]
# One of the checks has large inputs and a faint loss. There the gradient of the weight, computed in `float32` and then
# cast to `float16`, keeps more than autocast does. What is lost between two layers stays lost, however large it would
# have become at the weight.

# %% [markdown]
# ## A good place to stop
#
# You know the formats, where autocast casts, and what is lost on the way back. What comes next is loss scaling, the
# whole step, and weights that stand still. After a break Python has forgotten everything. Choose *Run > Run All Above
# Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Loss scaling
#
# Which scale is right? Too small, and small gradients are 0. Too large, and large ones become `inf`. `GradScaler` tries
# it out while it trains. After a step with `inf` or `nan` in a gradient it halves the scale. After 2,000 good steps in
# a row it doubles it. Three questions before you run the cell. Where does it start? What does `GradScaler()` do without
# CUDA? And with weights that are `float16` themselves?

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
# `GradScaler()` means CUDA. Without CUDA it warns, is switched off, and its scale is 1. `GradScaler("cpu")` works. And
# a scaler refuses gradients that are `float16`: it is made for autocast, where they are `float32`. "`float16` needs a
# GradScaler" is true for training. Inference has no gradients, and there `model.half()` is fine.
#
# A scaler has four calls for each step, in this order.
#
# 1. `scaler.scale(loss).backward()`: gradients that are too large by the scale.
# 2. `scaler.unscale_(optimizer)`: divides them, and looks for `inf` and `nan`. If you skip it, `step` does it for you.
# 3. `scaler.step(optimizer)`: calls `optimizer.step()`, unless something was found.
# 4. `scaler.update()`: changes the scale.
#
# What happens to the parameters in a step that is skipped? What to the momentum? And is it repeated?
#
# ### Your turn: MyScaler
# Write it. A step that is skipped changes nothing at all, and is not repeated: that batch is lost.

# %% given
hint(
    "What has to be remembered from one method to the next: the scale, the count, what unscale_ saw, and what else?",
    "Which test is false for inf, for -inf and for nan? When does step have to call unscale_ itself?",
)

# %% exercise: MyScaler points=5

# %% [markdown]
# PyTorch's own scaler is stricter in one case: if no parameter has a gradient, `step` raises an `AssertionError`, since
# `unscale_` found nothing to check. It also keeps its scale on the GPU. It still has to ask the GPU in each step if
# something was found, unless the optimizer was made with `fused=True`: then the step's kernel looks by itself, and the
# CPU does not wait. A scaler also has `state_dict()`: scale and count belong into a checkpoint, beside the model and
# the optimizer. Start again at 65536 instead, and some batches may be lost until the scale is found once more.
#
# ## The whole step
#
# Gradient clipping compares a norm with a limit. Where does it belong among the four calls? And what if somebody
# forgets the scaler's `step`, and calls `optimizer.step()`? Here is a small model with a loss that was multiplied by
# 1e-6, in four runs. The third one clips before it unscales.

# %% predict: faint_runs
# **Predict.** Two of the runs get the loss below a tenth of its first value. Which ones? Tick both.
#
# - [ ] `float16` without a scaler
# - [x] `float16` with a scaler
# - [ ] `float16` with a scaler, clipped before `unscale_`
# - [x] `bfloat16` without a scaler


# %% example
def faint_run(dtype, scaled, clip_first=False):
    """Losses of forty steps of SGD. The gradients are those of the loss times 1e-6, the rate makes up for it."""
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
# From 1.153, the runs reach 0.240, 0.0150, 1.153 and 0.0148. Without a scaler, `float16` loses a part of its gradients.
# The third run clips gradients that are 65536 times too large, to a norm of 1e-6, and then divides them by 65536. It
# hardly moves, and nothing says so.
#
# Adam divides each gradient by its own size, and so, in a small network, it hides the mistake. The same model with the
# plain loss, clipped to a norm of 1, forty steps: SGD ends at 0.015 in the right order and at 1.153 in the wrong one.
# Adam ends at 0.0065 and at 0.0027. Nothing looks wrong there. That is why the checks use SGD.
#
# In a large network Adam slows down too. In the wrong order the gradient's norm is 1/65536, so each of $n$ elements is
# about $1 / (65536 \sqrt n)$. Adam adds `eps`, which is 1e-8, to the size that it divides by. For the 321 parameters
# here that changes nothing. With a million parameters an element is about 1.5e-8, and Adam's first step has 0.47 of its
# right size. With 30 million it has 0.17. Nothing warns you.
#
# And the other mistake? The weight is 1, its loss is w squared, the rate is 0.3. An ordinary step leads to 0.4.

# %% given
w = nn.Parameter(torch.ones(1, device=here))
wrong_sgd, wrong_scaler = torch.optim.SGD([w], lr=0.3), torch.amp.GradScaler(here.type)
wrong_scaler.scale(w.square().sum()).backward()
wrong_sgd.step()  # not wrong_scaler.step(wrong_sgd)
print("w after optimizer.step():", round(w.item()))

# %% [markdown]
# `optimizer.step()` takes the scaled gradient, and w goes to -39321 in one step.
#
# Some wrong orders raise `RuntimeError`: a second `unscale_` or a second `step` before `update`, or `unscale_` after
# `step`. So does a step after a forgotten `update()`, in the second round.
#
# ### Your turn: amp_step
# Put it all together: autocast, scaling, clipping.

# %% given
hint(
    "clip_grad_norm_ compares the norm with clip. In which unit are the gradients before unscale_?",
    "clip_grad_norm_ returns a norm. Which of the calls on the scaler are still missing?",
)

# %% exercise: amp_step points=4

# %% [markdown]
# A skipped step shows nowhere, except in the scale. With the scaler switched off, your function is an ordinary step. So
# one loop serves all formats: `GradScaler(here.type, enabled=dtype == torch.float16)`.
#
# ### Your turn: count_skips
# A few skips at the start are normal: the scale is being found. Skips that do not end mean that the model gives `inf`
# or `nan` at any scale. You have a log of scales, written now and then. How many steps were skipped, at least?

# %% given
hint(
    "From 8 to 2 without a growth in between: how many halvings is that? And from 2 to 8?",
    "The logarithm to base 2 counts halvings. Which differences of it do you add up?",
)

# %% exercise: count_skips points=2

# %% [markdown]
# Would you notice a skip that was followed by a doubling between two entries? No. Your result is a lower bound.
#
# ## When bfloat16 stands still
#
# `bfloat16` needs no scaler. NVIDIA's GPUs since 2020 (A100 and H100 among them) and some CPUs have it. So why not make
# the whole model `bfloat16`, weights and all? That would halve the memory of the weights. It is often said that
# networks need range more than precision. The next cell adds 0.001 to 1, a thousand times.

# %% predict: thousand_steps answer=1
# **Predict.** Where do you arrive in `bfloat16`?

# %% example
for dtype in (torch.float32, torch.bfloat16):
    total = torch.tensor(1.0, dtype=dtype)
    for _ in range(1000):
        total += 1e-3
    print(f"{dtype!s:14} {total.item():.4f}")

# %% [markdown]
# In `bfloat16` the ulp of 1 is 0.0078. A step of 0.001 is less than half of that, and is rounded away, a thousand
# times. The gradient is right, the step is right, and the weight does not move. That is a *stall*. It happens to any
# weight whose steps are smaller than half of its ulp, which means: late in training, with a small rate, to the large
# weights first. For activations and gradients range does matter more. For weights that are added to for a long time,
# precision does.
#
# Autocast does not stall: its weights are `float32`. Where the weights are `bfloat16`, something must remember what was
# rounded away. A `float32` *master copy* does: it takes the steps, and the weight is its rounding. *Kahan summation*
# needs half of the memory for it: a second `bfloat16` number holds what the last additions lost, and is added to the
# next step.
#
# ### Your turn: bf16_sgd_
# Write an SGD step for `bfloat16` weights that does not stall, in either way.

# %% given
hint(
    "What has to be remembered from step to step that p cannot hold?",
    "A float32 copy, from which p is made anew in each step. Or, in bfloat16, what the last addition rounded away.",
)

# %% exercise: bf16_sgd_ points=3

# %% [markdown]
# With a master copy a `bfloat16` weight takes 6 bytes, 2 more than in `float32`. Lab 7 added it up for Adam: 16 bytes
# for a parameter, as many as in `float32`. With Kahan summation a weight takes 4 bytes.
#
# ### The digits in bfloat16
#
# The next cell trains the digits script three times for ten epochs: in `float32`, under autocast in `bfloat16`, and
# with `bfloat16` weights. Run it. Then set the rate to 0.001, and to 0.0001. Which of the three falls back? And why
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
# With a rate of 0.0001, ten epochs are too few for any of them, but `float32` weights move. Most steps of the
# `bfloat16` weights are less than half an ulp, and are rounded away: they stall. With 0.01 the steps are large enough.
# In a long training with a falling rate, you'd pass from the first row to the last.
#
# Autocast halves what ReLU keeps. In return it keeps `bfloat16` copies of the scans and of the last layer's weights,
# which in a network this small takes as many bytes. It saves memory when many layers follow each other.

# %% [markdown]
# So the script trains under autocast and reads 97%, as in `float32`. Lab 10 compiles its step.

# %% [markdown]
# ## Which format?
#
# - `bfloat16` under autocast, where the hardware has it: no scaler, no surprises with range.
# - `float16` under autocast with a scaler: on older GPUs, or where its three digits matter.
# - `float32` for what needs digits: sums over many elements, statistics, losses, the weights.
#
# Autocast knows that for PyTorch's losses. It does not know your own formula. `exp` overflows `float16` from 11.1 on.
# What do the three lines give?

# %% example
scores = torch.tensor([[12.0, 3.0]], dtype=torch.float16)
print("own softmax in float16:", (scores.exp() / scores.exp().sum(1, keepdim=True)).tolist())
print("cross_entropy, float16:", F.cross_entropy(scores, torch.tensor([0])).item())
print("cross_entropy, float32:", round(F.cross_entropy(scores.float(), torch.tensor([0])).item(), 6))

# %% [markdown]
# The own formula gives `nan`. PyTorch's `cross_entropy` is stable in `float16` too, but its result of 0.0001 is rounded
# to 0. Cast logits with `.float()` before your own loss, or compute it inside
# `with torch.autocast(x.device.type, enabled=False)`. Autocast does it for `F.cross_entropy`.

# %% quiz: interview points=3
# ## Interview questions
#
# **The formats**
# - [x] `bfloat16` has the range of `float32`, with fewer digits.
#   > Both have 8 bits of exponent. The fraction has 7 bits instead of 23.
# - [ ] In `float16`, everything below 6.1e-5 becomes 0.
#   > 6.1e-5 is only the smallest normal number. The subnormal ones reach down to 6e-8, with ever fewer digits.
# - [x] Between 256 and 512, the numbers of `bfloat16` are 2 apart.
#   > With 7 bits of fraction the spacing is 1 above 128, and it doubles at each power of two. 257 is not there.
# - [ ] Neighbours in a format are `finfo(dtype).eps` apart.
#   > `eps` is the distance at 1. It grows and shrinks with the size of the numbers, as `ulp` shows.
# - [ ] `bfloat16` never underflows.
#   > It does so later than `float16`. 4e-41 became 0 in the lab.
#
# Hint: What did ulp give, and for which numbers?
#
# **Autocast**
# - [ ] Under autocast with `bfloat16`, the `.grad` of a weight is `bfloat16`.
#   > The backward pass casts it back at the weight. The lab printed `float32` for the gradient.
# - [x] It makes the tensors that are kept for the backward pass smaller, and leaves Adam's states as they are.
#   > What is kept shrank to 55 %. Adam's states belong to the `float32` weights, which autocast does not change.
# - [x] `F.cross_entropy` of `float16` logits gives `float32` under autocast.
#   > Losses are on the list of operations that are computed in `float32`, on CUDA and on the CPU.
# - [ ] The backward pass must run inside the context.
#   > Each backward operation runs in the dtype of its forward operation by itself. Only the forward pass and the loss
#   > belong inside.
# - [ ] The operations that autocast casts to `float32` are the same on every device.
#   > `softmax`, `layer_norm`, `sum`, `exp` and `pow` are on CUDA's list and not on the CPU's. Print the dtype.
#
# Hint: Which dtypes did the weights, the results and the losses have?
#
# **Where the context is**
# - [ ] One context around the whole loop raises an error in the second step.
#   > All thirty steps ran. The mistake shows only in a loss that does not move.
# - [x] One context around the whole loop leaves the loss of a batch as it was, however many steps are taken.
#   > The cast copies of the first step are used until the outermost context ends. The loss was 1.1295 thirty times.
# - [ ] `model.half()` before the training does what autocast does.
#   > It makes the weights themselves 16 bits wide, and so the optimizer's steps. Autocast leaves them `float32`.
# - [x] `cache_enabled=False` lets a loop inside one context learn.
#   > Then no cast copies are kept, and each forward pass casts the weights as they are now.
# - [ ] `torch.autocast("cuda", dtype=torch.float16)` on a machine without CUDA raises an error.
#   > There is one `UserWarning`, and everything runs in `float32`. Nothing fails, so it is easily missed.
#
# Hint: When does autocast forget the weights that it has cast?
#
# **The scaler**
# - [x] A skipped step changes neither parameters nor momentum.
#   > `optimizer.step()` is not called at all. Nothing of the optimizer changes either.
# - [ ] The scale is doubled after every good step.
#   > Only after 2,000 good steps in a row, by default. One skipped step starts the count anew.
# - [ ] After `inf`, the same batch is tried again with half the scale.
#   > The scale is halved for the next batch. This batch is lost.
# - [ ] Gradients should be clipped before `unscale_`.
#   > Before it, the gradients are too large by the scale, and the limit is compared with another unit. Unscale first.
# - [x] In the lab's small network, clipping to a norm of 1 before `unscale_` stops SGD, and does not stop Adam.
#   > The clipped gradient is divided by 65536 afterwards, so SGD hardly moves: it ended at 1.153. Adam divides by the
#   > gradient's own size, and hides it. With millions of parameters the elements get as small as Adam's `eps`, and its
#   > steps shrink too.
#
# Hint: What did MyScaler do in each case?
#
# **bfloat16**
# - [x] 1 plus 0.001, in `bfloat16`, is 1.
#   > The ulp of 1 is 0.0078, and 0.001 is less than half of that. It is rounded away.
# - [x] Weights in `bfloat16` can stop moving although all gradients are right.
#   > A step smaller than half of the weight's ulp is rounded away, each time. That is the stall.
# - [ ] Autocast with `bfloat16` needs a `GradScaler`.
#   > Its range is that of `float32`, so faint gradients do not become 0. The run without a scaler reached 0.0148.
# - [x] Under autocast, the weights are their own master copy.
#   > They stay `float32` and are cast for each product. Small steps add up in them.
# - [ ] With TF32, a `float32` weight takes fewer bytes.
#   > TF32 rounds the factors inside a product. The tensors stay `float32` in memory.
#
# Hint: What stalled, and what did not underflow?
#
# **float16**
# - [x] A model that is only used for inference needs no scaler.
#   > A scaler protects gradients, and inference has none. `model.half()` is fine there.
# - [ ] A `GradScaler` unscales the gradients of `float16` weights.
#   > It refuses them: `scaler.step` raised `ValueError`. It is made for autocast, where gradients are `float32`.
# - [x] A gradient can be lost between two layers, although at the weight it would be large enough for `float16`.
#   > On its way it is in the dtype of each layer's result. What became 0 there stays 0, also where large inputs would
#   > multiply it.
# - [ ] A logit of 12 is harmless in `exp(x) / exp(x).sum()`, in `float16`.
#   > `exp` overflows `float16` from 11.1 on. Infinity divided by infinity gave `nan`.
# - [x] Scaling the loss by a power of two changes no digit of a gradient that neither overflows nor underflows.
#   > A power of two changes the exponent only, and the backward pass is linear. The fraction stays as it was.
#
# Hint: What is lost between the layers? What does GradScaler refuse?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a network in `float16` with autocast and a `GradScaler`. You see three things in her logs. The loss
# is `nan` from step 3,000 on. The scale went from 65536 to 0.002 within a few hundred steps before that. And a second
# run, for which she called `model.bfloat16()` instead, never gives `nan`, but its loss stops falling early.
#
# In four to eight sentences: what does the falling scale tell you, and why can the scaler not help? Name one likely
# cause, and how you would find it. Why does the second run stop falling? Which setting do you propose?

# %% question: two_runs [markdown] points=2
# ### BEGIN SOLUTION
# A scale that is halved again and again means inf or nan in the gradients at any scale, so the overflow is in the
# forward pass, which the scale does not touch: it multiplies the loss only, behind the model. Likely causes are
# activations beyond 65504, a logarithm or a division in a formula of her own, exp of a large logit, or a bad batch with
# nan in it. One finds it with forward hooks that look for the first layer whose result is not finite, or by running the
# same batch in float32. Once a weight or a buffer of a batch normalisation has become nan, nothing recovers. In the
# second run the weights themselves are bfloat16, with two to three digits: when the steps become smaller than half an
# ulp of a weight they are rounded away, and it stalls. I propose autocast with bfloat16: float32 weights, no scaler,
# the range of float32; and the formula in float32, with autocast switched off for it. With float16 it would have to be
# the formula in float32 and smaller activations, with a scaler.
#
# For grading: one point for the overflow in the forward pass, with a cause and a way to find it; one for the stall of
# bfloat16 weights, and for autocast with bfloat16 or a master copy as the proposal.
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
# optimizer states stay `float32`, so small updates are not lost. With `float16`, small gradients become zero on their
# way back, since its range is small. A `GradScaler` multiplies the loss, which lifts all gradients, and divides them
# before the step. If it finds `inf` or `nan`, it skips the step and halves the scale. The trap is to say that it
# protects from every overflow. What overflows in the forward pass does so at any scale. With `bfloat16` I need no
# scaler: it has the range of `float32`, with fewer digits. And if I clip, then after `unscale_`.
#
# </details>

# %% [markdown]
# ## On one sheet
#
# - Exponent bits give range, fraction bits give precision. The ulp doubles at each power of two.
# - `float16` overflows above 65504 and underflows below 6e-8. `bfloat16` does neither in practice. It has 8
#   significant bits, which are 2.4 decimal digits.
# - Autocast casts the inputs of matrix products. Weights, gradients, states and losses stay `float32`.
# - One context for each step: forward pass and loss inside, backward pass and step outside.
# - Scale, backward, unscale, clip, step, update. A skipped step changes nothing, and shows only in the scale.
# - Weights in 16 bits stall. A `float32` master copy, or what was rounded away, keeps them moving.
#
# | call or rule | what it does or costs |
# |---|---|
# | `torch.autocast(x.device.type, dtype=...)` | casts the inputs of products; say both arguments |
# | one context around a loop | the model computes with the casts of its first step |
# | `scaler.scale(loss).backward()` | gradients that are too large by the scale |
# | `scaler.unscale_(optimizer)` | divides them, and looks for `inf` and `nan`; clip after it |
# | `scaler.step(optimizer)`, `scaler.update()` | a step, unless something was found; then another scale |
# | `model.half()` | the weights themselves in 16 bits: for inference |
# | `.float()` before a loss of your own | `exp` overflows `float16` from 11.1 on |
# | `bfloat16` weight with master copy, with Kahan summation | 6 bytes, 4 bytes |
#
# Three questions to ask yourself:
#
# - Which of my tensors are in 16 bits, and did I print their dtypes?
# - Is a number lost because it is too large, too small, or too small beside another one?
# - Would I notice a skipped step, or a step in the wrong order?
#
# Lab 10 hands the whole step to a compiler.
