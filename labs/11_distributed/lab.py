# %% [markdown]
# # Many processes, one gradient
#
# One GPU is too slow, so you use four. Each computes a gradient from its own samples, and the four gradients have to be
# combined into one, or the four models drift apart. You write the code that combines them, and see where it goes wrong
# without an error. Two processes will each read 57% of the digits, until a change to one line makes both read 95%.
#
# After this lab, you'll be able to
#
# - explain an all-reduce, write the ring that computes it, and say how many bytes it moves;
# - say what DistributedDataParallel does when you construct it, in the forward pass and in the backward pass, and do
#   the same by hand;
# - get the gradient that one process would compute, even with unequal shards, micro-batches and unused parameters;
# - say what *isn't* averaged, and what pads your evaluation set;
# - choose between DataParallel, DistributedDataParallel and sharded models, and start a run with `torchrun`.
#
# You need lab 6. Plan two sittings of about an hour for the text and the five core exercises: `global_mean`,
# `ring_all_reduce`, `average_gradients`, `ddp_step` and `shard`. The three under *Further practice* earn no points, and
# no later lab needs them. All numbers were measured with PyTorch 2.13 on a CPU. The cells run on the CPU, even if your
# machine has a GPU.
#
# Where it says *Predict*, choose before you run the next cell. Below each exercise, a card shows its checks. Those
# marked *later* run when the lab is marked: with the button *Mark my work*, or after you hand it in. A person reads the
# last question.
#
# Run the next cell first. It imports what this lab uses.

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
# To train the digits classifier on several GPUs, you start the same program several times. The processes share no
# memory. Each has a number, its *rank*, from 0 to `world_size - 1`. Together they form a *process group*, in which they
# can send each other tensors.
#
# `probes.ranks(f, ..., world_size=2)` starts such a group for this lab. It copies this notebook's process, calls
# `f(rank, world_size, ...)` in each copy, and returns a list of the results. Then the copies exit.
#
# The processes run on the CPU and communicate through a library called *gloo*. With several NVIDIA GPUs, you'd choose
# `nccl` instead. The calls are the same, but NCCL only takes CUDA tensors: each rank selects its GPU with
# `torch.cuda.set_device` and creates everything it sends there, even a count.
#
# An operation in which all ranks take part is a *collective*. The most important one is `dist.all_reduce(t)`, which
# replaces t on every rank with the sum over all ranks. In the next cell, each of three ranks adds its rank number to
# `x`, which starts as 1 and 10, and then calls `all_reduce`.

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
# `all_reduce` changes its argument and returns nothing. Each process had its own copy of `x`, so the one in the
# notebook is unchanged.
#
# A collective waits until every rank has called it. If one rank skips it because an `if` went the other way, the others
# wait until a timeout: by default 30 minutes with gloo and 10 with NCCL, where a watchdog then ends the process
# ("Watchdog caught collective operation timeout"). You set it with `init_process_group(timeout=...)`. (In this lab it's
# a few seconds, and then you get a `TimeoutError`.) Skipped collectives are the most common reason why a distributed
# program hangs. So *all ranks must call the same collectives, in the same order, with the same shapes.*
#
# Which rank skipped which call? With `TORCH_DISTRIBUTED_DEBUG=DETAIL` in the environment, ranks that call different
# collectives, or the same one with different shapes, get an error that says so. With gloo, `dist.monitored_barrier()`
# names the missing ranks. With NCCL, PyTorch's *Flight Recorder* keeps a record of each rank's most recent collectives,
# and can write it to a file on a timeout.
#
# ### The mean of all
#
# Three ranks evaluate a model. The first has four samples, the second two, the third one. Each computes the mean of its
# losses. If you average the three means, do you get the mean loss?

# %% given
parts = [torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([2.0, 2.0]), torch.tensor([9.0])]
print("mean of the means", torch.stack([part.mean() for part in parts]).mean().item())
print("mean of all      ", round(torch.cat(parts).mean().item(), 4))

# %% [markdown]
# You don't. The last rank's single sample counts as much as the first rank's four. You can only average means if each
# is taken over the same number of samples.
#
# ### Your turn: global_mean
# Compute the mean over all ranks. Every rank must get it. This is a warm-up of about ten minutes.

