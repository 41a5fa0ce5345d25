# %% [markdown]
# # The allocator, and what is kept
#
# "Out of memory", says the GPU, and that gigabytes are reserved but unused. Is that a mistake? In this lab, you look
# into the allocator between your tensors and the GPU. Then you change what's kept for the backward pass: the digits
# network keeps a quarter less and reads just as well.
#
# After this lab, you'll be able to
#
# - say how many bytes a request takes, and how many PyTorch asks the driver for;
# - split and join blocks as PyTorch does, and say what fits and what `empty_cache()` gives back;
# - read the numbers of `memory_stats`, and tell unusable free memory from a healthy cache;
# - say how much memory an optimizer step needs;
# - read a memory snapshot, and find the line that allocated most at the peak;
# - shrink what the graph keeps, or recompute it, and choose the fix that suits an out-of-memory error.
#
# You need lab 7. Plan two sittings of about an hour for the text and the five core exercises: `block_and_segment`,
# `Blocks`, `fragmentation`, `packed_bf16` and `chunked_loss`. The three under *Further practice* earn no points, and no
# later lab needs them. Numbers were measured with PyTorch 2.13 on a CPU, or are arithmetic. The allocator is the CUDA
# one, but no GPU was used: its rules come from PyTorch's documentation and source. If you have a GPU, some cells query
# it; otherwise they say that there's none.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise, a card shows its checks. Those
# marked *later* run when the lab is marked: press *Mark my work*, or hand it in.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import math
import types
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    device,
    explain,
    memory,
    probes,
    show_memory,
)

# %% given folded
MIB = 2**20  # bytes

# %% [markdown]
# ## From a request to the driver
#
# On a GPU, even the digits script's loss, a tensor of four bytes, makes PyTorch reserve 2 MiB if it's the first tensor.
# PyTorch's allocator does more than the one you wrote in lab 7. You need four terms:
#
# - A *request* is the exact number of bytes that a tensor asks for.
# - A *block* is the memory it gets: a range of addresses whose size is a multiple of 512 bytes.
# - The *driver* is the GPU maker's part of the operating system. It hands out the GPU's memory.
# - A *segment* is what PyTorch gets from the driver. Blocks are cut from it.
#
# The allocator counts in MiB: one MiB is $2^{20} = 1{,}048{,}576$ bytes, a little more than a megabyte.
#
# Asking the driver is slow, so a segment is usually larger than the block it's needed for. There are three sizes:
#
# | the block | the new segment |
# |---|---|
# | at most 1 MiB | 2 MiB |
# | more than 1 MiB and less than 10 MiB | 20 MiB |
# | 10 MiB or more | the block, rounded up to a multiple of 2 MiB |
#
# Segments of 2 MiB are called small, all others large. Blocks of at most 1 MiB are cut only from small segments, and
# larger blocks only from large ones.

# %% predict: ten_small
# **Predict.** On an empty GPU, you create ten tensors of 100,000 bytes each. How many segments does PyTorch ask for?
#
# - [x] one
# - [ ] two
# - [ ] ten

# %% [markdown]
# Each block has 100,352 bytes, so all ten take 1,003,520 and fit into one segment of 2 MiB. Now write these rules as a
# function.
#
# ### Your turn: block_and_segment
# How large is the block for a request, and how large would a new segment be? This takes about ten minutes.

# %% given
hint(
    "How much do you have to add, at most, to reach the next multiple of 512? What if the number already is one?",
    "Round first. Then apply the three rules in the table's order. Which of them say at most, and which less than?",
)

# %% exercise: block_and_segment points=2 level=easy

# %% [markdown]
# Call it with 11 MiB plus one byte. The tensor asks for 11,534,337 bytes, and the segment has 12,582,912. A model with
# many such tensors reserves 9 percent more than it allocates. Reserved bytes exceed allocated ones for three reasons:
# requests are rounded up, segments are larger than the blocks they were needed for, and freed memory stays cached. The
# third reason matters most.
#
# ## One segment, cut into blocks
#
# To see how your GPU can run out of memory with enough bytes free, look inside a segment. In the next cell's drawings,
# a `#` is a MiB in use, a `.` is a free one, and `|` separates two blocks.


# %% given
def strip(blocks):
    """Draw blocks (address, size, whether it's in use) as text, with one character per MiB or part of one."""
    return "|".join(("#" if used else ".") * math.ceil(size / MIB) for _, size, used in blocks)


# %% example
print("new                ", strip([(0, 20 * MIB, False)]))
print("alloc 4 MiB        ", strip([(0, 4 * MIB, True), (4 * MIB, 16 * MIB, False)]))
print("alloc 6 MiB        ", strip([(0, 4 * MIB, True), (4 * MIB, 6 * MIB, True), (10 * MIB, 10 * MIB, False)]))
print("free the first     ", strip([(0, 4 * MIB, False), (4 * MIB, 6 * MIB, True), (10 * MIB, 10 * MIB, False)]))

# %% [markdown]
# The first request got the start of the segment, and the rest became a free block of its own. That's *splitting*. A
# freed block stays where it is.
#
# Now there are two free blocks, of 4 MiB and of 10 MiB. Which of them does a request for 2 MiB get? The *best-fit* rule
# takes the smallest free block that's large enough. PyTorch follows it and leaves the larger block whole for a larger
# request. Among blocks of the same size, it takes the one with the lowest address.
#
# When a block is freed and its neighbor in the segment is free too, the two become one block again. So a segment with
# nothing in use is always a single block.
#
# There's one more rule, for rests too small to be useful. In a small segment, any rest of 512 bytes or more becomes a
# block. In a large segment, it has to have more than 1 MiB; otherwise the request gets it as well. That's because
# requests for 1 MiB or less look only in small segments, so none would ever use it.

# %% predict: rest_of_one answer=20
# **Predict.** A new segment has 20 MiB, and a request for 19 MiB arrives. How many MiB does its block have?

# %% [markdown]
# All 20: the rest has exactly 1 MiB, and it would need more.
#
# ### Your turn: Blocks
# Write a class for one segment, with splitting, joining and best fit.

# %% given
hint(
    "Keep one list of all blocks, in order of their addresses. What does alloc do to one of its entries, and what may "
    "free do to three?",
    "alloc: which free blocks are large enough, and which of them is smallest? Is the rest large enough for a block? "
    "free: look at the blocks directly after and before it, if there are any.",
)

# %% exercise: Blocks points=5 level=hard

# %% [markdown]
# ## Free but unusable
#
# If your script trains on batches of changing sizes, it can hit the error that this lab began with. Reproduce it with
# your class: five requests fill a segment, every other one is freed, and then a request for 9 MiB arrives.


