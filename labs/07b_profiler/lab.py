# %% [markdown]
# # The profiler: where the time goes
#
# "Training is slow" doesn't say much. Which line is slow, and is it really that line, or is it waiting for another one?
# In this lab, you stop guessing. You let PyTorch record what happens, read the record, and make an epoch of the digits
# script six times as fast.
#
# After this lab, you'll be able to
#
# - tell an operator's own time from the time of what it calls;
# - mark regions of a training step, and find the slow line in it;
# - say which steps a schedule records, and why the first ones are left out;
# - read a trace as data, and match a GPU's work to the line that launched it;
# - say what waits for what, and how much memory each operator allocates.
#
# You need lab 7. Plan two sittings of about an hour for the text and the five core exercises: `time_by_name`,
# `self_times`, `slowest_region`, `by_region` and `device_idle`. The two under *Further practice* earn no points, and no
# later lab needs them. All times were measured with PyTorch 2.13 on one thread of a CPU; yours will differ. The cells
# use the CPU even if you have a GPU. Where this lab shows a GPU's work, it says where the numbers come from.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise, a card shows its checks. Those
# marked *later* run when the lab is marked: press *Mark my work*, or hand it in.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.profiler import ProfilerActivity, profile, record_function

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    probes,
    show_trace,
)

# %% given folded
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # otherwise, each profile prints two lines that begin with USDT

# %% [markdown]
# ## A step, by the clock
#
# Before you can make the digits script faster, you have to measure it. The next cell runs five training steps with a
# network of that size, 512 samples and SGD, and reads the clock before and after each.

# %% predict: first_step
# **Predict.** Which of the five steps takes longest?
#
# - [x] the first
# - [ ] the last
# - [ ] none: they do the same work


# %% example
def network():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(64, 128), nn.Tanh(), nn.Linear(128, 10))


model = network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
source = torch.Generator().manual_seed(0)
inputs, labels = torch.randn(512, 64, generator=source), torch.randint(10, (512,), generator=source)


def training_step():
    optimizer.zero_grad()
    loss = functional.cross_entropy(model(inputs), labels)
    loss.backward()
    optimizer.step()
    return loss


for number in range(5):
    before = time.perf_counter()
    training_step()
    print(f"step {number}: {1e3 * (time.perf_counter() - before):6.2f} ms")

# %% [markdown]
# In our run, the first step took 5.3 ms, and the others about 2. The first step does work that later ones don't: it
# loads libraries and requests memory. On a GPU, there's usually more of that. The first steps of a training run say
# little about the rest, so you run a few before you measure. That's called *warm-up*.
#
# The clock shows how long a step takes, but not which of its lines takes the time. You could time each line, but not
# what `backward()` does internally.
#
# A *profiler* is a program that records what another program does, and for how long. PyTorch has its own,
# `torch.profiler`. It records each *operator*, which is PyTorch's word for a function that computes with tensors, such
# as `aten::mm` for a matrix product. (ATen is the library that contains them.)

# %% example
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    training_step()
for event in list(profiler.events())[:5]:
    print(f"{event.name:24} {event.time_range.elapsed_us():8.1f} microseconds")
print("... and", len(profiler.events()) - 5, "more")

# %% [markdown]
# Four lines of code made more than a hundred rows. Some names occur often, so you have to add up such a list before you
# can read it.
#
# In a file, each row is a dict. `trace_row` below creates the most important kind. `ph` is short for phase: `"X"` means
# that the row is *complete*, with a start `ts` and a duration `dur`, both in microseconds. Other letters stand for
# other kinds of rows, such as a moment or the name of a thread, which have no duration. `cat` is the category. `tid` is
# the thread number: a program can do several things at a time, each in its own thread.


