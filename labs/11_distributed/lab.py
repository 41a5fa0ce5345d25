# %% [markdown]
# # Many processes, one gradient
#
# One GPU is too slow, so you take four. Each computes a gradient from its own samples. Four gradients must become one,
# or four models grow apart. You write the code that does it, and see where it goes wrong without an error. Two
# processes will each read 57% of the digits, until one line makes them read 95%.
#
# After this lab you can
#
# - explain an all-reduce, write the ring that computes it, and say how many bytes it moves;
# - say what DistributedDataParallel does at its construction, in forward and in backward, and do the same by hand;
# - give unequal shards, micro-batches and unused parameters the gradient that one process would compute;
# - say what is *not* averaged, and who pads your evaluation;
# - choose between DataParallel, DistributedDataParallel and sharded models, and start a run with `torchrun`.
#
# You need lab 6, and two sittings of about an hour. Numbers were measured with PyTorch 2.13 on a CPU. The cells stay
# there, whatever your machine has.
#
# Where it says *Predict*, choose before you run. Below each exercise a card shows checks. Those marked *later* run when
# the lab is marked: press *Mark my work*, or hand it in.

# %% given
import copy
import math
import random
import threading
from collections import Counter, deque
from collections.abc import Callable
from contextlib import nullcontext
from itertools import chain

import numpy as np
import torch
import torch._dynamo  # DDP needs it, and would import it again in each process
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DistributedSampler, TensorDataset

from labkit import (
    Seen,
    assert_answered,
    assert_close,
    assert_letters,
    check,
    explain,
    explore_ring,
    probes,
    show_overlap,
    show_traffic,
)

# %% [markdown]
# ## Ranks
#
# A distributed program is the same program, started several times. The processes share no memory. Each has a number,
# its *rank*, from 0 to `world_size - 1`. Together they form a *process group*, in which they can send tensors.
#
# `probes.ranks(f, ..., world_size=2)` starts such a group for this lab. It copies this notebook's process, calls
# `f(rank, world_size, ...)` in each copy, and gives the list of their results. The copies then end.
#
# The processes run on the CPU and speak over *gloo*, a library for that. With several NVIDIA GPUs you would say `nccl`
# instead. The calls are the same, but NCCL takes CUDA tensors only: each rank chooses its GPU with
# `torch.cuda.set_device`, and what it sends, a count too, is made there.
#
# An operation in which all ranks take part is a *collective*. `dist.all_reduce(t)` is the most important one: it
# replaces t on every rank by the sum over all ranks. In the next cell, each of three ranks adds its number to `x`,
# which begins with 1 and 10, and then calls `all_reduce`.

# %% predict: all_reduced
# **Predict.** What is `x` on each rank, and what is it in this notebook afterwards?
#
# - [x] 6 and 33 on each rank, 1 and 10 here
# - [ ] 6 and 33 on each rank, and here
# - [ ] 6 and 33 on rank 0 only, 1 and 10 here
# - [ ] 2 and 11 on each rank, 1 and 10 here


# %% example
def first_collective(rank, world_size, x):
    x += rank
    before = x.tolist()
    dist.all_reduce(x)
    return f"rank {rank} of {world_size}: had {before}, has {x.tolist()}"


x = torch.tensor([1.0, 10.0])
for line in probes.ranks(first_collective, x, world_size=3):
    print(line)
print("here:", x.tolist())

# %% [markdown]
# `all_reduce` changes its argument, and returns nothing. Each process had a copy of `x`, so the one in the notebook is
# untouched.
#
# A collective waits until every rank has called it. If one rank skips it, because an `if` went the other way, the
# others wait until a timeout: by default 30 minutes with gloo and 10 with NCCL, where a watchdog then ends the process
# ("Watchdog caught collective operation timeout"). `init_process_group(timeout=...)` sets it. (Here it is some seconds,
# and then you get a `TimeoutError`.) It is the most frequent way in which a distributed program stops. So: *all ranks
# call the same collectives, in the same order, with the same shapes.*
#
# Which rank skipped which call? With `TORCH_DISTRIBUTED_DEBUG=DETAIL` in the environment, ranks that call different
# collectives, or the same one with other shapes, get an error that says so. With gloo, `dist.monitored_barrier()` names
# the ranks that did not come. With NCCL, PyTorch's *Flight Recorder* keeps the last collectives of each rank, and can
# write them to a file when the timeout strikes.
#
# ### The mean of all
#
# Three ranks evaluate a model. The first has four samples, the second two, the third one. Each computes the mean of its
# losses. You average the three means. Is that the mean loss?

# %% given
parts = [torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([2.0, 2.0]), torch.tensor([9.0])]
print("mean of the means", torch.stack([part.mean() for part in parts]).mean().item())
print("mean of all      ", round(torch.cat(parts).mean().item(), 4))

# %% [markdown]
# It is not. The one sample of the last rank counts as much as the four of the first. Means can be averaged only if
# they stand for equally many samples.
#
# ### Your turn: global_mean
# Compute the mean over all ranks. Every rank must get it. This is a warm-up of about ten minutes.

# %% given
hint(
    "Which two numbers of each rank are enough? Both can be summed.",
    "A sum of all values and a count of all values. What is their sum on a rank that has no value?",
)

# %% exercise: global_mean points=3