# %% scratch
try:
    accident = Blocks(20 * MIB)
    placed = [accident.alloc(4 * MIB) for _ in range(5)]
    for address in placed[::2]:
        if address is not None:
            accident.free(address)
    print(strip(accident.blocks()))
    print("free:", sum(size for _, size, used in accident.blocks() if not used) // MIB, "MiB")
    print("a request of 9 MiB gets the address", accident.alloc(9 * MIB))
except Exception as error:
    print("This cell needs a working Blocks:", repr(error))

# %% [markdown]
# 12 MiB are free, but 9 MiB don't fit, because the free bytes are in pieces of 4 MiB. That's *fragmentation*. Change
# the cell: which two of the five must be freed so 8 MiB fit?

# %% answer [markdown]
# Any two neighbors. With `placed[1:3]` instead of `placed[::2]`, the two freed blocks become one, and a request for 8
# MiB gets the address 4,194,304. 9 MiB would need a third neighbor.

# %% [markdown]
# A tensor needs a contiguous range of memory, and blocks in use can't be moved because kernels hold their addresses. (A
# *kernel* is a function that runs on the GPU.) So the allocator asks the driver for another segment. If the driver has
# no more memory, the allocator gives back what it can and asks again. Only then does it raise `torch.OutOfMemoryError`.
# The message says how much is "reserved by PyTorch but unallocated". If that number is large, suspect fragmentation.
#
# The allocator can give back only whole segments with nothing in use, and so can `empty_cache()`: one small tensor
# keeps its segment of 20 MiB.
#
# The next cell contains four segments in the form of a *snapshot*, the list of all segments and blocks that
# `torch.cuda.memory._snapshot()` returns. They're handwritten, not recorded on a GPU. Each segment is a dict, and so is
# each block. A block has a `state`:
#
# - `"active_allocated"`: a tensor uses it.
# - `"inactive"`: it's free.
# - `"active_pending_free"`: no tensor needs it, but another stream may still read it. (A stream is a queue of GPU
#   work.) Until it's free, it counts neither as allocated nor as free. (The docstring of `_snapshot` calls this state
#   `active_awaiting_free`. A real snapshot never does.)


# %% given
def segment(address, *pieces):
    """Return a segment as in a snapshot. pieces: (size, state), or (size, state, frames, requested) if known."""
    blocks, at = [], address
    for size, state, *more in pieces:
        frames, requested = more or ([], size)
        blocks.append({"address": at, "size": size, "requested_size": requested, "state": state, "frames": frames})
        at += size
    total = at - address
    return {
        "address": address,
        "total_size": total,
        "stream": 0,
        "segment_type": "small" if total == 2 * MIB else "large",
        "segment_pool_id": (0, 0),
        "allocated_size": sum(block["size"] for block in blocks if block["state"] == "active_allocated"),
        "active_size": sum(block["size"] for block in blocks if block["state"] != "inactive"),
        "blocks": blocks,
    }


def cut_up():
    """Return four segments, written by hand."""
    used, free = "active_allocated", "inactive"
    return [
        segment(2**32, (8 * MIB, used), (12 * MIB, free)),
        segment(2**33, (8 * MIB, free), (8 * MIB, used), (4 * MIB, free)),
        segment(2**34, (20 * MIB, free)),
        segment(2**35, (MIB // 2, used), (3 * MIB // 2, free)),
    ]


# %% example
for one in cut_up():
    pieces = [(block["address"], block["size"], block["state"] != "inactive") for block in one["blocks"]]
    print(f"{one['segment_type']:5}  {one['total_size'] // MIB:2} MiB   {strip(pieces)}")

# %% predict: after_empty answer=42
# **Predict.** 62 MiB are reserved here, and 16.5 are allocated. How many MiB are reserved after `empty_cache()`?

# %% [markdown]
# 42: only the third segment has nothing in use, and its 20 MiB go back to the driver.
#
# ### Your turn: fragmentation
# Report what's reserved, what's in use, and what the rest can be used for.

# %% given
hint(
    "For one segment: which of its blocks are inactive? What does it mean if all of them are?",
    "Each inactive byte counts in exactly one of releasable and split. For largest, look at one block at a time: how "
    "large a request may go to its segment at all?",
)

# %% exercise: fragmentation points=3 level=medium

# %% [markdown]
# In your result, `empty_cache()` doesn't touch 25.5 MiB that are free. After it, the largest request that fits is 12
# MiB.
#
# PyTorch keeps the same statistics: `torch.cuda.memory_stats()` is a dict of more than a hundred numbers. A name has
# three parts, as in `allocated_bytes.all.peak`: what's counted, in which segments (`all`, `small_pool`, `large_pool`),
# and which value (`current`, or `peak`, the largest so far).
#
# | your key | its name in `memory_stats()` |
# |---|---|
# | `allocated` | `allocated_bytes.all.current` |
# | `allocated`, plus blocks waiting to be freed | `active_bytes.all.current` |
# | `reserved` | `reserved_bytes.all.current` |
# | `split` | `inactive_split_bytes.all.current` |
#
# `torch.cuda.max_memory_allocated()` is `allocated_bytes.all.peak`. `torch.cuda.reset_peak_memory_stats()` resets the
# peaks to the current values: call it before the step you want to measure. `torch.cuda.memory_summary()` prints a table
# of all that. The next cell queries a GPU.

# %% example
if torch.cuda.is_available():
    torch.cuda.reset_peak_memory_stats()
    kept = [torch.zeros(MIB, device="cuda") for _ in range(5)][::2]
    stats = torch.cuda.memory_stats()
    for name in ("allocated_bytes", "active_bytes", "reserved_bytes", "inactive_split_bytes"):
        print(f"{name:22} now {stats[name + '.all.current']:12,}   peak {stats[name + '.all.peak']:12,}")
    print("retries after giving back the cache:", stats["num_alloc_retries"])
else:
    print("There's no GPU here.", len(torch.cuda.memory_stats()), "numbers, and a peak of", end=" ")
    print(torch.cuda.max_memory_allocated())

# %% [markdown]
# On a CPU, the dict is empty and the peak is 0. (`memory_summary()` raises a `KeyError` there, and
# `reset_peak_memory_stats()` an `AttributeError`.)
#
# If `split` is large, first find out why sizes change. The usual reason is batches of many different lengths, so pad
# them to a few. Then there are two settings, usually passed in an environment variable before Python starts:
#
# - `PYTORCH_ALLOC_CONF=expandable_segments:True`: a segment can grow. A larger request extends it instead of starting a
#   new segment. Some of the rules above are then different.
# - `PYTORCH_ALLOC_CONF=max_split_size_mb:128`: a block above this size isn't split, so a small tensor can't pin a large
#   block.
#
# Older texts write `PYTORCH_CUDA_ALLOC_CONF`. That name still works; PyTorch 2.8 to 2.11 warn that it's deprecated. In
# a running program, the private function `torch._C._accelerator_setAllocatorSettings("max_split_size_mb:128")` changes
# a setting for later allocations. If `allocated` itself is too large, neither setting helps, and you have to find the
# line that allocates so much.
#
# ## What an optimizer step allocates
#
# Training can run out of memory even if the forward and backward passes fit, because the optimizer allocates too. You
# can measure that without a GPU: `memory.watch` records the tensors that each operation makes, and a step with
# `foreach=True`, which handles all parameters in each call, makes the same ones on a CPU. The model has eight equal
# layers. The peak is given in multiples of the size of all weights.

# %% predict: sgd_momentum
# **Predict.** At its peak, Adam with `foreach=True` needs 1.00 extra set of weights. How much does SGD with momentum
# need, also with `foreach=True`?
#
# - [x] none
# - [ ] half a set
# - [ ] one set


# %% example
def peak_of_step(kind, **options):
    """Return the most bytes that a step's temporary tensors take up at any moment, in sets of weights."""
    layers = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)])
    optimizer = kind(layers.parameters(), lr=1e-3, **options)
    for _ in range(2):  # the first step creates the states
        for parameter in layers.parameters():
            parameter.grad = torch.ones_like(parameter)
        with memory.watch(layers, [list(state.values()) for state in optimizer.state.values()]) as seen:
            optimizer.step()
    return seen.peak / memory.nbytes(list(layers.parameters()))