# %% given
hint(
    "Which two numbers does each rank have to contribute? Both can be summed.",
    "The sum of all values and their count. What are they on a rank that has no values?",
)

# %% exercise: global_mean points=3 level=easy

# %% [markdown]
# You can add sums and counts over ranks, but not means, accuracies or standard deviations: go back to sums first. A
# maximum isn't a sum: `dist.all_reduce(t, op=dist.ReduceOp.MAX)` gives the largest value on any rank.
#
# ## How do four tensors become a sum?
#
# If four GPUs train the digits classifier, every step has to sum four gradients, and the training time depends on how
# that's done. You often read "Each GPU sends its gradient to all the others." With $N$ ranks and $n$ numbers, each rank
# would then receive $(N - 1)\,n$ numbers. Alternatively, one rank collects all gradients, adds them, and sends the sum
# back. Then that rank receives $(N - 1)\,n$ numbers and sends as many, while the others wait.
#
# The *ring* is better. Each rank only communicates with its two neighbors: it sends to the next rank and receives from
# the previous one. The tensor is cut into N chunks. In each step, every rank sends one chunk, all at the same time.
#
# - *Reduce-scatter*, N - 1 steps: a rank adds the chunk it receives to its own, and sends the result on in the next
#   step. At the end, each rank has one complete chunk.
# - *All-gather*, N - 1 steps: the complete chunks travel around the ring and replace the incomplete ones.
#
# In the picture, a row is a rank and a column is a chunk. The digits show which ranks' values the sum already contains.
# A red frame marks what arrived in the current step, and a complete sum is blue. Play it, or go step by step.

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
# In step 1, rank 0 receives chunk 3 from rank 3 and adds its own, so that's the chunk it sends on in step 2.
#
# How many numbers does a rank send in all? There are $2 (N - 1)$ steps with $n / N$ numbers each:
#
# $$2 n \, \frac{N - 1}{N}$$
#
# With many ranks, that's nearly $2n$, almost independent of $N$. The next picture compares it with the busiest rank
# when one rank collects everything.

# %% example
show_traffic([2, 3, 4, 8, 16])

# %% [markdown]
# With 16 ranks, the collecting rank sends $15 n$ numbers, and each rank of a ring sends $1.875 n$.
#
# Real libraries choose between rings, trees and other patterns, depending on the tensor's size and on how the GPUs are
# connected. The result is the same up to rounding, since the order of summation differs.
#
# ### Your turn: ring_all_reduce
# Write the ring. Here the ranks are threads, and each has a channel to the next. `send(t)` passes a copy of t to the
# next rank and doesn't wait. `recv()` waits for what the previous rank has sent, in order.

# %% given
hint(
    "tensor_split cuts a tensor into exactly N pieces, even if its length isn't divisible by N. In the first step, "
    "rank r sends chunk r. Which chunk does it receive from rank r - 1?",
    "Count the steps s of the first half from 0. In step s, rank r sends chunk r - s, and adds what it receives to "
    "chunk r - s - 1, all modulo N. At the end, its chunk r + 1 is complete.",
)

# %% exercise: ring_all_reduce points=5 level=hard

# %% [markdown]
# In PyTorch 2.13, the two halves are available as separate collectives, `dist.reduce_scatter_single` and
# `dist.all_gather_single`. Their older names, `dist.reduce_scatter_tensor` and `dist.all_gather_into_tensor`, are
# deprecated there. Remember both: a sharded model, at the end of this lab, is built from them.
#
# ## Equal models
#
# Two processes that train the digits classifier should end up with one network, not with two.
# *DistributedDataParallel*, DDP for short, trains one model on many ranks. Each rank has a full copy of the model, its
# own optimizer and part of the batch, its *shard*. If all copies start out equal and all optimizers see the same
# gradients, the copies stay equal, and the weights needn't be sent again.
#
# So DDP does two things. When you construct it, it sends rank 0's parameters and buffers to all ranks. In the backward
# pass, it averages the gradients. Below, each rank creates a model from a different seed. How much do the weights
# differ, before and after `DDP(model)`?


# %% given
def make_net(seed):
    """A small classifier with 3 inputs and 2 outputs."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 2))


def drawn(model, seed):
    """Random values for all of a model's parameters, by name."""
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
# Start with what the constructor does: give all ranks the state of rank 0. `dist.broadcast(t, src=0)` replaces t on
# each rank with rank 0's t.

