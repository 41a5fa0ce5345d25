# %% [markdown]
# # The allocator, and what is kept
#
# "Out of memory", says the GPU, and the same message says that gigabytes are reserved and not in use. Is that a
# mistake? In this lab you look into the allocator between your tensors and the GPU. Then you look at what
# is kept for the backward pass, and change it: the digits network will keep a quarter less and read as well.
#
# After this lab you can
#
# - say how many bytes a request takes, and how many PyTorch asks the driver for;
# - split and join blocks as PyTorch does, and say what fits and what `empty_cache()` gives back;
# - read the numbers of `memory_stats`, and tell pieces from a cache;
# - say what a step of an optimizer needs while it runs;
# - read a memory snapshot, and find the line that owns the peak;
# - make what the graph keeps smaller, or compute it again, and say which cure fits which lack of memory.
#
# You need lab 7, and two sittings of about an hour. Numbers were measured with PyTorch 2.13 on a CPU, or are
# arithmetic. The allocator is that of CUDA, and no GPU was used: its rules are those of PyTorch's documentation and
# source. Where you have a GPU, some cells ask it. Without one they say so.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

# %% given
import math
import types
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
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
# In lab 7 you wrote a caching allocator. It kept what was freed for the next request. PyTorch's does that too, and
# more. Four words first.
#
# - A *request* is what a tensor asks for: its bytes, exactly.
# - A *block* is what it gets: a piece of memory with an address. Its size is a multiple of 512 bytes.
# - The *driver* is the GPU maker's part of the operating system. It hands out the GPU's memory.
# - A *segment* is what PyTorch asks the driver for. Blocks are cut from it.
#
# One MiB is $2^{20} = 1{,}048{,}576$ bytes. It is a little more than a megabyte, and the allocator counts in it.
#
# Asking the driver is slow, so a segment is larger than the block that it is needed for. There are three sizes:
#
# | the block | the new segment |
# |---|---|
# | at most 1 MiB | 2 MiB |
# | more, and below 10 MiB | 20 MiB |
# | 10 MiB or more | the block, rounded up to a multiple of 2 MiB |
#
# Segments of 2 MiB are called small, the others large. They do not mix: a block of at most 1 MiB is never cut from a
# large segment, and no other block from a small one.

# %% predict: ten_small
# **Predict.** On an empty GPU you make ten tensors of 100,000 bytes. How many segments does PyTorch ask for?
#
# - [x] one
# - [ ] two
# - [ ] ten

# %% [markdown]
# Each block has 100,352 bytes, and ten of them have 1,003,520. They fit into the first segment of 2 MiB. The driver is
# asked once. Now write the first part of this as a function.
#
# ### Your turn: block_and_segment
# How large is the block for a request, and how large would a new segment be? This is a warm-up of about ten minutes.

# %% given
hint(
    "What do you add to a number, at most, to reach the next multiple of 512? And what if it is one already?",
    "Round first. Then ask the three rules in the order of the table. Which of them say at most, and which below?",
)

# %% exercise: block_and_segment points=2

# %% [markdown]
# Call it with 11 MiB and one byte. The tensor asks for 11,534,337 bytes, and the segment has 12,582,912. A model with
# many such tensors reserves 9 percent more than it allocates, and nothing is wrong. Reserved bytes are more than
# allocated ones for three reasons: requests are rounded, segments are larger than what they were needed for, and what
# was freed stays. The third reason is the large one.
#
# ## One segment, cut into blocks
#
# What happens inside a segment? The next cell draws one. A `#` is a MiB in use, a `.` is a free one, and `|` stands
# between two blocks.


# %% given
def strip(blocks):
    """Blocks (address, size, whether it is in use) as text, one character for each MiB that begins."""
    return "|".join(("#" if used else ".") * math.ceil(size / MIB) for _, size, used in blocks)


# %% example
print("new                ", strip([(0, 20 * MIB, False)]))
print("alloc 4 MiB        ", strip([(0, 4 * MIB, True), (4 * MIB, 16 * MIB, False)]))
print("alloc 6 MiB        ", strip([(0, 4 * MIB, True), (4 * MIB, 6 * MIB, True), (10 * MIB, 10 * MIB, False)]))
print("free the first     ", strip([(0, 4 * MIB, False), (4 * MIB, 6 * MIB, True), (10 * MIB, 10 * MIB, False)]))

# %% [markdown]
# The first request got the beginning of the segment. The rest became a block of its own, which is free. *Splitting* is
# to cut a block into what a request gets and a free rest. A freed block stays where it is.
#
# Now there are two free blocks, of 4 MiB and of 10 MiB. A request of 2 MiB comes. Which block does it get? *Best fit*
# is the rule to take the smallest free block that is large enough. PyTorch follows it: it leaves the large block whole,
# for a large request. Of equal blocks it takes the one with the smallest address.
#
# When a block is freed and its neighbour in the segment is free too, both become one block again. So a segment in which
# nothing is in use is always one block.
#
# One more rule. A rest may be too small to be of use. In a small segment, any rest of 512 bytes or more becomes a
# block. In a large segment a rest becomes a block if it has more than 1 MiB. Otherwise the request gets it as well. Why
# there? What asks for 1 MiB or less looks into small segments only: nobody would ever take that rest.