for way in ({"foreach": False}, {"foreach": True}, {"fused": True}):
    adam, sgd = peak_of_step(torch.optim.Adam, **way), peak_of_step(torch.optim.SGD, momentum=0.9, **way)
    print(f"{way!s:20} Adam {adam:.2f}   SGD with momentum {sgd:.2f}")

# %% [markdown]
# Adam divides by the square root of its second state, and that root is a new tensor. With `foreach=True`, the roots of
# all parameters exist at the same time: one set of weights. With `foreach=False`, Adam updates one parameter after
# another, with two tensors of a parameter's size at a time. Each layer is an eighth of this model, which gives 0.25. A
# *fused* step does all the work in one kernel and makes no tensor. SGD with momentum only adds, in place.
#
# On a GPU, `foreach` is the default. By the time of the step, the activations are gone, so it matters only if weights,
# states and one more set exceed the peak of the backward pass, as with a large model and a small batch.
#
# ## The history of a step
#
# When your training script runs out of memory, a snapshot with a history shows which line allocated what.
#
# ```python
# torch.cuda.memory._record_memory_history(max_entries=100_000)
# training_step()
# snapshot = torch.cuda.memory._snapshot()
# torch.cuda.memory._record_memory_history(enabled=None)  # stop
# ```
#
# `snapshot["segments"]` is what you know already, at the end of the step. `snapshot["device_traces"][0]` is the first
# GPU's history: a list of what the allocator did, oldest first. Each entry is a dict with an `action`:
#
# | `action` | what happened |
# |---|---|
# | `alloc` | a request got the block at `addr`; `size` is what was requested, not rounded |
# | `free_requested` | the tensor at `addr` is gone |
# | `free_completed` | no stream reads it anymore: the block is free |
# | `segment_alloc`, `segment_free` | the driver provided a segment, or got it back |
# | `segment_map`, `segment_unmap` | with expandable segments: a segment grew, or gave a part back |
# | `snapshot` | someone took a snapshot here |
# | `oom` | a request failed: it has a `size` and no `addr` |
#
# `frames` says where that happened: it's a list of dicts with `filename`, `line` and `name`, innermost first. The
# innermost is rarely yours but from C++ or PyTorch, so look for the first one from your own code.
#
# The history starts when you switch it on. Older blocks, such as the weights, aren't in it, but those that still exist
# are in `segments`. If an old block was freed during the history, its `free_requested` shows that it existed.
#
# The next cell contains a handwritten history of a step, in the documented form and with round numbers. The step trains
# a language model: `train.py:21` is `loss = cross_entropy(logits.float(), labels)`, `train.py:22` is `loss.backward()`,
# and `train.py:23` is the optimizer's step.


# %% given
def is_yours(frame):
    """Whether a frame is Python code outside torch."""
    return frame["filename"].endswith(".py") and "/torch/" not in frame["filename"]


def stack(*places):
    """Return frames, innermost first, from texts such as "train.py:21"."""
    found = []
    for place in places:
        filename, line = place.rsplit(":", 1)
        found.append({"filename": filename, "line": int(line), "name": "step"})
    return found


def entry(action, addr, size, frames=()):
    """Return an entry of a history."""
    found = {"action": action, "size": size, "stream": 0, "frames": list(frames)}
    return found if action == "oom" else {**found, "addr": addr}


# %% given folded
TORCH = "/python/site-packages/torch/"
LINEAR, LOSS, BACKWARD = (
    TORCH + "nn/modules/linear.py:134",
    TORCH + "nn/functional.py:3504",
    TORCH + "autograd/graph.py:865",
)
BATCH_LINE, MODEL_LINE, LOSS_LINE = "/lab/train.py:18", "/lab/train.py:20", "/lab/train.py:21"
BACKWARD_LINE, STEP_LINE = "/lab/train.py:22", "/lab/train.py:23"
IN_STEP = [  # a name for the block, what happens to it, MiB, frames
    ("batch", "alloc", 50, (BATCH_LINE,)),
    ("old batch", "free_requested", 50, (BATCH_LINE,)),  # a copy still reads it
    ("hidden", "alloc", 150, ("??:0", LINEAR, "/lab/model.py:31", TORCH + "nn/modules/module.py:1790", MODEL_LINE)),
    ("gelu", "alloc", 150, ("??:0", "/lab/model.py:34", TORCH + "nn/modules/module.py:1790", MODEL_LINE)),
    ("logits", "alloc", 125, ("??:0", LINEAR, "/lab/model.py:36", TORCH + "nn/modules/module.py:1790", MODEL_LINE)),
    ("floats", "alloc", 250, ("??:0", LOSS_LINE)),
    ("log_softmax", "alloc", 250, ("??:0", LOSS, LOSS_LINE)),
    ("its gradient", "alloc", 250, ("??:0", BACKWARD, BACKWARD_LINE)),
    ("old batch", "free_completed", 50, (BATCH_LINE,)),
    ("log_softmax", "free", 250, (BACKWARD, BACKWARD_LINE)),
    ("floats", "free", 250, (BACKWARD, BACKWARD_LINE)),
    ("its gradient", "free", 250, (BACKWARD, BACKWARD_LINE)),
    ("logits", "free", 125, (BACKWARD, BACKWARD_LINE)),
    ("for gelu", "alloc", 150, ("??:0", BACKWARD, BACKWARD_LINE)),
    ("gelu", "free", 150, (BACKWARD, BACKWARD_LINE)),
    ("gradients", "alloc", 100, ("??:0", BACKWARD, BACKWARD_LINE)),
    ("for gelu", "free", 150, (BACKWARD, BACKWARD_LINE)),
    ("hidden", "free", 150, (BACKWARD, BACKWARD_LINE)),
    ("roots", "alloc", 100, ("??:0", TORCH + "optim/adam.py:680", STEP_LINE)),
    ("roots", "free", 100, (TORCH + "optim/adam.py:680", STEP_LINE)),
]


