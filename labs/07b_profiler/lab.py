# %% [markdown]
# # The profiler: where the time goes
#
# "Training is slow" says nothing yet. Which line is it? And is that line slow, or does it wait for another one? In
# this lab you stop guessing. You let PyTorch write down what happens, read what it wrote, and make
# an epoch of the digits script six times as fast.
#
# After this lab you can
#
# - tell the time of an operator from the time of what it calls;
# - mark regions of a training step, and find the slow line in it;
# - say which steps a schedule records, and why the first ones are left out;
# - read a trace as data, and join a GPU's work to the line that asked for it;
# - say who waits for whom, and which operator allocates how much.
#
# You need lab 7, and two sittings of about an hour. All times were measured with PyTorch 2.13 on a CPU, with one
# thread: yours will differ. The cells stay there, whatever your machine has. Where this lab shows the work of a GPU, it
# says where the numbers come from.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

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
os.environ.setdefault("KINETO_LOG_LEVEL", "99")  # or each profile prints two lines of its own, which begin with USDT

# %% [markdown]
# ## A step, by the clock
#
# Here is a training step: 512 samples, a small network, SGD. The next cell runs it five times and reads the clock
# before and after each.

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
# In our run the first step took 5.3 ms, and the others about 2. A first step does work that no later one does:
# libraries are loaded, and memory is asked for the first time. On a GPU it is usually more. So the first steps of a
# training say little about the rest. Leaving them out of a measurement is called *warm-up*.
#
# The clock says how long a step takes. It does not say which of its lines. You could write two more lines around each
# line, and you would still not see what `backward()` does inside.
#
# A *profiler* is a program that notes what another program does, and for how long. PyTorch has one of its own:
# `torch.profiler`. It notes each *operator*. That is what PyTorch calls a function that computes with tensors: a
# product of matrices is `aten::mm`. (ATen is the name of the library that has them.)

# %% example
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    training_step()
for event in list(profiler.events())[:5]:
    print(f"{event.name:24} {event.time_range.elapsed_us():8.1f} microseconds")
print("... and", len(profiler.events()) - 5, "more")

# %% [markdown]
# More than a hundred rows for one step, and you have written four lines. Some names occur often. A list like that has
# to be added up before anybody can read it.
#
# In a file, each row is a dict. `trace_row` below makes one of the kind that matters most. `ph` is short for phase:
# `"X"` is a row that has a beginning `ts` and a duration `dur`, both in microseconds. It is called complete. Other
# letters stand for rows of other kinds: a moment, a name of a thread. They have no duration. `cat` is the category.
# `tid` is the number of the thread: a program may do several things at a time, each in a thread of its own.


# %% given
def trace_row(name, cat, tid, ts, dur, **args):
    """A complete row of a trace. args: what else is known of it."""
    return {"ph": "X", "cat": cat, "name": name, "pid": 100, "tid": tid, "ts": ts, "dur": dur, "args": args}


# %% [markdown]
# ### Your turn: time_by_name
# Add the rows up: for each name, how often it was called and for how long in all. This is a warm-up of about ten
# minutes.

# %% given
hint(
    "Which rows have a duration at all? Look at the key that every row has.",
    "Begin with an empty dict. For each row: what must stand under its name before you can add to it?",
)

# %% exercise: time_by_name points=2

# %% [markdown]
# ## Self and total
#
# Your function makes what the profiler calls its averages. `key_averages()` adds up the rows of each name, and its
# `table()` prints them. Here are the same numbers, fewer columns, in the order of their time.

# %% example
with profile(activities=[ProfilerActivity.CPU]) as profiler:
    training_step()
print(f"{'name':44} calls   total    self")
for entry in sorted(profiler.key_averages(), key=lambda entry: -entry.cpu_time_total)[:9]:
    times = f"{entry.cpu_time_total:7.0f} {entry.self_cpu_time_total:7.0f}"
    print(f"{entry.key[:44]:44} {entry.count:5} {times}")

# %% [markdown]
# Add up the column of totals. It is more than the step took. Why?
#
# An operator calls others. `aten::linear` calls `aten::addmm`. While `addmm` runs, `linear` has not ended, so both rows
# contain that time. Two numbers are needed. The *total time* of a row is its whole duration. The *self time* of a row
# is its duration without the rows that lie directly inside it. No microsecond of a thread is in two self times,
# so self times can be added up.
#
# Rows inside others look like this. In this small example the times are made up.

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
# The rows don't say which of them called which. The times do: on one thread, a row that begins and ends inside another
# was called by it. A row of another thread wasn't: that thread only ran at the same time.
#
# ### Your turn: self_times
# Compute self times from the rows.