# %% predict: rest_of_one answer=20
# **Predict.** A new segment has 20 MiB. A request of 19 MiB comes. How many MiB has its block?

# %% [markdown]
# ### Your turn: Blocks
# Write one segment: with splitting, joining and best fit.

# %% given
hint(
    "Keep one list of all blocks, in the order of their addresses. What does alloc do to one entry of it, and what may "
    "free do to three?",
    "alloc: which free blocks are large enough, and which of them is smallest? Is what is left enough for a block? "
    "free: look at the block after it and at the one before it, each time only if there is one.",
)

# %% exercise: Blocks points=5

# %% [markdown]
# ## Free, and of no use
#
# With your class you can make the accident that this lab begins with. Five requests fill a segment, every other one is
# freed, and then a request of 9 MiB comes.


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
except NotImplementedError:
    print("The exercise above is not written yet.")

# %% [markdown]
# 12 MiB are free, and 9 do not fit. The free bytes are in pieces of 4. That is *fragmentation*. Change the cell: which
# two of the five must be freed so that 8 MiB fit?
#
# A tensor is one piece of memory, and blocks in use cannot be moved: kernels hold their addresses. (A *kernel* is a
# function that runs on the GPU.) So the allocator asks the driver for one more segment. When the driver has no more,
# the allocator gives back what it can and asks again. Only then it raises `torch.OutOfMemoryError`. The message tells
# how much is "reserved by PyTorch but unallocated". If that number is large, look for pieces.
#
# What can be given back? A whole segment in which nothing is in use. That is what `empty_cache()` gives back too, and
# no more: one small tensor keeps its segment of 20 MiB.
#
# The next cell writes down four segments, in the form in which a *snapshot* has them: that is PyTorch's own list of
# all segments and blocks. These were written by hand, in the form that `torch.cuda.memory._snapshot()` returns. They
# were not recorded on a GPU. Each segment is a dict, and each of its blocks too. A block has a `state`:
#
# - `"active_allocated"`: a tensor uses it.
# - `"inactive"`: it is free.
# - `"active_pending_free"`: no tensor needs it, but another stream may still read it. (A stream is a queue of the
#   GPU's work.) It will be free. Until then it counts neither as allocated nor as free. (The docstring of `_snapshot`
#   calls this state `active_awaiting_free`. A real snapshot never does.)


# %% given
def segment(address, *pieces):
    """A segment as in a snapshot. pieces: (size, state), and where they are known (size, state, frames, requested)."""
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
    """Four segments, written by hand."""
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
# **Predict.** 62 MiB are reserved here, and 16.5 allocated. How many MiB are reserved after `empty_cache()`?

# %% [markdown]
# ### Your turn: fragmentation
# Say what is reserved, what is in use, and what the rest is good for.

# %% given
hint(
    "For one segment: which of its blocks are inactive? What does it mean if these are all of them?",
    "Each inactive byte is in exactly one of releasable and split. For largest, look at one block at a time: how large "
    "a request may go to its segment at all?",
)

# %% exercise: fragmentation points=3

# %% [markdown]
# Look at your numbers. 25.5 MiB are free, and `empty_cache()` does not touch them. After it, the largest request that
# fits is one of 12 MiB.
#
# PyTorch keeps the same books. `torch.cuda.memory_stats()` is a dict with more than a hundred numbers. A name has three
# parts, as in `allocated_bytes.all.peak`: what is counted, in which segments (`all`, `small_pool`, `large_pool`), and
# which number of it (`current`, or `peak`, the most that it has been).
#
# | your key | its name in `memory_stats()` |
# |---|---|
# | `allocated` | `allocated_bytes.all.current` |
# | `allocated` and what waits until it is free | `active_bytes.all.current` |
# | `reserved` | `reserved_bytes.all.current` |
# | `split` | `inactive_split_bytes.all.current` |
#
# `torch.cuda.max_memory_allocated()` is `allocated_bytes.all.peak`. `torch.cuda.reset_peak_memory_stats()` sets the
# peaks to what is there now: call it before the step that you ask about. `torch.cuda.memory_summary()` prints a table
# of all that. The next cell asks a GPU.

# %% example
if torch.cuda.is_available():
    torch.cuda.reset_peak_memory_stats()
    kept = [torch.zeros(MIB, device="cuda") for _ in range(5)][::2]
    stats = torch.cuda.memory_stats()
    for name in ("allocated_bytes", "active_bytes", "reserved_bytes", "inactive_split_bytes"):
        print(f"{name:22} now {stats[name + '.all.current']:12,}   peak {stats[name + '.all.peak']:12,}")
    print("requests for which the cache had to be given back:", stats["num_alloc_retries"])
else:
    print("There is no GPU here.", len(torch.cuda.memory_stats()), "numbers, and a peak of", end=" ")
    print(torch.cuda.max_memory_allocated())