def shipped_snapshot():
    """Return one training step on a GPU, written by hand."""
    names = ["weights", "states", *dict.fromkeys(name for name, *_ in IN_STEP)]
    address = {name: (n + 1) * 2**32 for n, name in enumerate(names)}
    used, free = "active_allocated", "inactive"
    history = []
    for name, action, mib, places in IN_STEP:
        if action == "alloc":
            history.append(entry("segment_alloc", address[name], mib * MIB, stack(*places)))
        for what in ("free_requested", "free_completed") if action == "free" else (action,):
            history.append(entry(what, address[name], mib * MIB, stack(*places)))
    left = {"batch": (50, BATCH_LINE), "gradients": (100, BACKWARD_LINE)}
    rest = {name: mib for name, _, mib, _ in IN_STEP if name not in left}
    segments = [
        segment(address["weights"], (100 * MIB, used)),  # older than the history, so without frames
        segment(address["states"], (200 * MIB, used, stack("??:0", TORCH + "optim/adam.py:180", STEP_LINE), 200 * MIB)),
        *(segment(address[name], (mib * MIB, used, stack(place), mib * MIB)) for name, (mib, place) in left.items()),
        *(segment(address[name], (mib * MIB, free)) for name, mib in rest.items()),
    ]
    return {"segments": segments, "device_traces": [history]}


# %% example
changes = [0]
for one in shipped_snapshot()["device_traces"][0]:
    sign = {"alloc": 1, "free_requested": -1}.get(one["action"], 0)
    if sign:
        changes.append(changes[-1] + sign * one["size"])
begin = changes.index(max(changes)) - 1
show_memory(
    {
        "step": types.SimpleNamespace(
            peak=max(changes), now=changes[-1], timeline=changes, marks=[(begin, "backward begins")]
        )
    }
)

# %% predict: owner
# **Predict.** The peak is to the right of the dot, in `backward`. Which line had allocated the most memory that was in
# use then?
#
# - [ ] `model.py:31`, the linear layer
# - [x] `train.py:21`, the loss
# - [ ] `train.py:22`, `backward`
# - [ ] `train.py:23`, the optimizer's step

# %% [markdown]
# The picture starts at 0, because the history doesn't say what was there earlier. Your function will.
#
# ### Your turn: at_peak
# Go through the history. Find the moment with the most allocated bytes, and say how much each line had allocated.

# %% given
hint(
    "Keep a dict of what's allocated: from address to line and size. What's in it before the first entry?",
    "Before the first entry, there are blocks of two kinds: those that the history frees without having allocated "
    "them, and those in the segments that the history doesn't mention. When the sum reaches a new maximum, note it by "
    "line.",
)

# %% exercise: at_peak points=4 level=hard further

# %% scratch
try:
    for name, count in sorted(at_peak(shipped_snapshot()).items(), key=lambda item: -item[1]):
        print(f"{count // MIB:5} MiB  {name or '(unknown)'}")
except Exception as error:
    print("This cell needs a working at_peak:", repr(error))

if torch.cuda.is_available():
    torch.cuda.memory._record_memory_history(max_entries=100_000, clear_history=True)
    layer = nn.Linear(1024, 1024, device="cuda")
    layer(torch.ones(4096, 1024, device="cuda")).square().mean().backward()
    recorded = torch.cuda.memory._snapshot()
    recorded["segments"] = [one for one in recorded["segments"] if one.get("device", 0) == 0]
    torch.cuda.memory._record_memory_history(enabled=None)
    try:
        print("recorded here:", at_peak({**recorded, "device_traces": recorded["device_traces"][:1]}))
        print(fragmentation(recorded["segments"]))
    except Exception as error:
        print("This needs a working at_peak and fragmentation:", repr(error))
else:
    print("There's no GPU here, so nothing was recorded.")

# %% [markdown]
# If you have a GPU, the history recorded there may surprise you: the line of the first matrix product allocated at
# least 8 MiB more than its result. That's the workspace of cuBLAS, the library that multiplies matrices. PyTorch takes
# it from the same allocator once and keeps it. `memory.watch` doesn't see it, because no operation returns it.
#
# In the handwritten history, 1,525 MiB are allocated at the peak. A third of that, 500 MiB, was allocated on the loss
# line: the logits in `float32`, and their logarithms. `backward` accounts for 250 MiB, although the peak is inside it.
# So the line that runs when memory runs out need not be the one that took it. To fix this, compute the loss for part of
# the tokens at a time. Checkpointing the model would hardly help.
#
# The page [pytorch.org/memory_viz](https://pytorch.org/memory_viz) draws such a history from a file that
# `torch.cuda.memory._dump_snapshot("step.pickle")` writes. Each block is a colored band that shows its frames when you
# point at it.

# %% [markdown]
# ## A good place to stop
#
# You can say what the allocator does, and which line is responsible for a peak. Next you reduce that peak: you shrink,
# move or recompute what the graph keeps for the backward pass. After a break, Python has forgotten everything. Choose
# *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs what it needs.

# %% [markdown]
# ## What autograd keeps, and in what form
#
# When you train the digits network, most of the memory contains activations, which operations keep for the backward
# pass. In lab 7, a checkpoint kept fewer of them. You can also keep them in another form or in another place.
#
# Autograd lets you decide. Inside `with torch.autograd.graph.saved_tensors_hooks(pack, unpack)`, it calls `pack(t)` for
# each tensor that an operation wants to keep, and keeps whatever `pack` returns. (A *hook* is a function that PyTorch
# calls at such a moment.) When backward needs the tensor, perhaps long after the block has ended, autograd calls
# `unpack` with what it kept and uses the result.
#
# The next cell only observes: `pack` prints a line and returns its tensor, detached. (You'll see why below.) The model
# is a linear layer, `tanh`, and another linear layer. Its input doesn't require grad.

# %% predict: packed_calls answer=4
# **Predict.** How many times is `pack` called in the forward pass?


# %% example
def layers_of(activation, *sizes):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        first, *others = [nn.Linear(a, b) for a, b in pairwise(sizes)]
        return nn.Sequential(first, *[part for layer in others for part in (activation(), layer)])


def in_memory_of(model, t):
    return any(t.untyped_storage().data_ptr() == p.untyped_storage().data_ptr() for p in model.parameters())


def look(t):
    of_model = in_memory_of(few_layers, t)
    print(f"{tuple(t.shape)!s:8} of the model: {of_model!s:6} a Parameter: {isinstance(t, nn.Parameter)}")
    return t.detach()


few_layers = layers_of(nn.Tanh, 4, 6, 3)
with torch.autograd.graph.saved_tensors_hooks(look, lambda t: t):
    few_layers(torch.ones(5, 4))

# %% [markdown]
# The first layer keeps its input. `tanh` keeps its result, and the second layer keeps the same tensor as its input, so
# it appears twice. The second layer also needs its weight, to pass the gradient on. (The first doesn't, because its
# input needs no gradient.) It keeps the transposed weight, 6 by 3. That's a view, and a view of a `Parameter` is an
# ordinary tensor, so `isinstance(t, nn.Parameter)` finds no weight here. Compare the memory instead: a view shares its
# base's storage.
#
# ### Half the bytes
#
# `bfloat16` has 2 bytes per number instead of 4, with the range of `float32` but 8 significant bits instead of 24. You
# can pack activations into it. The next cell runs two networks of four layers, with 512 samples: unchanged, packed, and
# in `torch.autocast`, which also computes in `bfloat16`.

