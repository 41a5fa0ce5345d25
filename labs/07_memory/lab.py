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
    assert_some_right,
    check,
    explain,
    hint,
    memory,
    probes,
    show_memory,
)

# %% [markdown]
# # Where the memory goes
#
# "CUDA out of memory" is the error that most people meet first on a GPU. The usual advice is a smaller batch. Often it
# is the right one. But which bytes were there, who keeps them, and until when? In this lab you count them.
#
# After this lab you can
#
# - add up weights, gradients, optimizer states and activations, and say which of them the batch size changes;
# - tell allocated from reserved memory, and say what `empty_cache()` gives back;
# - tell loops that leak from loops that only look like it;
# - search for the largest batch that fits, and survive the error on the way;
# - use gradient checkpointing where it helps, and know three ways in which it goes wrong.
#
# You need lab 6. This one takes about 90 minutes. After the section on leaks is a good place for a break. All numbers
# in the text were measured with PyTorch 2.13 on a CPU. Nothing here needs a GPU: a tensor has the same number of bytes
# everywhere. Where a GPU is different, the text says so.
#
# Write your predictions down before you run a cell. The lab is worth 32 points. The checks that you see hold about a
# sixth of them. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## Four kinds of bytes
#
# A training step needs memory for four things.
#
# - *Weights*: the parameters, and the buffers.
# - *Gradients*: one number in `.grad` for each parameter that is trained.
# - *Optimizer states*: what the optimizer keeps from step to step.
# - *Activations*: what the forward pass keeps for the backward pass. They are called saved tensors.
#
# The next cell makes one step with Adam and adds up the bytes of the first three. How many bytes does each have, as a
# multiple of the weights? When are the states made: with the optimizer, or later?

# %% given
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
# The gradients have as many bytes as the weights. Adam's states have twice as many, and 16 more: four parameters have
# a step count of 4 bytes each. And they are made in the first `step()`. A training run that fits into memory in its
# first forward and backward pass can still fail at the first step.
#
# So Adam keeps two numbers for each number of a parameter. SGD with momentum keeps one, and plain SGD keeps none.
#
# A step also needs memory while it runs. On CUDA, the optimizers of `torch.optim` work on all parameters at once by
# default (`foreach=True`). At its peak such a step of Adam needs one more set of weights: measured on a GPU, 1.00 times
# their bytes. With `foreach=False`, one parameter after another, it was 0.07, and with `fused=True` 0.00.
#
# Adam's states have the dtype of their parameter. If the weights are `bfloat16`, with 2 bytes each, so are the states.
# Some training code therefore keeps a *master copy* of such weights in `float32`. The optimizer changes the copy, with
# states in `float32`, and the copy is then cast into the weights.
#
# ### Your turn
# A model of seven billion parameters is trained with Adam in `float32`. People add it up as 28 GB of weights, 28 GB of
# gradients and 28 GB for Adam. Which of the three is wrong? Write the sum as a function.

# %% given
hint(
    "How many numbers does each parameter have under each of the four keys? And how many bytes has each number?",
    "torch.bfloat16.itemsize is 2. Which tensors have no gradient? Which ones get no master copy?",
)


# %% exercise: training_bytes
def training_bytes(parts: list[tuple[list[int], torch.dtype, bool]], optimizer: str, master: bool) -> dict[str, int]:
    """The bytes that training a model needs beside its activations: a dict of ints.

    parts: (shape, dtype, trained) for each parameter. dtype is float32, bfloat16 or float16. One that is not trained
    has weights, and nothing else. optimizer: "sgd" keeps no number for a parameter, "momentum" one, "adam" two.
    master: whether each trained parameter that is not float32 has a master copy in float32.
    Returns the keys weights; gradients, each in its parameter's dtype; master, the copies; states, in float32 for a
    parameter with a master copy, and in the parameter's dtype for others; and total. Step counts are left out.
    """
    ### BEGIN SOLUTION
    found = {"weights": 0, "gradients": 0, "master": 0, "states": 0}
    numbers = {"sgd": 0, "momentum": 1, "adam": 2}[optimizer]
    for shape, dtype, trained in parts:
        count = math.prod(shape)
        copied = master and dtype != torch.float32
        found["weights"] += count * dtype.itemsize
        if trained:
            found["gradients"] += count * dtype.itemsize
            found["master"] += count * 4 * copied
            found["states"] += count * numbers * (4 if copied else dtype.itemsize)
    return {**found, "total": sum(found.values())}
    ### END SOLUTION


# %% check: training_bytes points=3
with check("seven billion parameters, float32, Adam: 112 GB", weight=2, required=True):
    n = 7 * 10**9
    want = {"weights": 4 * n, "gradients": 4 * n, "master": 0, "states": 8 * n, "total": 16 * n}
    explain(
        training_bytes([([7000, 1000, 1000], torch.float32, True)], "adam", False),
        want,
        {
            "Adam keeps two numbers for each parameter": {**want, "states": 4 * n, "total": 12 * n},
            "a float32 parameter needs no master copy": {**want, "master": 4 * n, "total": 20 * n},
        },
    )
### BEGIN HIDDEN TESTS
with check("each optimizer has its states", weight=2, required=True, hint="How many numbers does each one keep?"):
    for optimizer_name, numbers in (("sgd", 0), ("momentum", 1), ("adam", 2)):
        w = 4 * (35 + 7)
        want = {"weights": w, "gradients": w, "master": 0, "states": numbers * w, "total": (2 + numbers) * w}
        t = [([7, 5], torch.float32, True), ([7], torch.float32, True)]
        assert_close(training_bytes(t, optimizer_name, False), want)
with check(
    "bfloat16 and float16, with a master copy and without",
    weight=3,
    required=True,
    hint="With Adam it is 16 bytes for each parameter with a master copy, 8 without. Which of them stay with SGD?",
):
    for dtype, n in ((torch.bfloat16, 12), (torch.float16, 15)):
        t = [([3, n], dtype, True)]
        n = 3 * n
        want = {"weights": 2 * n, "gradients": 2 * n, "master": 4 * n, "states": 8 * n, "total": 16 * n}
        assert_close(training_bytes(t, "adam", True), want)
        want = {"weights": 2 * n, "gradients": 2 * n, "master": 0, "states": 2 * n, "total": 6 * n}
        assert_close(training_bytes(t, "momentum", False), want)
        want = {"weights": 2 * n, "gradients": 2 * n, "master": 4 * n, "states": 0, "total": 8 * n}
        assert_close(training_bytes(t, "sgd", True), want)
with check("one that is not trained has weights only", weight=2, hint="Which lines hold for trained parameters only?"):
    t = [([9, 2], torch.float16, False), ([3, 4], torch.float16, True), ([5], torch.float32, True)]
    want = {"weights": 80, "gradients": 44, "master": 48, "states": 68, "total": 240}
    assert_close(training_bytes(t, "momentum", True), want)
with check("a number without dimensions, an empty tensor, and no parameter at all", guard=True):
    t = [([], torch.float32, True), ([0, 3], torch.float32, True)]
    want = {"weights": 4, "gradients": 4, "master": 0, "states": 8, "total": 16}
    assert_close(training_bytes(t, "adam", True), want)
    assert_close(training_bytes([], "adam", True), dict.fromkeys(want, 0))
### END HIDDEN TESTS

# %% [markdown]
# So it is 112 GB, before the first activation: 28 for weights, 28 for gradients, and 56 for Adam. With weights in
# `bfloat16`, a master copy and states in `float32` it is 2 + 2 + 4 + 8 bytes for a parameter. That is 112 GB once more.
# Half the weights does not mean half the memory. `torch.autocast`, which lab 9 is about, leaves weights, gradients and
# states in `float32`. It shrinks activations, and adds copies of the weights in the smaller dtype: they are kept for
# the backward pass.
#
# ## A step, watched
#
# Three of the four kinds do not depend on the batch. The fourth does. When is it largest?
#
# `labkit.memory.watch` counts the bytes of all tensors that are made inside a `with` block and are still alive. It asks
# each operation, and needs no GPU. `now` is the bytes that are alive, and `peak` the most that there were. The
# model and `x` are there before, and do not count: `watch(model, x)` is told of them.
#
# Next: one step with 16 layers and a batch that is large for them. Draw a curve of the live bytes before you run it.