# %% given
hint(
    "Go through the rows of one thread by their beginnings. Which rows have not ended yet? The last of these called.",
    "Keep a list of rows that have not ended, for each thread. A row takes its time off from one other row: the last "
    "one in that list. Which rows must leave the list before?",
)

# %% exercise: self_times points=5

# %% [markdown]
# Sort by self time to find the operator in which time is spent. Sort by total time to find the place in the program
# that spends it. For a training step the top of the totals is the backward pass, and that is no news.
#
# ## Regions of your own
#
# The profiler knows operators. It does not know your words: loading, forward, loss. `record_function(name)` around some
# lines makes them a row of the profile. We call such a row a *region*: it is a part of the program that has a name and
# a time.
#
# Below is a step with regions. It computes the right loss, and it is far slower than the step above. Read it before you
# run it. One line is at fault.

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
# In our run the loss took 6.5 ms instead of 0.13, and `backward` 14 ms instead of 0.5. The slow line is in `loss`.
# Most of its cost is in `backward`: 512 small losses make 512 small graphs, and all of them have to be walked back. So
# the region at the top of the list need not be the one to change. Ask what it works on, and who made it.
#
# The number of calls gives it away. If `aten::nll_loss_forward` is called 512 times in one step, there's a loop in
# Python. Each call is short. Calling an operator costs some microseconds, whatever it computes, and the profiler itself
# adds to it: a profiled step with thousands of small calls is slower than the same step alone. Compare
# profiles with profiles, and clocks with clocks.
#
# How do you get from a region to a line? Put smaller regions into it, and look again, until a region has one line.
# (`profile(with_stack=True)` notes the lines of Python too. It makes the profile slower.) PyTorch makes some regions
# itself: you will meet `Optimizer.step#SGD.step`, without having written it.
#
# Try it. The step below has one more slow line, of a kind found in many training scripts. Which is it? Put
# `record_function` around what you suspect, and add its name to the last line.


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

# %% [markdown]
# It is the accuracy: `aten::argmax` has 512 calls. In our run the report took 9 ms, and the training 2. Written as
# `(out.argmax(1) == labels).sum()` it has one call.
#
# The calls of `argmax` are only 1 of these 9 ms. The rest is what else that line does: taking a row, comparing,
# making an `int` of the result, and Python between the calls. No operator's row holds the time that Python takes. It is
# in the self time of the region around it.
#
# The line with `max` is a loop as well, over four parameters. It takes no time that matters. Count the calls before you
# rewrite a line because it is a loop.

# %% [markdown]
# ### An epoch of the digits script
#
# This script trains well, and most of an epoch isn't training. `prepare` turns one scan into a tensor, as a data set
# does whose images are read one by one. Which region takes most of the epoch, and which calls in the table give the
# line away? Run the cell. Then rewrite `load`: prepare all scans once, above it, and let it return `prepared[rows]`. By
# what factor does the last number shrink?

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
# `load` takes more than twice as long as `train`, and for 200 scans `aten::sub` has 200 calls: each scan is converted,
# shifted and divided on its own. Replace `load` by
#
# ```python
# prepared = (torch.tensor(files, dtype=torch.float32).flatten(1) - 8) / 8
#
#
# def load(rows):
#     return prepared[rows]
# ```
#
# In our runs, an epoch then took 16 ms instead of 97. It's six times as fast, with the same scans in the same order.
# `load` takes a tenth of the time of `train`. The times differ from machine to machine; the factor differs less.

# %% [markdown]
# The script now spends its time on training. Lab 7c makes what it keeps for the backward pass smaller.

# %% [markdown]
# ## Which steps are recorded?
# ## Which steps are recorded?
#
# A training has many thousands of steps. The slow step above had 16,000 events, and in a file each takes about 270
# bytes: that is 4 MB for one step. So you record a few steps of many. `schedule` says which.
#
# ```python
# plan = torch.profiler.schedule(skip_first=10, wait=5, warmup=1, active=3, repeat=2)
# with profile(activities=[ProfilerActivity.CPU], schedule=plan, on_trace_ready=save) as profiler:
#     for batch in batches:
#         train(batch)
#         profiler.step()  # one step has ended
# ```
#
# The first `skip_first` steps are left out. Then come cycles. In each the profiler waits for some steps and does
# nothing. In the warm-up steps it notes everything, and throws it away: its own start takes time too, and would be in
# the numbers. The active steps are recorded. After the last of them, the profiler calls `on_trace_ready`.
#
# With `repeat=0` it goes on like that to the end of the training. If that end comes inside the active steps, what has
# been recorded until then is handed over as well. Without `profiler.step()` it stays at step 0, and nothing is
# recorded. That is a mistake to make once.