# %% given
hint(
    "What does a training step read from a model, apart from parameters?",
    "The optimizer was created before your call, with these parameters. Which ways of loading a state keep them?",
)

# %% exercise: same_start points=2 level=easy further

# %% [markdown]
# The same seed on all ranks would give equal parameters as well, as long as every rank draws the same random numbers in
# the same order. A broadcast doesn't depend on that.
#
# ### What if a parameter isn't used?
#
# DDP puts gradients into *buckets*, the last layers first. By default, a bucket holds at most about 25 MB, and the
# first one 1 MiB, so sending begins early. Once all gradients of a bucket are ready, its all-reduce starts while the
# backward pass continues with earlier layers. This *overlap* of communication and computation is one reason why DDP is
# fast. It's also why DDP has to know which gradients to expect.
#
# The next picture is a sketch: the buckets have the sizes of the model's parameters, and an all-reduce is assumed to
# take as long as the backward pass for the same parameters, plus some start-up time. With one bucket for everything,
# when does the all-reduce finish? And what's the disadvantage of a bucket for each layer?

# %% example
show_overlap(
    nn.Sequential(*[nn.Linear(512, 512, device="meta") for _ in range(12)]),
    {"one bucket": 1e9, "3 MB": 3e6, "a bucket for each layer": 1},
    start=0.1,
)

# %% [markdown]
# With one bucket, nothing overlaps, and the last gradient arrives after 2.10 times the length of the backward pass.
# With a bucket for each layer, you pay the start-up cost twelve times, which is even slower: 2.28. The four buckets of
# 3 MB take 1.65.
#
# The model below has two branches. Rank 0 uses the first one, rank 1 the second. Each rank takes two steps.

# %% given
torch.manual_seed(0)


class Branches(nn.Module):
    """Two layers of equal shape, one of which is used in a call; a third that is never used, and a frozen one."""

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
# - [ ] no error: a branch that a rank didn't use counts as zeros
# - [x] after the first step, the gradients differ between ranks; the error is raised in the second step
# - [ ] no error in either step, and the gradients differ between ranks


# %% example
def bias_grads(rank, world_size, find):
    """The bias gradients of the three branches, or the error, in two steps."""
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
# Without the argument, the first step raises no error. Each rank keeps its own gradients: the bucket waited for a
# gradient that never arrived, so it wasn't sent. An optimizer step now would make the copies differ. The error is only
# raised in the next forward pass, so a test that runs a single step misses it.
#
# With `find_unused_parameters=True`, DDP traverses the graph in each forward pass, and uses zeros for whatever a rank
# didn't use. Both biases have half of one rank's gradient. If *no* rank used a parameter, its gradient stays None. The
# traversal takes time in each step, so it isn't the default.
#
# In the next exercise, you average gradients by hand. Remember the rule about collectives. On the two ranks above,
# "all-reduce each gradient that is there" calls `all_reduce` equally often, with equal shapes. What does it add?

# %% answer [markdown]
# Rank 0's gradients for `left` and rank 1's for `right`. Both ranks make two calls, one for a weight and one for a
# bias, and `all_reduce` only sees tensors of matching shapes. It doesn't know which parameters they belong to. No error
# is raised.

# %% [markdown]
# ### Your turn: average_gradients
# Now do by hand what DDP does in the backward pass: average a model's gradients, including those of parameters that
# some ranks didn't use.

# %% given
hint(
    "Rank 0 has no gradient for `right`, but it still has to take part in its all-reduce. With which numbers?",
    "To find out which parameters no rank used, every rank needs to know something about the others. Which collective "
    "provides that, once for all parameters?",
)

# %% exercise: average_gradients points=5 level=hard

# %% [markdown]
# You have now written what DDP does, except for the buckets and the overlap.

# %% [markdown]
# ## A good place to stop
#
# You can reduce over ranks, and average gradients as DDP does. The second half is about when that average is right, who
# gets which sample, and what isn't averaged. When you return after a break, Python has forgotten everything. Choose
# *Run > Run All Above Selected Cell* (in Colab, *Runtime > Run before*), or press *Check*, which runs what it needs.