# %% predict: tanh_or_gelu
# **Predict.** In which of the networks does packing halve the bytes that autograd keeps?
#
# - [ ] in both
# - [ ] in the one with `tanh`
# - [x] in the one with `gelu`
# - [ ] in neither


# %% example
def small_copies(model, batch):
    """Return hooks that keep activations in bfloat16, but not the batch and the model's parameters."""

    def pack(t):
        there = in_memory_of(model, t) or t.untyped_storage().data_ptr() == batch.untyped_storage().data_ptr()
        return (t.detach() if there else t.bfloat16(), t.dtype)

    return torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[0].to(kept[1]))


def bytes_and_gradients(model, batch, context):
    with memory.watch(model, batch) as seen:
        with context:
            out = model(batch)
        now = seen.now - memory.nbytes(out)
    grads = torch.autograd.grad(out.float().square().mean(), list(model.parameters()))
    return now, torch.cat([grad.flatten() for grad in grads])


many_rows = torch.randn(512, 64, generator=torch.Generator().manual_seed(1))
for activation in (nn.Tanh, nn.GELU):
    four = layers_of(activation, 64, 256, 256, 256, 10)
    plain_bytes, plain_grads = bytes_and_gradients(four, many_rows, nullcontext())
    print(f"{activation.__name__}: {plain_bytes:,} bytes")
    for name, context in {
        "packed": small_copies(four, many_rows),
        "autocast": torch.autocast("cpu", dtype=torch.bfloat16),
    }.items():
        now, grads = bytes_and_gradients(four, many_rows, context)
        off = ((grads - plain_grads).norm() / plain_grads.norm()).item()
        print(f"    {name:10} {now:,} bytes, the gradient is off by {off:.1e} of its length")

# %% [markdown]
# With `gelu`, packing halves the bytes; with `tanh`, it saves nothing. The result of `tanh` is kept twice, but without
# packing it's a single storage. `pack` is called twice and makes two copies, each half the size. The same happens to
# views: two halves of a tensor share one storage, but once packed, they have one each. For a single copy, you'd have to
# remember which copy belongs to which storage, and how long each storage lives.
#
# What about accuracy? Only gradients change: the forward pass is as exact as before. In our run, the gradient was off
# by 0.00033 of its length with `tanh` and by 0.00006 with `gelu`. With `autocast`, it was 0.0037 and 0.0024. Packing
# rounds each activation once, and the next one is computed from the unrounded value.
#
# What should `pack` leave alone?
#
# - *Parameters*: they're in memory anyway. A copy takes more memory, not less.
# - *Integers*: labels and indices. In `bfloat16`, 301 becomes 302.
# - *Types with 2 bytes*: `float16` would only lose digits.
# - *Small tensors*: they save nothing, and each call of a hook takes time.
#
# For these, `pack` returns `t.detach()`, not `t`. `exp` keeps its own result, and a result holds its graph. If the
# graph also holds that very result, each keeps the other alive until a backward pass frees them. We made five results
# of 1,000 numbers under a hook that returns `t`, and dropped them. All 20,000 bytes were still there, and Python's
# garbage collector didn't find them. With `t.detach()`, nothing was left.
#
# ### Your turn: packed_bf16
# Write these rules as a context manager.

# %% given
hint(
    "What three things does pack ask about a tensor? What does unpack need to know about it?",
    "Collect the addresses of the parameters' storages first: p.untyped_storage().data_ptr(). If pack returns a pair "
    "for a packed tensor and a tensor for all others, unpack can tell them apart.",
)

# %% exercise: packed_bf16 points=4 level=medium

# %% [markdown]
# ### The digits, kept in half the bytes
#
# Does a network still learn if its gradients are computed from rounded activations? The next cell trains the
# convolutional network of lab 6b twice: unchanged, and with activations kept in `bfloat16`. Run it. The bytes don't
# drop by half. Which two kinds of tensor are the reason? Then replace `nn.ReLU` with `nn.GELU`, and run it again.

# %% scratch
from sklearn.datasets import load_digits

mixed = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
scans = (torch.tensor(load_digits().images, dtype=torch.float32)[mixed, None] - 8) / 8
digits = torch.tensor(load_digits().target)[mixed]


def pack_floats(t):
    is_packed = t.is_floating_point() and t.numel() >= 1000 and not in_memory_of(reader, t)
    return (t.to(torch.bfloat16) if is_packed else t.detach()), t.dtype


def unpack_floats(kept):
    return kept[0].to(kept[1])


for hooked in (False, True):
    torch.manual_seed(0)
    reader = nn.Sequential(
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )
    adamw = torch.optim.AdamW(reader.parameters(), lr=0.01)
    for rows in torch.randperm(1500).repeat(3).split(100):
        hooks = torch.autograd.graph.saved_tensors_hooks(pack_floats, unpack_floats) if hooked else nullcontext()
        with memory.watch(reader, scans, digits) as forward_bytes, hooks:
            loss = functional.cross_entropy(reader(scans[rows]), digits[rows])
            kept_bytes = forward_bytes.now
        adamw.zero_grad()
        loss.backward()
        adamw.step()
    is_right = reader.eval()(scans[1500:]).argmax(dim=1) == digits[1500:]
    print(f"packed {hooked!s:5}  kept {kept_bytes:,} bytes  right {is_right.float().mean():.1%}")

# %% answer [markdown]
# | activation | kept unchanged | kept in `bfloat16` | right |
# |---|---|---|---|
# | `nn.ReLU` | 1,720,392 bytes | 1,323,592 bytes | 97.3%, and 97.3% packed |
# | `nn.GELU` | 2,334,792 bytes | 1,323,592 bytes | 97.3%, and 97.6% packed |
#
# It learns just as well. 307,200 of the bytes are the positions of the maxima that `nn.MaxPool2d` keeps: they're
# integers, so they aren't packed. The result of `nn.ReLU` is kept twice, by ReLU and as the pooling layer's input.
# That's one storage, but two once packed, so nothing is saved there. `nn.GELU` keeps its input instead, the pooling
# layer keeps the result, and packing halves both.

# %% [markdown]
# The script now keeps 1.3 MB for a batch instead of 1.7, and reads as many digits. In lab 8, its weights shrink to one
# bit each.

# %% [markdown]
# ## Offloading
#
# The digits network's activations could also move to the CPU's memory until backward needs them. This is called
# *offloading*. PyTorch has a context manager for it, built from the same two hooks:
# `torch.autograd.graph.save_on_cpu(pin_memory=True)`. It sends everything, even weights.
#
# *Pinned memory* is CPU memory that the operating system may not move. A GPU can read and write it on its own while the
# program continues. Without pinning, each copy makes the program wait. Either way, offloading pays off only if a layer
# computes for longer than its activations travel there and back.
#
# Without a GPU, `tensor.cpu()` returns the tensor itself, so `save_on_cpu` keeps what would be kept anyway. In the next
# cell, `b` is 2 when it's squared, and the derivative of the square is $2 b$. Then `b` is changed in place.

