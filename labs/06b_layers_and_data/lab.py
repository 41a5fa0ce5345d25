# %% [markdown]
# # Layers you can trust, and data that arrives in time
#
# Most of a model is layers that somebody else wrote, and most of a training script is the path on which data comes.
# Both usually work at the first try. Then a batch is of another length, or two workers draw the same random numbers,
# and nothing says so. In this lab you learn what each part promises, and where its promise ends.
#
# After this lab you can
#
# - say what a layer makes of a shape, what it keeps, and what `eval()` changes in it;
# - run a long sequence in pieces, and find the last step of a padded one;
# - find the first layer that gives a number which is not finite;
# - give values to a model that was built without any;
# - say which process reads which sample, with which random numbers;
# - prepare a batch while a step runs, and say what must be waited for.
#
# You need lab 6, and two sittings of about an hour. All numbers were measured with PyTorch 2.13 on a CPU, with one
# thread. We had no GPU: statements about GPUs follow PyTorch's documentation.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

# %% given
import itertools
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    device,
    explain,
    probes,
)

# %% [markdown]
# ## What a layer promises
#
# Three questions are worth asking of each layer, before you use it.
#
# - *Which shape comes in, and which goes out?* Which dimension is the batch, and which one are the features?
# - *What does it keep?* Parameters, buffers, or nothing.
# - *What does `eval()` change?* For some layers everything, for most of them nothing.
#
# The next cell asks ten layers. It builds each, calls it once in training mode and once in evaluation mode, and prints
# what came out. A letter is the same number wherever it stands: N samples, T steps, C channels, F features.

# %% predict: train_and_eval
# **Predict.** Which of these give other values in evaluation mode than in training mode?
#
# - [x] `nn.BatchNorm2d`
# - [ ] `nn.LayerNorm`
# - [x] `nn.Dropout`
# - [ ] `nn.MaxPool2d`
# - [ ] `nn.Embedding`

# %% example
torch.manual_seed(0)
images, steps = torch.randn(2, 3, 9, 7), torch.randn(2, 5, 4)  # (N, C, height, width) and (N, T, F)
contracts = {
    "Linear(4, 6)": (nn.Linear(4, 6), steps),
    "Conv2d(3, 8, 3, stride=2, padding=1)": (nn.Conv2d(3, 8, 3, stride=2, padding=1), images),
    "ConvTranspose2d(3, 8, 3, stride=2)": (nn.ConvTranspose2d(3, 8, 3, stride=2), images),
    "MaxPool2d(2)": (nn.MaxPool2d(2), images),
    "BatchNorm2d(3)": (nn.BatchNorm2d(3), images),
    "LayerNorm(4)": (nn.LayerNorm(4), steps),
    "Dropout(0.5)": (nn.Dropout(0.5), steps),
    "Embedding(10, 6, padding_idx=0)": (nn.Embedding(10, 6, padding_idx=0), torch.tensor([[3, 1, 0]])),
    "LSTM(4, 6, batch_first=True)": (nn.LSTM(4, 6, batch_first=True), steps),
    "MultiheadAttention(4, 2, batch_first=True)": (nn.MultiheadAttention(4, 2, batch_first=True), steps),
}


def called(layer, x):
    """The first output of the layer, which is the only one for most."""
    out = layer(x, x, x) if isinstance(layer, nn.MultiheadAttention) else layer(x)
    return out[0] if isinstance(out, tuple) else out


for name, (layer, x) in contracts.items():
    training, evaluating = called(layer.train(), x), called(layer.eval(), x)
    kept = f"{len(list(layer.parameters()))} parameters, {len(list(layer.buffers()))} buffers"
    changed = "" if torch.equal(training, evaluating) else "   eval() changes it"
    print(f"{name:43} {tuple(x.shape)!s:13} -> {tuple(training.shape)!s:13} {kept}{changed}")