# %% [markdown]
# ## Is it the gradient of the large batch?
#
# Two processes should train the same digits classifier as one, and do so only if every step uses the gradient of the
# whole batch. "$N$ ranks with a batch of $B$ each are the same as one batch of $N B$." When is that true? DDP divides
# the sum of the gradients by $N$. Here the whole batch has 10 samples, and its loss is their mean.

# %% predict: whole_batch
# **Predict.** One of these gives the gradient of the whole batch on two ranks. Which one?
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
# than each of the seven. The relative error is 0.64 here, and neither rank can notice it, since both have the same
# wrong gradient.
#
# With a sum of losses, each rank's gradient is five times as large as with a mean of five, and so is the average: an
# error of 4. And if one process used the sum over all ten samples, DDP's gradient would be half of its gradient,
# because DDP always divides by the number of ranks. With a sum, every number of ranks needs a different learning rate.
#
# The last line is the worst. `ddp.module` is the bare model: nothing is sent or averaged, and no error is raised. The
# copies drift apart from the first step. Always call the wrapper, even for a loss that needs one of the model's
# methods.
#
# ### Your turn: ddp_step
# Write a training step that's right for shards of any size, including an empty one.

# %% given
hint(
    "DDP will divide the sum of the ranks' gradients by the number of ranks. You want it divided by the number of "
    "samples. What must each rank multiply its sum of losses by?",
    "Every rank needs the total number of samples on all ranks. It's known before the forward pass.",
)

# %% exercise: ddp_step points=4 level=medium

# %% [markdown]
# Empty shards do occur: at the end of an epoch, or when a filter drops every sample. A rank that leaves the loop early
# leaves the others waiting.
#
# ### The digits, on two ranks
#
# Here two processes run the digits script. Both create the same network and draw the same order of the scans. Of each
# batch, rank 0 takes the half with the smaller digits and rank 1 the other half, as if they were stored on two
# machines. Run the cell. What does each rank read, and why? Then set `is_averaged` to `True`. How many digits can the
# two networks read now, and are they the network that one process trains on whole batches?

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
# | | rank 0 | rank 1 | one process | largest difference from one process's weights |
# |---|---|---|---|---|
# | not averaged | 57.2% | 57.9% | 95.3% | 0.7 |
# | averaged | 95.3% | 95.3% | 95.3% | 3e-07 |
#
# Without the average, rank 0 hardly ever sees the larger digits, or rank 1 the smaller ones, so each reads little more
# than its half. The two halves of a batch have 50 scans each, so the mean of the two gradients is the gradient of the
# whole batch, and every step is the same up to rounding. The two ranks have the same weights to the last bit.

# %% [markdown]
# Each process computes half of the gradient, and the result is the network that one process would train. Lab 12
# combines the script's changes.

# %% [markdown]
# ## Many micro-batches, one all-reduce
#
# If a batch of scans doesn't fit into a GPU's memory, you accumulate gradients over micro-batches, as in lab 6. With
# DDP, each `backward` averages the gradients over the ranks. The result is right if you do this every time, but only
# the last average is needed. `with ddp.no_sync():` skips it. Each rank then accumulates its own gradients in `.grad`,
# and the next backward pass outside the context averages the accumulated gradients.
#
# DDP decides in the *forward* pass whether a pass will be averaged.


# %% given
class Counted:
    """Counts how often DDP sends a bucket, with a hook that DDP calls instead of its own all_reduce."""

    def __init__(self, ddp):
        self.count = 0
        ddp.register_comm_hook(None, self.hook)

    def hook(self, state, bucket):
        self.count += 1
        work = dist.all_reduce(bucket.buffer().div_(dist.get_world_size()), async_op=True)
        return work.get_future().then(lambda future: future.value()[0])


# %% predict: sent
# **Predict.** How many times are gradients sent for four micro-batches: without `no_sync`, with it around only the
# backward passes of the first three, and with it around their forward and backward passes?
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
# Around only the backward pass, `no_sync` has no effect, and raises no error.
#
# ### Your turn: accum_no_sync
# Accumulate over a list of micro-batches, with one average at the end.

# %% given
hint(
    "Which micro-batch isn't inside no_sync? Which of its passes must be outside?",
    "Micro-batches may differ in size: what must their losses be divided by so each sample counts equally?",
)

# %% exercise: accum_no_sync points=4 level=medium further

