# %% [markdown]
# # Data that arrives in time
#
# Your scans are image files in ten folders, one for each digit, and you write a dataset that reads them. Nothing raises
# an error, but the same network now gets 13% of the unseen digits right instead of 98%, and most of each epoch is spent
# waiting for batches. So you have two other processes read the scans, and find two new mistakes: both processes shift
# their scans by the same "random" numbers, and a dataset without an index yields each item twice. This lab shows how
# samples get to the network, and how to have them ready in time.
#
# After this lab, you'll be able to
#
# - write a dataset that reads files, and measure how long a script waits for it;
# - say which process reads which sample, with which random numbers, and what a worker costs;
# - build a batch from samples of different lengths;
# - shift scans at random, in the same way with any number of workers;
# - prepare a batch while a step runs;
# - say what you have to wait for before you read or overwrite a buffer.
#
# The core is four exercises, `ScanFolder`, `pad_collate`, `ShiftedScans`, and `prefetch`, and takes about 115 minutes.
# Two more, `my_part` and `too_early`, are at the end: they're further practice, take about 35 minutes more, and earn no
# points.
#
# You need lab 6. All numbers were measured with PyTorch 2.13 on a machine with two cores, with one thread per
# process. Statements about GPUs follow PyTorch's documentation. On macOS and Windows, this notebook runs without worker
# processes, for a reason given below: there, one process reads all samples, no random numbers repeat, nothing arrives
# twice, and the tables' rows with workers are missing.
#
# Where it says *Predict*, choose an answer before you run the next cell. Below each exercise, a card shows its checks.
# Those marked *later* run when you press *Mark my work* or hand the lab in. Folded cells contain helpers: run them, but
# you don't have to read them.
#
# Run the next cell first. It imports what this lab uses.

# %% given
import itertools
import multiprocessing
import os
import pathlib
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from functools import partial
from typing import Any, NamedTuple

import matplotlib.pyplot as plt
import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset, get_worker_info

from labkit import assert_answered, assert_close, assert_letters, check, device, explain, probes

# %% [markdown]
# ## Ten folders
#
# So far, all your scans have been in one tensor. A large collection of photos doesn't fit in memory: it stays on disk,
# often with a folder for each class, and a training script opens each file when it needs it. Three objects bring
# samples to the network.
#
# - A *dataset* has a length, `len(data)`, and returns the sample at an index, `data[i]`.
# - A *sampler* decides the order of the indices. By default, that's 0, 1, 2, and so on.
# - A `DataLoader` groups the indices, asks the dataset for those samples, and calls `collate_fn` to turn each group of
#   samples into a batch. By default, it stacks tensors and turns numbers into tensors.
#
# The next two cells write the 1,797 scans as PNG files: 1,500 in the ten folders in `digits_root / "train"`, and 297
# in those in `digits_root / "unseen"`.