# %% [markdown]
# Sums and counts can be added over ranks. Means, accuracies and standard deviations cannot: go back to sums first. A
# maximum is no sum: `dist.all_reduce(t, op=dist.ReduceOp.MAX)` gives the largest of all ranks.
#
# ## How do four tensors become a sum?
#
# "Each GPU sends its gradient to all the others." You read that often. With $N$ ranks and $n$ numbers, each rank would
# then receive $(N - 1)\,n$ numbers. Or one rank collects all, adds, and sends the sum back. Then that one rank receives
# $(N - 1)\,n$ numbers and sends as many, while the others wait.
#
# There is a better way, the *ring*. Each rank speaks to its two neighbours only: it sends to the next rank and receives
# from the one before it. The tensor is cut into N chunks. In each step every rank sends one chunk, all at the same
# time.
#
# - *Reduce-scatter*, N - 1 steps: a rank adds the chunk that comes to its own, and sends the result on in the next
#   step. At the end each rank has one chunk that is complete.
# - *All-gather*, N - 1 steps: the complete chunks go round, and replace the incomplete ones.
#
# In the picture, a row is a rank and a column a chunk. The digits say whose parts are in the sum already. A red frame
# is around what came in with the step, and a complete sum is blue. Play it, or go step by step.

# %% predict: ring_chunks
# **Predict.** Rank 0 of four sends its chunk 0 in step 1. Which chunk does it send in step 2?
#
# - [ ] chunk 0, to the rank after the next
# - [ ] chunk 1
# - [ ] chunk 2
# - [x] chunk 3

# %% example
explore_ring(4)

# %% [markdown]
# How many numbers does a rank send in all? There are $2 (N - 1)$ steps with $n / N$ numbers each:
#
# $$2 n \, \frac{N - 1}{N}$$
#
# With many ranks that is nearly $2n$. It hardly depends on $N$. The next picture compares it with the busiest rank of
# the other way.

# %% example
show_traffic([2, 3, 4, 8, 16])

# %% [markdown]
# With 16 ranks the collecting rank sends $15 n$ numbers, and each rank of a ring sends $1.875 n$.
#
# Real libraries choose between rings, trees and others, by size and by what connects the GPUs. The result is the same,
# up to rounding: another order of summation.
#
# ### Your turn: ring_all_reduce
# Write the ring. Here the ranks are threads, and a channel leads from each to the next. `send(t)` gives a copy of t to
# the next rank and does not wait. `recv()` waits for what the rank before has sent, in order.

# %% given
hint(
    "tensor_split cuts into exactly N pieces, also where N does not divide the length. In the first step rank r sends "
    "chunk r. Which chunk comes in from rank r - 1?",
    "Count the steps s of the first half from 0. In step s, rank r sends chunk r - s, and adds what comes to chunk "
    "r - s - 1, all modulo N. At the end its chunk r + 1 is complete.",
)

# %% exercise: ring_all_reduce points=5

# %% [markdown]
# In PyTorch 2.13, `dist.reduce_scatter_single` and `dist.all_gather_single` are the two halves as collectives of their
# own. Their older names, `dist.reduce_scatter_tensor` and `dist.all_gather_into_tensor`, are deprecated there. Keep the
# two in mind: a sharded model, at the end of this lab, is built from both.
#
# ## Equal models
#
# *DistributedDataParallel*, DDP for short, trains one model on many ranks. Each rank has a whole copy of the model, an
# optimizer of its own and a part of the batch, its *shard*. If all copies begin equal, and all optimizers see the same
# gradients, the copies stay equal, and the weights needn't be sent again.
#
# So DDP does two things. At its construction it sends the parameters and buffers of rank 0 to all. In backward it
# averages the gradients. Below, every rank makes a model from a seed of its own. What are the differences of the
# weights, before and after `DDP(model)`?


# %% given
def make_net(seed):
    """A small classifier from 3 numbers to 2."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def drawn(model, seed):
    """Random values for all parameters of a model, by name."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.rand(p.shape, generator=generator) * 2 - 1 for name, p in model.named_parameters()}


# %% example
def wrapped(rank, world_size, x, y):
    model = make_net(rank)
    first = model[0].weight.detach().clone()
    ddp = DDP(model)
    second = model[0].weight.detach().clone()
    F.cross_entropy(ddp(x[rank::world_size]), y[rank::world_size]).backward()
    return {"before": first, "after": second, "grads": probes.gradients_of(model)}


generator = torch.Generator().manual_seed(0)
features = torch.randn(10, 3, generator=generator)
labels = torch.tensor([0, 1, 1, 0, 1, 0, 0, 0, 1, 1])
seen = probes.ranks(wrapped, features, labels)
for key in ("before", "after"):
    print(f"{key:6} difference of the weights {(seen[0][key] - seen[1][key]).abs().max():.2f}")
whole = make_net(0)
F.cross_entropy(whole(features), labels).backward()
grads = probes.gradients_of(whole)
print("ranks agree to the bit:", all(seen[0]["grads"][name].equal(seen[1]["grads"][name]) for name in grads))
same = all((seen[0]["grads"][name] - grads[name]).abs().max() < 1e-6 for name in grads)
print("one process has the same, up to 1e-6:", same)

