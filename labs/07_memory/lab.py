# %% [markdown]
# # Where the memory goes
#
# "CUDA out of memory" is the first error that most people see on a GPU, and the usual advice is a smaller batch. But
# what takes up the memory, what keeps it there, and for how long? In this lab, you count the bytes, and find 5 MB that
# the digits script keeps for no reason.
#
# After this lab, you'll be able to
#
# - add up the bytes of weights, gradients, optimizer states and activations, and say which of them depend on the batch
#   size;
# - tell allocated from reserved memory, and say what `empty_cache()` gives back;
# - tell loops that leak from loops that only look as if they do;
# - search for the largest batch that fits, and survive the errors along the way;
# - use gradient checkpointing where it helps, and avoid three of its traps.
#
# You need lab 6. Plan on two sittings of about an hour each for the text and the five core exercises: `training_bytes`,
# `Allocator`, `alive`, `largest_batch` and `in_segments`. The four under *Further practice* earn no points, and no
# later lab depends on them. All numbers were measured with PyTorch 2.13 on a CPU. The cells use the CPU even if you
# have a GPU; where a GPU differs, the text says so.
#
# Where it says *Predict*, choose an answer before you run the next cell. Below each exercise, a card shows its checks.
# Those marked *later* run when you press *Mark my work* or hand the lab in.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import math
from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    memory,
    probes,
    show_memory,
)

# %% [markdown]
# ## Four kinds of bytes
#
# To shrink the digits script's memory, you have to know what it consists of. A training step needs memory for four
# things:
#
# - *Weights* are the parameters and buffers.
# - *Gradients* are the numbers in `.grad`, one for each number in a trained parameter.
# - *Optimizer states* are what the optimizer keeps from step to step.
# - *Activations* are the results that the forward pass keeps for the backward pass. PyTorch's documentation calls them
#   saved tensors.
#
# The next cell runs one step with Adam and adds up the bytes of the first three.

# %% predict: adam_states
# **Predict.** How large are Adam's states, and when are they created?
#
# - [ ] as large as the weights, created with the optimizer
# - [ ] as large as the weights, created in the first step
# - [ ] about twice as large as the weights, created with the optimizer
# - [x] about twice as large as the weights, created in the first step

# %% example
torch.manual_seed(0)
small = nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))
optimizer = torch.optim.Adam(small.parameters())
weights = memory.nbytes(list(small.parameters()))
print("weights         ", weights)
print("states before   ", memory.nbytes(list(optimizer.state.values())))
small(torch.randn(32, 64)).square().mean().backward()
optimizer.step()
print("gradients       ", memory.nbytes([p.grad for p in small.parameters()]))
print("states after    ", memory.nbytes(list(optimizer.state.values())))

# %% [markdown]
# The last number is 16 bytes more than twice the first, because each of the four parameters has a 4-byte step count.
# The second number shows that the states don't exist before the first `step()`. So even if the first forward and
# backward passes fit in memory, the first step can still fail.
#
# For each number in a parameter, Adam keeps two numbers, SGD with momentum keeps one, and plain SGD keeps none.
#
# A step also needs memory while it runs. On CUDA, most optimizers in `torch.optim`, including SGD and Adam, update all
# parameters at once by default (`foreach=True`). LBFGS, SparseAdam and Muon don't have that option. At its peak, a
# `foreach` step of Adam needs room for one more set of weights. With `foreach=False`, it updates one parameter after
# another and needs room for two or three tensors of a parameter's size. With `fused=True`, it needs no extra room. Lab
# 7c measures all three.
#
# Adam's states have the same dtype as their parameter. If the weights are `bfloat16`, with 2 bytes each, so are the
# states. Some training code therefore keeps a second copy of the weights in `float32`, called a *master copy*. The
# optimizer updates this copy, with states in `float32`, and the result is cast back into the weights.
#
# ### Your turn: training_bytes
# You use Adam to train a model with seven billion parameters in `float32`. A common estimate is 28 GB each for weights,
# gradients and Adam. How much is it really? And how much do you save with `bfloat16` weights and a master copy? Write a
# function that adds it all up. This takes about ten minutes.

# %% given
hint(
    "How many numbers does each parameter have under each of the four keys? And how many bytes does each number take?",
    "torch.bfloat16.itemsize is 2. Which parameters have no gradient? Which ones get no master copy?",
)

# %% exercise: training_bytes points=3 level=easy

# %% [markdown]
# Ask your function both questions. It's 112 GB, before the first activation: 28 for weights, 28 for gradients and 56
# for Adam. With `bfloat16` weights, a master copy and `float32` states, each parameter takes 2 + 2 + 4 + 8 bytes, so
# you save nothing: halving the weights doesn't halve the memory. `torch.autocast`, the topic of lab 9, keeps weights,
# gradients and states in `float32`. It shrinks the activations, but it adds copies of the weights in the smaller dtype,
# which are kept for the backward pass.
#
# ## A step, watched
#
# Of the digits script's four kinds of bytes, only the activations grow with the batch. When do they take up the most
# memory?
#
# `labkit.memory.watch` counts the bytes of all tensors that are created inside a `with` block and are still alive. It
# needs no GPU. `now` is the number of bytes alive, and `peak` is the highest value so far. Tensors that existed before
# the block shouldn't count, so you pass them in: `watch(model, x)`. One thing it doesn't see is the scratch memory that
# an operation uses internally, such as the *workspace* of a GPU's matrix products. A GPU's own statistics include it.
#
# The next cell runs one step with 16 layers and a batch that's large compared with them. Before you run it, sketch the
# curve of live bytes over time.