# %% given
def trace_row(name, cat, tid, ts, dur, **args):
    """A complete row of a trace. args: further details."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 100, "tid": tid, "ts": ts, "dur": dur, "args": args}


# %% [markdown]
# ### Your turn: time_by_name
# Add up the rows: for each name, how often it was called and how long it took in total. This takes about ten minutes.

# %% given
hint(
    "Which rows have a duration at all? Look at the key that every row has.",
    "Start with an empty dict. For each row: what does its name's entry have to contain before you can add to it?",
)

# %% exercise: time_by_name points=2 level=easy

# %% [markdown]
# ## Self and total
#
# To find the slow operator in the digits script, you sort a table of times, but by which time? Your function computes
# what the profiler calls averages. `key_averages()` adds up the rows of each name, and its `table()` prints them. The
# next cell prints the same numbers with fewer columns, sorted by time.

# %% example
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    training_step()
print(f"{'name':44} calls   total    self")
for entry in sorted(profiler.key_averages(), key=lambda entry: -entry.cpu_time_total)[:9]:
    times = f"{entry.cpu_time_total:7.0f} {entry.self_cpu_time_total:7.0f}"
    print(f"{entry.key[:44]:44} {entry.count:5} {times}")

# %% [markdown]
# If you add up the totals, you get more than the step took. Why?
#
# Operators call other operators: `aten::linear` calls `aten::addmm`. While `addmm` runs, `linear` hasn't ended, so both
# rows include that time. That's why there are two numbers. A row's *total time* is its whole duration. Its *self time*
# is its duration without the rows directly inside it. No microsecond of a thread counts in two self times, so you can
# add them up.
#
# The next cell shows rows inside other rows, with made-up times.

# %% example
linear_layer = [
    trace_row("aten::linear", "cpu_op", 1, 0, 100),
    trace_row("aten::t", "cpu_op", 1, 5, 20),
    trace_row("aten::transpose", "cpu_op", 1, 10, 12),
    trace_row("aten::addmm", "cpu_op", 1, 30, 60),
]
show_trace(linear_layer)

# %% predict: linear_self answer=20
# **Predict.** How many microseconds is the self time of `aten::linear` in this picture?

# %% [markdown]
# The rows don't say which of them called which, but their times do: on one thread, a row that begins and ends inside
# another was called by it. A row on another thread wasn't, even if it ran at the same time.
#
# ### Your turn: self_times
# Compute self times from the rows.

# %% given
hint(
    "Go through one thread's rows in order of their start. Which ones haven't ended yet? The last of these is the "
    "caller.",
    "For each thread, keep a list of rows that haven't ended. Subtract a row's time from one other row: the last in "
    "that list. Which rows do you have to remove from the list first?",
)

# %% exercise: self_times points=5 level=hard

# %% [markdown]
# Sort by self time to find the operator that takes the time, and by total time to find the part of the program that
# calls it. In a training step, that's usually the backward pass.
#
# ## Regions of your own
#
# The profiler knows operators, but not the parts of your digits script, such as loading, forward and loss. If you wrap
# lines in `record_function(name)`, they become a row of the profile. We call such a row a *region*: a part of the
# program with a name and a time.
#
# Below is a step with regions. It computes the right loss, but it's far slower than the step above, because of one
# line. Read it before you run it.

# %% predict: slow_region
# **Predict.** Which region takes longest?
#
# - [ ] `forward`
# - [ ] `loss`
# - [x] `backward`
# - [ ] `update`


# %% example
def marked_step(loss_of):
    with record_function("forward"):
        out = model(inputs)
    with record_function("loss"):
        loss = loss_of(out)
    with record_function("backward"):
        optimizer.zero_grad()
        loss.backward()
    with record_function("update"):
        optimizer.step()


def one_by_one(out):
    total = torch.zeros(())
    for n in range(len(out)):
        total = total + functional.cross_entropy(out[n : n + 1], labels[n : n + 1])
    return total / len(out)


def all_at_once(out):
    return functional.cross_entropy(out, labels)


for loss_of in (one_by_one, all_at_once):
    marked_step(loss_of)  # warm-up
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        marked_step(loss_of)
    print(loss_of.__name__, "with", len(profiler.events()), "events")
    for entry in profiler.key_averages():
        if entry.key in ("forward", "loss", "backward", "update"):
            print(f"    {entry.key:10} {entry.cpu_time_total / 1e3:7.2f} ms")

# %% [markdown]
# In our run, the loss took 6.5 ms instead of 0.13, and `backward` 14 ms instead of 0.5. The slow line is in `loss`, but
# most of its cost is in `backward`: 512 small losses make 512 small graphs, and the backward pass has to go through all
# of them. So the region at the top of the list isn't always the one to change. Ask what it works on, and which line
# created that.
#
# The number of calls is the clue. If `aten::nll_loss_forward` is called 512 times in one step, there's a Python loop.
# Each call is short, but calling an operator takes a few microseconds, whatever it computes. The profiler adds to that:
# a profiled step with thousands of small calls is slower than the same step without the profiler. Compare profiles with
# profiles, and clocks with clocks.
#
# To get from a region to a line, divide it into smaller regions and profile again, until a region contains a single
# line. (`profile(with_stack=True)` also records the lines of Python code, but it makes the profile slower.) PyTorch
# creates some regions itself: you'll see `Optimizer.step#SGD.step`, although you didn't write it.
#
# Try it. The step below has one more slow line, of a kind found in many training scripts. Which one is it? Put
# `record_function` around the lines you suspect, and add the new names to the `if` at the end.


# %% scratch
def reported_step():
    with record_function("train"):
        optimizer.zero_grad()
        out = model(inputs)
        loss = functional.cross_entropy(out, labels)
        loss.backward()
        optimizer.step()
    with record_function("report"):
        largest = max(weight.abs().max().item() for weight in model.parameters())
        right = sum(int(out[n].argmax() == labels[n]) for n in range(len(out)))
        part = torch.bincount(labels, minlength=10) / len(labels)
    return largest, right / len(labels), part.max().item()


reported_step()
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    reported_step()
for entry in profiler.key_averages():
    if entry.key in ("train", "report"):
        print(f"{entry.key:10} {entry.count:4} {entry.cpu_time_total / 1e3:7.2f} ms")

# %% answer [markdown]
# It's the accuracy: `aten::argmax` has 512 calls. In our run, the report took 9 ms, and the training 2. Written as
# `(out.argmax(1) == labels).sum()`, it has one call.
#
# The calls of `argmax` take only 1 of these 9 ms. The rest is what else that line does: selecting a row, comparing,
# converting the result to an `int`, and Python between the calls. No operator's row includes Python's time; it's in the
# self time of the region around it.
#
# The line with `max` is a loop too, over four parameters, but it takes hardly any time. Count the calls before you
# rewrite a line just because it's a loop.

# %% [markdown]
# ### An epoch of the digits script
#
# This script trains well, but most of an epoch isn't training. `prepare` turns one scan into a tensor, as a data set
# does if it reads images one by one. Which region takes most of the epoch, and which calls in the table point to the
# line? Run the cell. Then rewrite `load`: prepare all scans once, above it, and let it return `prepared[rows]`. By what
# factor does the last number shrink?

# %% scratch
from sklearn.datasets import load_digits

mixed = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
files, digits = load_digits().images[mixed], torch.tensor(load_digits().target)[mixed]
torch.manual_seed(0)
reader = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
adamw = torch.optim.AdamW(reader.parameters(), lr=0.01)


def prepare(scan):
    return (torch.tensor(scan, dtype=torch.float32).flatten() - 8) / 8


def load(rows):
    return torch.stack([prepare(files[n]) for n in rows])


def train_for(count):
    for rows in torch.randperm(count).split(100):
        with record_function("load"):
            pixels = load(rows)
        with record_function("train"):
            loss = functional.cross_entropy(reader(pixels), digits[rows])
            adamw.zero_grad()
            loss.backward()
            adamw.step()


train_for(200)  # warm-up
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    train_for(200)
for entry in sorted(profiler.key_averages(), key=lambda entry: -entry.cpu_time_total)[:6]:
    print(f"{entry.key:14} {entry.count:4} calls {entry.cpu_time_total / 1e3:6.1f} ms")
begin = time.process_time()
train_for(1500)
print(f"an epoch takes {1000 * (time.process_time() - begin):.0f} ms of CPU time")

# %% answer [markdown]
# `load` takes more than twice as long as `train`, and for 200 scans, `aten::sub` has 200 calls: each scan is converted,
# shifted and divided separately. Replace `load` by
#
# ```python
# prepared = (torch.tensor(files, dtype=torch.float32).flatten(1) - 8) / 8
#
#
# def load(rows):
#     return prepared[rows]
# ```
#
# In our runs, an epoch then took 16 ms instead of 97. That's six times as fast, with the same scans in the same order.
# `load` takes a tenth of the time that `train` takes. Times differ between machines; the factor differs less.

# %% [markdown]
# The script now spends its time on training. Lab 7c shrinks what it keeps for the backward pass.

# %% [markdown]
# ## Which steps are recorded?
#
# An epoch of the digits script has only 15 steps, but most training runs have many thousands. The slow step above had
# 16,000 events, and in a file each takes about 270 bytes, which makes 4 MB for one step. So you record only a few
# steps, and `schedule` says which.
#
# ```python
# plan = torch.profiler.schedule(skip_first=10, wait=5, warmup=1, active=3, repeat=2)
# with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=save) as profiler:
#     for batch in batches:
#         train(batch)
#         profiler.step()  # one step has ended
# ```
#
# The first `skip_first` steps are left out. After them, cycles begin. In each, the profiler first does nothing for
# `wait` steps. In the warm-up steps, it records everything but throws it away, because its own start takes time too,
# which would distort the numbers. The active steps are recorded. After the last of them, the profiler calls
# `on_trace_ready`.
#
# With `repeat=0`, cycles continue until the end of training. If training ends during the active steps, the steps
# recorded so far are handed over as well. If you forget `profiler.step()`, the profiler stays at step 0 and records
# nothing.
#
# Work out the next schedule before you run it: after which step is the trace ready, and how many steps does it contain?


# %% example
def tell(profiler):
    steps = sum(event.name == "aten::cross_entropy_loss" for event in profiler.events())
    print(f"    a trace is ready, with {steps} steps")


plan = torch.profiler.schedule(skip_first=1, wait=1, warmup=1, active=3, repeat=1)
with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=tell) as profiler:
    for number in range(8):
        training_step()
        print(f"step {number}: {plan(number).name}")
        profiler.step()

# %% predict: second_trace answer=25
# **Predict.** With the longer schedule above (`skip_first=10, wait=5, warmup=1, active=3`), which is the first step of
# the *second* trace? Steps are counted from 0.

# %% [markdown]
# The first 10 steps are left out, 10 to 14 wait, 15 is the warm-up, and the first trace has steps 16, 17 and 18. The
# second begins a whole cycle of 9 steps later, at step 25.
#
# ### Your turn: recorded_steps
# Compute in advance which steps are recorded.

# %% given
hint(
    "How many steps does one cycle have? At which step does the first trace begin?",
    "From one trace's first step to the next one's is a whole cycle. What ends the sequence?",
)

# %% exercise: recorded_steps points=3 level=medium further

# %% [markdown]
# ### Your turn: slowest_region
# Now profile a step that someone else wrote. It's a function, you know the names of its regions, and one of them is
# slow once the step is warm. (The check's steps sleep instead of computing. To a profiler, that makes no difference:
# it's time between a start and an end.)

# %% given
hint(
    "Which calls of step have to be outside the with block? How do you get from a name to its total time?",
    "entry.key is the name, and entry.cpu_time_total is the time of all its calls. Which entries are regions of the "
    "step?",
)

# %% exercise: slowest_region points=3 level=easy

# %% [markdown]
# ## A good place to stop
#
# You can find the slow region of a step on a CPU. The second half is about the file that a profile can write, and about
# a second clock: that of a GPU, which works while your program has moved on. After a break, the notebook has lost all
# its variables: choose *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which
# runs what it needs.

# %% [markdown]
# ## A trace is a file
#
# An epoch's table shows how long loading took. To see when it ran, and what had to wait for it, you need a trace. A
# *trace* is a record of all rows with their times, not added up. `export_chrome_trace(path)` writes one into a file.
# The format is called Chrome trace, because the browser of that name can display it, as can the page
# [ui.perfetto.dev](https://ui.perfetto.dev). It's JSON, so Python can read it, and `trace_of` does. `live_trace`
# records a small step.


# %% given
def trace_of(profiler):
    """What the profiler writes to a file, as a dict."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text())