# %% [markdown]
# Equal to the bit between the ranks, and equal up to rounding to one process that has the whole batch.
#
# ### Your turn: same_start
# First the construction: give all ranks the state of rank 0. `dist.broadcast(t, src=0)` replaces t on each rank by the
# t of rank 0.

# %% given
hint(
    "What does a model have that a training step reads, and that is not a parameter?",
    "The optimizer was made before your call, from these parameter objects. Which ways of loading a state keep them?",
)

# %% exercise: same_start points=2

# %% [markdown]
# The same seed on all ranks would give equal parameters as well, as long as every rank draws the same numbers in the
# same order. A broadcast does not depend on that.
#
# ### What if a parameter is not used?
#
# DDP puts gradients into *buckets*, the last layers first. By default a bucket has at most about 25 MB, and the first
# one 1 MiB, so that sending begins early. As soon as all gradients of a bucket are there, its all-reduce starts, while
# backward goes on with earlier layers. Communication and computation *overlap*. That is a reason for DDP's speed. And
# it is the reason why DDP must know which gradients will come.
#
# The next picture is a schema: the sizes of the buckets are those of the model's parameters, and an all-reduce is taken
# to last as long as backward for the same parameters, with some time to start it. When is it done with one bucket for
# everything? And what speaks against a bucket for each layer?

# %% example
show_overlap(
    nn.Sequential(*[nn.Linear(512, 512, device="meta") for _ in range(12)]),
    {"one bucket": 1e9, "3 MB": 3e6, "a bucket for each layer": 1},
    start=0.1,
)

# %% [markdown]
# With one bucket nothing overlaps. With many buckets you pay the start-up cost of every all-reduce.
#
# The model below has two branches. Rank 0 uses the first one, rank 1 the second. Each rank makes two steps.

# %% given
torch.manual_seed(0)


class Branches(nn.Module):
    """Two layers of equal shape, of which a call uses one; a third that is never used, and a frozen one."""

    def __init__(self, width=2):
        super().__init__()
        self.left, self.right, self.never = (nn.Linear(3, width) for _ in range(3))
        self.frozen = nn.Linear(3, width).requires_grad_(False)

    def forward(self, x, branch):
        return (self.left if branch == 0 else self.right)(x) * self.frozen(x)


def make_branches(width=2):
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(width)
        return Branches(width)


# %% predict: unused
# **Predict.** What happens with plain `DDP(model)`?
#
# - [ ] an error in the first backward pass
# - [ ] no error: a branch that a rank did not use counts as zeros
# - [x] after the first step each rank has gradients of its own; the error comes in the second
# - [ ] no error in either step, and each rank keeps gradients of its own


# %% example
def bias_grads(rank, world_size, find):
    """The gradients of the biases of the three branches, or the error, in two steps."""
    ddp, told = DDP(make_branches(), find_unused_parameters=find), []
    for _ in range(2):
        try:
            ddp(torch.ones(1, 3) * (rank + 1), rank).sum().backward()
        except RuntimeError as error:
            return [*told, str(error).split(".")[0]]
        layers = (ddp.module.left, ddp.module.right, ddp.module.never)
        told.append([None if layer.bias.grad is None else round(layer.bias.grad[0].item(), 3) for layer in layers])
        ddp.zero_grad()
    return told


for find in (False, True):
    print(f"find_unused_parameters={find}")
    for rank, told in enumerate(probes.ranks(bias_grads, find)):
        for step, line in enumerate(told):
            print(f"   rank {rank}, step {step}: {line}")

# %% [markdown]
# Without the argument, the first step raises nothing. The gradients on each rank are its own: the bucket waited for a
# gradient that never came, and was not sent. An optimizer step now would make the copies different. The error comes
# in the next forward pass. If a run has only one step per test, nobody sees it.
#
# With `find_unused_parameters=True`, DDP walks through the graph in each forward pass, and takes zeros for what a rank
# did not use. Both biases have half of the gradient of one rank. A parameter that *no* rank used keeps the gradient
# None. It costs time in each step, so it is not the default.
#
# ### Your turn: average_gradients
# Now backward by hand: average the gradients of a model, and care for parameters that some ranks did not use. Beware
# of the rule of collectives: on the two ranks above, "all-reduce each gradient that is there" calls all_reduce equally
# often, with equal shapes. What will it add?

# %% given
hint(
    "Rank 0 has no gradient for `right`. It must take part in its all-reduce all the same: with which numbers?",
    "To find out which parameters no rank used, every rank needs to know something of the others. Which collective "
    "tells it, once for all parameters?",
)

# %% exercise: average_gradients points=5

# %% [markdown]
# You have now written what DDP does, except for the buckets and the overlap.

# %% [markdown]
# ## A good place to stop
#
# You can reduce over ranks, and average gradients as DDP does. What comes next is when that average is right, who gets
# which sample, and what is not averaged. After a break Python has forgotten everything. Choose *Run > Run All Above
# Selected Cell*, or press *Check*, which runs what it needs.

# %% [markdown]
# ## Is it the gradient of the large batch?
#
# "$N$ ranks with a batch of $B$ each are the same as one batch of $N B$." When is this so? DDP divides the sum of the
# gradients by $N$. The whole batch has 10 samples here, and its loss is their mean.