# %% given
def deep(layers, width, seed):
    """Layers of Linear and Tanh, all of one width."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(*[nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(layers)])


def one_step(forward, model, x):
    """A forward and a backward pass, watched. Gradients are there already, so that they do not count."""
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
# The curve rises layer by layer to the end of the forward pass. It keeps rising for a moment: the first backward
# operations make new tensors before they free old ones. The peak is 20 activations, 16 of which are kept by the layers.
# Then each layer frees what it kept. Half the batch has half the peak. (The weights and gradients, which were there
# before, are not in the picture.)
#
# In a live notebook, choose one of the two. The dot is where backward begins.
#
# ### What does a layer keep?
#
# Each operation keeps what its derivative needs. The derivative of `tanh` can be computed from its result. That of
# `gelu` needs its input. A linear layer needs its input for the gradient of its weight. Its input is another layer's
# result, and memory that two of them keep is there once.
#
# `probes.saved` lists what a forward pass keeps. For which of the four activation functions below does a model keep
# twice as much? Say it for each one before you run the cell.


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
# ### Your turn
# Say in advance what a model keeps. The last layer's result is not kept: nothing needs it.

# %% given
hint(
    "Which tensors does the model make between its layers, and how many numbers has each?",
    "sizes[1:-1] are the sizes of the hidden layers. How many storages of that size are kept for each of them?",
)


# %% exercise: kept_bytes
def kept_bytes(sizes: list[int], activation: str, batch: int, dtype: torch.dtype) -> int:
    """The bytes that the forward pass of stack(sizes, activation) keeps for backward, each storage once.

    sizes: at least two ints. activation: "relu", "tanh", "gelu" or "silu". batch: the number of samples, 0 or more.
    dtype: float32, float64 or bfloat16, of the model and its input. The model's input and its parameters do not count.
    Returns an int.
    """
    ### BEGIN SOLUTION
    storages = 2 if activation in ("gelu", "silu") else 1
    return storages * batch * sum(sizes[1:-1]) * dtype.itemsize
    ### END SOLUTION


# %% check: kept_bytes points=2
with check("the models above: 56 bytes for tanh, 112 for gelu", weight=2, required=True):
    assert_close(kept_bytes([5, 7, 3], "tanh", 2, torch.float32), 56)
    explain(
        kept_bytes([5, 7, 3], "gelu", 2, torch.float32),
        112,
        {"gelu keeps its input, and the next layer keeps its result": 56},
    )
### BEGIN HIDDEN TESTS
with check(
    "other models: what was measured",
    weight=5,
    required=True,
    hint="Does every hidden layer count, for each of its samples? And the last one, the batch, the weights?",
):
    for sizes, activation, n in (
        ([3, 8, 5, 2], "relu", 6),
        ([4, 6, 9, 7, 5], "silu", 3),
        ([6, 3, 11, 4], "gelu", 1),
        ([2, 5, 13, 3, 1], "tanh", 4),
    ):
        want = probes.saved_bytes(stack(sizes, activation), torch.zeros(n, sizes[0]))
        assert_close(kept_bytes(sizes, activation, n, torch.float32), want)
with check("float64 and bfloat16", weight=3, hint="How many bytes has a number of each dtype?"):
    for dtype in (torch.float64, torch.bfloat16):
        for activation in ("relu", "gelu"):
            want = probes.saved_bytes(stack([5, 4, 7, 2], activation).to(dtype), torch.zeros(3, 5, dtype=dtype))
            assert_close(kept_bytes([5, 4, 7, 2], activation, 3, dtype), want)
with check("one layer keeps nothing of its own, nor does an empty batch", guard=True):
    for sizes, n in (([5, 3], 4), ([5, 7, 3], 0)):
        assert_close(kept_bytes(sizes, "silu", n, torch.float32), 0)
### END HIDDEN TESTS

# %% [markdown]
# Under `torch.no_grad()` nothing is kept at all. That is why evaluation fits with a batch that training cannot have.
#
# ## Allocated and reserved
#
# Asking a GPU's driver for memory is slow. PyTorch therefore has a *caching allocator*. It asks the driver for blocks,
# and keeps a block that a tensor no longer needs for the next tensor. So there are two numbers. *Allocated* is what
# tensors occupy. *Reserved* is what PyTorch has from the driver: the allocated blocks and the cached ones.
# `nvidia-smi` shows the reserved bytes, and what CUDA needs for itself, as used.
#
# Which of the two falls when you write `del x`? Which one falls in `torch.cuda.empty_cache()`? The next cell asks a
# GPU, where there is one. `torch.accelerator` has these functions for every kind of accelerator.

# %% given
if torch.accelerator.is_available():
    x = torch.zeros(1_000_000, device=torch.accelerator.current_accelerator())
    print("with x           ", memory.on_device())
    del x
    print("after del x      ", memory.on_device())
    torch.accelerator.empty_cache()
    print("after empty_cache", memory.on_device())
else:
    print("no accelerator here: only its own allocator has these numbers", memory.on_device())

# %% [markdown]
# On a GPU, `del x` lowers the first number and leaves the second. `empty_cache()` lowers the second, by the cached
# blocks only. It never frees a tensor. It seldom helps your own process against running out: PyTorch empties its cache
# by itself before it gives up. It may reduce fragmentation in certain cases, says the documentation. And it helps those
# who ask the driver themselves: other processes on the same GPU, or a library such as NCCL in your own.
#
# `x` needs 4,000,000 bytes. Its *block* is rounded up to 512 bytes, so 4,000,256 are allocated. What PyTorch asks the
# driver for is larger: *segments* of 2 MiB for small blocks, and of 20 MiB for blocks such as this. So a GPU prints
# 20,971,520 reserved bytes. A cached segment goes back to the driver only if no block in it is in use.
#
# There is more to look at. The first two work with CUDA only.
#
# - `torch.cuda.memory_summary()` is a table of both numbers, now and at the peak.
#   `torch.cuda.reset_peak_memory_stats()` starts the peak anew, so that you can ask for one step.
# - `torch.cuda.memory._record_memory_history()`, and later `torch.cuda.memory._dump_snapshot("file.pickle")`, write a
#   *snapshot*: every block with the line that allocated it. The page pytorch.org/memory_viz draws it over time, as the
#   picture above does.
# - `torch.profiler` gives the bytes that each operation allocated, less those that it freed. It works on a CPU as well.
#   On a GPU, the column is called `self_device_memory_usage`. Older texts call it `cuda_memory_usage`.
#
# This is how it is asked, for the small model with 32 samples. Which operation will be at the top of its table: one of
# the forward pass, or one of the backward pass? Try it in a cell of your own. The profiler may print two lines that
# begin with `USDT`; they are its own.
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
# On a CPU it printed
#
# ```
# aten::mm             calls 3  bytes 54272
# aten::addmm          calls 2  bytes 17664
# aten::tanh           calls 1  bytes 16384
# aten::tanh_backward  calls 1  bytes 16384
# ```
#
# `mm` belongs to the backward pass: it makes the gradients of both weights, and one of an activation. `addmm` and
# `tanh` are the linear layers and the activation of the forward pass. The profiler says who allocated. It does not say
# who keeps.
#
# ### Your turn
# Write a caching allocator. Ours is simpler than PyTorch's, which also splits large blocks. It rounds every size up to
# a multiple of 512 bytes, as PyTorch's does.

# %% given
hint(
    "Keep two collections: blocks in use, by number, and the sizes of cached blocks. Which of the three attributes can "
    "be computed from them at any time?",
    "Which cached blocks are large enough, and which of these do you take? What do you do with the cache before you "
    "say that memory ran out?",
)


# %% exercise: Allocator
class Allocator:
    """A caching allocator for a device of `capacity` bytes, its own. Blocks are never split or joined.

    Attributes, all ints: allocated, the bytes of the blocks in use; reserved, the bytes of the blocks in use and of the
    cached ones; peak, the most that allocated has been.
    """

    def __init__(self, capacity: int) -> None:
        ### BEGIN SOLUTION
        self.capacity = capacity
        self.used: dict[int, int] = {}
        self.cached: list[int] = []
        self.allocated = self.reserved = self.peak = self.count = 0
        ### END SOLUTION

    def alloc(self, size: int) -> int:
        """A block for size > 0 bytes, rounded up to a multiple of 512. Returns a number that no block in use has.

        It is the smallest cached block that is large enough, whole. Where there is none, it is a new block of the
        rounded size. Where that would make reserved greater than capacity, all cached blocks are given back first.
        Where it still does not fit, raises torch.OutOfMemoryError: then only the cache is gone.
        """
        ### BEGIN SOLUTION
        size = math.ceil(size / 512) * 512
        block = min((cached for cached in self.cached if cached >= size), default=None)
        if block is not None:
            self.cached.remove(block)
        else:
            block = size
            if self.reserved + size > self.capacity:
                self.empty_cache()
            if self.reserved + size > self.capacity:
                raise torch.OutOfMemoryError(f"{size} bytes do not fit")
            self.reserved += size
        self.count += 1
        self.used[self.count] = block
        self.allocated += block
        self.peak = max(self.peak, self.allocated)
        return self.count
        ### END SOLUTION

    def free(self, number: int) -> None:
        """Put the block in use with this number into the cache."""
        ### BEGIN SOLUTION
        block = self.used.pop(number)
        self.allocated -= block
        self.cached.append(block)
        ### END SOLUTION

    def empty_cache(self) -> None:
        """Give all cached blocks back to the device."""
        ### BEGIN SOLUTION
        self.reserved -= sum(self.cached)
        self.cached.clear()
        ### END SOLUTION


# %% given
@probes.probe
def replayed(make, capacity, events):
    """[allocated, reserved, peak] after each event, of an allocator that make(capacity) gives.

    A text at the end says that an allocation ran out of memory, or that two blocks in use have one number. The event
    "other" changes over to a second allocator, and back.
    """
    allocator, other = make(capacity), make(capacity)
    blocks, in_use, seen = {}, {id(allocator): [], id(other): []}, []
    for event, *arguments in events:
        notes = []
        if event == "other":
            allocator, other = other, allocator
        elif event == "alloc":
            name, size = arguments
            try:
                blocks[name] = allocator.alloc(size)
            except torch.OutOfMemoryError:
                notes.append("out of memory")
            else:
                in_use[id(allocator)].append(blocks[name])
        elif event == "free":
            number = blocks.pop(arguments[0])
            in_use[id(allocator)].remove(number)
            allocator.free(number)
        else:
            allocator.empty_cache()
        if len(set(in_use[id(allocator)])) < len(in_use[id(allocator)]):
            notes.append("two blocks in use have one number")
        seen.append([allocator.allocated, allocator.reserved, allocator.peak, *notes])
    return seen


# %% check: Allocator points=5
with check("three blocks, one freed, one used again", weight=2, required=True):
    t = [("alloc", "a", 1000), ("alloc", "b", 100), ("free", "a"), ("alloc", "c", 600), ("free", "b"), ("empty_cache",)]
    want = [[1024, 1024, 1024], [1536, 1536, 1536], [512, 1536, 1536], [1536, 1536, 1536], [1024, 1536, 1536]]
    want += [[1024, 1024, 1536]]
    explain(
        replayed(Allocator, 10_000, t),
        want,
        {
            "a freed block stays reserved": [
                *want[:2],
                [512, 512, 1536],
                [1536, 1536, 1536],
                [1024, 1024, 1536],
                [1024, 1024, 1536],
            ],
            "sizes are rounded up to a multiple of 512": [
                [1000, 1000, 1000],
                [1100, 1100, 1100],
                [100, 1100, 1100],
                [1100, 1100, 1100],
                [1000, 1100, 1100],
                [1000, 1000, 1100],
            ],
        },
    )
### BEGIN HIDDEN TESTS
with check(
    "sizes at the edges, and the smallest block that is large enough",
    weight=3,
    required=True,
    hint="Which of several cached blocks do you take? Is 512 rounded, and what becomes of the rest of a large block?",
):
    t = [
        ("alloc", "a", 1536),
        ("alloc", "b", 3000),
        ("alloc", "c", 2000),
        ("alloc", "d", 1),
        ("free", "b"),
        ("free", "c"),
        ("alloc", "e", 1025),
        ("alloc", "f", 10),
        ("alloc", "g", 513),
    ]
    want = [[1536, 1536, 1536], [4608, 4608, 4608], [6656, 6656, 6656], [7168, 7168, 7168], [4096, 7168, 7168]]
    want += [[2048, 7168, 7168], [4096, 7168, 7168], [7168, 7168, 7168], [8192, 8192, 8192]]
    assert_close(replayed(Allocator, 100_000, t), want)
with check("blocks in use have different numbers, also of equal size", weight=1, hint="What does alloc return?"):
    t = [("alloc", "a", 600), ("alloc", "b", 600), ("free", "a"), ("alloc", "c", 600), ("alloc", "d", 700)]
    want = [[1024, 1024, 1024], [2048, 2048, 2048], [1024, 2048, 2048], [2048, 2048, 2048], [3072, 3072, 3072]]
    assert_close(replayed(Allocator, 8000, t), want)
with check(
    "where memory runs out, the cache is given back first",
    weight=2,
    hint="When is a cached block of no use, although there are enough bytes in the cache? How many are given back?",
):
    t = [("alloc", "a", 1024), ("alloc", "b", 1024), ("free", "a"), ("free", "b"), ("alloc", "c", 2048)]
    want = [[1024, 1024, 1024], [2048, 2048, 2048], [1024, 2048, 2048], [0, 2048, 2048], [2048, 2048, 2048]]
    assert_close(replayed(Allocator, 2048, t), want)
    t = [("alloc", name, 512) for name in "abc"] + [("free", name) for name in "abc"] + [("alloc", "d", 1024)]
    want = [[512, 512, 512], [1024, 1024, 1024], [1536, 1536, 1536], [1024, 1536, 1536], [512, 1536, 1536]]
    want += [[0, 1536, 1536], [1024, 1024, 1536]]
    assert_close(replayed(Allocator, 2048, t), want)
with check("where it just fits, the cache stays", hint="When exactly is it too much?"):
    t = [("alloc", "a", 512), ("free", "a"), ("alloc", "b", 1024), ("alloc", "c", 512)]
    want = [[512, 512, 512], [0, 512, 512], [1024, 1536, 1024], [1536, 1536, 1536]]
    assert_close(replayed(Allocator, 1536, t), want)
with check(
    "where it does not fit, the error is raised, and only the cache is gone", weight=2, hint="Which comes first?"
):
    t = [("alloc", "a", 1000), ("alloc", "b", 512), ("free", "b"), ("alloc", "c", 1500), ("alloc", "d", 900)]
    t += [("alloc", "e", 1), ("free", "a"), ("alloc", "f", 30)]
    want = [[1024, 1024, 1024], [1536, 1536, 1536], [1024, 1536, 1536], [1024, 1024, 1536, "out of memory"]]
    want += [[2048, 2048, 2048], [2048, 2048, 2048, "out of memory"], [1024, 2048, 2048], [2048, 2048, 2048]]
    assert_close(replayed(Allocator, 2100, t), want)
with check("two allocators know nothing of each other, and an empty cache may be emptied", guard=True):
    t = [("empty_cache",), ("alloc", "a", 5000), ("empty_cache",), ("free", "a")]
    want = [[0, 0, 0], [5120, 5120, 5120], [5120, 5120, 5120], [0, 5120, 5120]]
    for _ in range(2):
        assert_close(replayed(Allocator, 5120, t), want)
with check(
    "an allocator beside another has blocks and a cache of its own", weight=1, hint="What belongs to the class?"
):
    t = [("alloc", "a", 700), ("other",), ("alloc", "b", 100), ("free", "b"), ("other",), ("alloc", "c", 500)]
    t += [("free", "a"), ("other",), ("alloc", "d", 900), ("other",), ("alloc", "e", 900), ("other",), ("empty_cache",)]
    want = [[1024, 1024, 1024], [0, 0, 0], [512, 512, 512], [0, 512, 512], [1024, 1024, 1024], [1536, 1536, 1536]]
    want += [[512, 1536, 1536], [0, 512, 512], [1024, 1536, 1024], [512, 1536, 1536], [1536, 1536, 1536]]
    want += [[1024, 1536, 1024], [1024, 1024, 1024]]
    assert_close(replayed(Allocator, 5000, t), want)
### END HIDDEN TESTS

# %% [markdown]
# Free two blocks of 1,024 bytes. 2,048 bytes are cached now, in two pieces, and a block of 2,048 fits into neither.
# That is *fragmentation*: enough bytes, in pieces that are too small. If the blocks between them are in use, giving the
# cache back does not help either. Sizes that change from step to step make it worse.

# %% [markdown]
# ## Who keeps it?
#
# Memory that grows from batch to batch is called a *leak*. In Python nothing is lost: some name, list or object still
# leads to the tensors. The question is always who.
#
# "`losses.append(loss)` keeps the whole graph, so memory grows until it runs out." You find this in many places. Is it
# so? Below are six loops over four batches. Each model has eight layers, so that one batch makes eight activations. A
# loop returns its local variables, so that all its names stay alive, as those of a script do.


# %% given
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
# ### Your turn
# How many activations are alive after each loop? An activation has 512 by 32 numbers. The inputs, the parameters and
# their gradients do not count, nor do single numbers such as a loss. Write your six numbers down. Then check them with
# the cell below the exercise, which you may change.

# %% given
hint(
    "For each loop: which names are bound when it ends, and what does each of them lead to? Has backward freed it?",
    "In loop c one name still leads to a graph. In loop d, how large is the memory that one column is a view of?",
)


# %% exercise: alive
def alive() -> dict[str, int]:
    """The number of activations that are alive after each of the loops a to f: {"a": ..., ..., "f": ...}."""
    ### BEGIN SOLUTION
    return {"a": 0, "b": 32, "c": 8, "d": 4, "e": 32, "f": 4}
    ### END SOLUTION


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


# after(loop_a)

# %% check: alive points=2
with check("a number for each of the six loops", required=True, guard=True, hint="Which key is missing?"):
    got = alive()
    assert isinstance(got, dict), f"your result is a {type(got).__name__}"
    assert set(got) == set("abcdef"), f"your keys are {sorted(map(str, got))}"
    kinds = [type(got["a"]), type(got["b"]), type(got["c"]), type(got["d"]), type(got["e"]), type(got["f"])]
    assert kinds == [int] * 6, "not all of your numbers are ints"
with check("loop a", weight=2, hint="When does backward free what was kept for it?"):
    explain(alive()["a"], 0, {"after backward, the graph of a loss keeps no activation": 32})
### BEGIN HIDDEN TESTS
with check("at least three are right", required=True, guard=True, hint="Run after(...) for each loop."):
    got = alive()
    right = [got["a"] == 0, got["b"] == 32, got["c"] == 8, got["d"] == 4, got["e"] == 32, got["f"] == 4]
    assert right.count(True) >= 3, "fewer than three are right"
with check("loop b", weight=2, hint="What does total lead to, after four additions?"):
    assert alive()["b"] == 32, "your number for loop b is not right"
with check("loop c", weight=2, hint="total is a number. Is loss?"):
    assert alive()["c"] == 8, "your number for loop c is not right"
with check("loop d", weight=2, hint="What is a column a view of?"):
    assert alive()["d"] == 4, "your number for loop d is not right"
with check("loop e", weight=2, hint="What does retain_graph=True retain?"):
    assert alive()["e"] == 32, "your number for loop e is not right"
with check("loop f", weight=2, hint="Which activation has a name?"):
    assert alive()["f"] == 4, "your number for loop f is not right"
### END HIDDEN TESTS

# %% [markdown]
# Loop a is the famous one, and it keeps no activation. `backward` frees what was saved. A list of such losses would
# keep none either. What stays behind is a row of small node objects, one for each operation. It costs little, but
# `total` should be a number all the same: write `.item()`, or `.detach()` where you do not want to wait for a GPU.
#
# Loop b is the real leak. It has no `backward`, so nothing is freed. Loop c repairs it by half: `loss` still leads to
# the graph of the last batch while the next one is built. Two graphs are alive at a time. Look at the second number of
# `after(loop_c)`: 17, against 12 in loop a. Loop e asks to keep what backward would free. That does not double
# the memory of one backward pass, as some say. It keeps it for longer. Loop f keeps the last activation of each batch:
# `outs` leads to it, and `backward` frees only what the graph kept.
#
# ### Your turn
# Loop d is the quiet one: a view of one column keeps all columns. Collect one column of a model's results without it.
# (On a GPU, `.cpu()` would copy it out of the GPU's memory. On a CPU it returns the tensor itself.)

# %% given
hint(
    "What must be switched off, so that no graph is built at all? Switching it off later is too late for the peak.",
    "Which calls give a tensor with memory of its own? t.untyped_storage().nbytes() says how large it is.",
)


# %% exercise: column_of
def column_of(model: nn.Module, xs: list[Tensor], column: int) -> list[Tensor]:
    """One column of the model's results: a tensor of shape (n,) for each x of shape (n, d) in xs.

    The results have the dtype of model(x), and do not require grad. They keep no memory beyond their own numbers. While
    it runs, no graph is built. column: may be negative. n may be 0. The model stays as it is, with its modes, its .grad
    and each parameter's requires_grad, and so does the grad mode.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        return [model(x)[:, column].clone() for x in xs]
    ### END SOLUTION