# %% [markdown]
# With k micro-batches, a step sends a k-th of the traffic. Accumulation between machines can therefore make training
# faster, as well as save memory.
#
# ## Who gets which sample?
#
# If two ranks validate the digits classifier on 397 scans, they can't split them evenly, and one scan may count twice.
# `DistributedSampler` gives a `DataLoader` the indices of its rank, and each rank must train on different samples. With
# ten samples and four ranks, who gets which ones? And does a second epoch have a different order?

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
# Each rank gets three indices, because all ranks must call backward equally often. That makes twelve, so the sampler
# *pads*: samples 0 and 1 appear twice. In training it hardly matters. In evaluation it does: two samples count double
# in the accuracy. (`drop_last=True` drops the remainder instead, so some samples don't count at all.)
#
# And every epoch has the same order until you call `set_epoch(epoch)`. The sampler shuffles with `seed + epoch` as its
# seed, because all ranks have to agree on the order. Many training scripts forget this call, and nothing fails.
#
# ### Your turn: shard
# Write the indices yourself: padded and shuffled for training, exact for evaluation.

# %% given
hint(
    "All ranks must create the same permutation of all n indices. Which generator do you need, and with which seed?",
    "Taking every world_size-th index, starting at rank, gives shards whose sizes differ by at most one. How many "
    "indices do you need for equal sizes? If n is small, you may have to repeat the first ones several times.",
)

# %% exercise: shard points=3 level=medium

# %% [markdown]
# If the ranks created their permutations from different seeds, some samples would be read twice and others never.
# Nothing would fail, and loss curves would hardly show it.
#
# ## What isn't averaged
#
# The convolutional digits network of lab 6b has batch normalization, and DDP only averages gradients. In training mode,
# a batch normalization layer uses the mean and variance of its own rank's samples. Its running averages are buffers:
# DDP sends rank 0's buffers to all ranks at the start of each forward pass.
#
# Below, rank 0 has the samples 1 and 3, and rank 1 has 11 and 13. With `momentum=0.5`, a new running mean is half of
# the old one plus half of the batch's mean. It starts at 0, so it's 1 and 6 after the first pass.

# %% predict: second_mean answer=6.5
# **Predict.** What is the running mean on rank 1 after the second pass?


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
# It's 0.5 + 6, not 3 + 6: rank 1 received rank 0's running mean of 1 before its second pass, and lost its own.
#
# Both ranks normalize to -1 and 1. Over all four samples, rank 0's would be below the mean, and rank 1's above it. So a
# model with batch normalization is *not* trained as it would be on one large batch. And the model that rank 0 saves
# only contains the statistics of rank 0's samples.
#
# `nn.SyncBatchNorm.convert_sync_batchnorm(model)` replaces these layers with ones that use the statistics of all ranks.
# It needs GPUs, but its core is short.
#
# ### Your turn: sync_moments
# Compute the mean and the variance over the samples of all ranks. The variance isn't the mean of the ranks' variances:
# in the example, that would be 1 instead of 26.

# %% given
hint(
    "The mean is global_mean for each column. Which mean are the deviations measured from?",
    "E[x**2] - E[x]**2 subtracts two nearly equal numbers if the mean is large. Two rounds of all_reduce avoid that.",
)

# %% exercise: sync_moments points=3 level=medium further

# %% [markdown]
# ## Which one to use, and how to start it
#
# When you move from the digits to a model that needs several GPUs, you have to choose one of PyTorch's wrappers and
# start the processes.
#
# ### DataParallel
#
# `nn.DataParallel(model)` looks easier: one line, one process. In each forward pass, it copies the model from GPU 0 to
# all GPUs, splits the batch, and runs one thread for each GPU. The results are gathered on GPU 0, where you usually
# compute the loss. You may read that GPU 0 then runs backward alone. It doesn't: each replica's backward runs on its
# own GPU. The copies were made by an autograd operation, `Broadcast`, and its backward adds the gradients of all
# replicas on GPU 0, the device that the weights came from.
#
# It's still slower. The weights are sent in every step, the threads share one Python interpreter, and GPU 0 needs more
# memory than the others. It only works on one machine, and even there PyTorch's documentation recommends DDP. What does
# it do without a GPU?

# %% example
parallel = nn.DataParallel(make_net(0))
print("devices", parallel.device_ids, " names", list(parallel.state_dict()))