# %% predict: whole_batch
# **Predict.** One of these gives the gradient of the whole batch, on two ranks. Which one?
#
# - [x] a mean loss on each rank, with shards of 5 and 5 samples
# - [ ] a mean loss on each rank, with shards of 7 and 3 samples
# - [ ] a sum of losses on each rank, with shards of 5 and 5 samples
# - [ ] a mean loss of `ddp.module(x)` on each rank, with shards of 5 and 5 samples


# %% example
def one_backward(rank, world_size, sizes, reduction, around):
    ddp = DDP(make_net(0))
    x, y = features.split(sizes)[rank], labels.split(sizes)[rank]
    out = ddp.module(x) if around else ddp(x)
    F.cross_entropy(out, y, reduction=reduction).backward()
    return torch.cat([p.grad.flatten() for p in ddp.parameters()])


flat = torch.cat([p.grad.flatten() for p in whole.parameters()])
for name, sizes, reduction, around in (
    ("mean loss, shards of 5 and 5", (5, 5), "mean", False),
    ("mean loss, shards of 7 and 3", (7, 3), "mean", False),
    ("sum loss,  shards of 5 and 5", (5, 5), "sum", False),
    ("ddp.module(x), 5 and 5      ", (5, 5), "mean", True),
):
    per_rank = probes.ranks(one_backward, sizes, reduction, around)
    error = ((per_rank[0] - flat).norm() / flat.norm()).item()
    print(f"{name}  relative error {error:.2f}  ranks differ by {(per_rank[0] - per_rank[1]).abs().max():.2f}")

# %% [markdown]
# Only the first line is right. With 7 and 3 samples, the mean of two means gives each of the three samples more weight
# than each of the seven. The relative error is 0.64 here, and no rank sees anything: both have the same wrong gradient.
#
# With a sum of losses each rank's gradient is five times as large as with a mean of five, so the average is too: an
# error of 4. And if one process used the sum over all ten samples, DDP's gradient would be half of it. It always
# divides by the number of ranks. A sum needs another learning rate for each number of ranks.
#
# The last line is the worst. `ddp.module` is the bare model. Nothing is sent or averaged, and no error is raised.
# The copies grow apart from the first step on. Call the wrapper, also for a loss that needs a method of the model.
#
# ### Your turn: ddp_step
# Write a training step that is right for shards of any sizes, the empty one included.

# %% given
hint(
    "DDP will divide the sum of the ranks' gradients by the number of ranks. You want it divided by the number of "
    "samples. By what must each rank multiply its sum of losses?",
    "All ranks need the number of samples on all ranks. It is known before the forward pass.",
)

# %% exercise: ddp_step points=4

# %% [markdown]
# Empty shards do happen: at the end of an epoch, or when a filter drops every sample. A rank that leaves the loop early
# leaves the others waiting.
#
# ### The digits, on two ranks
#
# Here two processes run the digits script. Both make the same network and draw the same order of the scans. Of each
# batch, rank 0 takes the half with the smaller digits and rank 1 the other half, as if they were stored on two
# machines. Run the cell. What does each rank read, and why? Then set `is_averaged` to `True`. How many digits can the
# two networks read now, and are they the network that one process trains with whole batches?

# %% scratch
from sklearn.datasets import load_digits

is_averaged = False

mixed = torch.randperm(1797, generator=torch.Generator().manual_seed(1))
pixels = ((torch.tensor(load_digits().images, dtype=torch.float32) - 8).flatten(1) / 8)[mixed]
digits = torch.tensor(load_digits().target)[mixed]


def train_reader(rank, world_size, is_averaged):
    torch.manual_seed(0)
    reader = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    sgd = torch.optim.SGD(reader.parameters(), lr=0.3)
    for rows in torch.cat([torch.randperm(1500) for _ in range(10)]).split(100):
        mine = rows[digits[rows].argsort()].chunk(world_size)[rank]
        loss = F.cross_entropy(reader(pixels[mine]), digits[mine])
        sgd.zero_grad()
        loss.backward()
        for parameter in reader.parameters():
            if is_averaged:
                dist.all_reduce(parameter.grad)
                parameter.grad /= world_size
        sgd.step()
    is_right = reader(pixels[1500:]).argmax(dim=1) == digits[1500:]
    return nn.utils.parameters_to_vector(reader.parameters()).detach(), is_right.float().mean().item()


(one_network, one_share), *_ = probes.ranks(train_reader, False, world_size=1)
pair = probes.ranks(train_reader, is_averaged)
print("right:", *(f"{share:.1%}" for _, share in pair), f"and {one_share:.1%} in one process")
print(f"the ranks' weights differ by {(pair[0][0] - pair[1][0]).abs().max():.1g}")
print(f"rank 0's differ from one process's by {(pair[0][0] - one_network).abs().max():.1g}")

# %% answer [markdown]
# | | rank 0 | rank 1 | one process | largest difference of weights from one process |
# |---|---|---|---|---|
# | not averaged | 57.2% | 57.9% | 95.3% | 0.7 |
# | averaged | 95.3% | 95.3% | 95.3% | 3e-07 |
#
# Without the average, rank 0 hardly ever sees the larger digits, and rank 1 the smaller ones, so each reads little more
# than its half. The two halves of a batch have 50 scans each. So the mean of the two gradients is the gradient of the
# whole batch, and every step is the same, up to rounding. The two ranks have the same weights to the last bit.

# %% [markdown]
# Each process computes half of the gradient, and the result is the network of one process. Lab 12 puts the script's
# changes together.