# %% given
class Layer(nn.Module):
    """Asks f(x, whether it is in training mode, *parameters, *buffers). The last buffer is not persistent."""

    def __init__(self, f, parameters, buffers=()):
        super().__init__()
        self.f = lambda *inputs: f(*inputs)
        for n, t in enumerate(parameters):
            self.register_parameter(f"weight{n}", nn.Parameter(t.detach().clone(), t.requires_grad))
        for n, t in enumerate(buffers):
            self.register_buffer(f"buffer{n}", t.clone(), persistent=n + 1 < len(buffers))

    def forward(self, x):
        return self.f(x, self.training, *self.parameters(), *self.buffers())


@probes.probe
def columns(column_of, parts, modes, xs, column):
    """What column_of returns and leaves behind. The model: a Layer for each of parts, its modules in these modes."""
    model = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    found = column_of(model, xs, column)
    return {
        "found": [t.detach() for t in found],
        "requires_grad": [t.requires_grad for t in found],
        "bytes": memory.nbytes(found),
        "state": [t.detach() for t in (*model.parameters(), *model.buffers())],
        "grads": [parameter.grad for parameter in model.parameters()],
        "trained": [parameter.requires_grad for parameter in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "grad mode": torch.is_grad_enabled(),
    }


# %% check: column_of points=3
with check("the first column, for two batches", weight=2, required=True):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(0, 2, 10).reshape(2, 5)]
    w = torch.linspace(-2, 3, 15).reshape(5, 3).sin().requires_grad_()
    with torch.no_grad():
        want = [torch.tanh(x @ w)[:, 0] for x in t]
    got = columns(column_of, [(lambda x, training, w: torch.tanh(x @ w), [w])], [True, True], t, 0)
    assert_close(got["found"], want)
    assert_close(got["requires_grad"], [False, False], name="requires_grad of your results")