# Here is one that is short enough to watch. Count on your fingers before you run it: after which step is the trace
# ready, and how many steps are in it?


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
# ### Your turn: recorded_steps
# Say in advance which steps are recorded. With the longer schedule 10 steps are left out, 10 to 14 wait, 15 is the
# warm-up, and the first trace has steps 16, 17 and 18. The second one begins a whole cycle later.

# %% given
hint(
    "How many steps has one cycle? At which step does the first trace begin?",
    "From one trace's first step to the next one's it is a whole cycle. What ends the sequence?",
)

# %% exercise: recorded_steps points=3

# %% [markdown]
# ### Your turn: slowest_region
# Now profile a step that somebody else wrote. It is a function, you know the names of its regions, and one of them is
# slow once the step is warm. (The check's steps sleep instead of computing. A profiler sees no difference: it is time
# between a beginning and an end.)

# %% given
hint(
    "Which calls of step must lie outside of the with block? How do you get from a name to its total time?",
    "entry.key is the name and entry.cpu_time_total the time of all its calls. Which of the entries are regions of the "
    "step?",
)

# %% exercise: slowest_region points=3

# %% [markdown]
# ## A good place to stop
#
# You can find the slow region of a step on a CPU. What comes next is the file behind it, and a second clock: that of a
# GPU, which works while your program has gone on. After a break Python has forgotten everything. Choose *Run > Run All
# Above Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## A trace is a file
#
# `export_chrome_trace(path)` writes all rows into a file. A *trace* is that record: each row with its time, not added
# up. Its form is called Chrome trace, since the browser of that name can show it. The page
# [ui.perfetto.dev](https://ui.perfetto.dev) shows it as well. It is JSON, so Python can read it. `trace_of` does that.
# `live_trace` records a small step.