# %% [markdown]
# Read the table by columns.
#
# *Shapes.* `Linear`, `LayerNorm` and `Embedding` care for the last dimension only, or add one. All before it is batch.
# Convolutions, pooling and `BatchNorm2d` want channels second. `LSTM` and `MultiheadAttention` want steps first, (T, N,
# F), unless they are built with `batch_first=True`. Without it, a tensor (N, T, F) fits as well. Nothing complains: the
# layer takes samples for steps, and mixes them.
#
# *What it keeps.* Of the ten, only batch norm has buffers: a running mean, a running variance, and the number of
# batches that it has seen. They change in each forward pass in training mode, also under `torch.no_grad()`. `LayerNorm`
# keeps none: it takes its mean over the features of one sample.
#
# *What `eval()` changes.* Two layers of ten. Batch norm takes the running values in place of the batch's. Dropout does
# nothing any more. `nn.LSTM` and `nn.MultiheadAttention` have a `dropout` of their own, which is 0 unless you ask for
# it. And there are more such layers: `nn.RReLU`, `nn.AlphaDropout`, or `nn.InstanceNorm2d` with
# `track_running_stats=True`. If a layer is new to you, try both modes.
#
# ### How many values does a convolution give?
#
# A convolution moves a window along the input. Its weights are called taps: a kernel of 3 has three. Four settings
# decide how many windows there are.
#
# - `padding`: so many zeros are added at *both* ends.
# - `dilation`: the taps stand so far apart. With 1 they are neighbours. With 2 a kernel of 3 reaches over 5 places.
# - `stride`: from one window to the next. A window that would reach beyond the end is left out.
# - `groups`: has no say in the size. It cuts the channels into groups that do not see each other, so that each output
#   channel reads `in_channels / groups` of them. Both numbers of channels must be divisible by it.
#
# ### Your turn: out_size
# Count the windows. This is a warm-up of about ten minutes. Height and width of an image are counted alike, each with
# its own settings.

# %% given
hint(
    "Draw the places with their padding. Where does the first window begin? And at which place the last one?",
    "k taps, d apart, reach over d * (k - 1) + 1 places. How many strides fit into the places that are left?",
)

# %% exercise: out_size points=2

# %% [markdown]
# Pooling counts in the same way, with a stride that is as large as the kernel unless you say otherwise. A transposed
# convolution goes the other way round: it gives a size from which the convolution would make its input. With a stride
# above 1 there are several such sizes. In our run, 9 and 10 became 5 with a kernel of 3, stride 2 and padding 1. So
# from 5 the transposed one makes 9, and 10 with `output_padding=1`.
#
# ## A state that goes along
#
# An LSTM reads a sequence step by step. What it remembers is its *state*: two tensors, h and c. h is also the output of
# the step. For a new sequence both begin as zeros. The next LSTM has two layers, and reads in both directions.

# %% predict: state_shape
# **Predict.** The input is (N, T, F) = (3, 5, 4), and `batch_first=True`. The hidden size is 6. Which shape has h?
#
# - [ ] (3, 4, 6): the batch comes first
# - [x] (4, 3, 6): two layers times two directions, then the batch
# - [ ] (2, 3, 12): the layers, and both directions side by side

# %% example
torch.manual_seed(0)
reader = nn.LSTM(4, 6, num_layers=2, bidirectional=True, batch_first=True)
outputs, (h, c) = reader(torch.randn(3, 5, 4))
print("outputs", tuple(outputs.shape), "  h", tuple(h.shape), "  c", tuple(c.shape))
forward_half, backward_half = outputs[..., :6], outputs[..., 6:]
print("h[2] is the last forward output: ", torch.equal(h[2], forward_half[:, -1]))
print("h[3] is the last backward output:", torch.equal(h[3], backward_half[:, -1]))
print("h[3] is the first backward output:", torch.equal(h[3], backward_half[:, 0]))

# %% [markdown]
# `batch_first` moves the axes of the input and of the output. It does not move those of the state: that is (layers
# times directions, N, hidden) always. And the backward half ends at the first step. There it has read everything. At
# the last step it has read one.
#
# Now a sequence of 10,000 steps. The graph of one forward pass over all of them does not fit into memory. So you run it
# in pieces: the first 100 steps, a backward pass, the next 100, and so on. The state goes along, so that each piece
# begins where the last one ended. What happens at the second backward pass?

# %% example
torch.manual_seed(0)
cell = nn.LSTM(3, 5, batch_first=True)
sgd = torch.optim.SGD(cell.parameters(), lr=0.1)
state = (torch.zeros(1, 2, 5), torch.zeros(1, 2, 5))
try:
    for number, piece in enumerate(torch.randn(2, 12, 3).split(4, dim=1)):
        out, state = cell(piece, state)
        sgd.zero_grad()
        out.square().mean().backward()
        sgd.step()
        print("piece", number, "is done")
except RuntimeError as error:
    print("piece", number, "->", str(error)[:66])