# %% [markdown]
# On a CPU, the dict is empty and the peak is 0. (`memory_summary()` raises a `KeyError` there, and
# `reset_peak_memory_stats()` an `AttributeError`.)
#
# What do you do when `split` is large? First ask why sizes change: batches of many lengths are the usual reason. Pad to
# a few lengths. Then there are two settings. The usual place for them is an environment variable, set before Python
# starts:
#
# - `PYTORCH_ALLOC_CONF=expandable_segments:True`: a segment can grow. A larger request extends it, instead of starting
#   a new segment beside it. Some of the rules above are different then.
# - `PYTORCH_ALLOC_CONF=max_split_size_mb:128`: a block above this size is not split, so a small tensor cannot pin a
#   large block.
#
# Older texts write `PYTORCH_CUDA_ALLOC_CONF`. That name still works; PyTorch 2.8 to 2.11 warn that it is deprecated.
# While a program runs, the private function `torch._C._accelerator_setAllocatorSettings("max_split_size_mb:128")`
# changes a setting for what is allocated from then on. Neither setting helps when `allocated` itself is too large. Then
# the question is who allocates.
#
# ## A step's own memory
#
# An optimizer allocates while it steps. Lab 7 said how much, and here is the measurement. It needs no GPU:
# `memory.watch` asks each operation for the tensors that it makes, and a `foreach` step makes the same ones on a CPU.
# The model has eight equal layers. The peak is given in sets of weights.

# %% predict: sgd_momentum
# **Predict.** Adam with `foreach=True` needs 1.00 sets of weights more at its peak. And SGD with momentum, also with
# `foreach=True`?
#
# - [x] none
# - [ ] half a set
# - [ ] one set


# %% example
def peak_of_step(kind, **options):
    """The bytes of a step's temporary tensors at its peak, in sets of weights."""
    layers = nn.Sequential(*[nn.Linear(256, 256) for _ in range(8)])
    optimizer = kind(layers.parameters(), lr=1e-3, **options)
    for _ in range(2):  # the states are made in the first step
        for parameter in layers.parameters():
            parameter.grad = torch.ones_like(parameter)
        with memory.watch(layers, [list(state.values()) for state in optimizer.state.values()]) as seen:
            optimizer.step()
    return seen.peak / memory.nbytes(list(layers.parameters()))


for way in ({"foreach": False}, {"foreach": True}, {"fused": True}):
    adam, sgd = peak_of_step(torch.optim.Adam, **way), peak_of_step(torch.optim.SGD, momentum=0.9, **way)
    print(f"{way!s:20} Adam {adam:.2f}   SGD with momentum {sgd:.2f}")

# %% [markdown]
# Adam divides by the square root of its second state. That root is a new tensor. With `foreach=True` the roots of all
# parameters are there at the same time: one set of weights. With `foreach=False`, one parameter is done after the
# other, and two tensors of its size are there at a time. A layer is an eighth of this model, so it is 0.25. A *fused*
# step does it all in one kernel, and makes no tensor. SGD with momentum only adds, in place.
#
# On a GPU, `foreach` is the default. Does it hurt? At the step the activations are gone. So it does if weights, states
# and one more set are more than the peak of the backward pass: with a large model and a small batch.
#
# ## The history of a step
#
# A peak has a moment and an owner. Which line allocated what was there at that moment? A snapshot with a history can
# say.
#
# ```python
# torch.cuda.memory._record_memory_history(max_entries=100_000)
# training_step()
# snapshot = torch.cuda.memory._snapshot()
# torch.cuda.memory._record_memory_history(enabled=None)  # stop
# ```
#
# `snapshot["segments"]` is what you know, at the end of the step. `snapshot["device_traces"][0]` is the history of the
# first GPU: a list of what the allocator did, the oldest first. Each entry is a dict with an `action`:
#
# | `action` | what happened |
# |---|---|
# | `alloc` | a request got the block at `addr`; `size` is what was requested, not rounded |
# | `free_requested` | the tensor at `addr` is gone |
# | `free_completed` | no stream reads it any more: the block is free |
# | `segment_alloc`, `segment_free` | the driver gave a segment, or got it back |
# | `segment_map`, `segment_unmap` | with expandable segments: a segment grew, or gave a part back |
# | `snapshot` | someone took a snapshot here |
# | `oom` | a request failed: it has a `size` and no `addr` |
#
# `frames` says where in the program that was: a list of dicts with `filename`, `line` and `name`, of which the first is
# the innermost. The innermost is seldom yours. It is C++, or a file of PyTorch. You look for the first one that is your
# own.
#
# The history begins when you switch it on. What is older is not in it, and may still be there: weights, for instance.
# Where do you find these? In `segments`. And if an old block was freed during the history, its `free_requested` shows
# that there was one.
#
# The next cell has the history of a step. It was written by hand in the documented form, with round numbers. No GPU
# recorded it. The step trains a language model: `train.py:21` is `loss = cross_entropy(logits.float(), labels)`,
# `train.py:22` is `loss.backward()`, and `train.py:23` is the optimizer's step.


# %% given
def is_yours(frame):
    """Whether a frame is Python code that is not torch's own."""
    return frame["filename"].endswith(".py") and "/torch/" not in frame["filename"]


def stack(*places):
    """Frames, the innermost first, from texts such as "train.py:21"."""
    found = []
    for place in places:
        filename, line = place.rsplit(":", 1)
        found.append({"filename": filename, "line": int(line), "name": "step"})
    return found