# %% given
def trace_of(profiler):
    """What the profiler writes into a file, as a dict."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(path))
        return json.loads(path.read_text())


def live_trace():
    """A small training step, recorded on this machine, with its memory."""
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
# The picture is that of the file. Choose a region above it, and what does not belong to it becomes pale.
#
# In the printed lines you find these kinds of rows:
#
# - `cpu_op`: an operator; `user_annotation`: a region. With a `schedule`, the profiler adds a region of its own around
#   each recorded step: `ProfilerStep#2` and so on. All your other regions lie inside it.
# - Rows with the name `[memory]` are moments: `ph` is `"i"`, for instant, and there is no `dur`. `Bytes` is what was
#   allocated at that moment. Where it is negative, so many bytes were freed. They are there with
#   `profile_memory=True`.
# - `fwdbwd` joins an operator of the forward pass to its derivative in the backward pass. Viewers draw an arrow.
# - Rows with `ph` `"M"` name processes and threads. They have no `cat`. Read a key that may be missing with `.get`.
#
# ## Two clocks
#
# A GPU does its work on its own. Your program does not compute there: it *launches*. A *kernel* is a function that runs
# on the GPU. A call such as `cudaLaunchKernel` puts one into a queue and comes back after some microseconds, long
# before the kernel has ended. Such a queue is called a *stream*: its kernels run in order, one after the other. So
# there are two sequences of events with two kinds of rows. The call is in a thread of your program, in the category
# `cuda_runtime`. The work is in a stream, in the category `kernel`, or `gpu_memcpy` for a copy.
#
# What joins the two? Each call has a number, its *correlation id*: it is the `correlation` in the `args` of the call
# and in those of the work.
#
# The next cell holds a trace of two steps on a GPU. Nobody measured it. It was written by hand for this lab, in the
# form in which PyTorch writes such traces, with times of a size that occurs. What is not needed here, arrows for
# instance, is left out. In its names H is the host, which is the memory of your program, and D the device: `Memcpy
# HtoD` copies a batch to the GPU. PyTorch writes a region a second time, into the stream, from the first kernel to the
# last that it launched: the category of that row is `gpu_user_annotation`.


# %% given folded
RUNTIME_CATS = ("cuda_runtime", "cuda_driver")  # calls that launch
DEVICE_CATS = ("kernel", "gpu_memcpy", "gpu_memset")  # what the device does

ON_THREADS = [  # name, category, thread, beginning, duration, correlation
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
ON_DEVICE = [  # name, category, stream, beginning, duration, correlation
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
STEP_TIME, NUMBERS = 1200, 100  # the second step is later, and has other numbers


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
# All that time the program is in `log`. `cudaStreamSynchronize` *synchronises*: it waits until the stream is empty. The
# number that `.item()` is to return is not there before. Copying it takes 2 microseconds.
#
# "`.item()` is slow", people read in such a profile, and take it out. Then the wait is somewhere else: at the next line
# that needs a result. It is not the cause. The same holds for a clock: `time.perf_counter()` around `backward()`
# measures how long it takes to launch. Call `torch.cuda.synchronize()` before each look at the clock, and you get the
# time of both together: launches, kernels and waits. For the GPU's time alone there are *events*. Two
# `torch.cuda.Event(enable_timing=True)` are recorded in the stream, one before and one after the work, and
# `start.elapsed_time(end)` gives the milliseconds between them on the GPU, once both have happened. A trace says it
# for each kernel.
#
# Look at one more thing. `backward` launches from thread 102. On a GPU the backward pass runs in a thread of its own,
# while the program waits in `backward()`. (On a CPU it runs in the thread that called.) Whoever counts only rows of the
# region's own thread finds nothing for `backward`.
#
# ### Your turn: by_region
# Make a table of a trace: the time, the bytes and the device's time of each region. For the shipped trace it says which
# region is the expensive one for the GPU, and that is not `log`.

# %% given
hint(
    "Begin with two collections: the regions, and for each correlation id the time at which the call began.",
    "A kernel has no place of its own among the regions. Where was the call with its correlation id? What do you do "
    "with a kernel whose call is not in the trace?",
    "Bytes, calls: each is a moment and an amount. For each region, which moments t fulfil ts <= t < ts + dur?",
)

# %% exercise: by_region points=6

# %% [markdown]
# Print the table for `shipped_trace()`. For 1060 microseconds the program is in `log`, which gives the device work for
# 4. `backward` is the other way round. Print it for `live_trace()` too. What do the bytes of `forward` say, and which
# of them are still there when it ends?
#
# In a trace of your own, recorded with a `schedule`, the table has a line for each `ProfilerStep#`. It holds the whole
# step, so leave it out before you compare regions.
#
# A rule that asks for the time only has a weak side. A thread that prepares the next batch, for instance, would
# count for whichever region is open. Look at the trace before you believe a table of it.
#
# ## Who waits for whom?
#
# There are two kinds of waiting.
#
# - *The program waits for the device.* It is in a call that synchronises: `.item()`, `.cpu()`, `print(loss)`,
#   `torch.cuda.synchronize()`. Then the program cannot launch ahead. Once is nothing. In each step it costs a gap
#   behind it.
# - *The device waits for the program.* Its stream is empty. You see a gap in the stream's lane, and the kernel that
#   ends the gap starts right after its launch.
#
# A device that is never idle does not become faster by faster Python. One that is idle for half of the time gains
# little by better kernels: it waits the longer. So this is the first question to ask of a GPU's trace.

# %% predict: largest_gap
# **Predict.** Where in the shipped trace is the longest gap of the stream?
#
# - [ ] before `foreach`, which has to wait for `.item()`
# - [x] before the copy of the second step's data
# - [ ] between the kernels of `backward`

# %% [markdown]
# ### Your turn: device_idle
# For each gap, say which region the device waited for. It is the region that launched the work which ends the gap.

# %% given
hint(
    "Sort the device's rows by their beginnings. Until when is the device busy, after each of them? With two streams, "
    "is that always the end of the last row?",
    "Only the row that begins after the busy time ends a gap. Its call says when it was launched. Which regions lie "
    "around that moment, and which of them is the shortest?",
)

# %% exercise: device_idle points=4

# %% [markdown]
# In the shipped trace the device waits for 300 microseconds for `data`, and twice 65 for the optimizer. The cure of the
# first is to prepare the next batch while the device works: `DataLoader(num_workers=...)`, and `tensor.to(device,
# non_blocking=True)` from pinned memory. The cure of the second is to call `.item()` less often. A logger that reads
# the loss in every tenth step waits in every tenth step.
#
# The gaps together are 430 of 2100 microseconds. If you fill them, a step of 1200 becomes one of 985. There is a little
# more to win: `device_idle` counts the copy of a batch as work, but no kernel runs during those 60 microseconds. In the
# same stream, kernels and copy take turns. If you copy in a second stream while the kernels of the step before run, a
# step takes 925. (Lab 6b has the events that two streams need.) Data loading and logging can win no more than that.
# What is left is the time of the kernels. `torch.compile` (lab 10) and smaller dtypes (lab 9) are about them.
#
# ## Memory by operator
#
# With `profile_memory=True` the averages have bytes too. Of the two columns `cpu_memory_usage` is the total, with all
# that was called inside, and `self_cpu_memory_usage` is that of the operator itself. On a GPU they are
# `device_memory_usage` and `self_device_memory_usage`. Older texts write `cuda_memory_usage`: `table(sort_by=...)`
# still takes that name in 2.13, as the one of `device_memory_usage`.
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
# A tensor of 5 by 7 has 140 bytes. `aten::square` calls `aten::pow`, which allocates 140. The result of `few * 2` is
# freed by Python as soon as nothing needs it, inside the region and inside no operator. So it counts for `squares`
# itself: -140. What is freed outside of everything has a row of its own, `[memory]`. That was `del squares`. The few
# bytes besides are those of the number 2, which becomes a tensor for a moment.
#
# ### Your turn: memory_by_operator
# Which operators allocate? Leave out what is no operator.

# %% given
hint(
    "Which option asks for memory? Which column leaves out what was called inside?",
    "Three kinds of rows are no operators: regions, [memory] and autograd's nodes. How do names of operators begin?",
)

# %% exercise: memory_by_operator points=3

# %% [markdown]
# ### When it is about who keeps
#
# An operator's bytes say who allocated. They do not say what is still there. Older texts then call
# `profiler.export_memory_timeline(...)`. It is still there in 2.13, and warns that it is deprecated. Its message names
# what to use: the snapshots of lab 7.
#
# ```python
# torch.cuda.memory._record_memory_history()
# training_step()
# torch.cuda.memory._dump_snapshot("step.pickle")  # open it on pytorch.org/memory_viz
# ```
#
# They need CUDA. Without it, `torch.cuda.memory_summary()` raises an error too. And a profile with
# `activities=[ProfilerActivity.CUDA]` alone fails on a CPU: it warns that CUDA is not available, and then has no
# activity left. Ask `torch.profiler.supported_activities()`, or list both: with `CPU` beside it the profile goes on,
# with the warning.

# %% quiz: interview points=3
# ## Interview questions
#
# **Self and total**
# - [x] The self times of all rows of one thread add up to at most the time of the profile.
#   > Each microsecond of a thread is in the self time of one row at most: that of the innermost row.
# - [ ] The total times of all rows add up to the time of the profile.
#   > A row's total contains that of the rows inside it, so what is nested is counted several times.
# - [x] An operator with a large total and a small self time calls others that take the time.
#   > Its total is its own time and that of what it calls. The difference lies in those.
# - [ ] A row of another thread that lies inside this row's time is taken off from its self time.
#   > Another thread only ran at the same time. Rows are nested on one thread.
#
# Hint: What did your self_times take off, and from which row?
#
# **Schedules**
# - [x] With `wait=2, warmup=1, active=3`, step 3 is the first that is recorded.
#   > Steps 0 and 1 wait, step 2 is the warm-up, steps 3, 4 and 5 are recorded.
# - [ ] Warm-up steps are in the trace, marked as such.
#   > They are noted and thrown away, so that the profiler's own start is not in the numbers.
# - [x] Without `profiler.step()` in the loop, a schedule with `wait=1` records nothing.
#   > The profiler counts the steps by that call. Without it, it stays in step 0, and waits.
# - [ ] `repeat=0` records no cycle.
#   > It means that no number is set: cycles go on to the end of the training.
#
# Hint: Ask your recorded_steps.
#
# **A slow step**
# - [x] A loss in a Python loop over samples can show up as a slow `backward`.
#   > Each round of the loop leaves nodes in the graph. In our run backward took 14 ms instead of 0.5.
# - [ ] The region with the largest time is the one that has the slow line.
#   > It may work through what another region made, or wait for it.
# - [x] Many calls of a short operator are a sign of a loop in Python.
#   > Each call has a price whatever it computes. The number of calls in one step gives the loop away.
# - [ ] A step takes as long under the profiler as without it.
#   > Noting each call takes time itself, most of all where there are thousands of small ones.
#
# Hint: What were the two runs of marked_step?
#
# **Two clocks**
# - [ ] A kernel belongs to the region in which it runs.
#   > When it runs, the program is usually further on. It belongs to the region that launched it: the correlation id
#   > joins them.
# - [x] Without a synchronisation, a clock around `backward()` on a GPU measures the launches.
#   > The calls come back before the kernels have run. Only a call that synchronises waits for them.
# - [ ] Where `.item()` takes the most time of a step, the cure is to copy less.
#   > It copies one number. The time is that of all the work that was launched before and is not done.
# - [x] On a GPU the backward pass launches its kernels from another thread than the program's own.
#   > So a table by thread misses them. The time of the launch finds the region.
#
# Hint: What did the shipped trace show between 600 and 1105 microseconds?
#
# **Waiting**
# - [x] A gap in the stream whose kernel starts right after its launch: the device waited for the program.
#   > The stream was empty. As soon as something was launched, it ran.
# - [ ] A kernel that starts long after its launch shows that the device is idle.
#   > It waits in the queue behind others: the device is busy.
# - [ ] With two streams the device is idle as soon as one of them is empty.
#   > It is idle where no stream has work that runs.
# - [x] If copies cannot overlap kernels, a device that is idle a tenth of the time gains at most that from faster data.
#   > Then only idle time can be filled. Copies in a stream of their own can run beside kernels, and save their own time
#   > too.
#
# Hint: What is the most that your device_idle says can be won?
#
# **Memory**
# - [x] `self_cpu_memory_usage` can be negative.
#   > It is what was allocated less what was freed, and some rows free more.
# - [ ] The profiler says which name still leads to a tensor.
#   > It says who allocated, and how much. Who keeps it is a question for a snapshot, or for lab 7.
# - [x] `export_memory_timeline` is deprecated; a snapshot of the allocator takes its place.
#   > The warning names `_record_memory_history` and `_export_memory_snapshot`.
# - [ ] `aten::linear` has the bytes of `aten::addmm` in its self column.
#   > They are in its total. The self column has only what it allocated itself.
#
# Hint: Which column did memory_by_operator need?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague trains on a GPU. She profiles one step, the very first, and sorts by CPU total. At the top is
# `loss.item()` in her logging code, with 70 percent of the step. She removes it. The step is as long as before, and now
# the top line is the copy of the next batch to the GPU.
#
# In four to eight sentences: what did her first profile show, and why did the time move? What was wrong with the way in
# which she measured? Which two things would you look at in the trace to decide between faster data loading and faster
# kernels?

# %% question: moved_time [markdown] points=2
# ### BEGIN SOLUTION
# `.item()` synchronises: it waits until the device has done everything that was launched before. So its 70 percent are
# the time of the kernels of forward and backward, seen from the program. When the line is gone, the program waits at
# the next call that needs the device to be done, here a copy. Nothing became faster, since the kernels take as long as
# before. She profiled the first step, in which libraries are loaded and memory is asked for: it needs a warm-up, and
# several steps, with a schedule. And she sorted by the program's clock, where the work of a GPU is not. I would look at
# the stream's lane for gaps: is the device idle, and in which region was the work launched that ends each gap? If the
# gaps lie before the copies of data, data loading is to be made faster, or prepared ahead. If there are no gaps, I
# would add up the time of the kernels by the region that launched them, joined by the correlation id, and begin with
# the largest.
#
# For grading: one point for the wait and why it moved, with warm-up named as missing; one for gaps of the device and
# the kernels' time by region as the two things to look at.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Warm up first. Record a few steps of many, and call `profiler.step()` after each.
# - Total is a row's whole time; self is what its children leave. Sort by self for the operator, by total for the place.
# - `record_function` gives your own words to the profile. Many short calls are a loop in Python.
# - The region that takes the time may only work through, or wait for, what another one made.
# - A kernel belongs to the region that launched it. The correlation id joins the two.
# - First question of a GPU's trace: is the device idle, and for whom does it wait?
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
# | `self_cpu_memory_usage` | what an operator itself allocated, less what it freed |
#
# Three questions to ask yourself:
#
# - Is what I measure warm, and is it the clock of the program or that of the device?
# - Which line made the work that the slowest region does, or waits for?
# - Who waits: the device for the program, or the program for the device?
#
# Lab 7c looks into the allocator, and keeps less for the backward pass.