### BEGIN HIDDEN TESTS


def wide(x, training, w, b):
    return torch.tanh(x @ w + (3 * b if training else b))


def narrow(x, training, w, shift):
    return (x - shift) @ w * (0.5 if training else 2)


def scorer(width, dtype):
    """The two parts of a model that makes three numbers of five. The first bias is frozen."""
    generator = torch.Generator().manual_seed(width)
    w, b, v, shift = (
        torch.randn(n, generator=generator).to(dtype) for n in ((5, width), (width,), (width, 3), (width,))
    )
    return [(wide, [w.requires_grad_(), b]), (narrow, [v.requires_grad_()], [shift])]


@torch.no_grad()
def scores(parts, modes, xs):
    found = list(xs)
    for (f, parameters, *buffers), training in zip(parts, modes[1:], strict=True):
        found = [f(x, training, *parameters, *(b for part in buffers for b in part)) for x in found]
    return found


with check(
    "other columns, sizes and dtypes",
    weight=4,
    required=True,
    hint="Is there one tensor for each batch, in order and in the model's dtype?",
):
    for width, dtype, column, sizes, modes in (
        (6, torch.float64, 2, [3, 1, 5], [True, False, True]),
        (9, torch.float32, -2, [2, 7], [False, True, False]),
        (4, torch.bfloat16, -3, [4], [True, True, True]),
        (7, torch.float32, -1, [3, 2], [True, True, False]),
        (5, torch.float64, 1, [1, 6], [False, False, False]),
    ):
        generator = torch.Generator().manual_seed(width)
        t = [torch.randn(n, 5, generator=generator).to(dtype) for n in sizes]
        want = [x[:, column].clone() for x in scores(scorer(width, dtype), modes, t)]
        got = columns(column_of, scorer(width, dtype), modes, t, column)
        assert_close(got["found"], want)
        assert_close(got["requires_grad"], [False] * len(sizes), name="requires_grad of your results")
    t = [1 - x for x in t]  # other numbers of the same shapes
    want = [x[:, column].clone() for x in scores(scorer(width, dtype), modes, t)]
    assert_close(columns(column_of, scorer(width, dtype), modes, t, column)["found"], want)
with check("the model is as before", weight=2, hint="Which modes were there before? Did anything touch .grad?"):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5)]
    for modes, grad in (([True, False, True], True), ([False, True, False], True), ([True, True, False], False)):
        (_, (w, b)), (_, (v,), (shift,)) = parts = scorer(7, torch.float32)
        want = [w.detach().clone(), b.clone(), v.detach().clone(), shift.clone()]
        with torch.set_grad_enabled(grad):
            got = columns(column_of, parts, modes, t, 1)
        assert_close(got["modes"], modes, name="which modules are in training mode")
        assert_close(got["trained"], [True, False, True], name="which parameters require grad")
        assert_close(got["state"], want, name="the parameters and buffers")
        assert_close(got["grads"], [torch.ones(5, 7), torch.ones(7), torch.ones(7, 3)], name="the .grad of the model")
        assert_close(got["grad mode"], grad, name="the grad mode")
with check("the results keep no memory but their own", weight=2, observed=True, hint="What is a column a view of?"):
    t = [torch.linspace(-1, 1, 5 * n).reshape(n, 5) for n in (4, 6, 1, 3)]
    got = columns(column_of, scorer(7, torch.float32), [True] * 3, t, 0)["bytes"]
    assert got == 4 * 14, f"14 numbers keep {got} bytes"