def entry(action, addr, size, frames=()):
    """An entry of a history."""
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
    """One training step on a GPU, written by hand."""
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
        segment(address["weights"], (100 * MIB, used)),  # older than the history, and so without frames
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
# **Predict.** The peak lies behind the dot, in `backward`. Which line had allocated most of what was there?
#
# - [ ] `model.py:31`, the linear layer
# - [x] `train.py:21`, the loss
# - [ ] `train.py:22`, `backward`
# - [ ] `train.py:23`, the optimizer's step

# %% [markdown]
# The picture begins at 0, since the history does not say what was there before. Your function does.
#
# ### Your turn: at_peak
# Go through the history. Find the moment when most was allocated, and say which line had allocated what.

# %% given
hint(
    "Keep a dict of what is allocated: from address to line and size. What is in it before the first entry?",
    "Before the first entry there are blocks of two kinds: those that the history frees without having allocated them, "
    "and those of the segments of which the history says nothing. When the sum is larger than ever, note it by line.",
)

# %% exercise: at_peak points=4

# %% scratch
try:
    for name, count in sorted(at_peak(shipped_snapshot()).items(), key=lambda item: -item[1]):
        print(f"{count // MIB:5} MiB  {name or '(not known)'}")
except NotImplementedError:
    print("The exercise above is not written yet.")

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
    except NotImplementedError:
        print("One of the two exercises is not written yet.")
else:
    print("There is no GPU here, and so no history of its own.")

# %% [markdown]
# If you have a GPU, the history recorded there may surprise you: the line of the first matrix product owns several MiB
# more than its result, 8 or more of them. That is the workspace of cuBLAS, the library that multiplies matrices.
# PyTorch takes it from the same allocator once, and keeps it. `memory.watch` doesn't see it, since no operation returns
# it.
#
# Back to the shipped history. At the peak, 1,525 MiB are allocated. A third of it, 500 MiB, belongs to the line of the
# loss: the logits in `float32`, and their logarithms. `backward` has 250, although the peak is in it. So the line that
# runs when memory ends need not be the line that took it. Here the cure is to compute the loss for a part of the tokens
# at a time. To checkpoint the model would hardly help.
#
# The page [pytorch.org/memory_viz](https://pytorch.org/memory_viz) draws such a history, from a file that
# `torch.cuda.memory._dump_snapshot("step.pickle")` writes. It shows the same: one coloured band for each block, and its
# frames when you point at it.

# %% [markdown]
# ## A good place to stop
#
# You can say what the allocator does, and who owns a peak. What comes next is to make less of it: what the graph keeps
# for the backward pass can be made smaller, moved, or computed again. After a break Python has forgotten everything.
# Choose *Run > Run All Above Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## What is kept, and in which form
#
# The allocator gives out blocks. In training, most of them hold activations: what operations keep for the backward
# pass. Lab 7 counted these bytes, and a checkpoint kept fewer of them. There are more ways. Could they be kept in
# another form, or in another place?
#
# Autograd asks you. Inside `with torch.autograd.graph.saved_tensors_hooks(pack, unpack)`, it calls `pack(t)` for each
# tensor that an operation wants to keep, and keeps whatever `pack` returns. A *hook* is a function that PyTorch calls
# at such a moment. When backward needs the tensor, autograd calls `unpack` with what it kept, and goes on with the
# tensor that comes out. This may be long after the block has ended.
#
# The next cell only looks: `pack` prints a line and hands its tensor on, detached. (The reason comes below.) The model
# is a linear layer, `tanh`, and another linear layer. Its input does not require grad.

# %% predict: packed_calls answer=4
# **Predict.** How often is `pack` called in the forward pass?


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
# The first layer keeps its input. `tanh` keeps its result, and the second layer keeps the same tensor as its input: so
# it comes twice. The second layer also needs its weight, to pass the gradient on. (The first one does not: its input
# needs no gradient.) What is kept is the transposed weight, 6 by 3. That is a view, and a view of a `Parameter` is an
# ordinary tensor. `isinstance(t, nn.Parameter)` therefore finds no weight here. Compare the memory: a view has the
# storage of its base.
#
# ### Half the bytes
#
# `bfloat16` has 2 bytes a number instead of 4. It has the range of `float32`, with 8 significant bits instead of 24.
# So pack activations into it. Here are two networks of four layers, with 512 samples. Both are run plainly and packed,
# and then once more in `torch.autocast`, which computes in `bfloat16` as well.

# %% predict: tanh_or_gelu
# **Predict.** In which of the networks does packing halve the bytes that are kept?
#
# - [ ] in both
# - [ ] in the one with `tanh`
# - [x] in the one with `gelu`
# - [ ] in neither


# %% example
def small_copies(model, batch):
    """Hooks that keep activations in bfloat16. The batch and the model's parameters stay."""

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
# With `gelu`, packing halves the bytes. With `tanh` it saves none. `tanh`'s result is kept twice, and unpacked that is
# one storage. `pack` is called twice and makes two copies, each of half the size. The same happens to views: two
# halves of a tensor share one memory, and packed they are two. To get one copy, you'd have to remember, for each
# storage, which copy was made of it, and for how long the storage lives.
#
# And the accuracy? Only gradients change: the forward pass is as exact as before. In our run the gradient was off by
# 0.00033 of its length with `tanh`, and by 0.00006 with `gelu`. With `autocast` it was 0.0037 and 0.0024. Packing
# rounds each activation once, and computes the next one from what was not rounded.
#
# What should `pack` leave alone?
#
# - *Parameters*: they are there anyhow. A copy is more memory, not less.
# - *Integers*: labels and indices. In `bfloat16` 301 becomes 302.
# - *What has 2 bytes already*: `float16` would only lose digits.
# - *Small tensors*: they save nothing, and each call of a hook costs time.
#
# And what does `pack` return for these? Not `t`, but `t.detach()`. `exp` keeps its own result. A result leads to its
# graph. If the graph holds that result as it is, each holds the other, and only a backward pass lets them go. We made
# five results of 1,000 numbers under a hook that returns `t`, and dropped them. All 20,000 bytes were still there, and
# Python's garbage collector did not find them. With `t.detach()` nothing was left.
#
# ### Your turn: packed_bf16
# Write these rules down as a context manager.