# %% [markdown]
# On the machine where we measured, it had no device, and simply called its module. But the parameter names have a
# prefix, `module.`, which DDP adds too. Save `model.module.state_dict()`, or the file won't fit the bare model.
#
# ### A real start
#
# In a script, each process has to join the group. `torchrun` starts the processes and passes each its rank in
# environment variables. `python -m torch.distributed.launch`, which older tutorials use, is deprecated. Below is the
# smallest complete script. In a notebook, put `%%writefile train.py` on the first line of a cell to write it to a file.
#
# ```python
# import os
# import torch
# import torch.distributed as dist
# import torch.distributed.nn  # before there is a group: otherwise its defaults keep a reference to it
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
# Start it with `python -m torch.distributed.run --standalone --nproc_per_node=2 train.py`; `torchrun` is a shorter name
# for the same program. If there are fewer GPUs than processes, the script runs on the CPU, because two processes can't
# share a GPU in NCCL. With two processes on a CPU, it prints, in either order:
#
# ```
# rank 0: 25 samples, bias -0.008688
# rank 1: 25 samples, bias -0.008688
# ```
#
# Each rank draws different initial weights and sees half of the samples. The biases are equal because DDP sends rank
# 0's to all ranks, and averages the gradients. Try it: it takes about fifteen seconds.
#
# `init_process_group` reads the rank, the world size and rank 0's address from the environment. Without `torchrun`, you
# have to set `MASTER_ADDR`, `MASTER_PORT`, `RANK` and `WORLD_SIZE` yourself, or pass rank and world size as arguments.
# (This script also reads `LOCAL_RANK` and `LOCAL_WORLD_SIZE`, which count only the processes on one machine.)
# `destroy_process_group` ends the group; many examples omit it, and the sampler too. Call it last, when no model holds
# the group any more: a gloo thread that's still running while Python shuts down can abort the process.
#
# Can a notebook start the processes? If you call `torch.multiprocessing.spawn(f, nprocs=2)` with an f from a cell, each
# process prints `AttributeError: Can't get attribute 'f' on <module '__main__' (built-in)>`, and the call raises
# `ProcessExitedException`. A spawned process is a fresh Python. It looks for f in the main module, which doesn't
# contain your cells. Put f into a file and import it, or use `%%writefile`. (`probes.ranks` forks instead: a fork is a
# copy of the process, cells included. A process that has used CUDA can't be forked for more work on CUDA.)
#
# ### A model that is too large
#
# DDP keeps the whole model, its gradients and its optimizer states on each GPU. If they don't fit, more ranks don't
# help. *Model parallelism* puts some layers on one GPU and others on the next. *Fully sharded data parallel*,
# `torch.distributed.fsdp.fully_shard`, splits the batch as DDP does, but each rank stores only part of each parameter,
# gradient and optimizer state. It gathers a layer's weights with an all-gather just before they're needed, and
# distributes gradients with a reduce-scatter: the two halves of your ring.