# %% example
def deep(layers, width, seed):
    """Layers of Linear and Tanh, all with the same width."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(layers)])


def one_step(forward, model, x):
    """A forward and a backward pass, watched. The gradients already exist, so they don't count."""
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with memory.watch(model, x) as seen:
        out = forward(x)
        seen.mark("backward begins")
        out.square().mean().backward()
    return seen


model16 = deep(16, 32, 0)
batch = torch.randn(512, 32, generator=torch.Generator().manual_seed(0))
unit = memory.nbytes(batch)  # one activation
first_run = one_step(model16, model16, batch)
half_run = one_step(model16, model16, batch[:256].clone())
print("one activation:", unit, "bytes")
print("peak of the whole batch:", round(first_run.peak / unit, 1), " of half of it:", round(half_run.peak / unit, 1))
show_memory({"512 samples": first_run, "256 samples": half_run})

# %% [markdown]
# Choose a run with the buttons above the picture. The dot marks the start of the backward pass. The unit is megabytes:
# 20 activations of 65,536 bytes each are 1.3 MB.
#
# The curve rises layer by layer until the forward pass ends. It zigzags, because a linear layer's result is freed as
# soon as `tanh` has computed its own. The peak isn't at the dot but a little later: the first backward operations
# create new tensors before they free old ones. The layers keep 16 activations, and the peak is 20. The other four come
# from the loss: each of the four small operations in its derivative creates a tensor of that size. After that, each
# layer frees what it kept. Half the batch halves the peak.
#
# ### What does a layer keep?
#
# Each operation keeps what its derivative needs. The derivative of `tanh` can be computed from its result, but that of
# `gelu` needs the input. A linear layer needs its input for the gradient of its weight. That input is another layer's
# result, and if both keep it, it's in memory only once.
#
# `probes.saved` lists the tensors that a forward pass keeps, each with its storage number.

# %% predict: kept_twice
# **Predict.** With some activation functions, a model keeps one storage per hidden layer; with others, it keeps two.
# Check all those that need two.
#
# - [ ] `relu`
# - [ ] `tanh`
# - [x] `gelu`
# - [x] `silu`

# %% given
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU, "silu": nn.SiLU}