# %% given
hint(
    "Which three questions does pack ask about a tensor? What does unpack need to know about it?",
    "Collect the addresses of the parameters' storages first: p.untyped_storage().data_ptr(). If pack returns a pair "
    "for what is packed, and a tensor for the rest, unpack can tell them apart.",
)

# %% exercise: packed_bf16 points=4

# %% [markdown]
# ### The digits, kept in half the bytes
#
# Does a network still learn if its gradients are computed from rounded activations? The next cell trains the
# convolutional network of lab 6b twice: as it is, and with activations kept in `bfloat16`. Run it. The bytes don't fall
# by half. Which two kinds of tensor are the reason? Then replace `nn.ReLU` by `nn.GELU`, and run it again.

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
# | activation | kept as they are | kept in `bfloat16` | right |
# |---|---|---|---|
# | `nn.ReLU` | 1,720,392 bytes | 1,323,592 bytes | 97.3%, and 97.3% packed |
# | `nn.GELU` | 2,334,792 bytes | 1,323,592 bytes | 97.3%, and 97.6% packed |
#
# It learns as well. 307,200 of the bytes are the places of the maxima that `nn.MaxPool2d` keeps: they're integers, and
# stay as they are. And the result of `nn.ReLU` is kept twice, by ReLU and as the input of the pooling layer. That's one
# storage, but packed it's two, so nothing is saved there. `nn.GELU` keeps its input instead, the pooling layer keeps
# the result, and packing halves both.

# %% [markdown]
# The script now keeps 1.3 MB for a batch instead of 1.7, and reads as many digits. In lab 8 its weights shrink to one
# bit each.

# %% [markdown]
# ## Another place
#
# The other idea: the activation goes to the CPU's memory, and comes back when backward needs it. This is called
# *offloading*. PyTorch has it: `torch.autograd.graph.save_on_cpu(pin_memory=True)` is a context manager made of the
# same two hooks. Its source has no exceptions: it sends everything, weights too.
#
# *Pinned memory* is memory of the CPU that the system may not move. A GPU can read it and write it by itself, while the
# program goes on. Without pinning, each copy makes the program wait. Even so the bytes have to travel there and back.
# It pays where a layer computes longer than its activations travel.
#
# What happens without a GPU? `tensor.cpu()` of a tensor on the CPU is the tensor itself. So below, `save_on_cpu` keeps
# what would be kept anyhow. The derivative of a square is $2 b$, and `b` is 2 when it is squared. Then it is changed in
# place.

# %% predict: changed_later
# **Predict.** What is the gradient of `b.square()`, if `b` becomes 3 before the backward pass?
#
# - [ ] plainly an error, with `save_on_cpu` an error
# - [ ] plainly an error, with `save_on_cpu` 4
# - [x] plainly an error, with `save_on_cpu` 6
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
# Plainly there is an error, the one that lab 5 is about: autograd compares the version of what it kept. What a hook
# returned has no such check. It gives 6, which is wrong, without a word. With a GPU the answer would be 4, since the
# copy was made before. A hook that returns its tensor unchanged switches the check off.
#
# ### Your turn: kept_elsewhere
# Write offloading for any place: a second device, a file, another machine. The place is two functions that you are
# given.

# %% given
hint(
    "What must be known to undo a trip to another device and another dtype? Where do you keep it?",
    "t.detach() is a tensor without history. t.nbytes counts its elements' bytes, also if it is a part of a larger "
    "tensor.",
)

# %% exercise: kept_elsewhere points=2

# %% [markdown]
# ## Some of it again
#
# A checkpoint keeps the input of its segment, and computes everything again. But operations are unequal. A product of
# matrices takes long to compute. A `gelu` takes little, and its result has as many bytes. So keep the products, and
# compute the rest again. That is called *selective checkpointing*.
#
# It works by operator: what PyTorch calls below your line of Python. `create_selective_checkpoint_contexts(policy)`
# makes two contexts, one for the forward pass and one for the second call. The *policy* is a function: it is asked
# about each operator and answers with a `CheckpointPolicy`.
#
# - `MUST_SAVE`: keep the result, and hand it out in the second call.
# - `PREFER_RECOMPUTE`: compute it again.
#
# PyTorch 2.13 has six policies: `SAVE`, `RECOMPUTE` and `CPU_OFFLOAD`, each as `MUST` and as `PREFER`. `torch.compile`
# may decide otherwise where a policy says `PREFER`. `MUST_CPU_OFFLOAD` joins this idea with the last one: the results
# of this operator are kept, but in the CPU's memory.
#
# Which operator is a linear layer? Ask a policy that prints.