with check("no graph is built", weight=2, required=True, hint="When is the result of the first layer freed?"):
    t = [torch.linspace(-1, 1, 20).reshape(4, 5), torch.linspace(3, 1, 15).reshape(3, 5)]
    want = [x[:, 0].clone() for x in scores(scorer(8, torch.float32), [True] * 3, t)]
    graphs = []

    def noted(f):
        return lambda *given: (out := f(*given), graphs.append(out.requires_grad))[0]

    parts = [(noted(f), *tensors) for f, *tensors in scorer(8, torch.float32)]
    assert_close(columns(column_of, parts, [True] * 3, t, 0)["found"], want)
    assert not any(graphs), "a result inside the model leads to a graph"
with check("no batch gives no tensor, and an empty one an empty tensor", guard=True):
    parts = scorer(7, torch.float32)
    assert_close(columns(column_of, parts, [True] * 3, [], 0)["found"], [])
    assert_close(columns(column_of, parts, [True] * 3, [torch.empty(0, 5)], 1)["found"], [torch.empty(0)])
    t = [torch.empty(0, 5), torch.linspace(-1, 1, 20).reshape(4, 5), torch.empty(0, 5)]
    want = [x[:, 1].clone() for x in scores(parts, [True] * 3, t)]
    assert_close(columns(column_of, parts, [True] * 3, t, 1)["found"], want)
### END HIDDEN TESTS

# %% [markdown]
# There are quieter owners than lists. In a notebook, `Out[3]` and `_` keep what a cell showed. An exception that was
# not handled keeps its traceback, and with it all local variables of all functions on the way. That is why a notebook
# on a GPU is often full after an error. No `empty_cache()` frees them: they are in use.
#
# ## When it runs out
#
# If an accelerator's memory runs out, PyTorch raises `torch.OutOfMemoryError`. It is a kind of `RuntimeError`. What is
# raised if the CPU's memory runs out? The next cell asks for 40 petabytes.

# %% given
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
# halves the batch size until it fits. 16 samples fit into this device. Will both loops find that?


# %% given
class Taken:
    """Memory of a SmallDevice. It is given back when nobody has it any more."""

    def __init__(self, device, amount):
        self.device, self.amount = device, amount
        device.live += amount

    def __del__(self):
        self.device.live -= self.amount


class SmallDevice:
    """A device whose memory is counted. room: a function that says whether so much of it may be in use."""

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
# Inside the `except` block the exception is still there. Its traceback has the frame of `run`, and that has the weights
# and the layers of the failed try. They are freed when the block ends. So leave the block first, and try again then.
#
# ### Your turn
# Find the largest batch that fits. Halving finds a power of two. You can do better, with few tries: each one of them
# costs a whole step.

# %% given
hint(
    "Keep two sizes: one that fits, and one that does not. Which size do you try next?",
    "What are these two before the first try? When are they neighbours? A small function that returns whether n fits "
    "keeps the except block short.",
)


# %% exercise: largest_batch
def largest_batch(run: Callable[[int], object], low: int, high: int) -> int:
    """The largest n, low <= n <= high, for which run(n) raises no torch.OutOfMemoryError; 0 where there is none.

    run: a function of an int. If n fits, so does every smaller size. 1 <= low <= high. No n outside of this range is
    tried, and few inside: never more than 2 * log2(high - low + 1) + 3 calls. Any other exception comes out of the
    function. When run is called, nothing of a failed try is alive.
    """

    ### BEGIN SOLUTION
    def fits(n: int) -> bool:
        try:
            run(n)
        except torch.OutOfMemoryError:
            return False
        return True

    below, above = low - 1, high + 1
    while above - below > 1:
        middle = (below + above) // 2
        if fits(middle):
            below = middle
        else:
            above = middle
    return below if below >= low else 0
    ### END SOLUTION


# %% given
@probes.probe
def searched(largest_batch, room, weights, low, high):
    """What largest_batch finds on a SmallDevice."""
    return largest_batch(SmallDevice(room, weights).run, low, high)


# %% check: largest_batch points=3
with check("17 of 1 to 64 samples fit", weight=2, required=True):
    assert_close(searched(largest_batch, lambda used: used <= 80, 10, 1, 64), 17)
### BEGIN HIDDEN TESTS


def limited(most, tried, error=torch.OutOfMemoryError):
    """A run for which sizes up to most fit. Notes what it is asked."""

    def run(n):
        tried.append(n)
        if n > most:
            raise error(f"{n} samples do not fit into memory")
        return n % 3 == 0  # whether n fits is not what it returns

    return run


with check(
    "other devices and ranges",
    weight=4,
    required=True,
    hint="Is your size one that was tried? Do you leave the except block before the next try?",
):
    for capacity, weights, low, high, want in (
        (100, 0, 1, 1000, 25),
        (403, 300, 3, 90, 25),
        (1000, 700, 10, 100, 75),
        (64, 20, 11, 11, 11),
        (5000, 0, 7, 4096, 1250),
    ):
        got = searched(largest_batch, lambda used, capacity=capacity: used <= capacity, weights, low, high)
        assert_close(got, want)
with check("all of them fit, and only the smallest", weight=2, hint="Is high ever tried? And low?"):
    for most, low, high, want in ((2500, 1, 100, 100), (100, 5, 101, 100), (100, 5, 100, 100), (5, 5, 99, 5)):
        assert_close(largest_batch(limited(most, []), low, high), want)
with check("none fits", hint="What is left if every try fails?"):
    for most, low, high in ((4, 5, 50), (0, 1, 8), (0, 1, 1), (6, 7, 7)):
        assert_close(largest_batch(limited(most, []), low, high), 0)
with check("other exceptions come out", weight=2, hint="Which exceptions does your except clause catch?"):
    for error in (ValueError, RuntimeError, MemoryError):
        tried, came = [], None
        try:
            largest_batch(limited(0, tried, error), 1, 64)
        except NotImplementedError:
            raise  # nothing is written yet
        except (ValueError, RuntimeError, MemoryError) as raised:
            came = type(raised)
        assert came is error, f"run raised {error.__name__}, and it did not come out"
        assert len(tried) == 1, "run was called again after its error"
with check("few tries, all of them in the range", weight=2, hint="How many sizes does one try rule out?"):
    for most, low, high in ((750, 1, 1000), (225, 100, 300), (2, 1, 2000), (0, 1, 500), (500, 1, 500), (9, 9, 9)):
        tried = []
        assert_close(largest_batch(limited(most, tried), low, high), most if most >= low else 0)
        assert low <= min(tried) <= max(tried) <= high, f"it tried {tried}"
        assert len(tried) <= 2 * math.log2(high - low + 1) + 3, f"it made {len(tried)} tries"
### END HIDDEN TESTS

# %% [markdown]
# If the batch that fits is too small to train well, accumulate gradients over several, as in lab 6. In the picture
# above, half a batch had half the peak. Accumulation keeps the peak of one small batch. It saves no work, it does not
# shrink the other three kinds of bytes, and a batch normalisation still sees the small batches.
#
# ## Checkpointing
#
# There is another way to fewer activations: throw them away, and compute them again when the backward pass needs them.
# That is *gradient checkpointing*. `torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)` gives `f(x)`, and of
# all that `f` would keep it keeps the input only. In the backward pass it calls `f` once more. Such an `f` is called a
# *segment*.
#
# The next cell puts all 16 layers into one segment. What will the live bytes be when backward begins? And the peak?


# %% given
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
# computed again, and all their activations are there at once. The peak is 19 in place of 20. Only the peak decides
# whether you run out. So the model must be cut into several segments: then one segment at a time is there again.
#
# The price is one more forward pass. A linear layer multiplies matrices once in the forward pass (`addmm`) and twice
# in the backward pass (`mm`; the first layer needs no gradient of its input). With a checkpoint it is four times in
# place of three: a third more, and not twice as much.
#
# ### A surprise
#
# Here is a loop that puts each layer into a segment of its own. It runs, and its result is right. Will its gradients
# be right too?


# %% given
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
# ### Your turn
# Cut a model into segments.

# %% given
hint(
    "At which positions do you cut n layers into k parts? nn.Sequential(*part) makes one function of a list of layers.",
    "Does each of your functions still know its own part after the loop? And which argument of checkpoint lets the "
    "parameters have gradients, if x needs none?",
)


# %% exercise: in_segments
def in_segments(layers: list[nn.Module], x: Tensor, k: int) -> Tensor:
    """The layers applied to x, one after another, in k checkpointed segments of consecutive layers.

    1 <= k <= len(layers). The lengths of two segments differ by at most one. In forward each layer runs once, and of
    all layers only the inputs of segments are kept; in backward each runs once more, one segment after another, the
    last first. Values and gradients are those of the plain loop, of the parameters and, where x requires grad, of x.
    Some parameters may be frozen. The list and x stay as they are.
    """
    ### BEGIN SOLUTION
    edges = [len(layers) * number // k for number in range(k + 1)]
    for begin, end in pairwise(edges):
        x = checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=False)
    return x
    ### END SOLUTION