# %% quiz: interview points=3
# ## Interview questions
#
# **All-reduce**
# - [x] In a ring, no rank sends more than twice its tensor, however many ranks there are.
#   > A rank sends 2 n (N - 1) / N numbers, which is always less than 2 n. With 16 ranks it's 1.875 n.
# - [ ] In a ring, each rank sends its tensor to all the others.
#   > It only communicates with its two neighbors, and sends one chunk in each step.
# - [x] `dist.all_reduce(t)` changes t in place.
#   > It returns nothing that you need. In the first example, `x` itself held the sum afterwards.
# - [x] If one rank skips it, the others wait.
#   > A collective is complete when every rank has called it. If an `if` goes the other way on one rank, all ranks stop
#   > until a timeout ends the run.
# - [ ] It gives the mean by default.
#   > The default is the sum. DDP divides by the number of ranks.
#
# Hint: What did your ring send? What did the first example print?
#
# **DistributedDataParallel**
# - [ ] It sends rank 0's weights to all ranks in each step.
#   > It sends rank 0's state when it's constructed. After that, equal gradients keep the copies equal.
# - [x] Each rank has its own optimizer.
#   > They all start out equal and see the same gradients, so their steps are equal too. No optimizer state is sent.
# - [x] Gradients of late layers are sent while those of early layers are still being computed.
#   > A bucket is sent as soon as its gradients are ready, the last layers first. That overlap is one reason why DDP is
#   > fast.
# - [ ] `ddp.module(x)` gives averaged gradients.
#   > That's the bare model. Nothing is sent, and the ranks differ from the first step on, without an error.
# - [x] When it's constructed, all ranks get rank 0's parameters and buffers.
#   > The weights in the lab differed before `DDP(model)` and were equal after it.
#
# Hint: What happens once, and what happens in each step?
#
# **The gradient of the large batch.** With DDP, and without batch normalization or dropout, all ranks get it for
# - [x] a mean loss and shards of 5 and 5.
#   > The average of two means over equally many samples is the mean over all. The relative error was 0.
# - [ ] a mean loss and shards of 7 and 3.
#   > Each of the 3 samples counts more than each of the 7. The relative error was 0.64, and both ranks had the same
#   > wrong gradient.
# - [ ] a sum of losses, if the large batch uses a sum as well.
#   > DDP divides by the number of ranks. With two ranks, the result is half of the sum's gradient.
# - [x] a sum of losses times the number of ranks, divided by the total number of samples, and shards of 7 and 3.
#   > The factor cancels DDP's division, which leaves the sum over all samples divided by their number.
# - [ ] a mean loss and shards of 5 and 5, each in two micro-batches of 3 and 2 with mean losses divided by 2.
#   > A sample in a micro-batch of 2 counts more than one in a micro-batch of 3. Equal shards don't help there.
#
# Hint: How much does each sample count?
#
# **Accumulation and unused parameters**
# - [ ] Without `no_sync`, accumulation over micro-batches gives wrong gradients.
#   > They're right, since each `backward` averages what it adds. But gradients are sent four times instead of once.
# - [x] `no_sync` must be around the forward pass too.
#   > DDP decides in the forward pass whether a pass will be averaged. Around only the backward pass, `no_sync` had no
#   > effect.
# - [ ] An unused parameter raises an error in the backward pass that didn't use it.
#   > That pass raised no error, and left each rank with its own gradient. The error was raised in the next forward
#   > pass.
# - [x] With `find_unused_parameters=True`, a rank that didn't use a parameter counts as zeros.
#   > Both biases got half of the gradient of the one rank that used them. The gradient stays None only if no rank used
#   > the parameter.
# - [x] "All-reduce each gradient that is there" can add gradients of different parameters.
#   > Ranks with different branches call it equally often with equal shapes, so one rank's `left` is added to the
#   > other's `right`.
#
# Hint: In which step was the error raised?
#
# **Data and statistics**
# - [x] `DistributedSampler` may give a sample to two ranks.
#   > It pads until all ranks have equally many. With ten samples and four ranks, samples 0 and 1 appeared twice.
# - [x] Without `set_epoch`, each epoch has the same order.
#   > It shuffles with `seed + epoch`, and the epoch stays 0 until you set it. Nothing fails.
# - [x] The average of the ranks' accuracies is the accuracy if all ranks have equally many samples and no sample
#   appears twice.
#   > Each rank's accuracy is then taken over equally many samples. Otherwise, sum the hits and the counts.
# - [ ] DDP averages the statistics of batch normalization over the ranks.
#   > It averages gradients. Rank 0's buffers are sent to all ranks in the forward pass, so rank 1's running mean was
#   > lost.
# - [ ] The mean of the ranks' variances is the variance of all samples.
#   > It ignores how far apart the ranks' means are. In the example it would be 1 instead of 26.
#
# Hint: Ten samples, four ranks: which ones count double?
#
# **Which one**
# - [ ] In `DataParallel`, backward runs only on GPU 0.
#   > Each replica's backward runs on its own GPU. Only the sums of the gradients are computed on GPU 0.
# - [x] `DataParallel` copies the weights to all GPUs in each forward pass.
#   > The model is on GPU 0, and the copies are made again in each pass. That's one reason why it's slow.
# - [ ] `torch.distributed.launch` is the recommended way to start.
#   > It's deprecated. `torchrun` starts the processes and passes each its rank.
# - [ ] With DDP, you can train a model that's too large for one GPU.
#   > Each rank has the whole model, its gradients and its optimizer states. For that size you need a sharded model.
# - [x] A fully sharded model gathers weights when they're needed.
#   > Each rank stores only part of them. An all-gather fetches a layer's weights just before they're used.
#
# Hint: Which of them needs the whole model on each GPU?