# %% [markdown]
# The state of the second piece has a history: the graph of the first one, which backward has freed. The state is to go
# on as a value, and its history is to end. That is what `detach()` does. Both h and c need it. (`retain_graph=True` is
# no cure: then the graph grows with each piece, and the weights in it have been changed in place.)
#
# ### Your turn: attend_next
# Write the forward part. The values must be those of one long run.

# %% given
hint(
    "What do you call the LSTM with in the first round, and in the others? Along which dimension is x split?",
    "Keep the state in a variable. After each call, put (h.detach(), c.detach()) there, and the output into a list.",
)

# %% exercise: attend_next points=3 level=medium

# %% [markdown]
# ### Your turn: apply_norm
# x

# %% exercise: apply_norm points=3 level=medium

# %% [markdown]
# In our run the largest difference from one long run was 0. Where each piece began with zeros, it was 0.4.
#
# ### Where does a sequence end?
#
# Sequences of different lengths become one tensor by *padding*: the short ones are filled up at their end. An LSTM does
# not know that. It reads the padding as well, and goes on changing its state. So `outputs[:, -1]`, and h too, are for
# most samples the state after so many steps of padding.
#
# A forward LSTM does not look ahead. So its output at step `lengths[n] - 1` is what it would have been without padding.
# You only have to pick it. The backward half of a bidirectional LSTM does read the padding first: there, use
# `nn.utils.rnn.pack_padded_sequence`, which tells the lengths to the LSTM. It takes no length of 0.
#
# ### Your turn: last_states
# Pick that output for every sample of a batch at once. A sequence may be empty: it has no last step.

# %% given
hint(
    "One index for each sample: with which two index tensors do you pick one step from each row?",
    "For a length of 0 no step is right. What if a step of zeros stood in front of all others?",
)

# %% exercise: last_states points=3

# %% [markdown]
# ## A row that does not learn
#
# `nn.Embedding(10, 6, padding_idx=0)` gives for each index a row of its table. Row 0 is for padding. What does
# PyTorch promise about it? Less than it seems.

# %% predict: padding_row
# **Predict.** Which are true of row 0 of an `nn.Embedding` with `padding_idx=0`?
#
# - [x] it is zero when the layer is built
# - [x] a lookup gives it no gradient
# - [ ] it is zero, whatever you do to the table

# %% example
torch.manual_seed(0)
table = nn.Embedding(4, 2, padding_idx=0)
print("at the start     ", table.weight[0].tolist())
(gradient,) = torch.autograd.grad(table(torch.tensor([0, 1, 0])).sum(), table.weight)
print("its gradient     ", gradient[0].tolist(), " that of row 1", gradient[1].tolist())
nn.init.normal_(table.weight)
print("after an init    ", table.weight[0].tolist())
loaded = nn.Embedding(4, 2, padding_idx=0)
loaded.load_state_dict(table.state_dict())
print("after loading    ", loaded.weight[0].tolist())
logits = table(torch.tensor([0, 1])) @ table.weight.T
print("as output weights", torch.autograd.grad(logits.sum(), table.weight)[0][0].tolist())

# %% [markdown]
# Row 0 is zero at the start, and the lookup gives it no gradient. That is all. An init writes over it, and so does
# loading. With weight decay it becomes smaller, although its gradient is zero. And where the table is also used as the
# weights of the last layer, as in many language models, row 0 gets a gradient from there. Whoever needs zeros writes
# them after the init, under `no_grad`: `table.weight[0].zero_()`.
#
# ## Looking inside
#
# A loss becomes `nan`. Which layer was it? A forward pass is ordinary Python, so there are ordinary ways to look.
#
# - `print(x.shape, x.isfinite().all())` between two lines of `forward`.
# - `breakpoint()` there: Python stops in `pdb`, its debugger, and you type. `p x.shape` prints, `n` goes on by a line,
#   `c` to the end. After an error, `%debug` in the next cell goes to where it was raised. At Python's own prompt,
#   `import pdb; pdb.pm()` does. (`pdb.post_mortem()` without a traceback works inside `except` only.)
# - A *forward hook*, for modules that you did not write: a function that PyTorch calls after each forward pass of a
#   module, with the module, its inputs and its output. It stays until you call `remove()` of what the registration
#   returned.
#
# All three work as long as the model is not compiled: `print` in a compiled model breaks its graph (lab 10).

# %% example
torch.manual_seed(0)
network = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))


def show(module, inputs, output):
    print(f"{type(module).__name__:10} gives {tuple(output.shape)}, finite: {output.isfinite().all().item()}")