# %% given
@probes.probe
def segmented(forward, parts, x, upstream, k, between=None):
    """Result and gradients of forward(layers, x, k): a Layer for each of parts. between: called before backward."""
    layers = [Layer(*part) for part in parts]
    as_given = list(layers)
    needs_grad = x.requires_grad
    x = x.detach().clone().requires_grad_(needs_grad)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        out = forward(layers, x, k)
        if between is not None:
            between()
        if out.requires_grad:
            out.backward(upstream)
    return {
        "out": out.detach(),
        "grads": [parameter.grad for layer in as_given for parameter in layer.parameters()],
        "x": x.grad,
        "same x": x.requires_grad == needs_grad,
        "same list": len(layers) == len(parts) and all(a is b for a, b in zip(layers, as_given, strict=False)),
    }


# %% check: in_segments points=4
with check("four layers in two segments: the result and all gradients", weight=2, required=True):
    t, g = torch.linspace(-1, 1, 20).reshape(5, 4), torch.linspace(-2, 1, 20).reshape(5, 4)
    weights = [torch.linspace(-n, 2, 16).reshape(4, 4).sin().requires_grad_() for n in range(1, 5)]
    want = t
    for w in weights:
        want = torch.tanh(want @ w)
    want_grads = list(torch.autograd.grad(want, weights, g))
    parts = [(lambda x, training, w: torch.tanh(x @ w), [w]) for w in weights]
    got = segmented(in_segments, parts, t, g, 2)
    assert_close(got["out"], want.detach())
    assert_close(got["grads"], want_grads, name="the gradients of the parameters")
### BEGIN HIDDEN TESTS


def bent(x, training, w, b):
    return torch.tanh(1.5 * x @ w + b)


def numbered(n, ran, f):
    """f, which adds n to the list ran when it runs."""

    def run(*given):
        ran.append(n)
        return f(*given)

    return run


def chain(f, widths, dtype=torch.float32, frozen=()):
    """A part for each step from one width to the next. frozen: whose weights do not require grad."""
    generator = torch.Generator().manual_seed(sum(widths))
    made = []
    for n, (a, b) in enumerate(pairwise(widths)):
        w, bias = (torch.randn(size, generator=generator, dtype=dtype) for size in ((a, b), (b,)))
        made.append((f, [w.requires_grad_(n not in frozen), bias.requires_grad_()]))
    return made


def looped(parts, x, upstream):
    """The result of a plain loop, the gradients of all parameters, and that of x."""
    weights = [[p.detach().clone().requires_grad_(p.requires_grad) for p in part[1]] for part in parts]
    x = x.detach().clone().requires_grad_(x.requires_grad)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        out = x
        for (f, _), given in zip(parts, weights, strict=True):
            out = f(out, True, *given)
        out.backward(upstream)
    return out.detach(), [p.grad for given in weights for p in given], x.grad


def dropped(x, training, w, b):
    return nn.functional.dropout(torch.tanh(1.5 * x @ w + b), 0.5)


with check(
    "other numbers of layers and segments",
    weight=3,
    required=True,
    hint="Which layer does each function use in the backward pass? Is no layer left out, or used twice?",
):
    for widths, k, dtype, frozen in (
        ([4, 4], 1, torch.float32, ()),
        ([5, 3, 6, 2, 4, 4, 7, 5], 3, torch.float64, ()),
        ([2] * 7, 6, torch.float32, ()),
        ([5, 4, 3, 4, 5, 4], 2, torch.float32, (0, 3)),
    ):
        generator = torch.Generator().manual_seed(k)
        t = torch.randn(6, widths[0], generator=generator, dtype=dtype)
        g = torch.randn(6, widths[-1], generator=generator, dtype=dtype)
        parts = chain(bent, widths, dtype, frozen)
        want, want_grads, _ = looped(parts, t, g)
        got = segmented(in_segments, parts, t, g, k)
        assert_close(got["out"], want)
        assert_close(got["grads"], want_grads, name="the gradients of the parameters")
with check(
    "the gradient of x, where x requires grad", weight=2, hint="Does your x still lead to the x you were given?"
):
    for count, k in ((5, 2), (3, 3)):
        t = torch.linspace(-1, 1, 24).reshape(6, 4).T.requires_grad_()
        g = torch.linspace(1, -2, 24).reshape(4, 6)
        parts = chain(bent, [6] * (count + 1))
        want = looped(parts, t, g)[2]
        assert_close(segmented(in_segments, parts, t, g, k)["x"], want)
with check("dropout drops the same numbers in both passes", weight=1, hint="Which option of checkpoint is about this?"):
    t, g = torch.linspace(-1, 1, 40).reshape(8, 5), torch.linspace(-2, 1, 40).reshape(8, 5)
    parts = chain(dropped, [5] * 5)
    want, want_grads, _ = looped(parts, t, g)
    got = segmented(in_segments, parts, t, g, 2)
    assert_close(got["out"], want)
    assert_close(got["grads"], want_grads, name="the gradients of the parameters")
with check(
    "what is kept, and what is computed again",
    weight=2,
    required=True,
    hint="How many segments are there, and how long is each? Which one is computed again first?",
):
    for count, k in ((7, 3), (8, 3), (5, 4), (4, 1), (3, 3)):
        t, g = torch.linspace(-1, 1, 15).reshape(5, 3), torch.linspace(-2, 1, 15).reshape(5, 3)
        parts = chain(bent, [3] * (count + 1))
        want, want_grads, _ = looped(parts, t, g)
        seen, ran, kept = [Seen(bent) for _ in range(count)], [], []
        parts = [(numbered(n, ran, f), part[1]) for n, (f, part) in enumerate(zip(seen, parts, strict=True))]
        got = segmented(
            in_segments, parts, t, g, k, lambda: kept.append((len(ran), [(f.kept, f.backwards) for f in seen]))
        )
        assert_close((got["out"], got["grads"]), (want, want_grads))
        assert kept == [(count, [(0, 0)] * count)], (
            "the forward pass keeps a layer's graph, runs one twice or goes back"
        )
        again = ran[count:]
        starts = [n for n, layer in enumerate(again) if n == 0 or layer != again[n - 1] + 1]
        segments = [again[a:b] for a, b in pairwise([*starts, len(again)])][::-1]
        assert ran[:count] == [n for segment in segments for n in segment] == list(range(count)), "the order is another"
        lengths = [len(segment) for segment in segments]
        assert len(lengths) == k, f"of {count} layers, segments of lengths {lengths} were computed again"
        assert max(lengths) - min(lengths) <= 1, f"your segments of {count} layers have lengths {lengths}"
with check("the list and x stay as they are, and an empty batch stays empty", guard=True):
    parts = chain(bent, [4] * 6)
    want, want_grads, _ = looped(parts, torch.empty(0, 4), torch.empty(0, 4))
    got = segmented(in_segments, parts, torch.empty(0, 4), torch.empty(0, 4), 2)
    assert got["same list"] is True, "the list was changed"
    assert got["same x"] is True, "x requires grad now"
    assert_close((got["out"], got["grads"]), (want, want_grads))
### END HIDDEN TESTS

# %% [markdown]
# PyTorch has this as `torch.utils.checkpoint.checkpoint_sequential`. It puts the last segment under no checkpoint. Why
# is that a good idea?
#
# ### How many segments?
#
# With your function, the peak can be measured for every number of segments. Each segment keeps its input, and while one
# of them is computed again, its own activations are there. Where do you expect the smallest peak of 16 equal layers?

# %% scratch
runs = {"plain": first_run}
try:
    for k in (1, 2, 4, 8, 16):
        runs[f"k = {k}"] = one_step(lambda x: in_segments(list(model16), x, k), model16, batch)
except NotImplementedError:
    print("The exercise above is not written yet.")
for name, run in runs.items():
    print(f"{name:12} peak {run.peak / unit:4.1f}")
show_memory(runs)

# %% [markdown]
# First the last segment: backward needs it at once, so a checkpoint would throw away what is computed again a moment
# later. It would save almost nothing, and cost a forward pass of that segment.
#
# The smallest peak is in the middle, at 4. It is the square root of 16. Is it always a square root? The two costs are
# `k` inputs of segments, and the activations of the longest segment, which has `layers / k` layers, rounded up.
#
# In a transformer, one layer keeps many activations inside, and only one goes on to the next layer. How many does it
# keep? "Checkpointing saves half of the memory", people say of transformers. Here are six layers, plain and with each
# of them in a segment of its own.