# %% [markdown]
# ## Many micro-batches, one all-reduce
#
# Lab 6 accumulated gradients over micro-batches. With DDP, each `backward` averages the gradients over the ranks. The
# result is right if you do it each time. But only the last time is needed. `with ddp.no_sync():` leaves the average
# out. The gradients then pile up in `.grad`, on each rank its own. The next backward pass outside of it averages what
# has piled up.
#
# DDP decides in *forward* whether this pass will be averaged.


# %% given
class Counted:
    """Counts how often DDP sends a bucket, by a hook that DDP calls in place of its own all_reduce."""

    def __init__(self, ddp):
        self.count = 0
        ddp.register_comm_hook(None, self.hook)

    def hook(self, state, bucket):
        self.count += 1
        work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])


# %% predict: sent
# **Predict.** How often are gradients sent for four micro-batches: without `no_sync`, with it around the first three
# backward passes alone, and with it around forward and backward of the first three?
#
# - [ ] 1, 1 and 1
# - [ ] 4, 1 and 1
# - [ ] 4, 4 and 4
# - [x] 4, 4 and 1


# %% example
def in_three_ways(rank, world_size):
    told = {}
    for way in ("no_sync left out", "no_sync around backward", "no_sync around forward and backward"):
        ddp = DDP(make_net(0))
        counted = Counted(ddp)
        for step in range(4):
            sync = step == 3 or way == "no_sync left out"
            if way.endswith("around backward"):
                out = ddp(features)
                with nullcontext() if sync else ddp.no_sync():
                    out.sum().backward()
            else:
                with nullcontext() if sync else ddp.no_sync():
                    ddp(features).sum().backward()
        told[way] = counted.count
    return told


for way, count in probes.ranks(in_three_ways)[0].items():
    print(f"{way:36} {count}")

# %% [markdown]
# Around backward alone, it has no effect, and no error.
#
# ### Your turn: accum_no_sync
# Accumulate a list of micro-batches, with one average at the end.

# %% given
hint(
    "Which micro-batch is not inside no_sync? Which part of its work must not be?",
    "Micro-batches of several sizes: what must their losses be divided by, so that each sample counts equally?",
)

# %% exercise: accum_no_sync points=4

# %% [markdown]
# With k micro-batches, traffic is a k-th. That is the reason why accumulation can make a training faster between
# machines, and not only smaller.
#
# ## Who gets which sample?
#
# Each rank must read other samples. `DistributedSampler` gives a `DataLoader` the indices of its rank. Ten samples,
# four ranks: who gets which ones? And does a second epoch have another order?

# %% example
ten = TensorDataset(torch.arange(10))
for rank in range(4):
    plain_order = DistributedSampler(ten, num_replicas=4, rank=rank, shuffle=False)
    print("rank", rank, "in order:", list(plain_order))
sampler = DistributedSampler(ten, num_replicas=4, rank=0)
print("rank 0, shuffled, two epochs:", list(sampler), list(sampler))
sampler.set_epoch(1)
print("rank 0 after set_epoch(1):   ", list(sampler))

# %% [markdown]
# All ranks get three indices, because all must call backward equally often. That makes twelve. The sampler *pads*:
# samples 0 and 1 come twice. In training it hardly matters. In evaluation it does: two samples count double in the
# accuracy. (`drop_last=True` drops the tail instead. Then some samples do not count at all.)
#
# And every epoch has the same order until you call `set_epoch(epoch)`. The sampler shuffles with `seed + epoch` as its
# seed. All ranks must agree on the order, so it cannot be random. Many training scripts forget this line. Nothing
# fails.
#
# ### Your turn: shard
# Write the indices yourself: padded and shuffled for training, exact for evaluation.

# %% given
hint(
    "All ranks must make the same permutation of all n indices. Which generator makes it, with which seed?",
    "Every world_size-th one, from rank on, makes shards that differ by at most one. How many indices must there be "
    "for all of them to have equally many? If n is small, you may need the first ones several times.",
)

# %% exercise: shard points=3

# %% [markdown]
# If the ranks made their permutations from different seeds, some samples would be read twice and others never. Nothing
# would fail. Loss curves hardly show it.
#
# ## What is not averaged
#
# DDP averages gradients. A batch normalisation in training mode uses the mean and variance of its own rank's samples.
# Its running averages are buffers: DDP sends rank 0's buffers to all, at the beginning of each forward pass.
#
# Below, rank 0 has the samples 1 and 3, and rank 1 has 11 and 13. With `momentum=0.5`, a new running mean is half of
# the old one plus half of the batch's mean. It begins at 0. So it is 1 and 6 after the first pass.

# %% predict: second_mean answer=6.5
# **Predict.** What is the running mean after the second pass, on rank 1?


# %% example
def running_means(rank, world_size):
    ddp = DDP(nn.BatchNorm1d(1, momentum=0.5))
    seen = []
    for _ in range(2):
        out = ddp(torch.tensor([[1.0], [3.0]]) + 10 * rank)
        seen.append((out.flatten().tolist(), ddp.module.running_mean.item()))
    return seen


for rank, seen_there in enumerate(probes.ranks(running_means)):
    for step, (out, mean) in enumerate(seen_there):
        print(f"rank {rank}, step {step}: normalised to {[round(v, 2) for v in out]}, running mean {mean:g}")