handles = [module.register_forward_hook(show) for module in network]
try:
    network(torch.tensor([[1.0, 2.0, torch.inf]]))
finally:
    for handle in handles:
        handle.remove()

# %% [markdown]
# `torch.isfinite` is False for inf, -inf and nan. The inf came with the input, and from the first layer on nothing was
# finite. One bad number makes many, so the question is for the *first* layer only.
#
# In which order do you ask? The one in which modules are defined says nothing: they run as `forward` says. A hook runs
# when its module ends. So a block comes behind its parts, and the model is last.
#
# ### Your turn: first_bad
# Write the tool. Keep it: it is one of the most useful of this lab.

# %% given
hint(
    "Which modules get a hook? What does the hook need to know of its module, to tell its name?",
    "An output may be a tuple with a tuple in it, as an LSTM's is. Let a small function call itself for the parts.",
    "Which lines must run also where model(x) raises? try and finally.",
)

# %% exercise: first_bad points=3

# %% [markdown]
# ## A model without values
#
# A model of 10 billion weights in float32 is 40 GB, and is filled with random numbers when it is built, which a
# checkpoint then writes over. On the *meta* device a tensor has a shape, a dtype and no memory. A model that is built
# there costs nothing:
#
# ```python
# with torch.device("meta"):
#     model = Network()
# model.load_state_dict(state)               # copies into tensors without memory: nothing happens
# model.load_state_dict(state, assign=True)  # puts the tensors of state in the place of its own
# ```
#
# The first of the two warns, for each tensor. With `assign=True` the model's parameters *are* the tensors of `state`
# afterwards. What follows from that?

# %% example
source = nn.Linear(3, 2).double()
with torch.device("meta"):
    empty = nn.Linear(3, 2)
empty.weight.requires_grad_(False)
old_weight, early = empty.weight, torch.optim.SGD(empty.parameters(), lr=0.1)
empty.load_state_dict(source.state_dict(), assign=True)
print("dtype", empty.weight.dtype, " requires grad", empty.weight.requires_grad, empty.bias.requires_grad)
print("the same parameter as before", empty.weight is old_weight)
print("memory of the source", empty.weight.data_ptr() == source.weight.data_ptr())
print("an optimizer from before has", early.param_groups[0]["params"][0].device)

# %% [markdown]
# - Dtype and device are those of the loaded tensors. Without `assign` they would be those of the model.
# - `requires_grad` stays as the model had it.
# - The parameters are new objects. An optimizer that was made before holds the old ones: it goes on without an error,
#   and moves nothing. Make it afterwards.
# - The memory is that of `state`. If that came from a model that is still there, both train on one memory. Copy first.
# - Two names for one parameter (tied weights) become two parameters, which still share their memory. Tie them again.
# - What `state_dict()` does not hold stays on meta: buffers with `persistent=False`. The next forward pass says "Tensor
#   on device meta is not on the expected device cpu!".
#
# ### Your turn: materialize
# Build a model on meta, and load it: with a copy of everything, and nothing left behind.

# %% given
hint(
    "Which of the names does load_state_dict know? Which ones are left, and to which module do they belong?",
    "'norm.scale' is the attribute scale of the module norm: model.get_submodule('norm'). For 'table' it is the model, "
    "get_submodule('').",
)

# %% exercise: materialize points=3

# %% [markdown]
# ## A good place to stop
#
# You know what layers promise, and how to look into them. What comes next is the other half: how batches arrive. After
# a break Python has forgotten everything. Choose *Run > Run All Above Selected Cell*, or press *Check*, which runs what
# it needs.

# %% [markdown]
# ## Who reads the samples?
#
# A *dataset* answers two questions: how many samples there are, `len(data)`, and which one is at an index, `data[i]`. A
# *sampler* gives the order of the indices. A `DataLoader` takes them in groups, asks the dataset for each sample, and
# makes a batch of a group with `collate_fn`. Unless you pass another one, that stacks tensors, and makes tensors of
# numbers.
#
# With `num_workers=2` two other processes do that. A *worker* is a process with a **copy** of the dataset. What it
# writes into its copy stays there. The next dataset counts how often it is asked, and its first sample takes long.

# %% predict: order_and_count
# **Predict.** With two workers, and a first sample that takes longest: in which order do the batches come, and what is
# `data.asked` in your program afterwards?
#
# - [ ] 0 comes last, and `asked` is 6
# - [ ] 0 comes first, and `asked` is 6
# - [x] 0 comes first, and `asked` is 0