# %% given
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
# Far more than half: the peak falls from 82 inputs to 26. With a segment for each of the six blocks, six inputs are
# kept, and the inside of one block. That is for activations only. Weights, gradients and optimizer states are as large
# as before, so the whole saves less.
#
# ### Your turn
# Find the best number of segments.

# %% given
hint(
    "How many numbers of segments are possible? Is there any reason to be clever?",
    "min(..., key=...) gives the first of several that are equally good.",
)


# %% exercise: best_segments
def best_segments(layers: int, boundary: int, inner: int) -> int:
    """The number of segments k, 1 <= k <= layers, with the smallest peak; the smallest such k where several have it.

    The peak is counted as k * boundary + longest * inner, where longest is layers / k, rounded up. boundary: the bytes
    of a segment's input. inner: the bytes that one layer keeps. layers, boundary and inner are at least 1.
    """
    ### BEGIN SOLUTION
    return min(range(1, layers + 1), key=lambda k: k * boundary + math.ceil(layers / k) * inner)
    ### END SOLUTION


# %% check: best_segments points=2
with check("16 layers: 4 segments, but 16 if a layer keeps 20 times its input", weight=2, required=True):
    assert_close(best_segments(16, 1, 1), 4)
    explain(best_segments(16, 1, 20), 16, {"the square root is best only where both costs are equal": 4})
### BEGIN HIDDEN TESTS
with check(
    "other costs",
    weight=6,
    required=True,
    hint="What is the length of the longest segment, if k does not divide the number of layers?",
):
    for layers, boundary, inner in (
        (48, 3, 10),
        (24, 10, 3),
        (7, 1, 1),
        (31, 5, 6),
        (1, 9, 2),
        (12, 100, 1),
        (50, 7, 30),
        (10, 2, 7),
        (23, 1, 4),
        (100, 1, 9),
    ):
        costs = {k: k * boundary - (-layers // k) * inner for k in range(1, layers + 1)}
        want = next(k for k in costs if costs[k] == min(costs.values()))
        assert_close(best_segments(layers, boundary, inner), want)
with check("of several best ones, the smallest", weight=2, hint="Which of two equal ones does your code keep?"):
    for layers, boundary, inner, want in ((6, 1, 1, 2), (2, 3, 3, 1), (2, 4, 4, 1), (12, 1, 1, 3)):
        assert_close(best_segments(layers, boundary, inner), want)
### END HIDDEN TESTS

# %% [markdown]
# ### A segment is called twice
#
# The gradients do not notice. What else happens in a forward pass? A batch normalisation in training mode changes its
# running averages, and counts the batches it has seen. What will the counter say after one step?

# %% given
norm = nn.BatchNorm1d(4)
out = checkpoint(norm, few, use_reentrant=False)
print("after forward ", norm.num_batches_tracked.item())
out.square().sum().backward()
print("after backward", norm.num_batches_tracked.item())

# %% [markdown]
# Each batch counts twice. The running averages move twice as well, with the same statistics. Training works. Evaluation
# uses other averages than a run without checkpoints.
#
# Dropout is safe. By default, `checkpoint` puts the random numbers' state back before the second call, and so the same
# numbers are dropped. A buffer gets no such care.
#
# A last detail, before you repair it. The second call need not come to its end: once all saved tensors are there again,
# checkpoint leaves the function early, by an exception of its own. Code behind the last operation may not run.
#
# ### Your turn
# Write a checkpoint that leaves a block's buffers as one forward pass leaves them.

# %% given
hint(
    "The function that you hand to checkpoint is called twice. How can it know which call it is in? What must it put "
    "back, and when?",
    "Copy the buffers before the second call, and put the copies back behind it. Which statement runs its last part "
    "also if an exception passes through?",
)


# %% exercise: checkpoint_once
def checkpoint_once(block: nn.Module, x: Tensor) -> Tensor:
    """block(x), checkpointed: of what block keeps for backward only x is kept, and the rest is computed again.

    Values and gradients are those of block(x). The block runs once in forward, and once more in backward. It changes
    its buffers in place, and its result does not depend on these. After backward, each buffer of the block, persistent
    or not, is what it was before backward: the second call changes none. It works for several calls before one
    backward.
    """
    ### BEGIN SOLUTION
    again = False

    def run(t: Tensor) -> Tensor:
        nonlocal again
        before = [buffer.clone() for buffer in block.buffers()] if again else []
        again = True
        try:
            out: Tensor = block(t)
            return out
        finally:
            with torch.no_grad():
                for buffer, old in zip(block.buffers(), before, strict=False):
                    buffer.copy_(old)

    result: Tensor = checkpoint(run, x, use_reentrant=False)
    return result
    ### END SOLUTION


# %% given
@probes.probe
def blocked(forward, parts, training, xs, upstreams, between=None):
    """Results, gradients and buffers of forward(block, x) for each x, with one backward pass for all of them.

    The block has a Layer for each of parts. between: called before backward.
    """
    block = nn.Sequential(*[Layer(*part) for part in parts]).train(training)
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        outs = [forward(block, x) for x in xs]
        if between is not None:
            between()
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [parameter.grad for parameter in block.parameters()],
        "x": [x.grad for x in xs],
        "buffers": [buffer.clone() for buffer in block.buffers()],
        "modes": [module.training for module in block.modules()],
    }


# %% check: checkpoint_once points=3
with check("one batch: the result, and a counter of one", weight=2, required=True):

    def normed(x, training, w, mean, count):
        mean += 0.25 * (x.detach().mean(0) - mean)
        count += 1
        return torch.tanh(x @ w - x.mean(0) @ w)

    t, g = torch.linspace(-1, 2, 15).reshape(5, 3).sin(), torch.linspace(1, -2, 20).reshape(5, 4)
    w = torch.linspace(-2, 2, 12).reshape(3, 4).cos()
    want, want_mean = torch.tanh(t @ w - t.mean(0) @ w), 0.25 * t.mean(0)
    buffers = [torch.zeros(3), torch.tensor(0)]
    got = blocked(checkpoint_once, [(normed, [w.clone().requires_grad_()], buffers)], True, [t], [g])
    assert_close(got["outs"], [want])
    assert_close(got["buffers"], [want_mean, torch.tensor(1)], name="the buffers")
### BEGIN HIDDEN TESTS


def averaged(x, training, w, mean, count):
    """Averages with a momentum of a third, as a batch normalisation does."""
    used = mean.clone()
    if training:
        used = x.mean(0)
        mean += (used.detach() - mean) / 3
        count += 1
    return torch.tanh((x - used) @ w)


def slow(x, training, w, mean, var, count):
    """The mean of all batches, and a norm whose last act is to change a buffer."""
    used = mean.clone()
    if training:
        used = x.mean(0)
        count += 1
        mean += (used.detach() - mean) / count
    out = (x - used).tanh() @ w
    var *= 0.5
    var += out.detach().var(0)
    return out


def plain(x, training, w):
    return torch.tanh(x @ w * 1.5)


def built(functions, widths):
    """A part for each function, from one width to the next, and buffers of its own."""
    generator = torch.Generator().manual_seed(sum(widths))
    made = []
    for f, (a, b) in zip(functions, pairwise(widths), strict=True):
        w = torch.randn(a, b, generator=generator).requires_grad_()
        buffers = {
            averaged: [torch.full((a,), 0.25), torch.tensor(3)],
            slow: [torch.zeros(a), torch.ones(b), torch.tensor(0)],
            plain: [],
            thinned: [torch.tensor(0.5)],
        }[f]
        made.append((f, [w], buffers))
    return made


def ran(parts, training, xs, upstreams):
    """What blocked gives for a plain call of the block."""
    weights = [[p.detach().clone().requires_grad_() for p in part[1]] for part in parts]
    buffers = [[b.clone() for b in part[2]] for part in parts]
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        outs = list(xs)
        for n, _ in enumerate(outs):
            for (f, *_), given, own in zip(parts, weights, buffers, strict=True):
                outs[n] = f(outs[n], training, *given, *own)
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [p.grad for given in weights for p in given],
        "x": [x.grad for x in xs],
        "buffers": [b for own in buffers for b in own],
    }


def thinned(x, training, w, seen):
    """Dropout, and a buffer that is not persistent, which holds the largest number seen."""
    torch.maximum(seen, x.detach().abs().max(), out=seen)
    kept = torch.rand_like(x) < 0.5 if training else 1
    return torch.tanh(x * kept @ w)


def batches(widths, sizes, leaf=False):
    """Batches of these sizes and upstream gradients for them. leaf: whether the first one requires grad."""
    generator = torch.Generator().manual_seed(sum(sizes))
    xs = [torch.randn(n, widths[0], generator=generator) for n in sizes]
    xs[0].requires_grad_(leaf)
    return xs, [torch.randn(n, widths[-1], generator=generator) for n in sizes]