# %% [markdown]
# It is not 3 + 6, but 0.5 + 6: rank 1 got rank 0's running mean of 1 before its second pass. What rank 1 had learned
# was lost.
#
# Both ranks normalise to -1 and 1. Over all four samples, those of rank 0 would be below the mean, and those of rank 1
# above it. So a model with batch normalisation is *not* trained as with one large batch. And the model that rank 0
# saves knows the statistics of rank 0's samples only.
#
# `nn.SyncBatchNorm.convert_sync_batchnorm(model)` replaces the layers by ones that use the statistics of all ranks. It
# needs GPUs. The core of it is short.
#
# ### Your turn: sync_moments
# Compute the mean and the variance over the samples of all ranks. Is the mean of the ranks' variances the variance?
# In the example it would be 1, and the right one is 26.

# %% given
hint(
    "The mean is global_mean, for each column. Around which mean does the variance measure?",
    "E[x**2] - E[x]**2 subtracts two nearly equal numbers if the mean is large. Two rounds of all_reduce avoid it.",
)

# %% exercise: sync_moments points=3

# %% [markdown]
# ## Which one to use, and how to start it
#
# ### DataParallel
#
# `nn.DataParallel(model)` looks easier: one line, one process. In each forward pass it copies the model from GPU 0 to
# all GPUs, splits the batch, and runs one thread for each GPU. The results are gathered on GPU 0, where you usually
# compute the loss. You read that GPU 0 then runs backward alone. It does not: each replica's backward runs on its own
# GPU. The copies were made by an operation of autograd, `Broadcast`, and its backward adds the gradients of all
# replicas on the device that the weights came from, GPU 0.
#
# It is slower, all the same. The weights are sent in every step, the threads share one Python interpreter, and GPU 0
# needs more memory than the others. It works on one machine only. PyTorch's documentation recommends DDP, on one
# machine too. What does it do where there is no GPU?

# %% example
parallel = nn.DataParallel(make_net(0))
print("devices", parallel.device_ids, " names", list(parallel.state_dict()))

# %% [markdown]
# On the machine of these numbers it had no device, and simply called its module. But the names of the parameters have
# a prefix, `module.`. DDP adds it too. Save `model.module.state_dict()`, or the file does not fit the bare model.
#
# ### A real start
#
# In a script, each process joins the group by itself. `torchrun` starts the processes, and tells each of them its rank
# in environment variables. `python -m torch.distributed.launch`, which older texts use, is deprecated. This is the
# smallest complete script. In a notebook, a first line `%%writefile train.py` writes it to a file.
#
# ```python
# import os
# import torch
# import torch.distributed as dist
# import torch.distributed.nn  # now: DDP imports it, and its defaults would keep a group that exists by then
# from torch import nn
# from torch.nn.parallel import DistributedDataParallel as DDP
# from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
#
#
# def main():
#     gpu = torch.cuda.device_count() >= int(os.environ["LOCAL_WORLD_SIZE"])  # one for each process here
#     device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
#     if gpu:
#         torch.cuda.set_device(device)
#     dist.init_process_group("nccl" if gpu else "gloo", device_id=device if gpu else None)
#     rank = dist.get_rank()
#     inputs = torch.linspace(-1, 1, 150).reshape(50, 3)
#     dataset = TensorDataset(inputs, inputs.sum(1, keepdim=True))
#     torch.manual_seed(rank)
#     model = DDP(nn.Linear(3, 1).to(device))
#     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
#     sampler = DistributedSampler(dataset)
#     loader = DataLoader(dataset, batch_size=5, sampler=sampler)
#     for epoch in range(3):
#         sampler.set_epoch(epoch)
#         for x, y in loader:
#             loss = nn.functional.mse_loss(model(x.to(device)), y.to(device))
#             optimizer.zero_grad()
#             loss.backward()
#             optimizer.step()
#     print(f"rank {rank}: {len(sampler)} samples, bias {model.module.bias.item():.6f}")
#     if rank == 0:
#         torch.save(model.module.state_dict(), "model.pt")
#
#
# if __name__ == "__main__":
#     main()
#     dist.destroy_process_group()
# ```
#
# Start it with `python -m torch.distributed.run --standalone --nproc_per_node=2 train.py`; `torchrun` is the same
# program under a shorter name. With fewer GPUs than processes, one GPU for instance, it runs on the CPU: two processes
# cannot share a GPU in NCCL. On two processes of a CPU it prints, in either order:
#
# ```
# rank 0: 25 samples, bias -0.008688
# rank 1: 25 samples, bias -0.008688
# ```
#
# Each rank draws other first weights, and each sees one half of the samples. The biases are equal all the same: DDP
# sends those of rank 0 to all, and averages the gradients. Try it: it takes some fifteen seconds.
#
# `init_process_group` reads the rank, the world size and the address of rank 0 from the environment. Without `torchrun`
# you must set `MASTER_ADDR`, `MASTER_PORT`, `RANK` and `WORLD_SIZE` yourself, or give rank and world size as arguments.
# (This script also reads `LOCAL_RANK` and `LOCAL_WORLD_SIZE`, the same two counted on one machine.)
# `destroy_process_group` ends the group; many examples leave it out, and the sampler too. Call it last, once no model
# holds the group: a thread of gloo that still runs while Python shuts down can abort the process.
#
# Can a notebook start the processes? With `torch.multiprocessing.spawn(f, nprocs=2)` and an f from a cell, each process
# prints `AttributeError: Can't get attribute 'f' on <module '__main__' (built-in)>`, and the call raises
# `ProcessExitedException`. A spawned process is a fresh Python. It looks for f in the main module, and there is none
# with your cells. Put f into a file and import it, or use `%%writefile`. (`probes.ranks` forks instead: a fork is a
# copy of the process, with your cells. A process that has used CUDA cannot be forked for more work on CUDA.)
#
# ### A model that is too large
#
# DDP keeps the whole model, its gradients and its optimizer's states on each GPU. If that is too much, more ranks do
# not help. *Model parallelism* puts some layers on one GPU, and others on the next. *Fully sharded data parallel*,
# `torch.distributed.fsdp.fully_shard`, keeps DDP's way of splitting the batch. But each rank stores only a part of each
# parameter, gradient and state. It gathers a layer's weights just before they are needed, by an all-gather, and
# distributes gradients by a reduce-scatter: the two halves of your ring.