# %% example
# Workers are forked on Linux. Elsewhere this notebook does without them, for a reason that comes below.
forked = "fork" in multiprocessing.get_all_start_methods() and sys.platform == "linux"
two_workers: dict[str, Any] = {"num_workers": 2, "multiprocessing_context": "fork"} if forked else {}


class Slow(Dataset):
    def __init__(self):
        self.asked = 0

    def __len__(self):
        return 6

    def __getitem__(self, index):
        self.asked += 1
        if index == 0:
            time.sleep(0.2)
        return index, self.asked, os.getpid()


data = Slow()
for index, asked, process in DataLoader(data, batch_size=1, **two_workers):
    print(f"sample {index.item()}, number {asked.item()} of process {process.item()}")
print("asked in this process:", data.asked)

# %% [markdown]
# The order is the sampler's. Batch 1 was ready long before batch 0, and had to wait for it. (`in_order=False` gives up
# that promise.) Batches go to the workers in turn, so each has every second one. And the copies have counted to 3 each,
# while your own dataset has never been asked. A cache that a worker fills is empty in the program, and in the other
# worker too.
#
# - `prefetch_factor`: how many batches are asked of each worker in advance, 2 by default. In our run two workers had
#   read 4 batches before the first one was taken.
# - `persistent_workers=True`: the workers live on from epoch to epoch. Without it each epoch starts new ones, with a
#   copy of the dataset as it is then. With it they keep their copies: what you change in the dataset after the first
#   epoch does not arrive.
# - An exception in a worker arrives in the program at the place of its batch, with the worker's traceback as its
#   message. It has the same type if that type can be made of a message alone, and is a RuntimeError otherwise.
#
# A process is made in one of two ways. On Linux a *fork* copies your process, with all that the notebook has defined.
# macOS and Windows *spawn* a new Python, which imports what it needs. It cannot import a notebook: there, put the
# dataset's class into a file of its own and import it, and in a script start the training below
# `if __name__ == "__main__":`. (From Python 3.14 on, Linux does not fork by default either.)
#
# ## Samples of different lengths
#
# The default `collate_fn` stacks. With tensors of 2 and 3 steps it raises a RuntimeError: "stack expects each tensor to
# be equal size". So you write your own. It gets the samples of a batch as a list. What it returns is the batch.
#
# ### Your turn: pad_collate
# Pad. With the lengths, your last_states finds its way back.

# %% given
hint(
    "Which shape has the result, and what is in it before you write the first sequence?",
    "new_full makes a tensor of a sequence's dtype and device. Or look for pad_sequence in the documentation.",
)

# %% exercise: pad_collate points=2

# %% [markdown]
# (`DataLoader` calls `collate_fn(samples)`. For the second argument, `functools.partial(pad_collate, fill=0.0)` will
# do.)
#
# ## Whose random numbers?
#
# A dataset that turns or crops images draws random numbers. Where does a forked worker have its numbers from? It is a
# copy of your process, so the state of each generator is copied too. Two workers then draw the same.
#
# PyTorch looks after three of them. In each worker it seeds its own generator, Python's `random`, and NumPy's global
# one, with a seed that differs by worker and by epoch. For NumPy it does so since version 1.9 of 2021. Older texts warn
# of equal crops in all workers, and for `np.random.rand` that is over. But the bug has only moved. Look at this.


# %% predict: same_numbers
# **Predict.** Two datasets draw a number for each sample: one from `np.random`, one from a `np.random.default_rng(0)`
# of its own. Two workers, batches of one. In which of them do samples 0 and 1 get the same number?
#
# - [ ] in none
# - [ ] in the one with `np.random`
# - [x] in the one with a generator of its own


# %% example
class Drawing(Dataset):
    def __init__(self, own):
        self.generator = np.random.default_rng(0) if own else None

    def __len__(self):
        return 4

    def __getitem__(self, index):
        return int(self.generator.integers(1000)) if self.generator else int(np.random.randint(1000))


def seed_own(worker_id):
    info = get_worker_info()  # of this process: id, num_workers, seed, and its copy of the dataset
    info.dataset.generator = np.random.default_rng(info.seed)


def drawn(data, **options):
    loader = DataLoader(data, generator=torch.Generator().manual_seed(0), **options)
    return [[batch.item() for batch in loader] for _ in range(2)]  # two epochs