# %% predict: changed_later
# **Predict.** What is the gradient of `b.square()` if `b` becomes 3 before the backward pass?
#
# - [ ] an error, both without and with `save_on_cpu`
# - [ ] an error without `save_on_cpu`, and 4 with it
# - [x] an error without `save_on_cpu`, and 6 with it
# - [ ] 4 in both cases

# %% example
keepers: dict[str, AbstractContextManager[Any]] = {
    "plain": nullcontext(),
    "save_on_cpu": torch.autograd.graph.save_on_cpu(),
}
for name, context in keepers.items():
    b = torch.ones(2, requires_grad=True) * 2
    with context:
        squared = b.square()
    with torch.no_grad():
        b.add_(1)
    try:
        print(f"{name:12}", torch.autograd.grad(squared.sum(), b)[0].tolist())
    except RuntimeError as error:
        print(f"{name:12}", str(error)[:84])

# %% [markdown]
# Without the hooks, you get the error from lab 5: autograd compares the version of the tensor it kept. It doesn't check
# what a hook returned, so with `save_on_cpu` you silently get 6, which is wrong. With a GPU, it would be 4, because the
# copy was made earlier. A hook that returns its tensor unchanged switches the check off.
#
# ### Your turn: kept_elsewhere
# Write offloading to any destination: a second device, a file, another machine. The destination is given as two
# functions.

# %% given
hint(
    "What do you have to know to undo a move to another device and another dtype? Where do you keep it?",
    "t.detach() is a tensor without history. t.nbytes counts the bytes of its elements, even if it's part of a larger "
    "tensor.",
)

# %% exercise: kept_elsewhere points=2 level=easy further

# %% [markdown]
# ## Selective checkpoints
#
# If you checkpoint the digits network, even its expensive convolutions run twice. A checkpoint keeps the input of its
# segment, and computes everything again. But a matrix product takes long to compute; a `gelu` doesn't, and its result
# can be just as large. So keep the products and compute the rest again. That's called *selective checkpointing*.
#
# It works on operators, the functions that PyTorch calls underneath your line of Python.
# `create_selective_checkpoint_contexts(policy)` makes two contexts, one for the forward pass and one for recomputing.
# The *policy* is a function that returns a `CheckpointPolicy` for each operator.
#
# - `MUST_SAVE`: keep the result, and reuse it when recomputing.
# - `PREFER_RECOMPUTE`: compute it again.
#
# PyTorch 2.13 has six policies: `SAVE`, `RECOMPUTE` and `CPU_OFFLOAD`, each as `MUST` and as `PREFER`. `torch.compile`
# may override a policy that says `PREFER`. `MUST_CPU_OFFLOAD` combines checkpointing with offloading: this operator's
# results are kept, but in CPU memory.
#
# Which operator does a linear layer call? Ask a policy that prints.


# %% example
def print_operator(ctx, op, *args, **kwargs):
    print(f"{'again' if ctx.is_recompute else 'forward':8} {op}")
    return CheckpointPolicy.PREFER_RECOMPUTE


def printing():
    return create_selective_checkpoint_contexts(print_operator)


out = checkpoint(layers_of(nn.GELU, 4, 6, 3), torch.ones(5, 4), use_reentrant=False, context_fn=printing)
out.sum().backward()

# %% [markdown]
# The product is `aten.addmm.default`: a linear layer with a bias multiplies and adds in one operator. `default` is the
# name of an *overload*, one of the forms of `addmm`. Compare with that form. In a policy, `op == torch.ops.aten.addmm`
# without `.default` is false for every operator, and you get no error. Also, PyTorch 2.13 asks the policy only in the
# forward pass; for recomputing, the decisions are known.
#
# Instead of a policy, you can pass a list of operators to keep. It's checked immediately: if it contains
# `torch.ops.aten.addmm`, `create_selective_checkpoint_contexts` raises a `ValueError` that asks for the overload.
#
# Here are six transformer layers, each in its own segment. Memory is measured in activations the size of the input.

# %% predict: addmm_again
# **Predict.** In the run that keeps only `aten.mm`, how many of the 18 `addmm` calls run again?
#
# - [ ] none: a linear layer is a product of matrices
# - [ ] 6
# - [x] all 18

# %% example
aten = torch.ops.aten
with torch.random.fork_rng(devices=[]):
    torch.manual_seed(0)
    six = nn.Sequential(
        *[nn.TransformerEncoderLayer(64, 4, 256, 0.0, activation="gelu", batch_first=True) for _ in range(6)]
    )
words = torch.randn(16, 32, 64, generator=torch.Generator().manual_seed(2))


def layer_by_layer(kept):
    def contexts():
        return create_selective_checkpoint_contexts(kept)

    def forward(h):
        for layer in six:
            h = checkpoint(layer, h, use_reentrant=False, context_fn=contexts)
        return h

    return forward


watched = {}
for name, forward in {
    "plain": six,
    "keep nothing": layer_by_layer([]),
    "keep mm": layer_by_layer([aten.mm.default]),
    "keep mm and addmm": layer_by_layer([aten.mm.default, aten.addmm.default]),
}.items():
    for parameter in six.parameters():
        parameter.grad = torch.zeros_like(parameter)
    with memory.watch(six, words) as seen:
        out = forward(words)
        seen.mark("backward begins")
        kept_now = seen.now
        out.square().mean().backward()
    watched[name] = seen
    counts = probes.operations(forward, words, backward=True)
    size = memory.nbytes(words)
    print(
        f"{name:18} kept {kept_now / size:5.1f}, peak {seen.peak / size:5.1f}, addmm runs {counts['aten.addmm']} times"
    )
show_memory(watched)

# %% [markdown]
# Keeping only `mm` kept 18 more activations but saved no `addmm`: all of them ran twice. With both in the list, none of
# the products in these layers runs again, and the peak is 72, between the 102 of the plain run and the 27 of the full
# checkpoint. (Attention multiplies too, in an operator of its own that isn't in the list.)
#
# Was it faster than the full checkpoint? In our run on one thread, it wasn't: a step took 44 ms instead of 36, because
# the two contexts handle each operator in Python. With 256 features and 8 sequences of 64, it was: 263 ms instead of
# 276. Measure before you decide.
#
# There are two limitations. You can go back through such a segment only once, even with `retain_graph=True`. And
# changing a kept tensor in place raises an error.
#
# ### Your turn: selective
# TorchTitan, a library for training large models, recomputes every second product and keeps the others. Write such a
# policy. (The check's operators call the check's own functions, so it sees what runs and when.)

# %% given
hint(
    "What has to be counted, and when does the count start over? context_fn is called once for each checkpoint.",
    "Define the policy inside the function that you pass as context_fn, with a counter next to it. Which calls does "
    "it count: all of them, or only those of operators in keep?",
)

# %% exercise: selective points=4 level=hard further