# %% quiz: interview points=3
# ## Interview questions
#
# **All-reduce**
# - [x] In a ring, no rank sends more than twice its tensor, however many ranks there are.
#   > A rank sends 2 n (N - 1) / N numbers, which stays below 2 n. With 16 ranks it is 1.875 n.
# - [ ] In a ring, each rank sends its tensor to all the others.
#   > It speaks to its two neighbours only, and sends one chunk in each step.
# - [x] `dist.all_reduce(t)` changes t in place.
#   > It returns nothing that you need. In the first cell `x` itself held the sum afterwards.
# - [x] If one rank leaves it out, the others wait.
#   > A collective is complete when every rank has called it. An `if` that goes another way on one rank stops all, until
#   > a timeout ends the run.
# - [ ] It gives the mean if you say nothing else.
#   > The default is the sum. DDP divides by the number of ranks itself.
#
# Hint: What did your ring send? What did the first cell print?
#
# **DistributedDataParallel**
# - [ ] It sends the weights of rank 0 to all ranks in each step.
#   > It sends rank 0's state at construction. After that equal gradients keep the copies equal.
# - [x] Each rank has an optimizer of its own.
#   > All start equal and see the same gradients, so their steps are equal too. Nothing of the optimizer is sent.
# - [x] Gradients of late layers are sent while those of early layers are still computed.
#   > A bucket is sent as soon as its gradients are there, the last layers first. That overlap is a reason for DDP's
#   > speed.
# - [ ] `ddp.module(x)` gives averaged gradients.
#   > That is the bare model. Nothing is sent, and the ranks differ from the first step on, without an error.
# - [x] At its construction all ranks get the parameters and buffers of rank 0.
#   > The weights in the lab differed before `DDP(model)` and were equal after it.
#
# Hint: What happens once, and what in each step?
#
# **The gradient of the large batch.** With DDP, and no batch normalisation or dropout, all ranks get it, for
# - [x] a mean loss, and shards of 5 and 5.
#   > Two means over equally many samples average to the mean over all. The relative error was 0.
# - [ ] a mean loss, and shards of 7 and 3.
#   > Each of the 3 samples counts more than each of the 7. The relative error was 0.64, and both ranks agreed on it.
# - [ ] a sum of losses, where the large batch has a sum as well.
#   > DDP divides by the number of ranks. With two ranks the result is half of the gradient of the sum.
# - [x] a sum of losses times the number of ranks over the number of all samples, and shards of 7 and 3.
#   > The factor cancels DDP's division, and what is left is the sum over all samples divided by their number.
# - [ ] a mean loss, shards of 5 and 5, each in two micro-batches of 3 and 2 with mean losses over 2.
#   > A sample in a micro-batch of 2 counts more than one in a micro-batch of 3. Equal shards do not help there.
#
# Hint: How much does each single sample count?
#
# **Accumulation and unused parameters**
# - [ ] Without `no_sync`, accumulation over micro-batches gives wrong gradients.
#   > They are right, since each `backward` averages what is added. It only sends four times instead of once.
# - [x] `no_sync` must be around the forward pass too.
#   > DDP decides in forward whether a pass will be averaged. Around backward alone it had no effect.
# - [ ] An unused parameter raises an error in the backward pass that did not use it.
#   > That pass raised nothing, and left each rank with its own gradient. The error came in the next forward pass.
# - [x] With `find_unused_parameters=True`, a rank that did not use a parameter counts as zeros.
#   > Both biases got half of the gradient of the one rank that used them. Only a parameter that no rank used keeps
#   > None.
# - [x] "All-reduce each gradient that is there" can add gradients of different parameters.
#   > Ranks with different branches call it equally often with equal shapes, so `left` of one is added to `right` of the
#   > other.
#
# Hint: In which step came the error?
#
# **Data and statistics**
# - [x] `DistributedSampler` may give a sample to two ranks.
#   > It pads until all ranks have equally many. With ten samples and four ranks, samples 0 and 1 came twice.
# - [x] Without `set_epoch`, each epoch has the same order.
#   > It shuffles with `seed + epoch`, and the epoch stays 0 until you say otherwise. Nothing fails.
# - [x] Accuracies of the ranks, averaged, are the accuracy if all ranks have equally many samples and none comes twice.
#   > Each rank's number then stands for equally many samples. Otherwise sum the hits and the counts.
# - [ ] DDP averages the statistics of a batch normalisation over the ranks.
#   > It averages gradients. Rank 0's buffers are sent to all in forward, so what rank 1 had learned was lost.
# - [ ] The mean of the ranks' variances is the variance of all samples.
#   > It leaves out how far the ranks' means lie apart. In the example it would be 1, and the right one is 26.
#
# Hint: Ten samples, four ranks: who counts double?
#
# **Which one**
# - [ ] In `DataParallel`, backward runs on GPU 0 alone.
#   > Each replica's backward runs on its own GPU. Only the sums of the gradients are made on GPU 0.
# - [x] `DataParallel` copies the weights to all GPUs in each forward pass.
#   > The model lives on GPU 0, and the copies are made anew each time. That is one reason why it is slow.
# - [ ] `torch.distributed.launch` is the recommended way to start.
#   > It is deprecated. `torchrun` starts the processes and tells each of them its rank.
# - [ ] DDP lets a model fit that is too large for one GPU.
#   > Each rank has the whole model, its gradients and its states. For that size you need a sharded model.
# - [x] A fully sharded model gathers weights when they are needed.
#   > Each rank stores only a part of them. An all-gather brings a layer's weights just before they are used.
#
# Hint: Which of them needs the whole model on each GPU?

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you open the text.
#
# **What is the difference between `DataParallel` and `DistributedDataParallel`?**
#
# <details><summary>A good answer</summary>
#
# `DataParallel` is one process with a thread for each GPU. In each forward pass it copies the weights from GPU 0 to all
# others, splits the batch, and gathers the results on GPU 0. DDP runs one process for each GPU. Each has the whole
# model and an optimizer of its own. They get rank 0's weights once, and then average gradients in each backward pass,
# while it still runs. The trap: in `DataParallel`, GPU 0 does not run backward alone. Each replica does, and GPU 0 adds
# the gradients. `DataParallel` works on one machine only, and the documentation recommends DDP there too. For a model
# that is too large for one GPU, neither helps. It has to be divided.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague moves a training from one GPU to eight, with DDP. He keeps the batch size of 32 for each rank and the
# learning rate. Each rank computes the mean loss of its batch. Validation uses a `DistributedSampler`, and each rank
# prints its own accuracy. The model has batch normalisation. Training runs, but the accuracy differs from rank to rank,
# the loss falls more slowly for each epoch than before, and all epochs look alike.
#
# In four to eight sentences: how large is the batch of one step now, and how many steps has an epoch? What explains
# each of the three observations? Name three lines that you would change or add.