print("np.random        ", *drawn(Drawing(own=False), **two_workers))
print("its own generator", *drawn(Drawing(own=True), **two_workers))
if forked:
    print("and seeded       ", *drawn(Drawing(own=True), worker_init_fn=seed_own, **two_workers))

# %% [markdown]
# In our run the dataset with a generator of its own gave 850, 850, 636, 636, and the same again in the second epoch:
# each epoch's workers are new copies of a generator that your program never used. A generator that you hold in a
# variable is nobody's but yours. `worker_init_fn` runs in each worker before its first sample. There you seed what
# PyTorch does not know, from `info.seed`.
#
# The same function is where the old bug comes back: a `worker_init_fn` that calls `np.random.seed(0)` makes all workers
# equal again. And `DataLoader(generator=...)` fixes two things for a run that is to be repeated: the order of the
# samples, and the seed from which the workers' seeds are made.
#
# ## A dataset without an index
#
# Lines of a file of 2 TB, or messages as they come, have no index. An `IterableDataset` has `__iter__` in place of
# `data[i]`. There is no sampler: the order is that of the data, and `shuffle=True` is refused. What do two workers do
# with it?

# %% predict: twice answer=12
# **Predict.** An `IterableDataset` yields six items. A `DataLoader` reads it with two workers. How many items arrive?


# %% example
class Stream(IterableDataset):
    def __init__(self, split):
        self.split = split

    def __iter__(self):
        info = get_worker_info()  # None in a process that is no worker
        if self.split and info is not None:
            return itertools.islice(range(6), info.id, None, info.num_workers)
        return iter(range(6))


for split in (False, True):
    print("split:", split, [item.item() for item in DataLoader(Stream(split), batch_size=1, **two_workers)])

# %% [markdown]
# Each worker has a copy of the dataset, and each copy yields all. Nobody told them that they are two. That is the
# dataset's own business: `get_worker_info()` says which worker this is, and of how many.
#
# ### Your turn: my_part
# Write the division, for items without an end. (In the example, `islice` has done it already. Write it in your own way
# if you like, or with islice: then mind the case without a worker.)

# %% given
hint(
    "Which numbers do the items of worker 1 of 3 have? Which of them may you read before you hand one out?",
    "A function with a yield is an iterator. enumerate gives the numbers.",
)

# %% exercise: my_part points=2

# %% [markdown]
# ## While the step runs
#
# Workers read ahead. There is one more thing to do ahead: the copy to the device. Without help a training loop does one
# after the other: read a batch, copy it, compute, read the next. A GPU has nothing to do during the first two.
#
# Your program does not compute on a GPU. It *launches*: it puts work into a queue and goes on at once (lab 7b shows
# it). So after the step is launched the program has time. It can fetch the next batch and start its copy. That is a
# *prefetching* iterator: when it hands out batch 1, batch 2 is already on its way.
#
# Think of the order of the events. `read 1, copy 1, read 2, copy 2`, then the loop gets batch 1 and launches its step.
# Then `read 3, copy 3`, and it gets batch 2.
#
# ### Your turn: prefetch
# Write the iterator. What reads and what copies is passed in. Mind three places: the end, where one batch is still
# waiting; an exception, which must not overtake a batch; and a caller who stops early.

# %% given
hint(
    "Which variable holds the batch that is ready? In which order do your lines read, move and yield?",
    "Where reading fails, note the exception, hand out what is ready, and raise it then.",
    "try and finally around everything: a generator's finally runs at its end, at an exception, and at close().",
)

# %% exercise: prefetch points=4

