# %% [markdown]
# # Where the memory goes
#
# "CUDA out of memory" is the error that most people meet first on a GPU. The usual advice is a smaller batch. But which
# bytes were there, who keeps them, and until when? In this lab you count them, and find 5 MB that the digits script
# keeps for nothing.
#
# After this lab you can
#
# - add up weights, gradients, optimizer states and activations, and say which of them the batch size changes;
# - tell allocated from reserved memory, and say what `empty_cache()` gives back;
# - tell loops that leak from loops that only look like it;
# - search for the largest batch that fits, and survive the error on the way;
# - use gradient checkpointing where it helps, and know three ways in which it goes wrong.
#
# You need lab 6, and two sittings of about an hour. All numbers were measured with PyTorch 2.13 on a CPU. The cells
# stay there, whatever your machine has; where a GPU differs, the text says so.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

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
# A training step needs memory for four things.
#
# - *Weights*: the parameters, and the buffers.
# - *Gradients*: one number in `.grad` for each parameter that is trained.
# - *Optimizer states*: what the optimizer keeps from step to step.
# - Activations. *Activations* are the results that the forward pass keeps for the backward pass. PyTorch's
#   documentation calls them saved tensors.
#
# The next cell makes one step with Adam and adds up the bytes of the first three.

# %% predict: adam_states
# **Predict.** How many bytes do Adam's states have, and when are they made?
#
# - [ ] as many as the weights, made together with the optimizer
# - [ ] as many as the weights, made in the first step
# - [ ] about twice as many as the weights, made together with the optimizer
# - [x] about twice as many as the weights, made in the first step

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
# Compare the four numbers. The last one is 16 bytes more than a multiple of the first: each of the four parameters has
# a step count of 4 bytes. And the second one says when the states are made: not before the first `step()`. A training
# run that fits into memory in its first forward and backward pass can still fail at the first step.
#
# SGD with momentum keeps one number for each number of a parameter, and plain SGD keeps none. Adam keeps two.
#
# A step also needs memory while it runs. On CUDA, most optimizers of `torch.optim`, SGD and Adam among them, work on
# all parameters at once by default (`foreach=True`). LBFGS, SparseAdam and Muon don't have that option. At its peak, a
# `foreach` step of Adam needs one more set of weights. With `foreach=False` it takes one parameter after another, and
# needs room for two or three tensors of a parameter's size. With `fused=True` it needs none. Lab 7c measures all three.
#
# Adam's states have the dtype of their parameter. If the weights are `bfloat16`, with 2 bytes each, so are the states.
# A *master copy* is a second copy of the weights, in `float32`. Where training code keeps one, the optimizer changes
# the copy, with states in `float32`, and the copy is then cast into the weights.
#
# ### Your turn: training_bytes
# A model of seven billion parameters is trained with Adam in `float32`. People add it up as 28 GB of weights, 28 GB of
# gradients and 28 GB for Adam. How much is it really? And how much do you save if the weights are `bfloat16`, with a
# master copy? Write the sum as a function. This is a warm-up of about ten minutes.

# %% given
hint(
    "How many numbers does each parameter have under each of the four keys? And how many bytes has each number?",
    "torch.bfloat16.itemsize is 2. Which tensors have no gradient? Which ones get no master copy?",
)

# %% exercise: training_bytes points=3

# %% [markdown]
# Ask your function both questions. So it is 112 GB, before the first activation: 28 for weights, 28 for gradients, and
# 56 for Adam. With weights in `bfloat16`, a master copy and states in `float32` it is 2 + 2 + 4 + 8 bytes for a
# parameter. Nothing is saved. Half the weights does not mean half the memory. `torch.autocast`, which lab 9 is about,
# leaves weights, gradients and states in `float32`. It shrinks activations, and adds copies of the weights in the
# smaller dtype: they are kept for the backward pass.
#
# ## A step, watched
#
# Three of the four kinds do not depend on the batch. The fourth does. When is it largest?
#
# `labkit.memory.watch` counts the bytes of all tensors that are made inside a `with` block and are still alive. It asks
# each operation, and needs no GPU. `now` is the bytes that are alive, and `peak` the most that there were. The
# model and `x` exist before the block and don't count, so you pass them: `watch(model, x)`. One thing it doesn't see is
# the scratch memory that an operation takes inside, such as the *workspace* in which a GPU's matrix products compute. A
# GPU's own statistics include it.
#
# Next: one step with 16 layers and a batch that is large for them. Draw a curve of the live bytes before you run it.