with check(
    "all gradients are those without a checkpoint",
    weight=3,
    required=True,
    hint="Is the second call made in the same mode as the first one?",
):
    for functions, widths in (
        ([averaged, plain], [3, 5, 4]),
        ([plain, plain], [4, 6, 2]),
        ([thinned, averaged], [3, 4, 5]),
        ([slow, plain, averaged], [2, 3, 4, 3]),
    ):
        t, g = batches(widths, (7, 4), leaf=True)
        parts = built(functions, widths)
        want = ran(parts, True, t, g)
        got = blocked(checkpoint_once, parts, True, t, g)
        assert_close(got["outs"], want["outs"])
        assert_close(got["grads"], want["grads"], name="the gradients of the parameters")
        assert_close(got["x"], want["x"], name="the gradients of x")
with check(
    "the buffers, also of two batches before one backward", weight=2, required=True, hint="Which copy is put back?"
):
    for functions, widths in (
        ([averaged, plain], [3, 5, 4]),
        ([slow, plain], [2, 3, 4]),
        ([plain, thinned, averaged], [3, 4, 2, 5]),
        ([thinned], [3, 2]),
    ):
        t, g = batches(widths, (6, 4, 5))
        parts = built(functions, widths)
        want = ran(parts, True, t, g)["buffers"]
        assert_close(blocked(checkpoint_once, parts, True, t, g)["buffers"], want, name="the buffers")
with check(
    "a block that ends with what changes a buffer", weight=2, hint="Does your last line run in the second call?"
):
    t, g = batches([3, 4, 5], (6,))
    parts = built([plain, slow], [3, 4, 5])
    want = ran(parts, True, t, g)
    got = blocked(checkpoint_once, parts, True, t, g)
    assert_close(got["outs"], want["outs"])
    assert_close(got["grads"], want["grads"], name="the gradients of the parameters")
    assert_close(got["buffers"], want["buffers"], name="the buffers")
with check("in evaluation mode too", weight=1, hint="What do you do with the block's mode?"):
    t, g = batches([3, 4, 5, 2], (6, 3))
    parts = built([averaged, thinned, slow], [3, 4, 5, 2])
    want = ran(parts, False, t, g)
    got = blocked(checkpoint_once, parts, False, t, g)
    assert_close((got["outs"], got["grads"]), (want["outs"], want["grads"]))
    assert_close(got["buffers"], want["buffers"], name="the buffers")
    assert_close(got["modes"], [False] * 4, name="the modes")
with check(
    "nothing inside the block is kept, and it runs twice",
    weight=2,
    required=True,
    hint="What is inside the checkpoint, and what is not?",
):
    for functions, widths, sizes in (
        ([averaged, plain], [3, 5, 4], (6,)),
        ([plain, plain, slow], [2, 4, 3, 5], (3, 4)),
    ):
        t, g = batches(widths, sizes)
        parts = built(functions, widths)
        want = ran(parts, True, t, g)
        seen, kept = [Seen(part[0]) for part in parts], []
        parts = [(f, *tensors) for f, (_, *tensors) in zip(seen, parts, strict=True)]
        got = blocked(
            checkpoint_once, parts, True, t, g, lambda: kept.extend((f.kept, len(f.calls), f.backwards) for f in seen)
        )
        assert_close((got["outs"], got["grads"]), (want["outs"], want["grads"]))
        assert_close(got["buffers"], want["buffers"], name="the buffers")
        told = f"(graphs kept, calls, gradients that went back) of each layer before backward: {kept}"
        assert kept == [(0, len(sizes), 0)] * len(seen), told
        calls = [len(f.calls) for f in seen]
        assert calls == [2 * len(sizes)] * len(seen), f"the layers ran {calls} times, with {len(sizes)} batches"
### END HIDDEN TESTS

# %% [markdown]
# Your function makes a block with state safe. Would it do for a block that counts its calls in a Python attribute?
#
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. A question counts only if all of its letters are right, and one right question alone pays nothing.
#
# **q1. A model's bytes**
# - a. In `float32`, Adam's states have as many bytes as the weights.
# - b. SGD without momentum keeps no number for a parameter.
# - c. Weights in `bfloat16`, with a `float32` master copy and Adam, cost 16 bytes for a parameter.
# - d. `torch.autocast` halves the memory of the weights.
# - e. A parameter that is not trained needs neither a gradient nor states.
#
# **q2. Allocated and reserved**
# - a. `del x` lowers the reserved bytes.
# - b. `empty_cache()` frees a tensor that only `Out[3]` still leads to.
# - c. Reserved bytes can be more than allocated ones.
# - d. An allocation can fail although more bytes than it needs are reserved and not in use.
# - e. `empty_cache()` before each step keeps your process from running out.
#
# **q3. Leaks**
# - a. `losses.append(loss)` after `loss.backward()` keeps the activations of all batches.
# - b. `total += loss` in a validation loop without `no_grad` keeps the activations of all batches.
# - c. `out[:, 0].detach()` keeps all of `out` in memory.
# - d. A detached tensor has memory of its own.
# - e. A loop that keeps only `loss.item()` can have two graphs alive at a time.
#
# **q4. Smaller batches**
# - a. Half the batch needs half the memory in all.
# - b. Accumulating over two halves needs about half the activations at a time.
# - c. Accumulation gives a batch normalisation the statistics of the large batch.
# - d. A try inside the `except` block can fail for a size that fits.
# - e. `torch.OutOfMemoryError` is a `RuntimeError`.
#
# **q5. Checkpointing**
# - a. One segment around the whole model makes the peak much lower.
# - b. It leaves the gradients as they were.
# - c. It costs about one more forward pass.
# - d. It also saves optimizer states.
# - e. The best number of segments is the square root of the number of layers, for every model.
#
# **q6. A checkpoint's traps**
# - a. A batch normalisation in a segment counts each batch twice.
# - b. A lambda that finds the wrong layer in the backward pass always raises an error.
# - c. By default, dropout drops other numbers in the second call.
# - d. The second call may end before the function does.
# - e. The input of a segment is always smaller than what the segment would have kept.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "bce", "q2": "cd", "q3": "bce", "q4": "bde", "q5": "bc", "q6": "ad"}
    ### END SOLUTION


# %% check: interview points=3
with check(
    "q1 to q6 each have letters from a to e",
    weight=3,
    required=True,
    guard=True,
    hint="Which key or letter is missing?",
):
    assert_answered(interview(), questions=6)
### BEGIN HIDDEN TESTS
with check(
    "at least two questions are right",
    weight=3,
    required=True,
    guard=True,
    hint="One right answer can be a guess. Which of the sections would you read again?",
):
    assert_some_right(interview(), {"q1": "bce", "q2": "cd", "q3": "bce", "q4": "bde", "q5": "bc", "q6": "ad"})
with check("q1: a model's bytes", weight=4, hint="What did the 112 GB consist of?"):
    assert_letters(interview(), "q1", "bce")
with check("q2: allocated and reserved", weight=4, hint="What did your Allocator do in each case?"):
    assert_letters(interview(), "q2", "cd")
with check("q3: leaks", weight=4, hint="Which of the six loops is it?"):
    assert_letters(interview(), "q3", "bce")
with check("q4: smaller batches", weight=4, hint="Which of the four kinds of bytes know the batch?"):
    assert_letters(interview(), "q4", "bde")
with check("q5: checkpointing", weight=4, hint="What were the peaks, and how often was addmm called?"):
    assert_letters(interview(), "q5", "bc")
with check("q6: a checkpoint's traps", weight=4, hint="What raised no error? What did your checkpoint_once need?"):
    assert_letters(interview(), "q6", "ad")
### END HIDDEN TESTS

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
# and needs the bytes of the weights once more while it runs. Emptying the cache does not help: PyTorch does
# it by itself before it raises the error, and 20 GB are really in use. One segment around the model does not lower the
# peak of the backward pass, since all activations are computed again at once. And at the step the activations are freed
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
# ## Summary
#
# - Four kinds of bytes: weights, gradients, optimizer states, activations. Only the last kind knows the batch.
# - Adam in `float32` needs 16 bytes for a parameter, before the first activation. A `foreach` step needs 4 more.
# - An operation keeps its input or its result, whichever its derivative needs. The peak is early in the backward pass.
# - Reserved is allocated and cached. `empty_cache()` gives back the cache, and no tensor.
# - `backward` frees what was saved. Leaks are graphs without a backward, views of large tensors, and tracebacks.
# - Checkpointing trades a third more work for a smaller peak, in several segments. Look at the peak.
# - A segment is called twice. What it changes, it changes twice, and what it looks up, it looks up later.
#
# Lab 8 opens the graph itself: you write derivatives of your own.