# %% [markdown]
# ## The last layer
#
# The digits network ends with ten *logits* per image; a language model ends with one for each word of its vocabulary,
# at each position. With 512 positions and 8,000 words, they take up 16 MB, while the hidden rows they're computed from
# take up 0.13 MB. Cross entropy makes more tensors of that size. The next cell measures the peak, whole and in eight
# parts, in units of the logits.


# %% example
def cross_entropy_of(rows, weight, labels):
    return functional.cross_entropy(rows @ weight.T, labels, reduction="sum")


def in_parts(rows, weight, labels, parts):
    losses = [
        cross_entropy_of(h, weight, y)
        for h, y in zip(rows.tensor_split(parts), labels.tensor_split(parts), strict=True)
    ]
    return torch.stack(losses).sum() / len(labels)


source = torch.Generator().manual_seed(0)
rows = torch.randn(512, 64, generator=source, requires_grad=True)
vocabulary = (torch.randn(8000, 64, generator=source) / 8).requires_grad_()
targets = torch.randint(8000, (512,), generator=source)


def loss_peak(loss_of, parts):
    """Return the live bytes when backward begins, and the most at any moment, in units of all logits."""
    rows.grad, vocabulary.grad = torch.zeros_like(rows), torch.zeros_like(vocabulary)
    with memory.watch(rows, vocabulary, rows.grad, vocabulary.grad, targets) as seen:
        loss = loss_of(rows, vocabulary, targets, parts)
        begins = seen.now
        loss.backward()
    return f"{begins / (512 * 8000 * 4):.2f} when backward begins, {seen.peak / (512 * 8000 * 4):.2f} at the peak"


print("whole      ", loss_peak(in_parts, 1))
print("eight parts", loss_peak(in_parts, 8))

# %% [markdown]
# Without parts, three tensors of that size are alive at the peak. With eight, it's 1.25, because the sum holds the
# graphs of all parts. A loop isn't enough: each part has to give up its logits.
#
# ### Your turn: chunked_loss
# Write the loss so the logits of at most one part are alive. `piece` computes the sum for one part.

# %% given
hint(
    "Which function from lab 7 keeps only the arguments of a call?",
    "Divide once, at the end. Which labels don't count? torch.Tensor.tensor_split returns as many parts as you ask "
    "for.",
)

# %% exercise: chunked_loss points=3 level=medium

# %% [markdown]
# How many parts work best? Measure yours.


# %% scratch
def yours(rows, weight, labels, parts):
    return chunked_loss(rows, weight, labels, parts, cross_entropy_of)


for parts in (1, 4, 8, 16, 64):
    try:
        print(f"{parts:3} parts:", loss_peak(yours, parts))
    except Exception as error:
        print("This cell needs a working chunked_loss:", repr(error))
        break

# %% [markdown]
# With 8 parts, the peak is 0.51, and from 16 parts on it stays at 0.38. Each part makes a gradient of the weight's
# size, and three such tensors, however many parts there are, take 0.38 times the logits.
#
# PyTorch 2.13 introduced a built-in version:
#
# ```python
# options = nn.LinearCrossEntropyOptions(batch_chunk_size=64)
# loss = functional.linear_cross_entropy(rows, vocabulary, targets, options=options)
# ```
#
# It computes each part's gradients during the forward pass, so no part is computed twice, and it keeps gradients, not
# logits. For the sizes above, its peak is 0.27. (The profiler shows it: everything happens inside one operator, where
# `memory.watch` sees nothing.) In exchange, by default you can go back through it only once, and second derivatives
# aren't supported. For earlier versions and for GPUs, libraries such as Liger Kernel do the same. Your function works
# in all versions and for any `piece`.
#
# ## Out of memory: causes and cures
#
# If your training script runs out of memory, look here first.
#
# | cause | how to see it | fix | what the fix costs | lab |
# |---|---|---|---|---|
# | activations | half the batch needs half of these bytes | accumulation; checkpoints | a third more work | 06, 07 |
# | activations in `float32` | the dtypes that `pack` sees | autocast; packing | digits | 09, 07c |
# | activations kept for long | the live bytes, as a curve over time | `save_on_cpu` | copies, CPU memory | 07, 07c |
# | logits of a large vocabulary | the peak is at the loss | checkpointed parts | the last product again | 07c |
# | optimizer states | the first `step()` fails | another optimizer; smaller dtypes | training changes | 07 |
# | gradients kept too long | `.grad` isn't `None` in forward | `zero_grad()`: it sets `None` | nothing | 06 |
# | kept graphs | memory grows from batch to batch | `.item()`, `.detach()` | nothing | 07 |
# | evaluation with a graph | it takes as much as training | `torch.no_grad()` | nothing | 04, 07 |
# | a view of a large tensor | few elements, a large storage | `.clone()` | a small copy | 07 |
# | an exception that's kept alive | a size that should fit fails | leave the `except` block first | nothing | 07 |
# | fragmentation | reserved is far above allocated | equal sizes; expandable segments | padding | 07, 07c |
#
# Ask in this order: does memory grow from batch to batch? Then something is kept. If it doesn't, find the peak: it's in
# the forward pass, at the loss, or in the step.