# %% example
def print_operator(ctx, op, *args, **kwargs):
    print(f"{'again' if ctx.is_recompute else 'forward':8} {op}")
    return CheckpointPolicy.PREFER_RECOMPUTE


def printing():
    return create_selective_checkpoint_contexts(print_operator)


out = checkpoint(layers_of(nn.GELU, 4, 6, 3), torch.ones(5, 4), use_reentrant=False, context_fn=printing)
out.sum().backward()

# %% [markdown]
# The product is `aten.addmm.default`: a linear layer with a bias multiplies and adds in one operator. `default` names
# one of the forms of `addmm`, its *overload*. Compare with that form. In a policy, `op == torch.ops.aten.addmm` without
# `.default` is false for every operator, and nothing says so. And in PyTorch 2.13 the policy is asked in the forward
# pass only. In the second call the decisions are known.
#
# Instead of a policy you can pass a list of operators, which means: keep these. A list is checked at once: with
# `torch.ops.aten.addmm` in it, `create_selective_checkpoint_contexts` raises a `ValueError` that asks for the overload.
#
# Here are six transformer layers, each in a segment of its own. The numbers count activations of the size of the input.

# %% predict: addmm_again
# **Predict.** In the run that keeps `aten.mm` only, how many of the 18 `addmm` run again?
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
# Keeping `mm` alone kept 18 activations more and saved no `addmm`: all of them ran twice. With both in the list, none
# of the products in these layers runs again, and the peak is 72, between the 102 of the plain run and the 27 of the
# full checkpoint. (Attention multiplies too, in one operator of its own, which is not in the list.)
#
# Was it faster than the full checkpoint? In our run, on one thread, it was not: 44 ms for a step against 36. The two
# contexts look at each operator in Python. With 256 features and 8 sequences of 64 it was: 263 ms against 276. Measure
# before you believe it.
#
# Two limits. Of a segment like this you can go back only once: `retain_graph=True` does not help. And a kept tensor
# must not be changed in place: that raises an error.
#
# ### Your turn: selective
# TorchTitan, a training code for large models, computes every second product again, and keeps the others. Write such
# a policy. (The check's operators call functions of the check, so that it sees what runs when.)

# %% given
hint(
    "What has to be counted, and when does the counting begin anew? context_fn is called once for each checkpoint.",
    "Define the policy inside of the function that you pass as context_fn, with a counter beside it. Which calls does "
    "it count: all, or those of operators in keep?",
)

# %% exercise: selective points=4

# %% [markdown]
# ## The last layer
#
# A language model ends with one number for each word of its vocabulary, at each position: the *logits*. With 512
# positions and 8,000 words they have 16 MB, and the hidden rows they come from have 0.13 MB. Cross entropy makes more
# tensors of that size. The next cell measures the peak, whole and in eight parts, in units of the logits.


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
    """Live bytes when backward begins, and the most, in units of all logits."""
    rows.grad, vocabulary.grad = torch.zeros_like(rows), torch.zeros_like(vocabulary)
    with memory.watch(rows, vocabulary, rows.grad, vocabulary.grad, targets) as seen:
        loss = loss_of(rows, vocabulary, targets, parts)
        begins = seen.now
        loss.backward()
    return f"{begins / (512 * 8000 * 4):.2f} when backward begins, {seen.peak / (512 * 8000 * 4):.2f} at the peak"


print("whole      ", loss_peak(in_parts, 1))
print("eight parts", loss_peak(in_parts, 8))

# %% [markdown]
# Whole, three tensors of that size are alive at the peak. In parts it is 1.25: the sum leads to the graphs of all
# parts, and these keep as much as before. A loop alone does not forget. What makes each part give up its logits?
#
# ### Your turn: chunked_loss
# Write the loss so that the logits of one part at most are alive. `piece` computes the sum for one part.

# %% given
hint(
    "Which function of lab 7 keeps of a call nothing but its arguments?",
    "Divide once, at the end. Which labels do not count? torch.Tensor.tensor_split gives as many parts as it is asked "
    "for.",
)

# %% exercise: chunked_loss points=3

# %% [markdown]
# How many parts are best? Measure yours.


# %% scratch
def yours(rows, weight, labels, parts):
    return chunked_loss(rows, weight, labels, parts, cross_entropy_of)


for parts in (1, 4, 8, 16, 64):
    try:
        print(f"{parts:3} parts:", loss_peak(yours, parts))
    except NotImplementedError:
        print("The exercise above is not written yet.")
        break