# %% [markdown]
# ## What must be waited for
#
# A copy between the memory of your program (*host*) and that of a GPU (*device*) is work in a queue as well, if two
# things hold. You ask for it, with `to(..., non_blocking=True)`. And the host's side lies in *pinned* memory, which the
# operating system may not move. `DataLoader(pin_memory=True)` puts batches there, and `tensor.pin_memory()` one tensor.
# Without a GPU the first warns and does nothing, and the second raises a RuntimeError.
#
# A call that comes back before its work is done leaves two traps.
#
# **Read too early.** `scores = result.to("cpu", non_blocking=True)` gives a tensor at once, in pinned memory that
# PyTorch takes for it. The numbers may not be there yet. `print(scores)` does not wait: it is a tensor of the CPU. Some
# runs print the right numbers.
#
# **Written too early.** `batch.to("cuda", non_blocking=True)` still reads the pinned buffer when the call is back. If
# you write the next batch into the same buffer, the device may get a mixture of both.
#
# A *stream* is a queue of work for the device, which runs in order. So in one stream nothing is to do: what is launched
# after the copy finds the batch. Two streams know nothing of each other. For them, and for the program, there are
# *events*. An event is recorded in a stream: it stands for all that was put there before. Three calls wait.
#
# ```python
# event = torch.cuda.Event()
# event.record(stream)        # mark this place of the stream; nobody waits yet
# other.wait_event(event)     # what is launched into other from now on begins after it
# event.synchronize()         # the program waits for it
# torch.cuda.synchronize()    # the program waits for everything
# ```
#
# Seconds do not come into this. Whether a program is right depends on the order alone: a copy that was not waited for
# *may* not be done, however long ago it was. Here are six lines. Which are wrong?
#
# ```python
# buffer.copy_(first)                              # 1   buffer is pinned
# batch = buffer.to("cuda", non_blocking=True)     # 2
# event.record()                                   # 3
# buffer.copy_(second)                             # 4
# event.synchronize()                              # 5
# buffer.copy_(third)                              # 6
# ```
#
# Line 4 writes while the copy of line 2 may still read. Line 6 comes after a wait for it, and is right.
#
# ### Your turn: too_early
# Write a judge for such programs: which reads and writes of the host come too early?

# %% given
hint(
    "For each stream: which copies are done, if its last work is done? What does a record take of that, and when?",
    "A wait adds what the event stands for to what is done when the stream's later work is done.",
    "Keep one set of copies that the program knows to be done. Which kinds of events make it larger?",
)

# %% exercise: too_early points=4

# %% [markdown]
# Run your judge over your own loop, in your head. A loop that launches with `non_blocking=True` and reads the loss with
# `.item()` is right: `.item()` waits. `DataLoader(pin_memory=True)` is right too: each batch has pinned memory of its
# own, and PyTorch keeps that from being used again as long as a copy reads it. The traps are in buffers that you manage
# yourself, and in results that you fetch.

# %% quiz: interview points=3
# ## Interview questions
#
# **Layers**
# - [x] Under `torch.no_grad()`, a batch norm in training mode still changes its buffers.
#   > The mode decides, and not recording. Evaluation needs `eval()`.
# - [ ] `nn.LayerNorm` needs `eval()` to give the same for one sample as for a batch.
#   > It takes mean and variance over the features of each sample, in both modes.
# - [x] An `nn.LSTM` without `batch_first=True` takes (N, T, F) without an error.
#   > It reads the first dimension as steps. Any (N, T, F) has a shape that fits.
# - [ ] `padding_idx` keeps its row at zero, whatever is loaded into the table.
#   > The lookup gives the row no gradient. Loading and inits write over it.
#
# Hint: Which of these did the table of contracts show, and which the embedding?
#
# **An LSTM's state**
# - [ ] With `batch_first=True` the state is (N, layers, hidden).
#   > It is (layers times directions, N, hidden), whatever `batch_first` says.
# - [x] A state that goes on to the next piece is detached, so that backward stops there.
#   > Its value goes on. Its history is the graph of the piece before, which is freed.
# - [x] For padded sequences, h is not the state after each one's last step.
#   > It is the state after the padding. The lengths say where the real last step is.
# - [ ] The backward half of the output at the last step has read the whole sequence.
#   > It begins at the last step. At the first step it has read everything.
#
# Hint: What were the three lines that the bidirectional LSTM printed?
#
# **`assign=True`**
# - [x] The parameters have the dtype of the loaded tensors.
#   > They are put in place. Without it, values are copied into the model's own dtype.
# - [ ] An optimizer that was made before trains the new parameters.
#   > It holds the old ones, and moves nothing that the model uses.
# - [x] A buffer with `persistent=False` is on meta afterwards.
#   > `state_dict()` does not hold it, so nothing is put in its place.
# - [ ] All parameters require grad afterwards.
#   > Each does as the model's own did before.
#
# Hint: What did your materialize have to do beyond one call?
#
# **Workers**
# - [ ] A fast worker's batch may come before one that was asked for earlier.
#   > The order is the sampler's, unless `in_order=False`.
# - [x] What a worker writes into the dataset is not seen in the program.
#   > It writes into its copy.
# - [x] An `IterableDataset` that does not ask `get_worker_info()` gives each item once for each worker.
#   > Each copy yields everything.
# - [ ] With `persistent_workers=True` a change of the dataset between two epochs arrives in the workers.
#   > They keep the copies that they began with.
#
# Hint: What is a worker a copy of, and since when?
#
# **Random numbers**
# - [x] `np.random.rand()` in a dataset differs between workers in PyTorch 2.
#   > PyTorch seeds NumPy's global generator in each worker, since 1.9.
# - [x] A `np.random.default_rng(0)` that is made in `__init__` draws the same in all workers.
#   > Each worker has a copy of it, in the same state.
# - [ ] `DataLoader(generator=...)` has to do with the order of the samples only.
#   > The workers' seeds are made from it as well.
#
# Hint: Which generators does PyTorch know?
#
# **Copies**
# - [ ] A tensor on the CPU that came from `to("cpu", non_blocking=True)` can be read at once.
#   > The copy may not be done. The program has to wait for it.
# - [x] A pinned buffer may be written again after an event behind its copy was waited for.
#   > Then the copy has read it.
# - [ ] `event.record()` waits until the stream has come to that place.
#   > It marks the place. `event.synchronize()` waits.
# - [x] A kernel on the stream of the copy, launched after it, finds the data.
#   > Work of one stream runs in order.
#
# Hint: What did your too_early let through?

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague has sped up a training. His dataset crops at random, with `self.rng = np.random.default_rng(0)` in
# `__init__`; it runs with eight workers in place of none. A loop of his own copies each batch into one pinned buffer,
# starts `buffer.to("cuda", non_blocking=True)`, launches the step, and fills the buffer with the next batch. The
# training is much faster, ends without an error, and the accuracy is a little worse than before.
#
# In four to eight sentences: which two things are wrong, and why does neither raise an error? How would you make each
# of them show in a small experiment, and what do you change?