def stack(sizes, activation):
    """Linear layers of these sizes, with the activation after all but the last."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        parts = []
        for size, following in pairwise(sizes):
            parts += [nn.Linear(size, following), ACTIVATIONS[activation]()]
        return nn.Sequential(*parts[:-1])


for activation in ACTIVATIONS:
    print(activation)
    for kept in probes.saved(stack([5, 7, 3], activation), torch.zeros(2, 5)):
        if kept["of"] != "parameter":
            print("   ", kept)

# %% [markdown]
# Look at the storage numbers. With `tanh` and `relu`, the activation function and the next linear layer both keep the
# activation's result, but in a single storage. With `gelu` and `silu`, two storages are kept for each hidden layer. The
# batch itself, `argument`, is kept too, but it existed beforehand.
#
# ### Your turn: kept_bytes
# Compute in advance how much a model keeps. The last layer's result isn't kept, because nothing needs it.

# %% given
hint(
    "Which tensors does the model create between its layers, and how many numbers does each contain?",
    "sizes[1:-1] contains the sizes of the hidden layers. How many storages of that size are kept for each of them?",
)

# %% exercise: kept_bytes points=2 level=easy further

# %% [markdown]
# Under `torch.no_grad()`, nothing is kept at all, so you can evaluate with batches that are too large for training.
#
# ## Allocated and reserved
#
# When the digits script runs on a GPU, `nvidia-smi` shows more memory in use than its tensors occupy. That's because
# asking the GPU's driver for memory is slow. A *caching allocator* is one that rarely asks: it keeps the memory of
# tensors that are gone and reuses it for new ones. PyTorch has one for each GPU, so there are two numbers. Memory is
# *allocated* if a tensor occupies it, and *reserved* if PyTorch got it from the driver: reserved memory consists of the
# allocated blocks and the cached ones. `nvidia-smi` shows the reserved bytes as used, plus what CUDA itself needs.
#
# Which of the two falls when you write `del x`, and which one when you call `torch.cuda.empty_cache()`? If you have a
# GPU, the next cell asks it. `torch.accelerator` has these functions for every kind of accelerator.

# %% example
if torch.accelerator.is_available():
    x = torch.zeros(1_000_000, device=torch.accelerator.current_accelerator())
    print("with x           ", memory.on_device())
    del x
    print("after del x      ", memory.on_device())
    torch.accelerator.empty_cache()
    print("after empty_cache", memory.on_device())
else:
    print("There is no accelerator here, and so no allocator to ask. Read on for what a GPU prints.")

# %% [markdown]
# On a CUDA GPU, if your program hasn't allocated anything yet, the three lines show these numbers:
#
# | | allocated | reserved | peak |
# |---|---|---|---|
# | with `x` | 4,000,256 | 20,971,520 | 4,000,256 |
# | after `del x` | 0 | 20,971,520 | 4,000,256 |
# | after `empty_cache()` | 0 | 0 | 4,000,256 |
#
# `peak` is the most that has been allocated so far. It doesn't fall.
#
# Where do 4,000,256 and 20,971,520 come from? `x` needs 4,000,000 bytes, and its *block* is rounded up to a multiple of
# 512 bytes. PyTorch asks the driver for more than one block at a time: for 2 MiB if the block is at most 1 MiB, and
# here for 20 MiB. Such a piece of the driver's memory is called a *segment*. PyTorch can give it back only as a whole,
# when none of its blocks is in use.
#
# So `empty_cache()` lowers the reserved bytes, but only by the cached ones. It never frees a tensor. It rarely saves
# your own process from running out of memory, because PyTorch empties its cache on its own before it gives up. It can
# help others that ask the driver for memory directly: another process on the same GPU, or NCCL, the library that GPUs
# use to send each other tensors.

# %% [markdown]
# ### What allocated it?
#
# Three tools show you more. The first two work only with CUDA.
#
# - `torch.cuda.memory_summary()` returns a table of both numbers, now and at the peak.
#   `torch.cuda.reset_peak_memory_stats()` resets the peak, so you can measure a single step.
# - `torch.cuda.memory._record_memory_history()`, followed later by `torch.cuda.memory._dump_snapshot("file.pickle")`,
#   writes a snapshot. A *snapshot* is a list of all blocks, each with the line of code that allocated it. The page
#   [pytorch.org/memory_viz](https://pytorch.org/memory_viz) draws it over time, like the picture in *A step, watched*.
# - `torch.profiler` reports the bytes that each operation allocated, minus those it freed. It works on a CPU as well.
#   On a GPU, the column is called `self_device_memory_usage`. Older texts call it `cuda_memory_usage`.
#
# Here's how to profile the small model with 32 samples. Copy the code into a cell of your own. Which operation will be
# at the top of the table, and does it belong to the forward or the backward pass? (The profiler may print two messages
# of its own that begin with `USDT`.)
#
# ```python
# few_inputs = torch.randn(32, 64)
# with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
#     small(few_inputs).square().mean().backward()
# rows = sorted(profiler.key_averages(), key=lambda row: -row.self_cpu_memory_usage)
# for row in rows[:4]:
#     print(f"{row.key:20} calls {row.count}  bytes {row.self_cpu_memory_usage}")
# ```

# %% answer [markdown]
# `aten::mm` from the backward pass, with 3 calls and 54,272 bytes on a CPU. Two of the calls compute the gradients of
# the two weights, and the third computes that of an activation. `aten::addmm` and `aten::tanh` are the linear layers
# and the activation function of the forward pass.

# %% [markdown]
# The profiler shows which operation allocated the memory, but not what keeps it alive.
#
# ### Your turn: Allocator
# Write a caching allocator. It's simpler than PyTorch's, which also splits large blocks, but like PyTorch's, it rounds
# every size up to a multiple of 512 bytes.

# %% given
hint(
    "Keep two collections: the blocks in use, by number, and the sizes of the cached blocks. Which of the three "
    "attributes can you compute from them at any time?",
    "Which cached blocks are large enough, and which of these do you take? What do you do with the cache before you "
    "raise the error?",
)

# %% exercise: Allocator points=5 level=hard

# %% [markdown]
# If you free two blocks of 1,024 bytes, a block of 2,048 bytes fits into neither of them, although 2,048 bytes are
# cached. That's *fragmentation*: there are enough free bytes, but in pieces that are too small. In your allocator,
# giving back the cache always helps. In PyTorch's, it may not, because the pieces can be in segments that contain other
# blocks in use, and such a segment can't be given back. Sizes that change from step to step make it worse.

# %% [markdown]
# ## What keeps it alive?
#
# If the digits script took more memory with every batch, a long training run would eventually fail. Memory use that
# keeps growing is called a *leak*. Python doesn't lose memory: some name, list or object still holds on to the tensors,
# and you have to find it.
#
# Many texts say that `losses.append(loss)` keeps the whole graph, so memory grows until it runs out. Is that true?
# Below are six loops over four batches. Each model has eight layers, so each batch creates eight activations. Each loop
# returns its local variables, which keeps them alive, as in a script.


# %% example
def loop_a(model, xs):
    total = 0
    for x in xs:
        loss = model(x).square().mean()
        loss.backward()
        total += loss
    return locals()


def loop_b(model, xs):
    total = 0
    for x in xs:
        loss = model(x).square().mean()  # validation: no backward, but no_grad was forgotten
        total += loss
    return locals()


def loop_c(model, xs):
    total = 0
    for x in xs:
        loss = model(x).square().mean()  # as in loop b
        total += loss.item()
    return locals()


def loop_d(model, xs):
    firsts = []
    with torch.no_grad():
        for x in xs:
            firsts.append(model(x)[:, 0])  # one column of 32
    return locals()


def loop_e(model, xs):
    losses = []
    for x in xs:
        loss = model(x).square().mean()
        loss.backward(retain_graph=True)
        losses.append(loss)
    return locals()


def loop_f(model, xs):
    outs = []
    for x in xs:
        out = model(x)
        out.square().mean().backward()
        outs.append(out)
    return locals()


# %% [markdown]
# ### Your turn: alive
# How many activations are alive after each loop? An activation has 512 by 32 numbers. Inputs, parameters, gradients of
# parameters and single numbers such as a loss don't count. Write down your six numbers first, and then measure: the
# next cell counts the activations for a seventh loop, and you can change it.

# %% given
hint(
    "For each loop, which names exist when it ends, and what does each of them keep alive? Has backward freed it?",
    "In loop c, one name still holds a graph. In loop d, how large is the memory that one column is a view of?",
)


# %% scratch
def after(loop):
    """Live activations after a loop, and at its peak."""
    model = deep(8, 32, 0)
    for parameter in model.parameters():
        parameter.grad = torch.zeros_like(parameter)
    xs = [batch.clone() for _ in range(4)]
    with memory.watch(model, xs) as seen:
        names = loop(model, xs)
        now = seen.now
        del names
    return round(now / unit), round(seen.peak / unit)


def loop_g(model, xs):
    with torch.no_grad():
        out = model(xs[0])  # one batch, and no graph
    return locals()


print("alive at the end, and the most there were:", after(loop_g))

# %% exercise: alive points=2 level=medium

# %% [markdown]
# Loop a is the one you've read about, and it keeps no activations, because `backward` frees what was saved. A list of
# such losses wouldn't keep any either. Only small node objects remain, one for each operation. They cost little, but
# `total` should still be a number: write `.item()`, or `.detach()` if you don't want to wait for a GPU.
#
# Loop b is the real leak: without `backward`, nothing is freed. Loop c keeps one of its four graphs, because `loss`
# still holds the last batch's graph. While the next one is being built, two graphs are alive, so the second number of
# `after(loop_c)` is 17, compared with 12 in loop a. Loop e keeps what `backward` would free. Contrary to what some
# texts claim, that doesn't double a backward pass's memory; it just keeps it longer. Loop f keeps the last activation
# of each batch, because `outs` holds it and `backward` frees only what the graph kept.
#
# ### Your turn: column_of
# Loop d is the least obvious: a view of one column keeps all columns alive. Collect one column of a model's results
# without keeping the others. (On a GPU, `.cpu()` would copy it out of the GPU's memory. On a CPU, it returns the tensor
# itself.)

# %% given
hint(
    "What do you have to switch off before the model runs, so no graph is built? Doing so later won't lower the peak.",
    "Which calls return a tensor with its own memory? t.untyped_storage().nbytes() says how large that is.",
)

# %% exercise: column_of points=3 level=medium further

# %% [markdown]
# Tensors can also be kept in places that are harder to spot. In a notebook, `Out[3]` and `_` keep whatever a cell
# displayed. An unhandled exception keeps its traceback, and with it all the local variables of the functions it passed
# through, so a notebook's GPU memory is often full after an error. Calling `empty_cache()` doesn't free such tensors,
# because they're in use.

# %% [markdown]
# ### The digits script's memory
#
# Here's the digits script with the convolutional network from lab 6b. It trains for an epoch, prints where the bytes
# are, and validates on the 297 held-out scans. How do the activations compare with the weights, and how much does the
# validation keep alive? Run the cell, then make two changes, one after the other, and rerun it after each:
#
# 1. Append `.item()` to the line with `total +=`.
# 2. In the validation, change `with memory` to `with torch.no_grad(), memory`.

# %% scratch
from sklearn.datasets import load_digits

torch.manual_seed(0)
mixed = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
scans = (torch.tensor(load_digits().images, dtype=torch.float32)[mixed, None] - 8) / 8
digits = torch.tensor(load_digits().target)[mixed]
reader = nn.Sequential(
    *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
    *(nn.Flatten(), nn.Linear(128, 10)),
)
adamw = torch.optim.AdamW(reader.parameters(), lr=0.01)
for rows in torch.randperm(1500).split(100):
    with memory.watch(reader, scans, digits) as forward_bytes:
        loss = nn.functional.cross_entropy(reader(scans[rows]), digits[rows])
        kept_now = forward_bytes.now
    adamw.zero_grad()
    loss.backward()
    adamw.step()
print(f"weights {memory.nbytes(list(reader.parameters())):,}, Adam {memory.nbytes(list(adamw.state.values())):,}")
print(f"activations {kept_now:,} for 100 scans")


reader.eval()
total = 0.0
with memory.watch(reader, scans, digits) as validation:
    for rows in torch.arange(1500, 1797).split(33):
        total += nn.functional.cross_entropy(reader(scans[rows]), digits[rows], reduction="sum")
    print(f"after the validation {validation.now:,} bytes are alive; at its peak {validation.peak:,} were")

# %% answer [markdown]
# The weights take 24,744 bytes, the gradients the same amount, and Adam's states 49,528. The activations for 100 scans
# take 1,720,392, which is 70 times as much as the weights. The network is small, but each of its filters is applied at
# every pixel, and each result is kept.
#
# | change | bytes alive after the validation | at its peak |
# |---|---|---|
# | 0: the original script | 5,110,816 | 5,126,124 |
# | 1: `.item()` | 2,376 | 585,288 |
# | 2: `.item()` and `no_grad()` | 2,376 | 281,160 |
#
# It's loop b again: `total` holds the graphs of all nine batches, because no backward pass frees them. With `.item()`,
# each graph is freed as soon as its loss has been added. One graph at a time is still built, as the peak shows. With
# `no_grad()`, there's none.

# %% [markdown]
# The validation now keeps 2 KB instead of 5 MB, and the loss is the same. Lab 7b asks where the script's time goes.

# %% [markdown]
# ## A good place to stop
#
# You can now add up the memory that training needs and say what keeps it alive. The second half is about reducing it:
# with a batch that fits, and with checkpointing. After a break, your variables may be gone: choose *Run > Run All Above
# Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs what it needs.

# %% [markdown]
# ## When it runs out
#
# Train on larger images than the digits, or with a larger network, and at some batch size, the memory runs out. On an
# accelerator, PyTorch then raises `torch.OutOfMemoryError`, a kind of `RuntimeError`. And on the CPU? The next cell
# asks for 40 petabytes.

# %% example
try:
    torch.empty(10**16)
except RuntimeError as error:
    print(type(error).__name__, isinstance(error, torch.OutOfMemoryError))

# %% [markdown]
# It's a plain `RuntimeError`, and one that you rarely see: the operating system usually hands out memory only when it's
# written to, and if there's none left, it kills the process.
#
# One way to find a batch size is trial and error. `SmallDevice` counts its memory, of which it has 80 units here. Its
# `run(n)` method stands for a training step with `n` samples: it takes memory for the weights and then for each layer.
# Both loops below halve the batch size until it fits. `inside` tries again inside the `except` block, and `outside`
# after it. A batch of 16 fits, and both loops start with 64.

# %% predict: two_loops
# **Predict.** Which batch sizes do the two loops find?
#
# - [ ] both find 16
# - [x] `inside` finds 8, and `outside` finds 16
# - [ ] `inside` finds 16, and `outside` finds 8
# - [ ] `inside` ends with the error, and `outside` finds 16


# %% given
class Taken:
    """Memory of a SmallDevice. It is given back when nothing refers to it anymore."""

    def __init__(self, device, amount):
        self.device, self.amount = device, amount
        device.live += amount

    def __del__(self):
        self.device.live -= self.amount


class SmallDevice:
    """A device that counts its memory. room: a function that says whether this much of it may be
    in use."""

    def __init__(self, room, weights):
        self.room, self.weights, self.live = room, weights, 0

    def take(self, amount):
        if not self.room(self.live + amount):
            raise torch.OutOfMemoryError(f"{amount} beside {self.live}")
        return Taken(self, amount)

    def run(self, n):
        """A step with n samples: the weights, and four layers that take n each."""
        weights = self.take(self.weights)
        layers = [self.take(n) for _ in range(4)]
        del layers, weights


def inside(run, n):
    """Halve n until it fits, trying again inside the except block."""
    try:
        run(n)
        return n
    except torch.OutOfMemoryError:
        return inside(run, n // 2)


def outside(run, n):
    """Halve n until it fits, trying again after the except block."""
    while True:
        try:
            run(n)
            return n
        except torch.OutOfMemoryError:
            pass
        n //= 2


print("inside :", inside(SmallDevice(lambda used: used <= 80, 10).run, 64))
print("outside:", outside(SmallDevice(lambda used: used <= 80, 10).run, 64))

# %% [markdown]
# Inside the `except` block, the exception still exists. Its traceback holds the frame of `run`, and with it all of
# `run`'s local variables. Here, that's `weights`. The layers of the failed attempt are gone, because their list was
# never finished and so never got a name. Each failed attempt keeps 10 in use, which adds up to 30 after 64, 32 and 16.
# A step with 16 samples needs 74, and one with 8 needs 42. A real training step has more local variables: the batch,
# and every intermediate result in a `forward`.
#
# All of this is freed when the block ends, so leave the block before you try again.
#
# ### Your turn: largest_batch
# Find the largest batch that fits. Halving finds only powers of two. You can do better with just a few tries, each of
# which costs a whole step.

# %% given
hint(
    "Keep two sizes: one that fits, and one that doesn't. Which size do you try next?",
    "What are these two before the first try? When are they neighbors? A small function that returns whether n fits "
    "keeps the except block short.",
)

# %% exercise: largest_batch points=3 level=medium

# %% [markdown]
# If the batch that fits is too small to train well, accumulate gradients over several batches, as in lab 6. In the
# picture above, half a batch had half the peak, and accumulation has the peak of one small batch. It doesn't save work,
# it doesn't shrink the other three kinds of bytes, and batch normalization still sees the small batches.
#
# ## Checkpointing
#
# The digits network's activations take up 70 times the memory of its weights. You can keep fewer activations without
# shrinking the batch: throw them away, and compute them again when the backward pass needs them. That's *gradient
# checkpointing*, and it trades computation for memory.
#
# `torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)` returns `f(x)`. Of everything that `f` would keep, it
# keeps only the input, and it calls `f` again in the backward pass. Such an `f` is called a *segment*, which has
# nothing to do with the allocator's segments.
#
# There are two implementations. With `use_reentrant=True`, the older one, `f` runs under `no_grad`, and the graph is
# built in the backward pass. If no input to the segment requires grad, its result doesn't either, and the parameters
# inside get no gradients; all you get is a warning. `False` doesn't have this problem, and the documentation recommends
# it.
#
# The next cell puts all 16 layers into one segment. Without a checkpoint, 16 activations were alive when backward
# began, and the peak was 20.

# %% predict: one_segment
# **Predict.** How many activations are alive when backward begins, and at the peak?
#
# - [ ] 1 when backward begins, and about 5 at the peak
# - [x] 1 when backward begins, and 19 at the peak
# - [ ] 8 when backward begins, and 10 at the peak
# - [ ] 16 when backward begins, and 20 at the peak


# %% example
def as_one(x):
    return checkpoint(model16, x, use_reentrant=False)


as_one_run = one_step(as_one, model16, batch)
for name, run in {"plain": first_run, "one segment": as_one_run}.items():
    print(
        f"{name:12} backward begins at {run.timeline[run.marks[0][0]] / unit:4.1f}, the peak is {run.peak / unit:4.1f}"
    )
plain_counts, counts = (probes.operations(f, batch, backward=True) for f in (model16, as_one))
for name in ("aten.addmm", "aten.mm"):
    print(f"{name:11} plain {plain_counts[name]}, one segment {counts[name]}")
show_memory({"plain": first_run, "one segment": as_one_run})

# %% [markdown]
# When backward begins, one activation is alive instead of 16. That looks perfect, but then all layers are computed
# again, and all their activations are alive at once. The peak is 19 instead of 20, and only the peak decides whether
# you run out of memory. So split the model into several segments, only one of which is computed again at a time.
#
# The price is one more forward pass. A linear layer multiplies matrices once in the forward pass (`addmm`) and twice in
# the backward pass (`mm`; the first layer doesn't need the gradient of its input). With a checkpoint, that makes four
# products instead of three: a third more work, not twice as much.
#
# ### A surprise
#
# The next loop puts each of three layers into its own segment. It runs, and its result is correct.

# %% predict: late_lambda
# **Predict.** Which of its gradients are correct?
#
# - [ ] those of all three layers
# - [x] those of the last layer only
# - [ ] those of the first layer only
# - [ ] none: backward raises an error

# %% example
layers3 = deep(3, 4, 0)
few = batch[:5, :4]


def by_lambda(x):
    for layer in layers3:
        x = checkpoint(lambda t: layer(t), x, use_reentrant=False)
    return x


def grads_of(forward):
    out = forward(few)
    return out, torch.autograd.grad(out.square().sum(), list(layers3.parameters()))


(out, grads), (late_out, late_grads) = grads_of(layers3), grads_of(by_lambda)
print("result equal:", torch.equal(out, late_out))
print("gradients equal:", [torch.allclose(a, b) for a, b in zip(grads, late_grads, strict=True)])

# %% [markdown]
# A Python function looks up a variable when it runs. By the time of the backward pass, the loop is over, and `layer` is
# the last layer, so all three segments are computed again with it. The shapes match, so there's no error. Bind what a
# segment needs when you create it: pass the layer itself, as in `checkpoint(layer, x, ...)`, or a function that gets
# its layers as an argument.
#
# ### Your turn: in_segments
# Split a model into segments, and checkpoint each of them, including the last. That makes all segments alike, so you
# can measure what each choice of `k` costs.

# %% given
hint(
    "Where do you cut n layers into k parts? nn.Sequential(*part) turns a list of layers into one function.",
    "Does each of your functions still know its own part after the loop? And with which argument of checkpoint do the "
    "parameters get gradients even if x doesn't require grad?",
)

# %% exercise: in_segments points=4 level=hard

# %% [markdown]
# PyTorch's own `torch.utils.checkpoint.checkpoint_sequential` does nearly the same thing, but it doesn't checkpoint the
# last segment. What would happen between the end of that segment's forward pass and the start of its backward pass?


# %% answer [markdown]
# Almost nothing: only the loss is computed, and its backward pass follows immediately. A checkpoint would throw away
# what's computed again a moment later, making room only for the loss's own tensors. With 4 segments and a plain last
# one, the peak is 11 instead of 10, and the four layers of the last segment run only once. In your own training, leave
# the last segment plain, unless that one activation decides whether the step fits.

# %% [markdown]
# ### How many segments?
#
# With your function, you can measure the peak for every number of segments. Each segment keeps its input, and while
# it's computed again, its activations are alive too. Which number gives the smallest peak with 16 equal layers?


# %% scratch
def run_in(k):
    return one_step(lambda x: in_segments(list(model16), x, k), model16, batch)


runs = {"plain": first_run}
try:
    runs |= {f"k = {k}": run_in(k) for k in (1, 2, 4, 8, 16)}
except Exception as error:
    print("This cell needs a working in_segments:", repr(error))
for name, run in runs.items():
    print(f"{name:12} peak {run.peak / unit:4.1f}")
show_memory({name: run for name, run in runs.items() if name in ("plain", "k = 4", "k = 16")})

# %% [markdown]
# The smallest peak, 10, comes with 4 segments, which is the square root of 16. Is the best number always a square root?
# Two things add up: the inputs of $k$ segments, and the activations of the longest segment. With $n$ layers, that
# segment has $n / k$ of them, rounded up. For $k = 4$, that's 4 + 4. Two more are alive at the peak: a gradient, and
# the result of a linear layer. (With $k = 16$, the peak is that of the loss, as in the plain run: 16 and 4 more.)
#
# In a transformer, the network behind language models, a layer keeps many activations internally but passes only one to
# the next layer. Does checkpointing save half of its memory, as is often claimed? The next cell runs six layers, first
# plain, then with each in its own segment. `memory.saved_bytes(f, x)` measures the bytes that the graph of `f(x)`
# keeps, not counting `x` and the parameters. It's `kept_bytes` for any function.

# %% example
torch.manual_seed(0)
blocks = nn.Sequential(*[nn.TransformerEncoderLayer(64, 4, 256, dropout=0.0, batch_first=True) for _ in range(6)])
tokens = torch.randn(16, 32, 64)


def each_block(h):
    for block in blocks:
        h = checkpoint(block, h, use_reentrant=False)
    return h


print(f"one layer keeps {memory.saved_bytes(blocks[0], tokens) / memory.nbytes(tokens):.1f} times its input")
for name, forward in {"plain": blocks, "each block": each_block}.items():
    print(f"{name:10} peak {one_step(forward, blocks, tokens).peak / memory.nbytes(tokens):5.1f}")

# %% [markdown]
# It saves far more than half: the peak falls from 82 inputs to 26. Of these 26, six are the results of the six blocks,
# eleven are inside the block that's being computed again, and nine are created briefly by its backward pass: gradients,
# most of them four times as large as the block's input, because its inner layer has 256 features instead of 64.
#
# That counts only the activations. Weights, gradients and optimizer states are as large as before, so the total shrinks
# by less.
#
# ### Your turn: best_segments
# Find the best number of segments.

# %% given
hint(
    "How many values of k are possible? Is there any reason to be clever?",
    "min(..., key=...) returns the first of several that are equally good.",
)

# %% exercise: best_segments points=2 level=easy further

# %% [markdown]
# ### A segment is called twice
#
# Before you checkpoint the digits network, look at its two batch normalization layers. A segment runs twice, which
# doesn't affect the gradients, but in training mode, batch normalization also updates its buffers: the running averages
# and the number of batches it has seen.

# %% predict: batches_seen answer=2
# **Predict.** What's the batch count after one forward pass under a checkpoint and one backward pass?

# %% example
norm = nn.BatchNorm1d(4)
out = checkpoint(norm, few, use_reentrant=False)
print("after forward ", norm.num_batches_tracked.item())
out.square().sum().backward()
print("after backward", norm.num_batches_tracked.item())

# %% [markdown]
# The running averages are updated as often as the count, with the same statistics. Training works, but evaluation uses
# different averages than it would without checkpoints. Each batch counts twice, and you get no warning.
#
# Dropout is safe: by default, `checkpoint` restores the random number generator's state before the second call, so the
# same numbers are dropped. Buffers aren't restored.
#
# Before you fix that, note that the second call may not run to the end. As soon as all saved tensors exist again,
# `checkpoint` leaves the function early by raising an exception, so code after the last operation may never run.
#
# ### Your turn: checkpoint_once
# Write a checkpoint whose backward pass changes no buffers. Afterward, the buffers are the same as if each batch had
# gone through one forward pass.

# %% given
hint(
    "The function that you pass to checkpoint is called twice. How can it know which call it is? What does it have to "
    "restore, and when?",
    "Copy the buffers before the second call, and restore them afterward. Which statement runs its last part even if "
    "an exception passes through?",
)

# %% exercise: checkpoint_once points=3 level=hard further

# %% [markdown]
# Would your function also handle a block that counts its calls in a Python attribute?

# %% answer [markdown]
# No. `buffers()` doesn't list Python attributes, so your function doesn't restore this one, and the count still goes up
# twice. Keep such a number in a buffer, as batch normalization does with `num_batches_tracked`, or count outside the
# block.

# %% quiz: interview points=3
# ## Interview questions
#
# **A model's bytes**
# - [ ] In `float32`, Adam's states take as many bytes as the weights.
#   > Adam keeps two running averages for each number, so its states are twice as large as the weights.
# - [x] SGD without momentum keeps no numbers for a parameter.
#   > Plain SGD only multiplies and subtracts. Only momentum has to be remembered, as one number for each number in the
#   > parameter.
# - [x] Training with `bfloat16` weights, a `float32` master copy and Adam takes 16 bytes per parameter.
#   > 2 for the weight, 2 for its gradient, 4 for the master copy and 8 for Adam's states in `float32`. That's as much
#   > as with `float32` throughout.
# - [ ] `torch.autocast` halves the memory of the weights.
#   > It leaves weights, gradients and states in `float32`. It shrinks activations, but it even adds cast copies of the
#   > weights.
# - [x] A parameter that isn't trained needs neither a gradient nor states.
#   > Nothing is computed for it, and nothing changes it. In `training_bytes`, it has only weights.
#
# Hint: What did the 112 GB consist of?
#
# **Allocated and reserved**
# - [ ] `del x` lowers the reserved bytes.
#   > The block goes into the cache, which is still reserved. Only the allocated bytes fall.
# - [ ] `empty_cache()` frees a tensor that only `Out[3]` still holds.
#   > That tensor is in use. `empty_cache()` gives back cached blocks and never frees a tensor.
# - [x] There can be more reserved bytes than allocated ones.
#   > The reserved bytes are the allocated blocks and the cached ones, so the cached blocks are the difference.
# - [x] An allocation can fail even though more bytes than it needs are reserved and not in use.
#   > The free bytes may be in pieces that are too small: a block of 2,048 doesn't fit into two cached blocks of 1,024.
#   > That's fragmentation.
# - [ ] `empty_cache()` before each step keeps your process from running out of memory.
#   > PyTorch empties its cache on its own before it gives up. The call helps others that ask the driver for memory, but
#   > it costs you new requests.
#
# Hint: What did your Allocator do in each case?
#
# **Leaks**
# - [ ] `losses.append(loss)` after `loss.backward()` keeps the activations of all batches.
#   > `backward` has freed them. Loop a kept no activations; only small node objects remain.
# - [x] `total += loss` in a validation loop without `no_grad` keeps the activations of all batches.
#   > There's no `backward` to free anything, and `total` holds every graph. Loop b kept all 32 activations.
# - [x] `out[:, 0].detach()` keeps all of `out` in memory.
#   > A column is a view, and a view keeps its whole storage alive. Loop d kept one full activation for each batch.
# - [ ] A detached tensor has its own memory.
#   > It has no history but shares the memory. Only a copy, such as one made by `clone()`, has its own.
# - [x] A loop that keeps only `loss.item()` can have two graphs alive at a time.
#   > `loss` still holds the last graph while the next one is built. The peak of loop c was 17, compared with 12 for
#   > loop a.
#
# Hint: Which of the six loops is it?
#
# **Smaller batches**
# - [ ] Half the batch needs half the total memory.
#   > Only the activations depend on the batch size. Weights, gradients and optimizer states are as large as before.
# - [x] Accumulating over two halves needs about half the activations at a time.
#   > Each half's graph is freed by its `backward` before the next one is built. In the picture, half a batch had half
#   > the peak.
# - [ ] Accumulation gives batch normalization the statistics of the large batch.
#   > Each small batch is still normalized by its own mean and variance. Adding gradients can't undo that.
# - [x] Trying again inside the `except` block can fail for a size that fits.
#   > The exception's traceback holds the frames of the failed attempt, and every tensor that has a name there. That's
#   > why `inside` stopped at a smaller size than `outside`.
# - [x] `torch.OutOfMemoryError` is a `RuntimeError`.
#   > It's a subclass, so `except RuntimeError` catches it. The reverse isn't true: on a CPU, you get a plain
#   > `RuntimeError`.
#
# Hint: Which of the four kinds of bytes depend on the batch size?
#
# **Checkpointing**
# - [ ] One segment around the whole model makes the peak much lower.
#   > In the backward pass, all layers are computed again, and all activations are alive at once. The peak was 19
#   > instead of 20.
# - [x] Checkpointing doesn't change the gradients.
#   > The same operations run again on the same inputs. Only the times at which activations exist change.
# - [x] Checkpointing costs about one more forward pass.
#   > Each segment runs once more in the backward pass. `addmm` was called twice as often and `mm` as often as before:
#   > four products instead of three.
# - [ ] Checkpointing also saves memory for optimizer states.
#   > It only affects activations. States depend on the parameters, which don't change.
# - [ ] The best number of segments is the square root of the number of layers, for every model.
#   > That's true if a segment's input is as large as what one layer keeps, as with the 16 equal layers. A transformer's
#   > layer keeps far more than its input.
#
# Hint: What were the peaks, and how often was addmm called?
#
# **A checkpoint's traps**
# - [x] Batch normalization in a segment counts each batch twice.
#   > The segment is called twice, and each call updates the buffers. The count was 1 after forward and 2 after
#   > backward.
# - [ ] A lambda that looks up the wrong layer in the backward pass always raises an error.
#   > The three layers had the same shapes, so the last one was used for all segments without an error. Only the
#   > gradients were wrong.
# - [ ] By default, dropout drops different numbers in the second call.
#   > `checkpoint` restores the random number generator's state before the second call, so the same numbers are dropped.
# - [x] The second call may end before the function's last line.
#   > As soon as all saved tensors exist again, `checkpoint` leaves the function by raising an exception, so restore in
#   > `finally` what you have to.
# - [ ] The input to a segment is always smaller than what the segment would have kept.
#   > `x * 3` keeps no tensor at all, but a checkpoint around it would keep `x`. A linear layer, for its part, keeps
#   > only its input anyway.
#
# Hint: Which mistake raised no error? What happens in a segment's second call?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains with Adam on a GPU. The first forward and backward passes go well, but `optimizer.step()` then
# fails with `torch.OutOfMemoryError`. The message says that, of 24 GB, 20 GB are allocated and 23 GB are reserved. He
# wants to call `torch.cuda.empty_cache()` before each step, and to checkpoint the whole model as one segment.
#
# In four to eight sentences: why does it fail there, and not earlier? Would his two ideas help? Which two things would
# you do instead, and which bytes does each of them save?

# %% question: first_step [markdown] points=2
# ### BEGIN SOLUTION
# Adam creates its states in the first step: two numbers for each parameter. That's twice the bytes of the weights, on
# top of the weights and gradients that already exist. On CUDA, the step uses foreach by default, and needs the bytes of
# the weights once more while it runs. Emptying the cache doesn't help: PyTorch does that on its own before it raises
# the error, and 20 GB are really in use. One segment around the model doesn't lower the peak of the backward pass,
# because all activations are computed again at once. And by the time of the step, the activations have been freed, so
# having fewer of them wouldn't help there at all. What's alive at the step but doesn't need to be? A result or a loss
# from an earlier pass whose graph wasn't freed, or validation outputs: find what holds them and let them go. It also
# helps to keep less per parameter: SGD with momentum, which keeps one number and so saves the bytes of the weights;
# states in 8 bits or bfloat16; freezing part of the model, which saves that part's gradients and states; dividing
# states or weights among several GPUs. Both have to fit together: after the first step, the states stay, so the next
# forward pass has less room, and there, a smaller batch with accumulation, or checkpoints in several segments, saves
# activations.
#
# For grading: one point for the states created in the first step and for judging both ideas correctly, one for two
# measures with the bytes that each of them saves.
# ### END SOLUTION

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you unfold the text.
#
# **What is gradient checkpointing, and when do you use it?**
#
# <details><summary>A good answer</summary>
#
# A checkpointed segment keeps only its input in the forward pass. In the backward pass, it runs again to recompute its
# activations. The gradients are the same. The price is about one more forward pass: a third more work, not twice as
# much. I use it when the activations don't fit. It does nothing for weights, gradients and optimizer states. The trap
# is one segment around the whole model: then all activations come back at once in the backward pass, and the peak
# hardly changes, so it takes several segments. And since each segment is called twice, its side effects happen twice:
# batch normalization counts each batch twice.
#
# </details>

# %% [markdown]
# ## On one sheet
#
# - Four kinds of bytes: weights, gradients, optimizer states, activations. Only activations depend on the batch size.
# - Adam in `float32` needs 16 bytes per parameter, before the first activation. A `foreach` step needs 4 more.
# - An operation keeps its input or its result, whichever its derivative needs. The peak is early in the backward pass.
# - Reserved memory is allocated plus cached memory. `empty_cache()` gives back the cache but frees no tensors.
# - `backward` frees what was saved. Leaks come from graphs without a backward pass, views of large tensors, and
#   tracebacks.
# - With several segments, checkpointing trades a third more work for a smaller peak. Look at the peak.
# - A segment is called twice: its side effects happen twice, and it looks names up again.
#
# | call or rule | what it does or costs |
# |---|---|
# | plain SGD, SGD with momentum, Adam | 0, 1 or 2 more numbers for each number in a parameter |
# | Adam's step on CUDA, by default | one more set of weights while it runs; with `fused=True`, none |
# | `del x` | lowers the allocated bytes, not the reserved ones |
# | `torch.cuda.empty_cache()` | lowers the reserved bytes, by cached blocks only |
# | `total += loss.item()` | keeps no graph in `total` |
# | `out[:, 0].detach()` | a view: keeps all of `out` |
# | trying again after an `except` block, not inside it | the failed attempt's tensors are freed |
# | `checkpoint(f, x, use_reentrant=False)` | keeps only `x`, and runs `f` once more in backward |
#
# Three questions to ask yourself:
#
# - How much of my training's memory depends on the batch size?
# - Which name, list or exception still holds a tensor that I don't need?
# - Does my segment return the same result, and leave the same state, when it runs twice?
#
# Lab 7b asks the same about time: which line of a step takes it up, and what waits for what.