# %% quiz: interview points=3
# ## Interview questions
#
# **Sizes**
# - [x] A tensor of 4 bytes makes an empty GPU reserve 2 MiB.
#   > Its block has 512 bytes, and the smallest segment has 2 MiB.
# - [ ] Bytes that are reserved but not allocated are lost until the process ends.
#   > They're cached: the next requests get them, and whole free segments can go back to the driver.
# - [ ] A request for 600 KiB can be cut from the free rest of a segment of 20 MiB.
#   > Blocks of at most 1 MiB are cut only from small segments.
# - [x] A segment for a block of 11 MiB has 12 MiB.
#   > From 10 MiB on, the block is rounded up to a multiple of 2 MiB.
#
# Hint: Ask your block_and_segment.
#
# **Blocks**
# - [x] Best fit takes the smallest free block that is large enough.
#   > That leaves larger blocks whole for larger requests.
# - [ ] A freed block is joined with any other free block in the segment.
#   > Only with its neighbors: a block is a single range of addresses.
# - [ ] When free memory is in pieces, the allocator moves blocks together.
#   > Kernels hold the addresses, so a block in use stays where it is.
# - [x] A segment with nothing in use is one block.
#   > Each freed block joins its free neighbors, so in the end only one is left.
#
# Hint: What did free do in your Blocks?
#
# **Out of memory**
# - [x] An allocation can fail although more bytes than it asks for are free.
#   > They can be in pieces, in segments that contain blocks in use.
# - [ ] `empty_cache()` before each step prevents that.
#   > It gives back only whole free segments, and the allocator does that itself before it raises the error.
# - [x] A large `inactive_split_bytes` is a sign of fragmentation.
#   > These are free bytes in segments that can't be given back.
# - [ ] `expandable_segments:True` helps if `allocated_bytes` fills the GPU.
#   > It helps against fragmentation. Allocated memory is in use.
#
# Hint: Which key of your fragmentation does each of them change?
#
# **Memory at the peak**
# - [ ] The line that raises the error allocated the most.
#   > It made the request that didn't fit. Most of the memory was allocated earlier.
# - [x] Weights created before the history started are in the snapshot's segments.
#   > The history has no entry for them, but their blocks are still in use, so they're listed there.
# - [ ] A block counts as allocated until its `free_completed`.
#   > `allocated_bytes` falls at `free_requested`. After that, the block waits for a stream until `free_completed`.
# - [x] With `foreach`, a step of Adam allocates about one extra set of weights; a fused step allocates none.
#   > The roots of all parameters' second states exist at the same time. A fused kernel keeps none.
#
# Hint: Which blocks were allocated before the first entry, and what did peak_of_step print?
#
# **Hooks on saved tensors**
# - [x] Packing to `bfloat16` doesn't change the results of the forward pass.
#   > Only what's kept for backward is rounded. The gradients change a little; the loss doesn't.
# - [ ] It halves the bytes that any network keeps.
#   > With `tanh`, it saved nothing: one storage, kept twice, became two copies of half the size.
# - [ ] With `isinstance(t, nn.Parameter)`, a pack hook can recognize what a linear layer keeps of its weight.
#   > The layer keeps the transposed weight. A view of a parameter is an ordinary tensor in the parameter's memory.
# - [x] With a hook that returns its tensor unchanged, a later in-place change gives a wrong gradient and no error.
#   > Autograd doesn't check the version of a tensor that a hook returned. In our run, the gradient was 6 instead of 4.
#
# Hint: What did look print, and which gradient of b did you get with save_on_cpu?
#
# **Selective checkpoints**
# - [ ] A policy that keeps `aten.mm` keeps the products of all linear layers.
#   > A layer with a bias calls `aten.addmm`. All 18 of these ran again.
# - [x] A policy that keeps all products uses more memory than a checkpoint of the whole segment, and recomputes less.
#   > The peak was 72, between 27 and 102, and no `addmm` ran twice.
# - [x] A loss computed in parts keeps all logits until backward, unless each part is checkpointed.
#   > The sum holds the graphs of all parts. At the start of backward, as much was alive as for the whole.
# - [ ] A policy is called in Python once for the whole segment.
#   > It's asked about each operator, at each call. For small layers, that costs more time than it saves.
#
# Hint: Which operators did print_operator print? Which run kept what?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a language model with a vocabulary of 128,000 words on a GPU, and it runs out of memory. She puts
# every layer into a checkpoint, but it still runs out, at nearly the same batch size. Then she wraps the forward pass
# in a pack hook to `float16`, and the gradients of some steps become infinite. Her third idea is
# `create_selective_checkpoint_contexts([torch.ops.aten.mm])`.
#
# In four to eight sentences: where is the peak, most likely, and how would you check? What would you change there?
# What's wrong with the hook, and with the list in the third idea?

# %% question: where_the_peak_lies [markdown] points=2
# ### BEGIN SOLUTION
# Checkpoints in the layers reduced what the layers keep. If that hardly helps, the peak is elsewhere, probably at the
# loss: the logits have 128,000 numbers for each position, and cross entropy makes more tensors of that size. I would
# watch the live bytes over one step, with a mark where the loss begins, or take a snapshot at the moment of the error.
# I would then compute the loss in parts of the rows, each in a checkpoint, because otherwise the sum holds the graphs
# of all parts. That costs computing the last product again. `float16` has too small a range for the hook: an activation
# above 65,504 is kept as infinity, and backward computes with it. `bfloat16` has the range of `float32`. The hook
# should also leave weights and integers alone. The third idea doesn't run: a list must contain overloads, and
# `create_selective_checkpoint_contexts` raises a `ValueError` for `torch.ops.aten.mm`. It needs
# `torch.ops.aten.mm.default`, and `aten.addmm.default` for layers with a bias. (In a policy function, a comparison with
# `torch.ops.aten.mm` would always be false, without an error.) Even then, it would keep more than her checkpoints do,
# and save time, not memory.
#
# For grading: one point for the peak at the loss, how to see it, and parts with a checkpoint each; one for the range of
# `float16` and for what's wrong with the list, or what it would cost. That the list contains no overload is worth as
# much as that it contains the wrong operator.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Request, block, segment: rounded up to 512 bytes; cut from 2 MiB, 20 MiB or a multiple of 2 MiB.
# - Best fit, splitting, joining of neighbors. Blocks in use never move.
# - Reserved is more than allocated: rounding, spare room, and freed memory.
# - `empty_cache()` gives back whole free segments. The allocator does it itself before it raises an out-of-memory
#   error.
# - Free bytes in pieces don't add up. Look at `inactive_split_bytes`, and at sizes that change.
# - The line that runs at the peak need not own the memory. A history shows which one does.
# - `saved_tensors_hooks(pack, unpack)`: autograd keeps what `pack` returns, and computes with what `unpack` returns.
# - Don't pack what's in memory anyway: a view of a weight shares its memory, but isn't a `Parameter`.
# - A tensor that's kept twice is packed twice. Packing to `bfloat16` halves two storages, but saves nothing if they
#   were one.
# - Autograd doesn't compare versions of what a hook returns: pack a copy, or change nothing in place.
# - Selective checkpoints keep results by operator: products are expensive, and the rest is cheap to compute again.
# - A loop over parts keeps all parts. A checkpoint around each part gives up its logits.
#
# | call or name | what it is or does |
# |---|---|
# | `allocated_bytes.all.current`, `.peak` | what tensors use, now and at most |
# | `reserved_bytes.all.current` | what PyTorch has from the driver |
# | `inactive_split_bytes.all.current` | free bytes that `empty_cache()` can't give back |
# | `max_memory_allocated()`, `reset_peak_memory_stats()` | the peak; resets it |
# | `PYTORCH_ALLOC_CONF` | `expandable_segments:True`, `max_split_size_mb:128` |
# | `_record_memory_history()`, `_snapshot()` | each alloc and free with its frames; all segments |
# | `alloc`, `free_requested`, `free_completed` | requested; dropped by the program; available for the next request |
# | `foreach=True`, `fused=True` | Adam's step: one more set of weights, or none |
# | `torch.autograd.graph.saved_tensors_hooks(pack, unpack)` | keeps tensors in another form or place |
# | `torch.autograd.graph.save_on_cpu(pin_memory=True)` | keeps everything in the CPU's memory, weights too |
# | `checkpoint(f, x, use_reentrant=False, context_fn=contexts)` | selective, if `contexts()` returns the two contexts |
# | `create_selective_checkpoint_contexts(policy)` | asks `policy(ctx, op, *args, **kwargs)` about each operator |
# | `CheckpointPolicy.MUST_SAVE`, `PREFER_RECOMPUTE` | keep the result; compute it again |
#
# Three questions to ask yourself:
#
# - Is it allocated, or reserved and in pieces?
# - What was in memory at the peak, and which line had asked for it?
# - Would the setting I want to try change that number at all?
#
# Lab 8 opens up the graph itself: you write your own derivatives.