# %% [markdown]
# ## Asked in interviews
#
# Answer aloud before you open the text.
#
# **What's the difference between `DataParallel` and `DistributedDataParallel`?**
#
# <details><summary>A good answer</summary>
#
# `DataParallel` is one process with a thread for each GPU. In each forward pass, it copies the weights from GPU 0 to
# all others, splits the batch, and gathers the results on GPU 0. DDP runs one process for each GPU, each with the whole
# model and its own optimizer. They receive rank 0's weights once, and then average gradients during each backward pass.
# The trap: in `DataParallel`, GPU 0 doesn't run backward alone. Each replica does, and GPU 0 adds the gradients.
# `DataParallel` only works on one machine, and the documentation recommends DDP there too. If a model is too large for
# one GPU, neither helps: it has to be sharded or split.
#
# </details>

# %% [markdown]
# ## In your own words (2 points)
#
# A colleague moves a training run from one GPU to eight, with DDP. He keeps the learning rate, and a batch size of 32
# on each rank. Each rank computes the mean loss of its batch. Validation uses a `DistributedSampler`, and each rank
# prints its own accuracy. The model has batch normalization. Training runs, but the accuracy differs from rank to rank,
# the loss falls more slowly per epoch than before, and the samples have the same order in every epoch.
#
# In four to eight sentences: how large is the batch of one step now, and how many steps does an epoch have? What
# explains each of the three observations? Name three lines that you'd change or add.

# %% question: eight_gpus [markdown] points=2
# ### BEGIN SOLUTION
# A step now uses the mean over 256 samples, since DDP averages the gradients of eight means of 32. An epoch has an
# eighth of the steps with the same learning rate, so the loss falls more slowly per epoch. The usual remedy is a larger
# learning rate, often with a warm-up, or a smaller batch on each rank. The accuracy differs because each rank evaluates
# its own eighth of the samples; and if their number isn't divisible by eight, the sampler counts some of them twice.
# The running statistics of the batch normalization can also differ until rank 0's are sent in the next forward pass.
# All epochs have the same order because `sampler.set_epoch(epoch)` is missing. Changes: set_epoch in each epoch; sums
# of hits and counts, all-reduced and then divided, over shards without padding; SyncBatchNorm, or rank 0's buffers for
# evaluation; a learning rate for a batch of 256.
#
# For grading: one point for the batch of 256 and an eighth of the steps, together with the reasons for two of the three
# observations; one for three changes that fit.
# ### END SOLUTION

# %% [markdown]
# ## On one sheet
#
# - All ranks call the same collectives, in the same order, with the same shapes. A rank that skips one stops all.
# - A ring has two halves, reduce-scatter and all-gather, and each rank sends $2 n (N - 1) / N$ numbers.
# - DDP sends rank 0's state once, and averages gradients in buckets during each backward pass.
# - An average over ranks is right if every rank has equally many samples. Otherwise sum, count, and divide.
# - `no_sync` goes around the forward and backward passes of all micro-batches but the last.
# - A sampler pads, and repeats its order without `set_epoch`. Each rank has its own batch statistics.
# - DataParallel is for one machine, and slower. DDP needs the whole model on each rank; a sharded model doesn't.
#
# | call or rule | what it does or costs |
# |---|---|
# | `dist.all_reduce(t)` | replaces t with the sum over all ranks; waits for ranks that skip it |
# | `dist.broadcast(t, src=0)` | replaces t on each rank with rank 0's t |
# | `DDP(model)`, then `ddp(x)` | rank 0's state once, averaged gradients in each backward pass |
# | `ddp.module(x)` | the bare model: nothing is averaged, and no error is raised |
# | `find_unused_parameters=True` | zeros for what a rank didn't use; costs time in each step |
# | `ddp.no_sync()`, forward and backward | no average: with k micro-batches, a k-th of the traffic |
# | `sampler.set_epoch(epoch)` | a different order in each epoch |
# | `model.module.state_dict()` | names without the prefix `module.` |
#
# Three questions to ask yourself:
#
# - Does each rank have equally many samples, for every mean that I take?
# - Can an `if` on one rank skip a collective that the others call?
# - Which parts of my model aren't gradients, and differ between the ranks?
#
# Lab 12 combines all of this in one training script.