# %% given
def write_files(root, files):
    """Write files, by their names in root: an image of 8 by 8 bytes becomes a PNG file, and a text a text file."""
    for name, content in files.items():
        path = pathlib.Path(root, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            path.write_text(content)
        else:
            Image.fromarray(np.asarray(content, dtype=np.uint8)).save(path)


# %% example
from sklearn.datasets import load_digits

order = torch.randperm(1797, generator=torch.Generator().manual_seed(1)).tolist()
images, labels = (load_digits().images * 255 / 16).round(), load_digits().target  # pixels from 0 to 255
temporary = tempfile.TemporaryDirectory()  # its folder is deleted when your program ends
digits_root = pathlib.Path(temporary.name)
for part, rows in {"train": order[:1500], "unseen": order[1500:]}.items():
    write_files(digits_root / part, {f"{labels[row]}/{row:04}.png": images[row] for row in rows})
print(*sorted(str(path.relative_to(digits_root)) for path in digits_root.glob("train/0/*"))[:3], sep="\n")

# %% [markdown]
# ### Your turn: ScanFolder
# Write the dataset. `Image.open(path)` opens an image, and `np.array` turns it into an array of bytes.

# %% given
hint(
    "Which of your methods may open files? What do the others need to know?",
    "In __init__, make a list of pairs (path, label). Then len and indexing work as they do on the list.",
)

# %% exercise: ScanFolder points=3 level=easy

# %% [markdown]
# ### The digits, from ten folders
#
# The files are sorted by digit, and each one is opened when it's needed. Does either of these hurt? `train` measures
# both: it trains the convolutional network of lab 6b (if you haven't done that lab, take it as given), and adds up how
# long the loop waits for batches. Run the next two cells. Then set `shuffle=True`, and run the second one again.


# %% example
def make_reader():
    torch.manual_seed(0)
    return nn.Sequential(  # the stars insert each row's layers
        *(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Flatten(), nn.Linear(128, 10)),
    )


def train(loader, unseen):
    network, epochs, waited = make_reader(), 5, 0.0
    optimizer = torch.optim.SGD(network.parameters(), lr=0.3)
    begin = time.perf_counter()
    for _ in range(epochs):
        asked = time.perf_counter()
        for x, y in loader:
            waited += time.perf_counter() - asked
            loss = nn.functional.cross_entropy(network(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            asked = time.perf_counter()
    each = 1000 * (time.perf_counter() - begin) / epochs
    network.eval()
    with torch.no_grad():
        right = [(network(x).argmax(dim=1) == y).float().mean() for x, y in DataLoader(unseen, batch_size=297)]
    print(f"right for {right[0]:.0%} of the unseen scans")
    print(f"{each:.0f} ms an epoch, {1000 * waited / epochs:.0f} of them spent waiting")


# %% scratch
def load(data, **options):
    return DataLoader(data, generator=torch.Generator().manual_seed(0), **{"batch_size": 100, **options})


try:
    folders, unseen = ScanFolder(digits_root / "train"), ScanFolder(digits_root / "unseen")
except Exception as error:
    print("This cell needs a working ScanFolder:", repr(error), "The scans come from memory for now.")
    scans, digits = torch.tensor(images[:, None] / 127.5 - 1).float(), torch.tensor(load_digits().target)
    by_digit = sorted(order[:1500], key=lambda row: digits[row])
    folders = TensorDataset(scans[by_digit], digits[by_digit])
    unseen = TensorDataset(scans[order[1500:]], digits[order[1500:]])
train(load(folders, shuffle=False), unseen)

# %% answer [markdown]
# | order | right | share of the epoch spent waiting |
# |---|---|---|
# | `shuffle=False` | 13% | 77% |
# | `shuffle=True` | 98% | 78% |
#
# In folder order, each batch contains only one or two different digits. The network forgets the others, and batch
# norm's averages are those of the last digits. So each batch has to mix the classes. `shuffle=True` also draws a new
# order for each epoch, from the loader's generator. That's good practice, but in lab 6b, one random order for all ten
# epochs was enough.
#
# In either order, most of the time is spent waiting. It isn't the disk: the files are in the system's cache, but your
# process opens, decodes, and converts each one.

# %% [markdown]
# ## Who reads the samples?
#
# The loop waits because one process does everything: while it opens files, no step runs. If you set `num_workers`, the
# loader starts other processes. A *worker* is a process that reads samples, and builds batches, from its own **copy**
# of the dataset. If it sets an attribute there, your dataset doesn't change. Most bugs in this lab come from forgetting
# these copies.
#
# The dataset below counts how often it's asked for a sample, and takes the longest to read its first one.


# %% given folded
def draw_lanes(lanes, unit):
    """Draw a lane for each name, with bars (begin, end, text, color)."""
    _, panel = plt.subplots(figsize=(7, 0.5 + 0.5 * len(lanes)), layout="constrained")
    for place, bars in enumerate(lanes.values()):
        for begin, end, text, colour in bars:
            panel.broken_barh([(begin, end - begin)], (place - 0.4, 0.8), color=colour, edgecolor="white")
            panel.text((begin + end) / 2, place, text, ha="center", va="center", fontsize=8)
    panel.set(yticks=range(len(lanes)), yticklabels=lanes, xlabel=unit)
    panel.invert_yaxis()
    plt.show()


# %% predict: order_and_count
# **Predict.** With two workers and a first sample that takes the longest, in what order do the batches arrive, and
# what's `data.asked` in your program afterward?
#
# - [ ] 0 is last, and `asked` is 6
# - [ ] 0 is first, and `asked` is 6
# - [x] 0 is first, and `asked` is 0
#

# %% example
# Workers are forked on Linux. Elsewhere, this notebook does without them, for the reason given below.
forked = "fork" in multiprocessing.get_all_start_methods() and sys.platform == "linux"
two_workers: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"} if forked else {}


class Slow(Dataset):
    def __init__(self):
        self.asked = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.asked += 1
        begin = time.perf_counter()
        time.sleep(0.2 if index == 0 else 0.04)
        return index, self.asked, os.getpid(), begin, time.perf_counter()


data, read, zero = Slow(), {}, time.perf_counter()
program = []
for index, asked, process, begin, end in DataLoader(data, batch_size=1, **two_workers):
    taken = time.perf_counter() - zero
    print(f"sample {index.item()}, number {asked.item()} of process {process.item()}")
    bar = (begin.item() - zero, end.item() - zero, str(index.item()), "lightsteelblue")
    read.setdefault(f"process {process.item()}", []).append(bar)
    program.append((taken, taken + 0.01, str(index.item()), "orange"))
print("asked in this process:", data.asked)
draw_lanes({**read, "your program": program}, "seconds")

# %% [markdown]
# *In words:* each worker has a lane with a bar for each sample that it read; the last lane shows when your program got
# each batch. While one worker is busy with sample 0, the other reads samples 1 and 3, but your program gets neither
# until 0 has arrived.
#
# The order is the sampler's, and the workers take turns. By default, each may be two batches ahead, so the one that
# read 1 and 3 then pauses. Each copy has counted to 3, while your own dataset was never asked. Without workers, it
# counts to 6.
#
# How does a worker get its copy? On Linux, the cell above asks for a *fork*, which copies your process, including
# everything that the notebook has defined. A forked worker can't use CUDA if your program has already used it. If you
# remember only one thing from this paragraph and the next, make it this: keep paths in a dataset, not open files.
#
# macOS and Windows *spawn* a new Python process instead, and since Python 3.14, Linux by default uses a *forkserver*.
# Both need the dataset *pickled*, turned into bytes, so keep paths in it, not open files: 1,500 paths took 52 KB.
# They also import its class, so put it in a file of its own, not in a notebook, and in a script, start training under
# `if __name__ == "__main__":`.
#
# An exception in a worker reaches your program when the failed batch is due. The exception that you get has the same
# type, with the worker's traceback as its message. If that type needs more arguments than a message, a RuntimeError
# arrives instead.
#
# ### What a worker costs
#
# Two readers should take half the time, but getting the batches back isn't free. Your program sends a worker a list of
# indices through a queue. The worker reads the samples and collates them. The default `collate_fn` stacks tensors
# directly into memory that both processes can see. Tensors made in any other way, such as labels or the results of your
# own `collate_fn`, are copied there. Through another queue, the worker sends a pickled message that says where the
# tensors are.
#
# The samples below cost nothing to read, so what remains is the cost of sending batches. Does a batch of eight tensors
# with one number each cost more than a single tensor of eight numbers?


# %% example
class Ready(Dataset):
    def __init__(self, tensors, numbers):
        self.sample = [torch.zeros(numbers) for _ in range(tensors)]

    def __len__(self):
        return 101

    def __getitem__(self, index):
        return self.sample


for tensors, numbers in ((1, 1), (1, 8), (8, 1)):
    for workers in (0, 1) if forked else (0,):
        options = {**two_workers, "num_workers": 1} if workers else {}
        times = [time.perf_counter()]
        for _ in DataLoader(Ready(tensors, numbers), batch_size=1, **options):
            times.append(time.perf_counter())
        first, later = 1000 * (times[1] - times[0]), 1000 * np.diff(times[1::10]).min() / 10  # the fastest ten
        print(f"{tensors} x {numbers}, {workers} workers: first {first:.0f} ms, then {later:.2f} ms a batch")

# %% answer [markdown]
# | a batch | no workers | one worker | its first batch |
# |---|---|---|---|
# | one tensor of one number | 0.03 ms | 1.2 ms | 135 ms |
# | one tensor of eight numbers | 0.03 ms | 1.3 ms | 158 ms |
# | eight tensors of one number | 0.07 ms | 5.3 ms | 274 ms |
#
# Each tensor has its own piece of shared memory, which the worker makes and your program opens. So for small tensors,
# what counts is how many there are: each additional tensor costs about 0.6 ms, but seven more numbers in a tensor cost
# almost nothing. A batch of digits has two tensors, so sending it costs about 2 ms. For 100 scans, that's little:
# reading them takes about 10 to 20 ms. For a single scan, sending takes longer than reading.
#
# The first batch waits for the worker to start. That time varies much more from run to run than with the batch's size.
#
# Let a step take s, reading a batch r, and sending it c. Without workers, an epoch takes about batches · (s + r).
# Workers read while your program runs its steps, so with n of them, it takes about
#
# > batches · max(s, (r + c) / n), plus what your program pays to receive each batch,
#
# if each process that computes has a core of its own. More workers help until (r + c) / n is below s. If they decode
# files, they compute, and stop helping once the cores are taken. If they wait for a remote disk, they don't need cores.
# So measure s and r, calculate n, and try one more and one fewer. At the end of this lab, you'll do that with the
# digits.
#
# Four more options of a `DataLoader`:
#
# | option | default | when to change it |
# |---|---|---|
# | `prefetch_factor` | each worker may be 2 batches ahead | reading times vary (raise it); memory is short (1) |
# | `drop_last` | `False`: the last batch may be smaller | a small batch would hurt, as in batch norm |
# | `persistent_workers` | `False`: each epoch has new workers, with new copies | starting them takes long |
# | `sampler` | 0, 1, 2, ..., or with `shuffle=True`, a new order in each epoch | some samples should come more often |

# %% [markdown]
# ## Samples of different lengths
#
# The digit scans all have the same size. If the digits were written on a tablet, each would be a sequence of pen
# positions, longer for an 8 than for a 1. The default `collate_fn` can't stack tensors of 2 and 3 steps: it raises a
# RuntimeError, "stack expects each tensor to be equal size".
#
# So you write a `collate_fn`, which turns a list of samples into a batch. It *pads* the shorter sequences: it adds
# values at their ends until all have the same length. A `DataLoader` calls `collate_fn(samples)`, with one argument, so
# you pass it `partial(pad_collate, fill=0.0)`. A lambda can't be pickled, so it works only without workers or with
# forked ones.
#
# ### Your turn: pad_collate
# Pad the sequences, and return their lengths, without which no one can tell padding from data.

# %% given
hint(
    "What's the shape of the result, and what does it contain before you write the first sequence?",
    "new_full makes a tensor with a sequence's dtype and device. Or look up pad_sequence in the documentation.",
)

# %% exercise: pad_collate points=2 level=easy

# %% [markdown]
# What are the lengths for? Both sequences below are 6 at each step, so that's their mean, too.

# %% scratch
try:
    padded, lengths, _ = pad_collate([(torch.full((2, 1), 6.0), 1), (torch.full((3, 1), 6.0), 8)], fill=0.0)
    data_steps = torch.arange(padded.shape[1]) < lengths[:, None]  # (n, t): False for padding
    without_padding = (padded * data_steps[:, :, None]).sum(dim=1) / lengths[:, None]
    print("mean over all steps:   ", padded.mean(dim=1).flatten().tolist())
    print("mean without padding:  ", without_padding.flatten().tolist())
except Exception as error:
    print("This cell needs a working pad_collate:", repr(error))

# %% [markdown]
# The mean over all steps is 4 for the shorter one: it counts the padding. So does a softmax over the steps, or a loss
# for each step, if you don't mask it.

# %% [markdown]
# ## Whose random numbers?
#
# Suppose you shift the scans at random to train on more variety. A forked worker is a copy of your process, including
# the state of every generator, so two workers would draw the same numbers, and shift their digits in the same way.
#
# PyTorch prevents this for three generators: its own, Python's `random`, and NumPy's global one. When a worker starts,
# PyTorch seeds them, differently in each worker. It doesn't know about a generator that you keep in a variable, so you
# have to seed that yourself, with two tools:
#
# - `get_worker_info()` returns a worker's `id`, `num_workers`, `seed`, and its copy of the `dataset`. In your program,
#   it returns None.
# - `DataLoader(worker_init_fn=f)` calls `f(worker_id)` once in each worker, before its first sample.
#
# `seed_own` below uses both.

# %% predict: same_numbers
# **Predict.** Two datasets draw a number for each sample: one from `np.random`, and one from its own
# `np.random.default_rng(0)`, without `seed_own`. With two workers and batches of one, in which dataset do samples 0 and
# 1 get the same number?
#
# - [ ] in neither
# - [ ] in the one with `np.random`
# - [x] in the one with its own generator
#


# %% example
class Drawing(Dataset):
    def __init__(self, own):
        self.generator = np.random.default_rng(0) if own else None

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return int(self.generator.integers(1000)) if self.generator else int(np.random.randint(1000))


def seed_own(worker_id):
    info = get_worker_info()
    info.dataset.generator = np.random.default_rng(info.seed)


def drawn(data, **options):
    loader = DataLoader(data, generator=torch.Generator().manual_seed(0), **options)
    return [[batch.item() for batch in loader] for _ in range(2)]  # two epochs


print("np.random        ", *drawn(Drawing(own=False), **two_workers))
print("its own generator", *drawn(Drawing(own=True), **two_workers))
if forked:
    print("and seeded       ", *drawn(Drawing(own=True), worker_init_fn=seed_own, **two_workers))

# %% [markdown]
# The dataset with its own generator returned 850, 850, 636, 636, and the same again in the second epoch, because each
# epoch's workers start with new copies of a generator that your program never used. With `seed_own`, the numbers
# differ. To reproduce a run, pass `DataLoader(generator=...)`, which determines the order of the samples and the
# workers' seeds, and the same `num_workers` and `persistent_workers`, which determine who reads what.
#
# It's simpler to keep no generator at all. If a scan's shift depends only on a seed, the epoch, and the scan's index,
# it doesn't matter which process reads it, or when.
#
# ### Your turn: ShiftedScans
# Write a dataset that shifts the scans of another one in this way.

# %% given
hint(
    "What does a shift depend on? In which method do you know all of it?",
    "Which pixels does a window on the scan show if it's one row further up, and what does it show beyond the edge?",
    "nn.functional.pad(scan, (1, 1, 1, 1), value=-1.0) puts a frame around the scan. A window that starts at row "
    "1 - down and column 1 - right is the shifted scan.",
)

# %% exercise: ShiftedScans points=2 level=medium

# %% [markdown]
# The next cell compares the scans that two workers read with those that your program reads. Do they agree in both
# epochs if the workers persist?

# %% scratch
try:
    shifted = ShiftedScans([folders[i] for i in range(100)], seed=0)
    for persistent in (False, True) if forked else (False,):
        loader = load(shifted, batch_size=10, persistent_workers=persistent, **two_workers)
        for epoch in range(2):
            shifted.epoch = epoch
            read_here = torch.stack([shifted[i][0] for i in range(100)])
            is_same = torch.equal(torch.cat([x for x, _ in loader]), read_here)
            print(f"persistent_workers={persistent}, epoch {epoch}: the same: {is_same}")
except Exception as error:
    print("This cell needs a working ShiftedScans:", repr(error))

# %% answer [markdown]
# Not in epoch 1: with `persistent_workers=True`, the workers keep the copies that they started with, in which `epoch`
# is still 0. So let new workers start in each epoch, or keep the epoch in memory that all processes see: set
# `self.epoch = torch.tensor(0).share_memory_()`, read it with `int(self.epoch)`, and change it in place with
# `shifted.epoch.fill_(epoch)`. An assignment would replace it only in your own copy.

# %% [markdown]
# ## A dataset without an index
#
# If scans keep arriving from a scanner, no one can ask for number 1,000 yet. Like messages from a queue or lines in a
# 2 TB file, they have no index. An `IterableDataset` has `__iter__` instead of `data[i]`, and there's no sampler:
# samples arrive in the order in which `__iter__` yields them, and `shuffle=True` is rejected. With `num_workers=2`, an
# epoch suddenly has twice as many samples as the file has lines.

# %% predict: twice answer=12
# **Predict.** An `IterableDataset` yields six items, and a `DataLoader` reads it with two workers. How many items
# arrive?
#


# %% example
class Stream(IterableDataset):
    def __iter__(self):
        info = get_worker_info()
        print("worker", info and info.id, "of", info and info.num_workers, flush=True)
        return iter(range(6))


print([item.item() for item in DataLoader(Stream(), batch_size=1, **two_workers)])

# %% [markdown]
# Each worker has a copy of the dataset, and each copy yields everything, so 12 items arrive. (Without workers, it's 6.)
# Dividing the work is the dataset's own job, and `get_worker_info()` says which worker this is and how many there are.
# That's further practice: `my_part`, at the end.
#
# ## A good place to stop
#
# Stop for the day if you like. When you come back, your variables may be gone: choose *Run > Run All Above Selected
# Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs the cells it needs.
#
# ## While the step runs
#
# Even when workers have a batch ready, a GPU may still have to wait: if the digit reader ran on a GPU, each batch would
# have to be copied there first. You'll launch that copy one step ahead.
#
# A *stream* is a queue of work for the GPU: your program *launches* work into it and continues immediately, and the GPU
# runs the work in order. An *event* is a mark that you put into a stream; the program, or another stream, can wait
# until the GPU reaches it.
#
# In this lab, which needs no GPU, a thread stands in for the stream that copies, and a `sleep` for the copy:
#
# | on a GPU | in this lab |
# |---|---|
# | a stream | `thread = ThreadPoolExecutor(max_workers=1)`, which runs what you submit in order |
# | launching a copy, `batch.to("cuda", non_blocking=True)` | `thread.submit(copy, batch)` |
# | an event after the copy | the *future* that `submit` returns |
# | waiting for it, `event.synchronize()` | `future.result()` |
#
# If copies have a stream of their own, copy 2 can run during step 1. But a loop that calls `loss.item()` waits for step
# 1 before it even launches copy 2. *Prefetching* launches copy 2 before step 1:
#
# ```text
# plain loop       copies   copy 1          copy 2          copy 3
#                  steps            step 1          step 2          step 3
#
# with prefetch    copies   copy 1  copy 2  copy 3
#                  steps            step 1  step 2  step 3
# ```
#
# To do this, an iterator reads a batch and launches its copy before it yields the previous batch.
#
# ### Your turn: prefetch
# Write the iterator; the batches and the function that launches their copies, `move`, are passed in. If you use
# `yield`, it's a *generator*: calling it returns an iterator. Its first line runs on the first `next()`, and at each
# `yield`, it pauses until the next one. Don't forget the end, when one batch is still waiting.

# %% given
hint(
    "Which variable holds the batch that's ready? In what order do your lines read, move, and yield?",
    "A list of at most one batch says whether one is ready, even if the batch is None.",
)

# %% exercise: prefetch points=3 level=medium

# %% [markdown]
# ### The digits, one batch ahead
#
# What does your `prefetch` gain? Below, the batches are in memory, and the copy is a `sleep` of 2 milliseconds. Run the
# cell, and then set `ahead` to True.

# %% scratch
ahead = False


def copy(batch):
    time.sleep(0.002)
    return batch


class Copied:
    """The batches of a loader, each copied by the thread."""

    def __init__(self, loader, ahead):
        self.loader, self.ahead = loader, ahead

    def __iter__(self):
        launch = partial(thread.submit, copy)
        futures = prefetch(self.loader, launch) if self.ahead else map(launch, self.loader)
        return (future.result() for future in futures)


with ThreadPoolExecutor(max_workers=1) as thread:
    train(Copied(list(load(folders, shuffle=True)), ahead), unseen)

# %% answer [markdown]
# | `ahead` | waits in our run | at least |
# |---|---|---|
# | False | 36 ms an epoch | 15 · 2 ms = 30 ms |
# | True | 4 ms an epoch | 1 · 2 ms = 2 ms |
#
# (If other programs keep your processor busy, both waits are longer, and the gain is hard to see.)
#
# With `prefetch`, batch 2 is copied during step 1, so only the first copy of an epoch has no step to hide it. That
# holds as long as a step takes longer than a copy; otherwise, the script waits for the difference.
#
# A thread hides waiting, as here, but not Python code, because in the usual build of Python, only one thread at a time
# runs that. So a worker is a process.

# %% [markdown]
# ## What you have to wait for
#
# If a GPU program prints the right numbers in some runs and garbage in others, look for a copy that it didn't wait for.
#
# A copy to or from the GPU can be launched, so that the call returns at once, under two conditions:
#
# - You ask for it with `to(..., non_blocking=True)`.
# - The tensor on the CPU side is in *pinned* memory, which the operating system isn't allowed to move.
#   `tensor.pin_memory()` and `DataLoader(pin_memory=True)` put tensors there.
#
# Then two things can go wrong.
#
# **Read too early.** `scores = result.to("cpu", non_blocking=True)` makes `scores` in pinned memory, and may return
# before the numbers have arrived there. `print(scores)` doesn't wait for them, because `scores` is a CPU tensor.
#
# **Written too early.** After `batch.to("cuda", non_blocking=True)` returns, the copy may still be reading the pinned
# buffer. If you write the next batch to that buffer, the GPU may get a mixture of the two. Until you've waited for a
# copy, it *may* be unfinished, however long ago you launched it. `event` is a `torch.cuda.Event()`. Which of these six
# lines are wrong?
#
# ```python
# buffer.copy_(first)                              # 1   buffer is pinned
# batch = buffer.to("cuda", non_blocking=True)     # 2
# event.record()                                   # 3   marks all work launched so far; nothing waits yet
# buffer.copy_(second)                             # 4
# event.synchronize()                              # 5   the program waits for the marked work
# buffer.copy_(third)                              # 6
# ```
#

# %% example
# A drawing, not a measurement: one way in which the six lines might run.
host = [(0, 2, "1 first", "lightsteelblue"), (2, 2.5, "2", "lightgrey"), (2.5, 3, "3", "lightgrey")]
host += [(3, 5, "4 second", "lightsteelblue"), (5, 7, "5 waits", "lightgrey"), (7, 9, "6 third", "lightsteelblue")]
device_lane = [(2.5, 6.6, "the copy reads buffer", "lightsteelblue"), (6.6, 7, "event", "orange")]
draw_lanes({"program": host, "stream": device_lane}, "time")

# %% answer [markdown]
# Only line 4: it writes while the copy launched in line 2 may still be reading, so the batch may end up as a mixture.
# In the picture, the two bars overlap in time. Line 6 is fine, because line 5 waits for the event, and the event marks
# the copy. Swap lines 4 and 5, and the program is correct. Now check your own loops in the same way.

# %% [markdown]
# With `DataLoader(pin_memory=True)`, no batch is written too early: each has its own pinned memory, and PyTorch doesn't
# reuse it while a copy is still reading it.
#
# PyTorch launches into the *current stream*, which is always the same one unless you choose another. Two more calls
# wait: `loss.item()` for the work launched into it so far, and `torch.cuda.synchronize()` for everything.
#
# On a GPU, your `prefetch` needs a second stream. In the stream that runs the steps, copy 2 would run before step 1 or
# after it, but never at the same time. Work in the copy's own stream runs after the copy, but work in any other stream
# has to wait for an event:
#
# ```python
# copies = torch.cuda.Stream()
#
# def move(batch):                                 # [x, y], pinned: DataLoader(pin_memory=True)
#     with torch.cuda.stream(copies):              # makes copies the current stream
#         moved, copied = [t.to("cuda", non_blocking=True) for t in batch], torch.cuda.Event()
#         copied.record()
#     return moved, copied
#
# for batch, copied in prefetch(loader, move):
#     steps = torch.cuda.current_stream()
#     steps.wait_event(copied)                     # work launched into steps from now on starts after the copies
#     for t in batch:
#         t.record_stream(steps)                   # a later copy can't reuse t's memory until the step is done
#     run_step(batch)
# ```
#
# Without `record_stream`, PyTorch knows only that `copies` used this memory. Once `batch` is deleted, PyTorch could
# give its memory to a later copy, which may run while the step is still reading. Without a GPU, read this code as a
# reference: what you need to remember is what has to wait for what.
#
# ## What the script gained
#
# The digits script still reads in one process. Do workers shorten its wait? And how do you find out, in any script,
# whether the loader is the bottleneck?
#
# First, train on the same batch again and again, which is always ready. The network learns little, but what remains is
# the time that the steps take, and no loader can beat that. If an epoch hardly gets faster, leave the loader alone. The
# last measurement avoids repeated reading: it loads all scans as one batch, so that each file is decoded only once, and
# keeps that batch.


# %% scratch
class Remote(TensorDataset):
    """Decoded scans that wait for a remote disk."""

    def __getitem__(self, index):
        time.sleep(0.0003)
        return super().__getitem__(index)


print("the same batch again and again:")
train([next(iter(load(folders)))] * 15, unseen)
(everything,) = load(folders, batch_size=len(folders))
for data in (folders, Remote(*everything)):
    for workers in (0, 1, 2) if forked else (0,):
        print(f"{type(data).__name__}, {workers} workers:")
        options = {**two_workers, "num_workers": workers, "persistent_workers": True} if workers else {}
        train(load(data, shuffle=True, **options), unseen)
print("decoded once, kept in a tensor:")
train(load(TensorDataset(*everything), shuffle=True), unseen)

# %% answer [markdown]
# | batches | right | an epoch | spent waiting |
# |---|---|---|---|
# | the same one, always ready | | 0.04 s | 0 s |
# | from ten folders, no workers | 98% | 0.21 s | 0.15 s |
# | the same, with one worker | 99% | 0.31 s | 0.14 s |
# | the same, with two workers | 99% | 0.28 s | 0.12 s |
# | from a remote disk, no workers | 98% | 0.74 s | 0.62 s |
# | the same, with one worker | 99% | 0.68 s | 0.58 s |
# | the same, with two workers | 99% | 0.38 s | 0.29 s |
# | decoded once, kept in a tensor | 98% | 0.06 s | 0.01 s |
#
# (Whether it's 98 or 99% depends on the order, by chance.) The loader is the bottleneck: without workers, most of an
# epoch is spent waiting.
#
# With a batch that's always ready, a step took s = 43 ms / 15 = 3 ms, and reading a batch from the folders took r = 147
# ms / 15 = 10 ms. By the rule, two workers on free cores would need about 15 · (10 + 2) / 2 ms = 0.09 s. Our machine
# has only two cores, and workers compete with the steps for them: they shortened the wait a little, and slowed the
# steps down more. A worker that's waiting for a disk frees its core for the training steps. In that case, r = 618 ms /
# 15 = 41 ms, the rule gives 15 · (41 + 2) / 2 ms = 0.32 s, and two workers came close. Readers that compute need cores;
# readers that wait don't.
#
# Decoding only once needs no extra cores, and it eliminated the wait. It only works if the decoded samples fit in
# memory. If they don't, decode them once into a file of numbers that's quick to read (`numpy.memmap`), and measure
# again.
#
# So measure before you add workers or prefetching: all they do is save time, and only if the script is waiting for its
# data. Mixing the classes in each batch, on the other hand, is a matter of correctness. Lab 7b shows how to see the
# wait in a profile.
#
# The script now gets its data in time, but you don't yet know how much memory a step takes.

# %% quiz: interview points=3
# ## Interview questions
#
#
# **Batches**
# - [x] With `shuffle=False`, a dataset that's sorted by class trains a network badly, without an error.
#   > Each batch has only one or two classes. The digit reader got 13% instead of 98%.
# - [ ] By default, `collate_fn` pads shorter samples with zeros.
#   > It stacks tensors, and raises a RuntimeError if their sizes differ.
# - [x] When `prefetch` yields batch 2 of 3, batch 3 has been read and moved.
#   > It's always one batch ahead, so a copy launched by `move` can run during the step with batch 2.
# - [ ] A dataset has to read all its files before the first batch.
#   > It only has to know how many there are. It opens a file when the sample is asked for.
#
# Hint: What does `collate_fn` do with a list of samples? In what order do the events of `prefetch` happen?
#
# **Workers**
# - [ ] By default, a fast worker's batch may arrive before one that was requested earlier.
#   > The order is the sampler's, unless you pass `in_order=False`.
# - [x] If a worker sets an attribute of its dataset, the program's dataset doesn't change.
#   > It's set in the worker's own copy.
# - [x] An `IterableDataset` that doesn't call `get_worker_info()` and has no `worker_init_fn` yields each item once for
#   each worker.
#   > Each copy yields everything.
# - [ ] With `persistent_workers=True`, a change to the dataset between two epochs reaches the workers.
#   > The workers keep the copies that they started with.
#
# Hint: What does a worker have a copy of, and when was that copy made?
#
# **Random numbers**
# - [x] In PyTorch 2, `np.random.rand()` in a dataset draws different numbers in different workers.
#   > PyTorch has seeded NumPy's global generator in each worker since version 1.9.
# - [x] If a dataset creates `np.random.default_rng(0)` in `__init__`, it draws the same numbers in all workers.
#   > Each worker has a copy of it in the same state.
# - [ ] `DataLoader(generator=...)` affects only the order of the samples.
#   > The workers' seeds are derived from it too.
# - [ ] With the same `generator` seed, a dataset draws the same numbers for each sample with one worker as with two.
#   > Each worker has its own seed, so it also matters which worker reads a sample.
#
# Hint: Which generators does PyTorch know about?
#
# **Copies**
# - [ ] You can safely read a CPU tensor as soon as `to("cpu", non_blocking=True)` has returned it.
#   > The copy may still be running, so the program has to wait for it.
# - [x] You may overwrite a pinned buffer once you've waited for an event recorded after its copy, in the same stream.
#   > By then, the copy has read it.
# - [ ] `event.record()` waits until the stream has reached that point.
#   > It marks the point; `event.synchronize()` waits.
# - [x] Work that's launched later on the copy's stream sees the copied data.
#   > Work in one stream runs in order.
#
# Hint: Which of the six lines waits, and which only marks a point?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague has sped up his training. His dataset crops images at random, with `self.rng = np.random.default_rng(0)`
# in `__init__`, and it now runs with eight workers instead of none. His own loop copies each batch into the same pinned
# buffer, calls `buffer.to("cuda", non_blocking=True)`, launches the step, and fills the buffer with the next batch.
# Training is much faster and ends without an error, but the accuracy is a little worse than before.
#
# In four to eight sentences: which two things are wrong, and why does neither raise an error? How would you make each
# of them show up in a small experiment, and what would you change?

# %% question: faster_and_worse [markdown] points=2
# ### BEGIN SOLUTION
# First, each of the eight workers has a copy of the dataset, including a copy of the generator in the same state. So
# eight samples get the same crop, and the crops start over in each epoch, unless the workers persist. PyTorch seeds
# only the generators that it knows about. To show it, I'd print the numbers that the dataset draws, for two workers and
# two epochs. The fix is to seed the generator in `worker_init_fn` from `get_worker_info().seed`, or to make a new one
# for each sample, from the seed, the epoch, and the index. Second, the buffer is overwritten while the previous batch's
# copy may still be reading it, so some batches are a mixture of two. Nothing checks that, because writing to CPU memory
# is always allowed. To show it, I'd fill each batch with its own number, copy the batches back after
# `torch.cuda.synchronize()`, and look for batches that contain two numbers. I'd record an event after the copy and
# synchronize it before overwriting the buffer, or alternate between two buffers with an event each, or leave it to
# `DataLoader(pin_memory=True)`.
#
# For grading: one point for the copied generator with an experiment or a fix, one for the buffer that's overwritten too
# early, with a wait as its fix.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - A dataset opens a file when its sample is asked for.
# - A sampler decides the order. Without shuffling, a sorted dataset gives batches of one class.
# - A worker has its own copies of the dataset, its counters, and its generators. Shifts drawn from (seed, epoch, index)
#   are the same in all of them.
# - Batches arrive in the sampler's order, however long a worker takes.
# - With enough free cores, or if reading is nothing but waiting, an epoch takes about batches · max(step, (read + send)
#   / workers). Decode only once, if you can.
# - Padding needs lengths: without them, no one can tell it from data.
# - An `IterableDataset` yields everything in each worker, unless it divides the work itself.
# - Prefetching reads and moves the next batch before it yields one. It hides a wait, not Python code.
# - A copy that you haven't waited for may be unfinished.
#
# Three questions to ask yourself:
#
# - Which process draws this random number, and from a copy of what?
# - How long does my script wait for each batch, and what could it do in the meantime?
# - Who is still reading this buffer, and how do I know when they're done?
#
# Lab 7 asks where the memory goes.
#
# ## Further practice: a dataset without an index, divided
#
# With two workers, `Stream` yielded each item twice.
#
# ### Your turn: my_part
# Write a function that divides up the items, even if they never end. You can use `yield`, as in `prefetch`.

# %% given
hint(
    "Of the items 0 to 8, which belong to worker 1 of 3? How many items may you read before you yield one?",
    "A function with a yield returns an iterator. enumerate supplies the numbers.",
)

# %% exercise: my_part points=2 level=easy further

# %% [markdown]
# If `Stream.__iter__` returns `my_part(range(6), get_worker_info())`, which batches arrive with two workers and
# `batch_size=2`? And what does this division cost if an item is a file that takes a second to read?

# %% answer [markdown]
# [0, 2], [1, 3], [4], [5]: batches are made within a worker, so each worker's last batch is incomplete. And each worker
# reads *all* items and drops the other workers' shares, so this saves no time. Instead, divide something cheap to read,
# such as file names, and read the contents afterward.

# %% [markdown]
# Distributed training (lab 11) runs several programs, one per GPU. Each has its own workers and a number, called its
# rank, and `get_worker_info()` knows nothing about the other programs, so every rank reads all items. To divide them
# among the workers of all ranks, number all of these workers, with
# `Worker(rank * num_workers + id, ranks * num_workers)`. Some of them then get one more item than others. Since ranks
# wait for each other at each step, a distributed dataset also drops the incomplete last round, or repeats items to fill
# it.

# %% [markdown]
# ## Further practice: a checker for copies
#
# Of the six lines in "What you have to wait for", you found the wrong one by hand. Write a function that finds it.
#
# ### Your turn: too_early
# Which of a program's reads and writes are too early?

# %% given
hint(
    "For each stream, which copies are done once its latest work is done? Which of them does record save, and when?",
    "A wait adds the work that the event marks to what must be done before the stream's later work.",
    "Keep one set of copies that the program knows are done. Which kinds of events add to it?",
)

# %% exercise: too_early points=4 level=hard further