# %% question: eight_gpus [markdown] points=2
# ### BEGIN SOLUTION
# A step now follows the mean over 256 samples, since DDP averages the gradients of eight means of 32. An epoch has an
# eighth of the steps, with the same learning rate, so the loss falls more slowly for each epoch: a larger learning
# rate, often with a warm-up, or a smaller batch on each rank is usual. The accuracy differs because each rank evaluates
# its own eighth of the samples; and if eight does not divide their number, the sampler counts some of them double.
# The running statistics of the batch normalisation can differ too until rank 0's are sent in the next forward pass.
# All epochs look alike since `sampler.set_epoch(epoch)` is missing. Changes: set_epoch in each epoch; sums of hits and
# counts, all-reduced and then divided, over shards without padding; SyncBatchNorm, or rank 0's buffers for evaluation;
# a learning rate for the batch of 256.
#
# For grading: one point for the batch of 256 and an eighth of the steps, together with the reasons for two of the three
# observations; one for three changes that fit.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - All ranks call the same collectives, in the same order, with the same shapes. Who skips one stops all.
# - A ring has two halves, reduce-scatter and all-gather, and each rank sends $2 n (N - 1) / N$ numbers.
# - DDP sends rank 0's state once, and averages gradients in each backward, in buckets, during backward.
# - An average over ranks is right if every rank stands for equally many samples. Else sum, count, and divide.
# - `no_sync` goes around forward and backward of all micro-batches but the last.
# - A sampler pads, and repeats its order without `set_epoch`. Batch statistics are each rank's own.
# - DataParallel is for one machine, and slower. DDP needs the whole model on each rank; a sharded model does not.
#
# | call or rule | what it does or costs |
# |---|---|
# | `dist.all_reduce(t)` | replaces t by the sum over all ranks; the others wait for who skips it |
# | `dist.broadcast(t, src=0)` | replaces t on each rank by the t of rank 0 |
# | `DDP(model)`, then `ddp(x)` | rank 0's state once, averaged gradients in each backward |
# | `ddp.module(x)` | the bare model: nothing is averaged, without an error |
# | `find_unused_parameters=True` | zeros for what a rank did not use; costs time in each step |
# | `ddp.no_sync()`, forward and backward | no average: with k micro-batches a k-th of the traffic |
# | `sampler.set_epoch(epoch)` | another order in each epoch |
# | `model.module.state_dict()` | names without the prefix `module.` |
#
# Three questions to ask yourself:
#
# - Does each rank stand for equally many samples, in every mean that I take?
# - Can an `if` on one rank skip a collective that the others call?
# - What in my model is not a gradient, and differs between the ranks?
#
# Lab 12 puts all of it into one training script.