# %% [markdown]
# With 8 parts the peak is 0.51, and from 16 on it stays at 0.38. Each part makes a gradient of the weight's size. Three
# such tensors are 0.38 times the logits, and more parts do not make them smaller.
#
# Do you have to write this yourself? From PyTorch 2.13 on there is a built-in version:
#
# ```python
# options = nn.LinearCrossEntropyOptions(batch_chunk_size=64)
# loss = functional.linear_cross_entropy(rows, vocabulary, targets, options=options)
# ```
#
# It computes the gradients of each part in the forward pass already, so no part is computed twice, and it keeps
# gradients, not logits. For the sizes above its peak is 0.27. (The profiler says so: all of it happens inside one
# operator, where `memory.watch` sees nothing.) The price: by default you can go back through it only once, and second
# derivatives are not supported. Before 2.13, and on GPUs, libraries such as Liger Kernel offer the same idea. What you
# wrote works in all versions, and for any `piece`.
#
# ## Out of memory: causes and cures
#
# | cause | how to see it | cure | what the cure costs | lab |
# |---|---|---|---|---|
# | activations | half the batch, half of these bytes | accumulation; checkpoints | a third more work | 06, 07 |
# | activations in `float32` | the dtypes that `pack` sees | autocast; packing | digits | 09, 07c |
# | activations that wait long | the live bytes, a curve over time | `save_on_cpu` | copies, CPU memory | 07, 07c |
# | logits of a large vocabulary | the peak lies at the loss | checkpointed parts | the last product again | 07c |
# | optimizer states | the first `step()` fails | another optimizer; smaller dtypes | other training | 07 |
# | gradients kept too long | `.grad` is there in forward | `zero_grad()`: it sets `None` | nothing | 06 |
# | kept graphs | bytes grow from batch to batch | `.item()`, `.detach()` | nothing | 07 |
# | evaluation with a graph | it needs as much as training | `torch.no_grad()` | nothing | 04, 07 |
# | a view of a large tensor | few elements, a large storage | `.clone()` | a small copy | 07 |
# | an exception that lives on | a size fails that fits | leave the `except` block first | nothing | 07 |
# | fragmentation | reserved is far above allocated | equal sizes; growing segments | padding | 07, 07c |
#
# Ask in this order. Does it grow from batch to batch? Then something is kept. If it doesn't, find the peak: it's in the
# forward pass, at the loss, or in the step.

# %% quiz: interview points=3
# ## Interview questions
#
# **Sizes**
# - [x] A tensor of 4 bytes makes an empty GPU reserve 2 MiB.
#   > Its block has 512 bytes, and the smallest segment has 2 MiB.
# - [ ] Reserved less allocated bytes are lost until the process ends.
#   > They are cached: the next requests get them, and whole free segments can go back to the driver.
# - [ ] A request of 600 KiB can be cut from the free rest of a segment of 20 MiB.
#   > Blocks of at most 1 MiB come from small segments only.
# - [x] A segment for a block of 11 MiB has 12 MiB.
#   > From 10 MiB on, the block is rounded up to a multiple of 2 MiB.
#
# Hint: Ask your block_and_segment.
#
# **Blocks**
# - [x] Best fit takes the smallest free block that is large enough.
#   > So larger blocks stay whole for larger requests.
# - [ ] Freed blocks are joined with any other free block of the segment.
#   > Only with neighbours: a block is one range of addresses.
# - [ ] When memory is in pieces, the allocator moves blocks together.
#   > Kernels hold the addresses. A block in use stays where it is.
# - [x] A segment in which nothing is in use is one block.
#   > Each block that is freed joins its free neighbours, so in the end one is left.
#
# Hint: What did free do in your Blocks?
#
# **Out of memory**
# - [x] An allocation can fail while more bytes than it asks for are free.
#   > They can be in pieces, in segments that hold blocks in use.
# - [ ] `empty_cache()` before each step prevents that.
#   > It gives back whole free segments only, and the allocator does that itself before it raises the error.
# - [x] A large `inactive_split_bytes` is a sign of fragmentation.
#   > These are free bytes in segments that cannot be given back.
# - [ ] `expandable_segments:True` helps where `allocated_bytes` alone fills the GPU.
#   > It helps against pieces. What is allocated is in use.
#
# Hint: Which of the keys of your fragmentation does each of them change?
#
# **Who owns the peak**
# - [ ] The line at which the error is raised allocated most.
#   > It made the request that did not fit. Most of the rest was there before.
# - [x] Weights that were made before the history began are in the segments of the snapshot.
#   > The history has no entry of them. Their blocks are still in use, and so they are listed there.
# - [ ] A block is allocated until its `free_completed`.
#   > `allocated_bytes` falls at `free_requested`. Until the other one the block waits for a stream.
# - [x] A foreach step of Adam allocates about one more set of weights, a fused one none.
#   > The roots of the second states of all parameters are there at the same time. A fused kernel keeps none.
#
# Hint: What did at_peak begin with, and what did peak_of_step print?
#
# **Hooks on saved tensors**
# - [x] Packing to `bfloat16` leaves the results of the forward pass as they were.
#   > Only what is kept for backward is rounded. The gradients change a little, the loss does not.
# - [ ] It halves what any network keeps.
#   > With `tanh` it saved nothing: one storage, kept twice, became two copies of half the size.
# - [ ] `isinstance(t, nn.Parameter)` tells a pack hook what a linear layer keeps of its weight.
#   > The layer keeps the transposed weight. A view of a parameter is an ordinary tensor in the parameter's memory.
# - [x] With a hook that returns its tensor unchanged, a later change in place gives a wrong gradient and no error.
#   > Autograd compares no version of what a hook returned. In our run the gradient was 6 instead of 4.
#
# Hint: What did the prints of look show, and what did save_on_cpu give for b?
#
# **Selective checkpoints**
# - [ ] A policy that keeps `aten.mm` keeps the products of all linear layers.
#   > With a bias a layer is `aten.addmm`. All 18 of these ran again.
# - [x] It keeps more than a checkpoint of the whole segment, and computes less again.
#   > The peak was 72, between 27 and 102, and no `addmm` ran twice.
# - [x] A loss computed in parts keeps all logits until backward, unless each part is checkpointed.
#   > The sum leads to the graphs of all parts. At the start of backward as much was alive as for the whole.
# - [ ] A policy is asked in Python once for the whole segment.
#   > It is asked about each operator, at each call. For small layers that costs more than it saves.
#
# Hint: Which operators did print_operator print? What did your selective keep?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains a language model with a vocabulary of 128,000 words on a GPU. It runs out of memory. She puts every
# layer into a checkpoint, and it still runs out, at nearly the same batch size. Then she wraps the forward pass in a
# pack hook to `float16`, and the gradients of some steps become infinite. A third idea is
# `create_selective_checkpoint_contexts([torch.ops.aten.mm])`.
#
# In four to eight sentences: where does the peak probably lie, and how would you see it? What would you change there?
# What is wrong with the hook, and with the list of the third idea?