# %% example
def deep(layers, width, seed):
    """Layers of Linear and Tanh, all of one width."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(layers)])


def one_step(forward, model, x):
    """A forward and a backward pass, watched. Gradients are there already, so that they do not
    count."""
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
# Choose one of the two runs with the buttons above the picture. The dot is where backward begins. The picture counts in
# megabytes: 20 activations of 65,536 bytes are 1.3 MB. (The weights and gradients, which were there before, are not in
# it.)
#
# The curve rises layer by layer to the end of the forward pass, in a zigzag: a linear layer's result is freed as soon
# as `tanh` has made its own. Where is the peak? Not at the dot, but behind it. The first backward operations make new
# tensors before they free old ones. The layers keep 16 activations, and the peak is 20. The other four belong to the
# loss: its derivative takes four small operations, and each makes a tensor of that size. Then each layer frees what it
# kept. Half the batch has half the peak.
#
# ### What does a layer keep?
#
# Each operation keeps what its derivative needs. The derivative of `tanh` can be computed from its result. That of
# `gelu` needs its input. A linear layer needs its input for the gradient of its weight. Its input is another layer's
# result, and memory that two of them keep is there once.
#
# `probes.saved` lists what a forward pass keeps, each tensor with the number of its storage.

# %% predict: kept_twice
# **Predict.** With some activation functions a model keeps one storage for each hidden layer, with others two. Tick all
# that need two.
#
# - [ ] `relu`
# - [ ] `tanh`
# - [x] `gelu`
# - [x] `silu`

# %% given
ACTIVATIONS = {"relu": nn.ReLU, "tanh": nn.Tanh, "gelu": nn.GELU, "silu": nn.SiLU}


def stack(sizes, activation):
    """Linear layers of these sizes, each but the last followed by the activation."""
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
# Read the storage numbers. With `tanh` and `relu` the result of the activation is kept twice, but it is one storage:
# the activation needs it, and the next linear layer needs it as its input. With `gelu` and `silu` two storages are
# kept for each layer. The batch itself, `argument`, is kept too. It was there before.
#
# ### Your turn: kept_bytes
# Say in advance what a model keeps. The last layer's result is not kept: nothing needs it.

# %% given
hint(
    "Which tensors does the model make between its layers, and how many numbers has each?",
    "sizes[1:-1] are the sizes of the hidden layers. How many storages of that size are kept for each of them?",
)

# %% exercise: kept_bytes points=2

# %% [markdown]
# Under `torch.no_grad()` nothing is kept at all. That is why evaluation fits with a batch that training cannot have.
#
# ## Allocated and reserved
#
# Asking a GPU's driver for memory is slow. A *caching allocator* is one that asks seldom: it keeps memory that a tensor
# no longer needs for the next tensor. PyTorch has one for each GPU. So there are two numbers. *Allocated* is what
# tensors occupy. *Reserved* is what PyTorch has from the driver: the allocated blocks and the cached ones. `nvidia-smi`
# shows the reserved bytes, and what CUDA needs for itself, as used.
#
# Which of the two falls when you write `del x`? Which one falls in `torch.cuda.empty_cache()`? The next cell asks a
# GPU, where there is one. `torch.accelerator` has these functions for every kind of accelerator.

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
# On a CUDA GPU on which your program hasn't allocated anything yet, the three lines have these numbers:
#
# | | allocated | reserved | peak |
# |---|---|---|---|
# | with `x` | 4,000,256 | 20,971,520 | 4,000,256 |
# | after `del x` | 0 | 20,971,520 | 4,000,256 |
# | after `empty_cache()` | 0 | 0 | 4,000,256 |
#
# `peak` is the most that has been allocated so far. It doesn't fall.
#
# Where do 4,000,256 and 20,971,520 come from? `x` needs 4,000,000 bytes. Its *block* is rounded up to a multiple of 512
# bytes. And PyTorch asks the driver for more than one block: for 2 MiB, where a block has 1 MiB or less, and here for
# 20 MiB. Such a piece of the driver's memory is called a segment. It goes back to the driver only as a whole, when no
# block in it is in use.
#
# So `empty_cache()` lowers the reserved bytes, by cached memory only. It never frees a tensor. It seldom helps your own
# process against running out: PyTorch empties its cache by itself before it gives up. It may help those who ask the
# driver themselves: another process on the same GPU, or the library by which GPUs send each other tensors (it is called
# NCCL).

# %% [markdown]
# ### Who allocated it?
#
# There is more to look at. The first two work with CUDA only.
#
# - `torch.cuda.memory_summary()` is a table of both numbers, now and at the peak.
#   `torch.cuda.reset_peak_memory_stats()` starts the peak anew, so that you can ask for one step.
# - `torch.cuda.memory._record_memory_history()`, and later `torch.cuda.memory._dump_snapshot("file.pickle")`, write a
#   snapshot. A *snapshot* is a list of all blocks, each with the line that allocated it. The page
#   [pytorch.org/memory_viz](https://pytorch.org/memory_viz) draws it over time, like the picture in *A step, watched*.
# - `torch.profiler` gives the bytes that each operation allocated, less those that it freed. It works on a CPU as well.
#   On a GPU, the column is called `self_device_memory_usage`. Older texts call it `cuda_memory_usage`.
#
# This is how it is asked, for the small model with 32 samples. Copy it into a cell of your own. Which operation will be
# at the top of its table: one of the forward pass, or one of the backward pass? (The profiler may print two lines that
# begin with `USDT`; they are its own.)
#
# ```python
# few_inputs = torch.randn(32, 64)
# with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profiler:
#     small(few_inputs).square().mean().backward()
# rows = sorted(profiler.key_averages(), key=lambda row: -row.self_cpu_memory_usage)
# for row in rows[:4]:
#     print(f"{row.key:20} calls {row.count}  bytes {row.self_cpu_memory_usage}")
# ```

# %% [markdown]
# Which operation makes the gradient of a weight? It is the one at the top, `aten::mm`, with 3 calls and 54,272 bytes on
# a CPU. It belongs to the backward pass: two calls make the gradients of both weights, and one that of an activation.
# `aten::addmm` and `aten::tanh` are the linear layers and the activation of the forward pass. The profiler says who
# allocated. It does not say who keeps.
#
# ### Your turn: Allocator
# Write a caching allocator. Ours is simpler than PyTorch's, which also splits large blocks. It rounds every size up to
# a multiple of 512 bytes, as PyTorch's does.

# %% given
hint(
    "Keep two collections: blocks in use, by number, and the sizes of cached blocks. Which of the three attributes can "
    "be computed from them at any time?",
    "Which cached blocks are large enough, and which of these do you take? What do you do with the cache before you "
    "say that memory ran out?",
)

# %% exercise: Allocator points=5

# %% [markdown]
# Free two blocks of 1,024 bytes. 2,048 bytes are cached now, in two pieces, and a block of 2,048 fits into neither.
# *Fragmentation* means that there are enough free bytes, but in pieces that are too small. In your allocator, giving
# the cache back always helps. In PyTorch's it may not: the pieces can lie in segments that hold other blocks in use,
# and such a segment is not given back. Sizes that change from step to step make it worse.

# %% [markdown]
# ## Who keeps it?
#
# Memory that grows from batch to batch is called a *leak*. In Python nothing is lost: some name, list or object still
# leads to the tensors. The question is always who.
#
# "`losses.append(loss)` keeps the whole graph, so memory grows until it runs out." You find this in many places. Is it
# so? Below are six loops over four batches. Each model has eight layers, so that one batch makes eight activations. A
# loop returns its local variables, so that all its names stay alive, as those of a script do.


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
        loss = model(x).square().mean()  # validation: no backward, and no_grad forgotten
        total += loss
    return locals()


def loop_c(model, xs):
    total = 0
    for x in xs:
        loss = model(x).square().mean()  # the same
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
# How many activations are alive after each loop? An activation has 512 by 32 numbers. The inputs, the parameters and
# their gradients do not count, nor do single numbers such as a loss. Write your six numbers down first. Then measure:
# the next cell counts them for a seventh loop, and you may change it.

# %% given
hint(
    "For each loop: which names are bound when it ends, and what does each of them lead to? Has backward freed it?",
    "In loop c one name still leads to a graph. In loop d, how large is the memory that one column is a view of?",
)


# %% scratch
def after(loop):
    """Live activations after a loop, and the most that there were."""
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

# %% exercise: alive points=2

# %% [markdown]
# Loop a is the famous one, and it keeps no activation. `backward` frees what was saved. A list of such losses would
# keep none either. What stays behind is a row of small node objects, one for each operation. It costs little, but
# `total` should be a number all the same: write `.item()`, or `.detach()` where you do not want to wait for a GPU.
#
# Loop b is the real leak. It has no `backward`, so nothing is freed. Loop c keeps one graph of its four, for `loss`
# still leads to that of the last batch. It does so while the next one is built, too: two graphs are alive at a time.
# Look at the second number of `after(loop_c)`: 17, against 12 in loop a. Loop e asks to keep what backward would free.
# That does not double the memory of one backward pass, as some say. It keeps it for longer. Loop f keeps the last
# activation of each batch: `outs` leads to it, and `backward` frees only what the graph kept.
#
# ### Your turn: column_of
# Loop d is the quiet one: a view of one column keeps all columns. Collect one column of a model's results without it.
# (On a GPU, `.cpu()` would copy it out of the GPU's memory. On a CPU it returns the tensor itself.)

# %% given
hint(
    "What must be switched off, so that no graph is built at all? Switching it off later is too late for the peak.",
    "Which calls give a tensor with memory of its own? t.untyped_storage().nbytes() says how large it is.",
)

# %% exercise: column_of points=3

# %% [markdown]
# There are quieter owners than lists. In a notebook, `Out[3]` and `_` keep what a cell showed. An exception that was
# not handled keeps its traceback, and with it all local variables of all functions on the way. That is why a notebook
# on a GPU is often full after an error. No `empty_cache()` frees them: they are in use.

# %% [markdown]
# ### The digits script's memory
#
# Here is the digits script with the convolutional network of lab 6b. It trains for an epoch, prints where the bytes
# are, and validates with the 297 held-out scans. How do the activations compare with the weights? And what does the
# validation keep? Run the cell. Then make two changes, one after the other, and run the cell after each:
#
# 1. Add `.item()` to the end of the line with `total +=`.
# 2. Replace `with memory` by `with torch.no_grad(), memory` in the validation.

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
# The weights take 24,744 bytes, the gradients as many, and Adam's states 49,528. The activations for 100 scans take
# 1,720,392: 70 times as much as the weights. This network is small, but each of its filters is applied at every pixel,
# and each result is kept.
#
# | change | bytes alive after the validation | at its peak |
# |---|---|---|
# | 0: the script as it is | 5,110,816 | 5,126,124 |
# | 1: `.item()` | 2,376 | 585,288 |
# | 2: `.item()` and `no_grad()` | 2,376 | 281,160 |
#
# It's loop b. `total` leads to the graphs of all nine batches, since no backward pass frees them. With `.item()`, each
# graph is freed as soon as its loss has been added. Even so, one graph at a time is built, and the peak shows it. With
# `no_grad()` there is none.

# %% [markdown]
# The validation now keeps 2 KB instead of 5 MB, and the loss is the same. Lab 7b asks where the script's time goes.

# %% [markdown]
# ## A good place to stop
#
# You can add up the bytes of a training, and say who keeps them. What comes next is what to do about it: a batch that
# fits, and checkpointing. After a break Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or
# press *Check*, which runs what it needs.

# %% [markdown]
# ## When it runs out
#
# If an accelerator's memory runs out, PyTorch raises `torch.OutOfMemoryError`. It is a kind of `RuntimeError`. What is
# raised if the CPU's memory runs out? The next cell asks for 40 petabytes.

# %% example
try:
    torch.empty(10**16)
except RuntimeError as error:
    print(type(error).__name__, isinstance(error, torch.OutOfMemoryError))

# %% [markdown]
# A plain `RuntimeError`. And one that you rarely see: a CPU's memory is usually given out when it is written to, and
# then the system ends the process.
#
# One way to a batch size is to try. `SmallDevice` has a counted memory, here of 80. Its method `run(n)` stands for a
# training step with `n` samples: it takes memory for the weights and then for one layer after another. The loop below
# halves the batch size until it fits. It is written twice: `inside` tries again inside the `except` block, and
# `outside` after it. 16 samples fit into this device, and both begin with 64.

# %% predict: two_loops
# **Predict.** Which batch sizes do the two loops find?
#
# - [ ] both find 16
# - [x] `inside` finds 8, and `outside` finds 16
# - [ ] `inside` finds 16, and `outside` finds 8
# - [ ] `inside` ends with the error, and `outside` finds 16


# %% given
class Taken:
    """Memory of a SmallDevice. It is given back when nobody has it any more."""

    def __init__(self, device, amount):
        self.device, self.amount = device, amount
        device.live += amount

    def __del__(self):
        self.device.live -= self.amount


class SmallDevice:
    """A device whose memory is counted. room: a function that says whether so much of it may
    be in use."""

    def __init__(self, room, weights):
        self.room, self.weights, self.live = room, weights, 0

    def take(self, amount):
        if not self.room(self.live + amount):
            raise torch.OutOfMemoryError(f"{amount} beside {self.live}")
        return Taken(self, amount)

    def run(self, n):
        """A step with n samples: weights, and four layers of n each."""
        weights = self.take(self.weights)
        layers = [self.take(n) for _ in range(4)]
        del layers, weights


def inside(run, n):
    """Halve n until it fits: tries again inside the except block."""
    try:
        run(n)
        return n
    except torch.OutOfMemoryError:
        return inside(run, n // 2)


def outside(run, n):
    """Halve n until it fits: tries again after the except block."""
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
# Inside the `except` block the exception is still there. Its traceback leads to the frame of `run`, and whatever has a
# name in that frame stays alive. Here it is `weights`. The layers of the failed try are gone: the list of them was
# never finished, and so has no name. Each failed try keeps 10, and after 64, 32 and 16 it is 30. A step with 16 samples
# needs 74, and with 8 it needs 42. In a training step more has a name: the batch, and each intermediate result in a
# `forward`.
#
# All of it is freed when the block ends. So leave the block first, and try again then.
#
# ### Your turn: largest_batch
# Find the largest batch that fits. Halving finds a power of two. You can do better, with few tries: each one of them
# costs a whole step.

# %% given
hint(
    "Keep two sizes: one that fits, and one that does not. Which size do you try next?",
    "What are these two before the first try? When are they neighbours? A small function that returns whether n fits "
    "keeps the except block short.",
)

# %% exercise: largest_batch points=3

# %% [markdown]
# If the batch that fits is too small to train well, accumulate gradients over several, as in lab 6. In the picture
# above, half a batch had half the peak. Accumulation keeps the peak of one small batch. It saves no work, it does not
# shrink the other three kinds of bytes, and a batch normalisation still sees the small batches.
#
# ## Checkpointing
#
# There is another way to fewer activations: throw them away, and compute them again when the backward pass needs them.
# *Gradient checkpointing* is an exchange: less is kept, and more is computed.
#
# `torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)` gives `f(x)`, and of all that `f` would keep it keeps
# the input only. In the backward pass it calls `f` once more. Such an `f` is called a *segment*. It has nothing but the
# name in common with the allocator's segments.
#
# What is `use_reentrant`? There are two implementations. The older one, `True`, runs `f` under `no_grad` and builds the
# graph in the backward pass. If no input of the segment requires grad, then its result does not either, and no
# parameter inside gets a gradient: there is only a warning. `False` has no such gap, and the documentation recommends
# it.
#
# The next cell puts all 16 layers into one segment. Without it, 16 activations were alive when backward began, and the
# peak was 20.

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
# When backward begins, one activation is alive instead of 16. The saved bytes look perfect. But then all layers are
# computed again, and all their activations are there at once. The peak is 19 instead of 20. Only the peak decides
# whether you run out. So the model must be cut into several segments: then one segment at a time is there again.
#
# The price is one more forward pass. A linear layer multiplies matrices once in the forward pass (`addmm`) and twice
# in the backward pass (`mm`; the first layer needs no gradient of its input). With a checkpoint it is four times in
# place of three: a third more, and not twice as much.
#
# ### A surprise
#
# Here is a loop that puts each of three layers into a segment of its own. It runs, and its result is right.

# %% predict: late_lambda
# **Predict.** Which of its gradients are right?
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
# A function in Python looks a variable up when it runs. In the backward pass the loop is over, and `layer` is the last
# layer. All three segments are computed again with it. The shapes fit, so nothing complains. Bind what a segment needs
# when you make it: `checkpoint(layer, x, ...)`, or a function that gets its layers as an argument.
#
# ### Your turn: in_segments
# Cut a model into segments, and checkpoint every one of them, the last one too. So all segments are alike, and you can
# measure what each choice of `k` costs. Whether the last one is worth its checkpoint is the question after that.

# %% given
hint(
    "At which positions do you cut n layers into k parts? nn.Sequential(*part) makes one function of a list of layers.",
    "Does each of your functions still know its own part after the loop? And which argument of checkpoint lets the "
    "parameters have gradients, if x needs none?",
)

# %% exercise: in_segments points=4

# %% [markdown]
# PyTorch has nearly the same as `torch.utils.checkpoint.checkpoint_sequential`. The difference: it puts no checkpoint
# around the last segment. What would happen between the end of that segment's forward pass and the beginning of its
# backward pass?
#
# ### How many segments?
#
# With your function, the peak can be measured for every number of segments. Each segment keeps its input, and while one
# of them is computed again, its own activations are there. Where do you expect the smallest peak of 16 equal layers?


# %% scratch
def run_in(k):
    return one_step(lambda x: in_segments(list(model16), x, k), model16, batch)


runs = {"plain": first_run}
try:
    runs |= {f"k = {k}": run_in(k) for k in (1, 2, 4, 8, 16)}
except NotImplementedError:
    print("The exercise above is not written yet.")
for name, run in runs.items():
    print(f"{name:12} peak {run.peak / unit:4.1f}")
show_memory({name: run for name, run in runs.items() if name in ("plain", "k = 4", "k = 16")})

# %% [markdown]
# The smallest peak, 10, has 4 segments. This number is the square root of 16. Is the best number always a square root?
# There are two costs: the inputs of $k$ segments, and the activations of the longest segment. With $n$ layers it has
# $n / k$ of them, rounded up. For $k = 4$ that is 4 + 4. Two more are alive at the peak: a gradient, and the result
# of a linear layer. (With $k = 16$ the peak is that of the loss, as in the plain run: 16 and four more.)
#
# And the last segment? When its forward pass ends, the loss and its backward pass follow at once. A checkpoint throws
# away what is computed again a moment later: all that it makes room for are the loss's own tensors. With 4 segments and
# a plain last one the peak is 11, and with your function it is 10. For that one activation you pay a second forward
# pass of four layers. In your own training, leave the last segment plain, as `checkpoint_sequential` does, unless that
# one activation decides whether the step fits.
#
# In a transformer, one layer keeps many activations inside, and only one goes on to the next layer. How many does it
# keep? "Checkpointing saves half of the memory", people say of transformers. Here are six layers, plain and with each
# of them in a segment of its own. `memory.saved_bytes(f, x)` measures the bytes that the graph of `f(x)` keeps, without
# `x` and the parameters: your `kept_bytes`, for any function.

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
# Far more than half: the peak falls from 82 inputs to 26. What are the 26? Six are results of the six blocks. Eleven
# are the inside of the block that is computed again. Nine are made by its backward pass for a moment: gradients, and
# most of them four times as large as its input, as its inner layer has 256 features instead of 64.
#
# That is for activations only. Weights, gradients and optimizer states are as large as before, so the whole saves less.
#
# ### Your turn: best_segments
# Find the best number of segments.

# %% given
hint(
    "How many numbers of segments are possible? Is there any reason to be clever?",
    "min(..., key=...) gives the first of several that are equally good.",
)

# %% exercise: best_segments points=2

# %% [markdown]
# ### A segment is called twice
#
# A segment runs twice, and the gradients are the same as if it ran once. But a forward pass may do more than compute a
# result. A batch normalisation in training mode changes its running averages, and counts the batches it has seen. They
# are buffers.

# %% predict: batches_seen answer=2
# **Predict.** What does the counter say after one forward pass under a checkpoint and one backward pass?

# %% example
norm = nn.BatchNorm1d(4)
out = checkpoint(norm, few, use_reentrant=False)
print("after forward ", norm.num_batches_tracked.item())
out.square().sum().backward()
print("after backward", norm.num_batches_tracked.item())

# %% [markdown]
# The running averages move as often as the counter, with the same statistics. Training works. But evaluation uses other
# averages than a run without checkpoints. Each batch counts twice, and no message says so.
#
# Dropout is safe. By default, `checkpoint` puts the random numbers' state back before the second call, and so the same
# numbers are dropped. A buffer gets no such care.
#
# A last detail, before you repair it. The second call need not come to its end: once all saved tensors are there again,
# checkpoint leaves the function early, by an exception of its own. Code behind the last operation may not run.
#
# ### Your turn: checkpoint_once
# Write a checkpoint whose backward pass changes no buffer. After it, the buffers are as one forward pass of each batch
# left them.

# %% given
hint(
    "The function that you hand to checkpoint is called twice. How can it know which call it is in? What must it put "
    "back, and when?",
    "Copy the buffers before the second call, and put the copies back behind it. Which statement runs its last part "
    "also if an exception passes through?",
)

# %% exercise: checkpoint_once points=3

# %% [markdown]
# Your function makes a block with state safe. Would it do for a block that counts its calls in a Python attribute?

# %% answer [markdown]
# No. `buffers()` doesn't list a Python attribute, so your function doesn't put it back, and the counter still counts
# twice. Keep such a number in a buffer, as batch norm does with `num_batches_tracked`, or count outside the block.

# %% quiz: interview points=3
# ## Interview questions
#
# **A model's bytes**
# - [ ] In `float32`, Adam's states have as many bytes as the weights.
#   > Adam keeps two running averages for each number, so its states are twice as large as the weights.
# - [x] SGD without momentum keeps no number for a parameter.
#   > Plain SGD only multiplies and subtracts. It is momentum that must remember one number for each parameter.
# - [x] Weights in `bfloat16`, with a `float32` master copy and Adam, cost 16 bytes for a parameter.
#   > 2 for the weight, 2 for its gradient, 4 for the master copy and 8 for Adam's states in `float32`. As many as with
#   > `float32` throughout.
# - [ ] `torch.autocast` halves the memory of the weights.
#   > It leaves weights, gradients and states in `float32`. It shrinks activations, and even adds cast copies of the
#   > weights.
# - [x] A parameter that is not trained needs neither a gradient nor states.
#   > Nothing is computed for it and nothing changes it. In `training_bytes` it has weights and nothing else.
#
# Hint: What did the 112 GB consist of?
#
# **Allocated and reserved**
# - [ ] `del x` lowers the reserved bytes.
#   > The block goes into the cache, and the cache is still reserved. Only the allocated bytes fall.
# - [ ] `empty_cache()` frees a tensor that only `Out[3]` still leads to.
#   > That tensor is in use. `empty_cache()` gives back cached blocks and never frees a tensor.
# - [x] Reserved bytes can be more than allocated ones.
#   > Reserved are the allocated blocks and the cached ones. Cached blocks are the difference.
# - [x] An allocation can fail although more bytes than it needs are reserved and not in use.
#   > The free bytes may lie in pieces that are too small: two cached blocks of 1,024 hold no block of 2,048. That is
#   > fragmentation.
# - [ ] `empty_cache()` before each step keeps your process from running out.
#   > PyTorch empties its cache by itself before it gives up. The call helps others who ask the driver, and costs you
#   > new requests.
#
# Hint: What did your Allocator do in each case?
#
# **Leaks**
# - [ ] `losses.append(loss)` after `loss.backward()` keeps the activations of all batches.
#   > `backward` has freed them. Loop a kept no activation, only small node objects stay.
# - [x] `total += loss` in a validation loop without `no_grad` keeps the activations of all batches.
#   > There is no `backward` that frees anything, and `total` leads to each graph. Loop b kept all 32 activations.
# - [x] `out[:, 0].detach()` keeps all of `out` in memory.
#   > A column is a view, and a view keeps its whole storage. Loop d held one full activation for each batch.
# - [ ] A detached tensor has memory of its own.
#   > It gives up the history and shares the memory. Only a copy such as `clone()` has its own.
# - [x] A loop that keeps only `loss.item()` can have two graphs alive at a time.
#   > `loss` still leads to the last graph while the next one is built. The peak of loop c was 17, and that of loop a
#   > 12.
#
# Hint: Which of the six loops is it?
#
# **Smaller batches**
# - [ ] Half the batch needs half the memory in all.
#   > Only the activations know the batch. Weights, gradients and optimizer states stay as large as they were.
# - [x] Accumulating over two halves needs about half the activations at a time.
#   > Each half's graph is freed by its `backward` before the next one is built. In the picture half a batch had half
#   > the peak.
# - [ ] Accumulation gives a batch normalisation the statistics of the large batch.
#   > Each small batch is still normalised by its own mean and variance. Adding gradients cannot undo that.
# - [x] A try inside the `except` block can fail for a size that fits.
#   > The exception's traceback leads to the frames of the failed try, and to each tensor that has a name there. So
#   > `inside` stopped at a smaller size than `outside`.
# - [x] `torch.OutOfMemoryError` is a `RuntimeError`.
#   > It is a subclass, so `except RuntimeError` catches it. The reverse does not hold: a full CPU raises a plain
#   > `RuntimeError`.
#
# Hint: Which of the four kinds of bytes know the batch?
#
# **Checkpointing**
# - [ ] One segment around the whole model makes the peak much lower.
#   > In backward all layers are computed again, and all activations are there at once. The peak was 19 instead of 20.
# - [x] It leaves the gradients as they were.
#   > The same operations run on the same inputs once more. Only the time at which activations exist is another one.
# - [x] It costs about one more forward pass.
#   > Each segment runs once more in backward. `addmm` was called twice as often and `mm` as often as before: four
#   > products instead of three.
# - [ ] It also saves optimizer states.
#   > It is about activations only. States depend on the parameters, which stay.
# - [ ] The best number of segments is the square root of the number of layers, for every model.
#   > It holds where a segment's input is as large as what one layer keeps, as in the 16 equal layers. A transformer's
#   > layer keeps far more than its input.
#
# Hint: What were the peaks, and how often was addmm called?
#
# **A checkpoint's traps**
# - [x] A batch normalisation in a segment counts each batch twice.
#   > The segment is called twice, and each call updates the buffers. The counter said 1 after forward and 2 after
#   > backward.
# - [ ] A lambda that finds the wrong layer in the backward pass always raises an error.
#   > The three layers had equal shapes, so the last one was used for all segments without an error. Only the gradients
#   > were wrong.
# - [ ] By default, dropout drops other numbers in the second call.
#   > `checkpoint` puts the state of the random numbers back before the second call, so the same numbers are dropped.
# - [x] The second call may end before the function does.
#   > As soon as all saved tensors are there again, it leaves the function by an exception of its own. Put repairs into
#   > `finally`.
# - [ ] The input of a segment is always smaller than what the segment would have kept.
#   > `x * 3` keeps no tensor at all, and a checkpoint around it would keep `x`. And a linear layer keeps just its input
#   > anyway.
#
# Hint: What raised no error? What did your checkpoint_once need?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains with Adam on a GPU. The first forward and backward pass go well. `optimizer.step()` then fails with
# `torch.OutOfMemoryError`. The message says that 20 GB of 24 GB are allocated and 23 GB are reserved. He wants to call
# `torch.cuda.empty_cache()` before each step, and to checkpoint the whole model as one segment.
#
# In four to eight sentences: why does it fail there, and not before? Would his two ideas help? Which two things would
# you do instead, and which bytes does each of them save?

# %% question: first_step [markdown] points=2
# ### BEGIN SOLUTION
# Adam makes its states in the first step: two numbers for each parameter. That is twice the bytes of the weights, and
# they come on top of the weights and gradients, which are there already. On CUDA the step is a foreach one by default,
# and needs the bytes of the weights once more while it runs. Emptying the cache does not help: PyTorch does it by
# itself before it raises the error, and 20 GB are really in use. One segment around the model does not lower the peak
# of the backward pass, since all activations are computed again at once. And at the step the activations are freed
# already, so that fewer of them would not help there at all. What is alive at the step and need not be? A result or a
# loss of an earlier pass whose graph was not freed, or validation outputs: find their owners and let them go. What
# helps besides is fewer numbers for each parameter: SGD with momentum keeps one and saves the bytes of the weights;
# states in 8 bits or bfloat16; freezing a part of the model saves gradients and states of that part; states or weights
# divided over several GPUs. Both must fit together: after the first step the states stay, so the next forward pass has
# less room, and there a smaller batch with accumulation, or checkpoints in several segments, save activations.
#
# For grading: one point for the states made in the first step and for both ideas judged rightly, one for two measures
# with the bytes that each of them saves.
# ### END SOLUTION

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you open the text.
#
# **What is gradient checkpointing, and when do you use it?**
#
# <details><summary>A good answer</summary>
#
# A checkpointed segment keeps only its input in the forward pass. In the backward pass it runs once more, and its
# activations are there again. The gradients are the same. The price is about one more forward pass: a third more work,
# and not twice as much. I use it when activations are what does not fit. For weights, gradients and optimizer states it
# does nothing. The trap is one segment around the whole model. Then all activations come back at once in the backward
# pass, and the peak stays nearly where it was. It takes several segments. And since each is called twice, it must do
# the same twice: a batch normalisation counts each batch double.
#
# </details>

# %% [markdown]
# ## On one sheet
#
# - Four kinds of bytes: weights, gradients, optimizer states, activations. Only the last kind knows the batch.
# - Adam in `float32` needs 16 bytes for a parameter, before the first activation. A `foreach` step needs 4 more.
# - An operation keeps its input or its result, whichever its derivative needs. The peak is early in the backward pass.
# - Reserved is allocated and cached. `empty_cache()` gives back the cache, and no tensor.
# - `backward` frees what was saved. Leaks are graphs without a backward, views of large tensors, and tracebacks.
# - Checkpointing trades a third more work for a smaller peak, in several segments. Look at the peak.
# - A segment is called twice. What it changes, it changes twice, and what it looks up, it looks up later.
#
# | call or rule | what it does or costs |
# |---|---|
# | SGD, with momentum, Adam | 0, 1 or 2 more numbers for each number of a parameter |
# | Adam's step on CUDA, by default | one more set of weights while it runs; with `fused=True` none |
# | `del x` | lowers the allocated bytes, not the reserved ones |
# | `torch.cuda.empty_cache()` | lowers the reserved bytes, by cached blocks only |
# | `total += loss.item()` | keeps no graph in `total` |
# | `out[:, 0].detach()` | a view: keeps all of `out` |
# | after an `except` block, not inside it | the place to try again: the failed try is freed |
# | `checkpoint(f, x, use_reentrant=False)` | keeps `x` only, and runs `f` once more in backward |
#
# Three questions to ask yourself:
#
# - Which bytes of my training know the batch size, and how many are they?
# - Which name, list or exception still leads to a tensor that I do not need?
# - Does my segment give the same result, and leave the same state, when it runs twice?
#
# Lab 7b asks the same of time: which line of a step takes it, and who waits for whom.