# %% question: faster_and_worse [markdown] points=2
# ### BEGIN SOLUTION
# Each of the eight workers has a copy of the dataset, and with it a copy of the generator in the same state. So eight
# samples get the same crop, and in each epoch the crops begin from the start again, unless the workers persist. PyTorch
# seeds only the generators that it knows. To see it, I let the dataset return the numbers that it draws, and print them
# for two workers and two epochs. I seed the generator in `worker_init_fn` from `get_worker_info().seed`. Second, the
# buffer is written while the copy of the batch before may still read it, so that some batches are a mixture of two.
# Nothing checks that, since writing into memory of the CPU is always allowed. To see it, I fill the batches with their
# own number, copy them back after `torch.cuda.synchronize()`, and look for batches that hold two numbers. I record an
# event behind the copy and synchronise it before the buffer is written, or use two buffers in turn with an event each,
# or leave it to `DataLoader(pin_memory=True)`.
#
# For grading: one point for the copied generator with an experiment or a cure, one for the buffer that is written too
# early with a wait as its cure.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - Ask a layer: which shape, what does it keep, what does `eval()` change? Of the ten in the table, batch norm and
#   dropout change.
# - A state goes on as a value. Detach h and c. Its axes are (layers times directions, N, hidden), always.
# - `padding_idx` means: no gradient from the lookup. Nothing else protects the row.
# - Look for the *first* output that is not finite, in the order in which modules end.
# - After `assign=True`: new parameters, with the dtype, device and memory of the state. Make the optimizer afterwards.
# - A worker has a copy: of the dataset, of its counters, and of its generators.
# - What was not waited for may not be done.
#
# | call | what it promises |
# |---|---|
# | `nn.LSTM(..., batch_first=True)` | (N, T, F) in and out; the state as ever |
# | `register_forward_hook(f)` | calls f(module, inputs, output) until `remove()` |
# | `load_state_dict(state, assign=True)` | the state's tensors in place of the model's |
# | `DataLoader(num_workers=n)` | n processes with a copy each; the sampler's order |
# | `get_worker_info()` | which worker this is, its seed, its dataset; None outside |
# | `worker_init_fn(worker_id)` | runs in each worker before its first sample |
# | `pin_memory`, `non_blocking=True` | a copy that your program does not wait for |
# | `event.record()`, `event.synchronize()` | mark a place of a stream; wait for it |
#
# Three questions to ask yourself:
#
# - If this layer got a batch of one, or one step more, would its output for the first sample change?
# - Which process draws this random number, and from a copy of what?
# - Who still reads this buffer, and how do I know that it has ended?
#
# Lab 7 asks where the memory goes.