# %% question: where_the_peak_lies [markdown] points=2
# ### BEGIN SOLUTION
# Checkpoints in the layers lowered what the layers keep. If that hardly helps, the peak is not there. It probably lies
# at the loss: the logits have 128,000 numbers for each position, and cross entropy makes more tensors of that size. I
# would watch the live bytes over one step, with a mark where the loss begins, or look into a snapshot at the moment of
# the error. There I would compute the loss in parts of the rows, each in a checkpoint, since without one the sum leads
# to the graphs of all parts. The price is the last product once more. The hook to `float16` has too small a range: an
# activation above 65,504 is kept as infinity, and so backward computes with it. `bfloat16` has the range of `float32`.
# The hook should also leave weights and integers alone. The third idea does not run: a list must hold overloads, and
# `create_selective_checkpoint_contexts` raises a `ValueError` for `torch.ops.aten.mm`. It needs
# `torch.ops.aten.mm.default`, and `aten.addmm.default` for layers with a bias. (In a policy function, a comparison with
# `torch.ops.aten.mm` would be false every time, without an error.) Even then it would keep more than her checkpoints
# do, and save time, not memory.
#
# For grading: one point for the peak at the loss, how it is seen, and parts with a checkpoint each; one for the range
# of `float16` and for what is wrong with the list, or for what it would cost. That the list names no overload is worth
# the same as that it names the wrong operator.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Request, block, segment: rounded up to 512 bytes, cut from 2 MiB, 20 MiB or a multiple of 2 MiB.
# - Best fit, splitting, joining of neighbours. Blocks in use never move.
# - Reserved is more than allocated: rounding, spare room, and what was freed.
# - `empty_cache()` gives back whole free segments. The allocator does it itself before it says out of memory.
# - Free bytes in pieces do not add up. Look at `inactive_split_bytes`, and at sizes that change.
# - The line that runs at the peak need not own it. A history says who does.
# - `saved_tensors_hooks(pack, unpack)`: autograd keeps what `pack` returns, and computes with what `unpack` gives.
# - Leave alone what is there anyhow: a view of a weight has the weight's memory, and is no `Parameter`.
# - What is kept twice is packed twice. Packing to `bfloat16` halves one of two storages, and saves nothing of one.
# - Behind a hook nobody compares versions: pack a copy, or change nothing in place.
# - Selective checkpoints keep results by operator: products are dear, and the rest is cheap to compute again.
# - A loop over parts keeps all parts. A checkpoint around each gives its logits up.
#
# | call or name | what it says |
# |---|---|
# | `allocated_bytes.all.current`, `.peak` | what tensors use, now and at most |
# | `reserved_bytes.all.current` | what PyTorch has from the driver |
# | `inactive_split_bytes.all.current` | free bytes that `empty_cache()` cannot give back |
# | `max_memory_allocated()`, `reset_peak_memory_stats()` | the peak, and a new beginning for it |
# | `PYTORCH_ALLOC_CONF` | `expandable_segments:True`, `max_split_size_mb:128` |
# | `_record_memory_history()`, `_snapshot()` | each alloc and free with its frames, and all segments |
# | `alloc`, `free_requested`, `free_completed` | requested, gone for the program, free for the next |
# | `foreach=True`, `fused=True` | Adam's step: one more set of weights, or none |
# | `torch.autograd.graph.saved_tensors_hooks(pack, unpack)` | what is kept, in another form or place |
# | `torch.autograd.graph.save_on_cpu(pin_memory=True)` | keeps everything in the CPU's memory, weights too |
# | `checkpoint(f, x, use_reentrant=False, context_fn=contexts)` | selective, if `contexts()` gives the two contexts |
# | `create_selective_checkpoint_contexts(policy)` | asks `policy(ctx, op, *args, **kwargs)` about each operator |
# | `CheckpointPolicy.MUST_SAVE`, `PREFER_RECOMPUTE` | keep the result, compute it again |
#
# Three questions to ask yourself:
#
# - Is it allocated, or reserved and in pieces?
# - What was there at the peak, and which line had asked for it?
# - Would the setting that I want to try change that number at all?
#
# Lab 8 opens the graph itself: you write derivatives of your own.