def live_trace():
    """A small training step, recorded on this machine, including its memory."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = nn.Linear(6, 3)
    x = torch.linspace(-1, 1, 24).reshape(4, 6)
    sgd = torch.optim.SGD(layer.parameters(), lr=0.1)
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        with record_function("forward"):
            loss = layer(x).square().mean()
        with record_function("backward"):
            loss.backward()
        with record_function("update"):
            sgd.step()
    return trace_of(profiler)


# %% example
live = live_trace()
kinds: dict[tuple, int] = {}
for event in live["traceEvents"]:
    kind = (event.get("ph"), event.get("cat"))
    kinds[kind] = kinds.get(kind, 0) + 1
print(kinds)
print(next(event for event in live["traceEvents"] if event.get("cat") == "cpu_op"))
print(next(event for event in live["traceEvents"] if event.get("name") == "[memory]"))
show_trace(live)

# %% [markdown]
# The picture shows the file's contents. Choose a region above it, and everything else becomes pale.
#
# The printed lines contain these kinds of rows:
#
# - `cpu_op` is an operator, and `user_annotation` a region. With a `schedule`, the profiler adds its own region around
#   each recorded step, such as `ProfilerStep#2`, and all your regions are inside it.
# - Rows with the name `[memory]` are moments: `ph` is `"i"`, for instant, and there's no `dur`. `Bytes` is how much was
#   allocated at that moment, or freed if it's negative. You get these rows with `profile_memory=True`.
# - `fwdbwd` links an operator in the forward pass to its derivative in the backward pass. Viewers draw an arrow.
# - Rows with `ph` `"M"` name processes and threads. They have no `cat`. Use `.get` for keys that may be missing.
#
# ## Two clocks
#
# On a GPU, the digits script's table would mislead you, because your program doesn't do the work itself. It *launches*
# kernels: a *kernel* is a function that runs on the GPU. A call such as `cudaLaunchKernel` puts one into a queue and
# returns after a few microseconds, long before the kernel has ended. Such a queue is called a *stream*, and its kernels
# run in order, one after the other. So there are two kinds of rows: the call is in a thread of your program, in the
# category `cuda_runtime`, and the work is in a stream, in the category `kernel`, or `gpu_memcpy` for a copy.
#
# Each call has a number, its *correlation id*, which links the two: it's the `correlation` in the `args` of the call
# and of the work.
#
# The next cell contains a trace of two steps on a GPU. It wasn't measured but written by hand, in PyTorch's format and
# with realistic times, and without what you don't need here, such as arrows. In its names, H is the host, which is your
# program's memory, and D the device: `Memcpy HtoD` copies a batch to the GPU. PyTorch also writes each region into the
# stream, from the first to the last kernel that it launched. That row's category is `gpu_user_annotation`.


# %% given folded
RUNTIME_CATS = ("cuda_runtime", "cuda_driver")  # calls that launch
DEVICE_CATS = ("kernel", "gpu_memcpy", "gpu_memset")  # the device's work

ON_THREADS = [  # name, category, thread, start, duration, correlation
    ("data", "user_annotation", 101, 0, 300, 0),
    ("aten::copy_", "cpu_op", 101, 250, 48, 0),
    ("cudaMemcpyAsync", "cuda_runtime", 101, 260, 30, 1),
    ("forward", "user_annotation", 101, 300, 120, 0),
    ("aten::linear", "cpu_op", 101, 305, 42, 0),
    ("aten::addmm", "cpu_op", 101, 310, 34, 0),
    ("cudaLaunchKernel", "cuda_runtime", 101, 320, 8, 2),
    ("aten::tanh", "cpu_op", 101, 350, 25, 0),
    ("cudaLaunchKernel", "cuda_runtime", 101, 360, 6, 3),
    ("aten::linear", "cpu_op", 101, 380, 36, 0),
    ("aten::addmm", "cpu_op", 101, 384, 30, 0),
    ("cudaLaunchKernel", "cuda_runtime", 101, 395, 7, 4),
    ("loss", "user_annotation", 101, 420, 50, 0),
    ("aten::mse_loss", "cpu_op", 101, 425, 40, 0),
    ("cudaLaunchKernel", "cuda_runtime", 101, 440, 7, 5),
    ("backward", "user_annotation", 101, 470, 130, 0),
    ("AddmmBackward0", "cpu_op", 102, 485, 50, 0),
    ("cudaLaunchKernel", "cuda_runtime", 102, 500, 7, 6),
    ("cudaLaunchKernel", "cuda_runtime", 102, 515, 7, 7),
    ("TanhBackward0", "cpu_op", 102, 545, 40, 0),
    ("cudaLaunchKernel", "cuda_runtime", 102, 560, 6, 8),
    ("log", "user_annotation", 101, 600, 530, 0),
    ("aten::item", "cpu_op", 101, 605, 515, 0),
    ("cudaMemcpyAsync", "cuda_runtime", 101, 612, 6, 9),
    ("cudaStreamSynchronize", "cuda_runtime", 101, 620, 490, 10),
    ("optimizer", "user_annotation", 101, 1130, 70, 0),
    ("Optimizer.step#SGD.step", "user_annotation", 101, 1135, 60, 0),
    ("aten::_foreach_add_", "cpu_op", 101, 1150, 30, 0),
    ("cudaLaunchKernel", "cuda_runtime", 101, 1160, 8, 11),
]
ON_DEVICE = [  # name, category, stream, start, duration, correlation
    ("Memcpy HtoD", "gpu_memcpy", 7, 292, 60, 1),
    ("gemm", "kernel", 7, 352, 90, 2),
    ("tanh", "kernel", 7, 442, 15, 3),
    ("gemm", "kernel", 7, 457, 80, 4),
    ("mse", "kernel", 7, 537, 8, 5),
    ("gemm", "kernel", 7, 545, 270, 6),
    ("gemm", "kernel", 7, 815, 260, 7),
    ("tanh_backward", "kernel", 7, 1075, 30, 8),
    ("Memcpy DtoH", "gpu_memcpy", 7, 1105, 2, 9),
    ("foreach", "kernel", 7, 1172, 20, 11),
]
MEMORY = [(255, 131072), (312, 262144), (355, 262144), (386, 65536), (430, 512), (488, 65536), (505, 262144)]
MEMORY += [(530, -65536), (550, 262144), (580, -262144), (1125, -512), (1190, -589824)]  # moment, bytes
STEP_TIME, NUMBERS = 1200, 100  # the second step starts later, and its correlation ids are higher


def shipped_trace():
    """Two training steps on a GPU, written by hand."""
    rows = [{"ph": "M", "name": "process_name", "pid": 100, "args": {"name": "python"}}]
    for step in range(2):
        late, offset = step * STEP_TIME, step * NUMBERS
        for name, cat, thread, ts, dur, number in ON_THREADS:
            more = {"correlation": number + offset} if number else {}
            rows.append(trace_row(name, cat, thread, ts + late, dur, **more))
        for name, cat, stream, ts, dur, number in ON_DEVICE:
            rows.append(
                {**trace_row(name, cat, stream, ts + late, dur, correlation=number + offset, stream=stream), "pid": 0}
            )
        for ts, nbytes in MEMORY:
            args = {"Bytes": nbytes, "Device Type": 1, "Device Id": 0}
            moment = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 100, "tid": 101}
            rows.append({**moment, "ts": ts + late, "args": args})
        rows.append({**trace_row("forward", "gpu_user_annotation", 7, 352 + late, 185), "pid": 0})
    return {"schemaVersion": 1, "traceEvents": rows}


# %% predict: longest_region
# **Predict.** `log` is one line, `loss.item()`. Why is it the longest region of each step in the picture below?
#
# - [ ] copying a number from the GPU is slow
# - [x] it waits until the GPU has done what other regions launched
# - [ ] the GPU computes the loss there

# %% example
show_trace(shipped_trace())

# %% [markdown]
# Choose `backward` above the picture. Its calls end at 600 microseconds, and the work that it launched ends at 1105.
# During all that time, the program is in `log`. `cudaStreamSynchronize` *synchronizes*: it waits until the stream is
# empty, because the number that `.item()` returns doesn't exist until then. Copying it takes 2 microseconds.
#
# "`.item()` is slow", people conclude from such a profile, and remove it. Then the program waits somewhere else: at the
# next line that needs a result. So `.item()` isn't the cause. The same is true of a clock: `time.perf_counter()` around
# `backward()` measures how long it takes to launch. If you call `torch.cuda.synchronize()` before each look at the
# clock, you get the combined time of launches, kernels and waits. To get only the GPU's time, use *events*. Record two
# `torch.cuda.Event(enable_timing=True)` in the stream, one before and one after the work. Once both have happened,
# `start.elapsed_time(end)` is the time between them on the GPU, in milliseconds. A trace shows it for each kernel.
#
# Also notice that `backward` launches from thread 102. On a GPU, the backward pass runs in its own thread while the
# program waits in `backward()`. (On a CPU, it runs in the calling thread.) If you count only rows on the region's own
# thread, you find nothing for `backward`.
#
# ### Your turn: by_region
# Turn a trace into a table: the time, the bytes and the device time of each region. For the shipped trace, it shows
# which region is the most expensive for the GPU. It isn't `log`.

# %% given
hint(
    "Start with two collections: the regions, and for each correlation id, the time at which the call began.",
    "A kernel's own time says nothing about its region. Where was the call with its correlation id? What do you do "
    "with a kernel whose call isn't in the trace?",
    "Bytes and launches are both a moment and an amount. For each region, which moments t satisfy ts <= t < ts + dur?",
)

# %% exercise: by_region points=6 level=hard

# %% [markdown]
# Print the table for `shipped_trace()`. The program spends 1060 microseconds in `log`, which gives the device work for
# 4. In `backward`, it spends 260 and gives the device work for 1120. Print the table for `live_trace()` too. How many
# bytes does it list for `forward`, and which tensors do they belong to?

# %% answer [markdown]
# 52 bytes still exist when `forward` ends. 48 are the linear layer's result, 4 by 3 numbers, which `square` keeps for
# the backward pass, and 4 are the loss. The result of `square` was freed right after `mean`. `backward` has 36 bytes:
# it allocates 84 for the gradients of the weight and the bias, and frees the 48.

# %% [markdown]
# If you record a trace with a `schedule`, the table has a line for each `ProfilerStep#`. It covers the whole step, so
# leave it out before you compare regions.
#
# A rule that looks only at the time has a weakness. A thread that prepares the next batch, for instance, counts toward
# whichever region is open at that moment. Look at the trace before you trust its table.
#
# ## What waits for what?
#
# Whether the digits script runs faster on a GPU depends on which of the two is waiting. There are two kinds of waits.
#
# - *The program waits for the device.* It's in a call that synchronizes: `.item()`, `.cpu()`, `print(loss)`,
#   `torch.cuda.synchronize()`. During that time, it can't launch ahead. That's harmless once, but in every step, it
#   leaves a gap in the stream.
# - *The device waits for the program.* Its stream is empty. You see a gap in the stream's lane, and the kernel that
#   ends the gap starts right after its launch.
#
# If a device is never idle, faster Python code doesn't make it faster. If it's idle half of the time, better kernels
# gain little, because it then waits even longer. So with a GPU's trace, first look for idle time.

# %% predict: largest_gap
# **Predict.** Where in the shipped trace is the stream's longest gap?
#
# - [ ] before `foreach`, which has to wait for `.item()`
# - [x] before the copy of the second step's data
# - [ ] between the kernels of `backward`

# %% [markdown]
# The stream is empty from 1192 to 1492 microseconds, while `data` prepares the second batch. `foreach` begins only 65
# microseconds after the copy for `.item()` ends, and the kernels of `backward` follow one another without a gap.
#
# ### Your turn: device_idle
# For each gap, report the region that the device waited for: the one that launched the work that ends the gap.

# %% given
hint(
    "Sort the device's rows by their start. Until when is the device busy, after each of them? With two streams, is "
    "that always the end of the last row?",
    "Only a row that begins after the busy time ends a gap. Its call says when it was launched. Which regions contain "
    "that moment, and which of them is the shortest?",
)

# %% exercise: device_idle points=4 level=medium

# %% [markdown]
# In the shipped trace, the device waits 300 microseconds for `data`, and twice 65 for the optimizer. To avoid the
# first, prepare the next batch while the device works, with `DataLoader(num_workers=...)` and `tensor.to(device,
# non_blocking=True)` from pinned memory. To avoid the second, call `.item()` less often. A logger that reads the loss
# in every tenth step waits only in every tenth step.
#
# The gaps add up to 430 of 2100 microseconds. If you fill them, a step of 1200 takes 985. You can gain a little more:
# `device_idle` counts the copy of a batch as work, but no kernel runs during those 60 microseconds, because kernels and
# copies take turns in the same stream. If you copy in a second stream while the previous step's kernels run, a step
# takes 925. (Lab 6c covers the events that two streams need.) Faster data loading and logging can't gain more than
# that. The rest is the kernels' time, which `torch.compile` (lab 10) and smaller dtypes (lab 9) reduce.
#
# ## Memory by operator
#
# Lab 7 counted what the digits script keeps; the profiler shows which operators allocate it. With
# `profile_memory=True`, the averages also have bytes. `cpu_memory_usage` is the total, including everything called
# inside, and `self_cpu_memory_usage` is only the operator's own. On a GPU, the columns are `device_memory_usage` and
# `self_device_memory_usage`. Older texts write `cuda_memory_usage`, which `table(sort_by=...)` still accepts in 2.13 as
# a name for `device_memory_usage`.
#
# Which rows have negative bytes?

# %% example
few = torch.ones(5, 7)
with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
    with record_function("squares"):
        squares = (few * 2).square()
    del squares
for entry in profiler.key_averages():
    if entry.cpu_memory_usage or entry.self_cpu_memory_usage:
        print(f"{entry.key:20} total {entry.cpu_memory_usage:5}   self {entry.self_cpu_memory_usage:5}")

# %% [markdown]
# A tensor of 5 by 7 has 140 bytes. `aten::square` calls `aten::pow`, which allocates 140. Python frees the result of
# `few * 2` as soon as nothing needs it, inside the region but not inside an operator, so it counts for `squares`
# itself: -140. What's freed outside everything has its own row, `[memory]`. That was `del squares`. The remaining few
# bytes belong to the number 2, which briefly becomes a tensor.
#
# ### Your turn: memory_by_operator
# Which operators allocate memory? Leave out everything that isn't an operator.

# %% given
hint(
    "Which option records memory? Which column leaves out what was called inside?",
    "Three kinds of rows aren't operators: regions, [memory] and autograd's nodes. How do operators' names begin?",
)

# %% exercise: memory_by_operator points=3 level=easy further

# %% [markdown]
# ### What's still in memory?
#
# An operator's bytes show what allocated them, but not what still exists. For that, older texts call
# `profiler.export_memory_timeline(...)`. PyTorch 2.13 still has it, with a deprecation warning that names the
# replacement: the snapshots from lab 7.
#
# ```python
# torch.cuda.memory._record_memory_history()
# training_step()
# torch.cuda.memory._dump_snapshot("step.pickle")  # open it on pytorch.org/memory_viz
# ```
#
# They need CUDA. Without it, `torch.cuda.memory_summary()` raises an error too, and so does a profile with only
# `activities=[ProfilerActivity.CUDA]`: it warns that CUDA isn't available, and then has no activity left. Check
# `torch.profiler.supported_activities()`, or list both: with `CPU` in the list, you get the warning, but the profile
# runs.

# %% quiz: interview points=3
# ## Interview questions
#
# **Self and total**
# - [x] The self times of all rows of one thread add up to at most the time of the profile.
#   > Each microsecond of a thread is in the self time of at most one row: the innermost.
# - [ ] The total times of all rows add up to the time of the profile.
#   > A row's total includes the rows inside it, so nested rows are counted several times.
# - [x] An operator with a large total and a small self time calls others that take the time.
#   > Its total is its own time plus that of everything it calls. The difference is in those calls.
# - [ ] A row on another thread that's inside this row's time is subtracted from its self time.
#   > Another thread only ran at the same time. Rows are nested within one thread.
#
# Hint: What did your self_times subtract, and from which row?
#
# **Schedules**
# - [x] With `wait=2, warmup=1, active=3`, step 3 is the first that's recorded.
#   > Steps 0 and 1 wait, step 2 is the warm-up, and steps 3, 4 and 5 are recorded.
# - [ ] Warm-up steps are in the trace, marked as such.
#   > They're recorded and thrown away, so the profiler's own start doesn't distort the numbers.
# - [x] Without `profiler.step()` in the loop, a schedule with `wait=1` records nothing.
#   > The profiler counts steps by that call. Without it, it stays in step 0 and waits.
# - [ ] `repeat=0` records no cycles.
#   > It means that there's no limit: cycles continue until the end of training.
#
# Hint: What happens in the steps of one cycle, and what counts them?
#
# **A slow step**
# - [x] A loss in a Python loop over samples can show up as a slow `backward`.
#   > Each iteration of the loop adds nodes to the graph. In our run, backward took 14 ms instead of 0.5.
# - [ ] The region that takes the most time is the one with the slow line.
#   > It may work through what another region created, or wait for it.
# - [x] Many calls of a short operator are a sign of a Python loop.
#   > Each call has a cost, whatever it computes. The number of calls in one step reveals the loop.
# - [ ] A step takes as long under the profiler as without it.
#   > Recording each call takes time itself, especially if there are thousands of small ones.
#
# Hint: What were the two runs of marked_step?
#
# **Two clocks**
# - [ ] A kernel belongs to the region in which it runs.
#   > By the time it runs, the program has usually moved on. It belongs to the region that launched it: the correlation
#   > id links them.
# - [x] Without a synchronization, a clock around `backward()` on a GPU measures the launches.
#   > The calls return before the kernels have run. Only a call that synchronizes waits for them.
# - [ ] If `.item()` takes most of a step's time, the solution is to copy less.
#   > It copies one number. The time is that of all the work that was launched earlier and isn't done yet.
# - [x] On a GPU, the backward pass launches its kernels from a thread other than the program's own.
#   > So a table by thread misses them. The time of the launch finds the region.
#
# Hint: What did the shipped trace show between 600 and 1105 microseconds?
#
# **Waiting**
# - [x] A gap in the stream that ends right after a launch means that the device waited for the program.
#   > The stream was empty. As soon as something was launched, it ran.
# - [ ] A kernel that starts long after its launch shows that the device is idle.
#   > It waits in the queue after other kernels, so the device is busy.
# - [ ] With two streams, the device is idle as soon as one of them is empty.
#   > It's idle only when no stream has work that runs.
# - [x] If copies can't overlap kernels, a device that's idle a tenth of the time gains at most that from faster data
#   loading.
#   > In that case, only idle time can be filled. Copies in their own stream can run at the same time as kernels, which
#   > also saves their own time.
#
# Hint: According to your device_idle, how much can you gain at most?
#
# **Memory**
# - [x] `self_cpu_memory_usage` can be negative.
#   > It's what was allocated minus what was freed, and some rows free more.
# - [ ] The profiler says which name still holds a tensor.
#   > It shows which operator allocated how much. What keeps a tensor alive is a question for a snapshot, or for lab 7.
# - [x] `export_memory_timeline` is deprecated; a snapshot of the allocator replaces it.
#   > The warning names `_record_memory_history` and `_export_memory_snapshot`.
# - [ ] `aten::linear` has the bytes of `aten::addmm` in its self column.
#   > They're in its total. The self column has only what it allocated itself.
#
# Hint: Which of the two columns leaves out what was called inside?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains on a GPU. She profiles a single step, the very first, and sorts by CPU total. At the top is
# `loss.item()` in her logging code, with 70 percent of the step. She removes it. The step takes as long as before, and
# now the top line is the copy of the next batch to the GPU.
#
# In four to eight sentences: what did her first profile show, and why did the time move? What was wrong with her
# measurement? Which two things would you look at in the trace to decide between faster data loading and faster kernels?

# %% question: moved_time [markdown] points=2
# ### BEGIN SOLUTION
# `.item()` synchronizes: it waits until the device has done everything that was launched earlier. So its 70 percent are
# the time of the forward and backward kernels, as the program sees it. Without the line, the program waits at the next
# call that needs the device to be done, here a copy. Nothing became faster, because the kernels take as long as before.
# She profiled the first step, in which libraries are loaded and memory is requested: she needs a warm-up and several
# steps, with a schedule. And she sorted by the program's clock, which doesn't include the GPU's work. I would look for
# gaps in the stream's lane: is the device idle, and which region launched the work that ends each gap? If the gaps are
# before the copies of data, I'd make data loading faster, or prepare batches ahead. If there are no gaps, I'd add up
# the kernels' time by the region that launched them, matched by the correlation id, and start with the largest.
#
# For grading: one point for the wait and why it moved, naming the missing warm-up; one for the device's gaps and the
# kernels' time by region as the two things to look at.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Warm up first. Record only a few steps, and call `profiler.step()` after each.
# - Total is a row's whole time; self is what remains without its children. Sort by self to find the operator, by total
#   to find the part of the program.
# - `record_function` adds your own names to the profile. Many short calls are a Python loop.
# - The region that takes the time may only work through, or wait for, what another one created.
# - A kernel belongs to the region that launched it. The correlation id links the two.
# - With a GPU's trace, first ask whether the device is idle, and what it's waiting for.
#
# | call or row | what it says |
# |---|---|
# | `profile(activities=[...], profile_memory=True)` | operators, and their bytes |
# | `key_averages()` | rows added up by name: `count`, `cpu_time_total`, `self_cpu_time_total` |
# | `schedule(wait, warmup, active, repeat, skip_first)` | which steps are recorded |
# | `export_chrome_trace(path)` | all rows, as JSON: `ts` and `dur` in microseconds |
# | `user_annotation`, `cpu_op` | a region, an operator |
# | `cuda_runtime`, `kernel` | a call that launches, the work that it launched |
# | `[memory]` | a moment at which `Bytes` were allocated, or freed if negative |
# | `cudaStreamSynchronize` | the program waits for the device |
# | `self_cpu_memory_usage` | what an operator itself allocated, minus what it freed |
#
# Three questions to ask yourself:
#
# - Is what I measure warm, and is it on the program's clock or the device's?
# - Which line created the work that the slowest region does, or waits for?
# - Which one is waiting: the device for the program, or the program for the device?
#
# Lab 7c looks into the allocator, and keeps less for the backward pass.
