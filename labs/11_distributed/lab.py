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
    assert_some_right,
    check,
    explain,
    explore_ring,
    hint,
    probes,
    show_traffic,
)

# %% [markdown]
# # Many processes, one gradient
#
# One GPU is too slow, so you take four. Each of them computes a gradient from its own samples. Four gradients must
# become one, or four models grow apart. In this lab you write the code that does it, and you see where it goes wrong
# without an error.
#
# After this lab you can
#
# - explain an all-reduce, write the ring that computes it, and say how many bytes it moves;
# - say what DistributedDataParallel does at its construction, in forward and in backward, and do the same by hand;
# - give unequal shards, micro-batches and unused parameters the gradient that one process would compute;
# - say what is *not* averaged, and who pads your evaluation;
# - choose between DataParallel, DistributedDataParallel and sharded models, and start a run with `torchrun`.
#
# You need lab 6. This one takes about 90 minutes. After the section on equal models is a good place for a break. All
# numbers in the text were measured with PyTorch 2.13 on a CPU. Nothing here needs a GPU: the processes run on the CPU
# and speak over *gloo*, a library for that. With several NVIDIA GPUs you would say `nccl` instead. The calls are the
# same, but NCCL takes CUDA tensors only: each rank chooses its GPU with `torch.cuda.set_device`, and what it sends, a
# count too, is made there.
#
# Write your predictions down before you run a cell. The lab is worth 34 points. The checks that you see hold about a
# seventh of them. The last question, worth 2 points, is read by a person.

# %% [markdown]
# ## Ranks
#
# A distributed program is the same program, started several times. The processes share no memory. Each has a number,
# its *rank*, from 0 to `world_size - 1`. Together they form a *process group*, in which they can send tensors.
#
# `probes.ranks(f, ..., world_size=2)` starts such a group for this lab. It copies this notebook's process, calls
# `f(rank, world_size, ...)` in each copy, and gives the list of their results. The copies then end.
#
# An operation in which all ranks take part is a *collective*. `dist.all_reduce(t)` is the most important one: it
# replaces t on every rank by the sum over all ranks. What does the next cell print for `x` on each rank, and what for
# `x` in this notebook afterwards?


# %% given
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
# others wait for ever. (Here they wait for some seconds, and then you get a `TimeoutError`.) It is the most frequent
# way in which a distributed program stops. So: *all ranks call the same collectives, in the same order, with the same
# shapes.*
#
# ### The mean of all
#
# Three ranks evaluate a model. The first has four samples, the second two, the third one. Each computes the mean of its
# losses. Somebody averages the three means. Is that the mean loss?

# %% given
parts = [torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([2.0, 2.0]), torch.tensor([9.0])]
print("mean of the means", torch.stack([part.mean() for part in parts]).mean().item())
print("mean of all      ", round(torch.cat(parts).mean().item(), 4))

# %% [markdown]
# It is not. The one sample of the last rank counts as much as the four of the first. Means can be averaged only if
# they stand for equally many samples.
#
# ### Your turn
# Compute the mean over all ranks. Every rank must get it.

# %% given
hint(
    "Which two numbers of each rank are enough? Both can be summed.",
    "A sum of all values and a count of all values. What is their sum on a rank that has no value?",
)


# %% exercise: global_mean
def global_mean(values: Tensor) -> Tensor:
    """The mean of all values on all ranks, called on every rank at the same time: 0-dim, float64, equal on all ranks.

    values: this rank's own, float32 or bool (True counts as 1), of any shape, which may differ from rank to rank. Some
    ranks may have no value at all; at least one value is somewhere. values are not changed. Sums are in float64.
    """
    ### BEGIN SOLUTION
    pair = torch.tensor([values.double().sum(), values.numel()], dtype=torch.float64)
    dist.all_reduce(pair)
    return pair[0] / pair[1]
    ### END SOLUTION


# %% given
def in_group(call, *args, world_size):
    """[call(rank, world_size, *args) for each rank]. One rank alone needs no process of its own."""
    if world_size > 1:
        return probes.ranks(call, *args, world_size=world_size)
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    try:
        return [call(0, 1, *args)]
    finally:
        dist.destroy_process_group()


def result_of(rank, world_size, function, items):
    return function(items[rank])


def left_by(rank, world_size, function, items):
    function(items[rank])
    return items[rank]


@probes.probe
def on_ranks(function, items):
    """What function gives on each rank. Rank r gets items[r]."""
    return in_group(result_of, function, items, world_size=len(items))


@probes.probe
def left_on_ranks(function, items):
    """items[r] on each rank r, after function got it."""
    return in_group(left_by, function, items, world_size=len(items))


# %% check: global_mean points=3
with check("the three ranks above: 17 / 7, on each of them", weight=2, required=True):
    explain(
        on_ranks(global_mean, parts),
        [torch.tensor(17 / 7, dtype=torch.float64)] * 3,
        {
            "this is the mean of the means": [torch.tensor(4.0, dtype=torch.float64)] * 3,
            "this is the sum over the number of ranks": [torch.tensor(17 / 3, dtype=torch.float64)] * 3,
        },
    )
### BEGIN HIDDEN TESTS
with check("two and four ranks, values of any shape", weight=3, required=True, hint="What do you divide by?"):
    for t in ([(3, 5), (7,)], [(2, 2), (1,), (), (3, 1, 4)]):
        generator = torch.Generator().manual_seed(len(t))
        t = [torch.randn(shape, generator=generator) * 3 + 1 for shape in t]
        want = [torch.cat([part.flatten() for part in t]).double().mean()] * len(t)
        assert_close(on_ranks(global_mean, t), want)
with check("bool values: an accuracy", weight=1, hint="In which dtype can True be summed?"):
    t = [torch.tensor([True, False, True]), torch.tensor([True, True, True, False, True])]
    assert_close(on_ranks(global_mean, t), [torch.tensor(0.75, dtype=torch.float64)] * 2)
with check("a rank without values", weight=2, hint="What is the mean of an empty tensor?"):
    t = [torch.zeros(0), torch.tensor([3.0, 4.0, 8.0, 9.0]), torch.zeros(2, 0)]
    assert_close(on_ranks(global_mean, t), [torch.tensor(6.0, dtype=torch.float64)] * 3)
with check("sums are in float64", weight=1, hint="What is 2**24 + 1 in float32?"):
    t = [torch.tensor([2.0**24, 1.0]), torch.tensor([1.0])]
    want = [torch.tensor((2.0**24 + 2) / 3, dtype=torch.float64)] * 2
    assert_close(on_ranks(global_mean, t), want, rtol=1e-9, atol=0)
with check("one rank alone", weight=1):
    for t in (torch.tensor([2.0, 5.0]), torch.linspace(-1, 3, 7)):
        want = [t.double().mean()]
        assert_close(on_ranks(global_mean, [t]), want)
with check("values are not changed", guard=True):
    t = [torch.tensor([1.5, -2.0, 4.0]), torch.tensor([0.5, 3.0, 7.0])]
    want = [part.clone() for part in t]
    assert_close(left_on_ranks(global_mean, t), want)
### END HIDDEN TESTS

# %% [markdown]
# Sums and counts can be added over ranks. Means, accuracies and standard deviations cannot: go back to sums first. A
# maximum is no sum: `dist.all_reduce(t, op=dist.ReduceOp.MAX)` gives the largest of all ranks.
#
# ## How do four tensors become a sum?
#
# "Each GPU sends its gradient to all the others." You read that often. With N ranks and n numbers, each rank would then
# receive (N - 1) * n numbers. Or one rank collects all, adds, and sends the sum back. Then that one rank receives
# (N - 1) * n numbers and sends as many, while the others wait.
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
# is around what came in with the step, and a complete sum is blue. In a live notebook, choose a step. Which chunk does
# rank 0 send in step 1, and which one in step 2?

# %% given
explore_ring(4)

# %% [markdown]
# How many numbers does a rank send in all? There are 2 (N - 1) steps with n / N numbers each: 2 n (N - 1) / N. With
# many ranks that is nearly 2 n. It hardly depends on N. The next picture compares it with the busiest rank of the other
# way.

# %% given
show_traffic([2, 3, 4, 8, 16])

# %% [markdown]
# With 16 ranks the collecting rank sends 15 n numbers, and each rank of a ring sends 1.875 n.
#
# Real libraries choose between rings, trees and others, by size and by what connects the GPUs. The result is the same,
# up to rounding: another order of summation.
#
# ### Your turn
# Write the ring. Here the ranks are threads, and a channel leads from each to the next. `send(t)` gives a copy of t to
# the next rank and does not wait. `recv()` waits for what the rank before has sent, in order.

# %% given
hint(
    "tensor_split cuts into exactly N pieces, also where N does not divide the length. In the first step rank r sends "
    "chunk r. Which chunk comes in from rank r - 1?",
    "Count the steps s of the first half from 0. In step s, rank r sends chunk r - s, and adds what comes to chunk "
    "r - s - 1, all modulo N. At the end its chunk r + 1 is complete.",
)


# %% exercise: ring_all_reduce
def ring_all_reduce(
    rank: int, world_size: int, x: Tensor, send: Callable[[Tensor], None], recv: Callable[[], Tensor]
) -> Tensor:
    """The sum of x over all ranks, called on each rank: a new tensor with the shape and dtype of x, for one rank too.

    x: (n,), float32, float64 or int64, with the same n on all ranks, n >= 0, of any stride. x is not changed.
    send(t): gives a copy of the tensor t to rank (rank + 1) % world_size. It does not wait.
    recv(): the next tensor that rank (rank - 1) % world_size sent to this one. It waits for it; if all wait, it raises
    RuntimeError.
    Each rank sends at most 2 * (world_size - 1) messages, each of at most ceil(n / world_size) numbers.
    """
    ### BEGIN SOLUTION
    chunks = [chunk.clone() for chunk in x.tensor_split(world_size)]
    for step in range(world_size - 1):
        send(chunks[(rank - step) % world_size])
        chunks[(rank - step - 1) % world_size] += recv()
    for step in range(world_size - 1):
        send(chunks[(rank + 1 - step) % world_size])
        chunks[(rank - step) % world_size] = recv()
    return torch.cat(chunks)
    ### END SOLUTION


# %% given
class Ring:
    """A channel from each rank to the next, which notices a deadlock."""

    def __init__(self, world_size):
        self.inbox = [deque() for _ in range(world_size)]
        self.running, self.waiting = set(range(world_size)), set()
        self.changed = threading.Condition()

    def send(self, rank, t):
        with self.changed:
            self.inbox[(rank + 1) % len(self.inbox)].append(t.detach().clone())
            self.changed.notify_all()

    def recv(self, rank):
        with self.changed:
            self.waiting.add(rank)
            self.changed.notify_all()
            self.changed.wait_for(lambda: self.inbox[rank] or self.stuck())
            if not self.inbox[rank]:
                raise RuntimeError(f"rank {rank} waits for a message that nobody will send")
            self.waiting.discard(rank)
            return self.inbox[rank].popleft()

    def stuck(self):
        return all(rank in self.waiting and not self.inbox[rank] for rank in self.running)

    def call(self, rank, function, x, results):
        try:
            results[rank] = function(rank, len(self.inbox), x, lambda t: self.send(rank, t), lambda: self.recv(rank))
        except BaseException as error:
            results[rank] = error
        with self.changed:
            self.running.discard(rank)
            self.changed.notify_all()

    def run(self, function, xs):
        """What function gives on each rank, a thread."""
        results = [None] * len(xs)
        threads = [threading.Thread(target=self.call, args=(rank, function, x, results)) for rank, x in enumerate(xs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        failed = [result for result in results if isinstance(result, BaseException)]
        if failed:  # what the others raise is often only that nobody sends to them any more
            raise next((error for error in failed if "nobody will send" not in str(error)), failed[0])
        return results


@probes.probe
def on_ring(function, xs):
    """Each rank's result."""
    return Ring(len(xs)).run(function, xs)


@probes.probe
def left_by_ring(function, xs):
    """Each rank's x, after its result was filled with zeros."""
    for result in Ring(len(xs)).run(function, xs):
        result.zero_()
    return xs


# %% check: ring_all_reduce points=5
with check("four ranks, eight numbers", weight=2, required=True):
    t = [torch.arange(8.0) * 10**number for number in range(4)]
    want = torch.arange(8.0) * 1111
    own = torch.arange(8) // 2  # the chunk of each number
    half = [sum(x * ((r - own) % 4 <= (rank - own) % 4) for r, x in enumerate(t)) for rank in range(4)]
    explain(
        on_ring(ring_all_reduce, t),
        [want] * 4,
        {"this is the mean": [want / 4] * 4, "only the first half of the ring was run": half},
    )
### BEGIN HIDDEN TESTS
with check(
    "two to five ranks, lengths that the ranks do not divide",
    weight=4,
    required=True,
    hint="Where are the last numbers if 11 are cut into chunks of 11 // 3?",
):
    for n, length in ((2, 7), (3, 11), (4, 13), (5, 24)):
        generator = torch.Generator().manual_seed(length)
        t = [torch.randn(length, generator=generator) for _ in range(n)]
        want = [torch.stack(t).sum(0)] * n
        assert_close(on_ring(ring_all_reduce, t), want)
with check("float64, int64, and a tensor with gaps", weight=2, hint="Which dtype has the tensor that you return?"):
    generator = torch.Generator().manual_seed(1)
    t = [torch.randn(9, generator=generator, dtype=torch.float64) for _ in range(3)]
    want = [t[0] + t[1] + t[2]] * 3
    assert_close(on_ring(ring_all_reduce, t), want, rtol=1e-12, atol=1e-12)
    t = [torch.arange(10).reshape(5, 2)[:, number] * 7 + 2**53 + 1 for number in range(2)]
    want = [t[0] + t[1]] * 2
    assert_close(on_ring(ring_all_reduce, t), want)
with check("fewer numbers than ranks, or one rank", weight=2, hint="How many chunks are there, and how large is each?"):
    for n, length in ((4, 3), (3, 1), (1, 5), (3, 0), (1, 0)):
        t = [torch.linspace(-1, 1, length) * (number + 2) for number in range(n)]
        want = [torch.linspace(-1, 1, length) * sum(range(2, n + 2))] * n
        assert_close(on_ring(ring_all_reduce, t), want)


def sent_on_ring(function, xs):
    """What each rank sent and took (None), in order. The ranks take turns, and each begins anew in its turn.

    A rank that waits for a message that has not been sent yet is stopped there, and told that nobody will send it.
    """
    inboxes, logs, at_its_end = [[] for _ in xs], [[] for _ in xs], [False] * len(xs)

    def turn(rank):
        log, came = [], iter(inboxes[rank])

        def send(t):
            log.append(t.detach().clone())

        def recv():
            message = next(came, None)
            at_its_end[rank] &= message is not None
            if message is None:
                raise RuntimeError(f"rank {rank} waits for a message that nobody will send")
            log.append(None)
            return message.clone()

        at_its_end[rank] = True
        try:
            function(rank, len(xs), xs[rank].clone(), send, recv)
        except RuntimeError:
            if at_its_end[rank]:
                raise
        return log

    while not all(at_its_end):
        before = [len(log) for log in logs]
        for rank in range(len(xs)):
            logs[rank] = turn(rank)
            inboxes[(rank + 1) % len(xs)] = [message for message in logs[rank] if message is not None]
        assert all(at_its_end) or before != [len(log) for log in logs], "all ranks wait for a message"
    return logs


def assert_ring(logs, xs):
    """Raise AssertionError unless these messages tell every rank the sum, and are no more and no larger than needed.

    A rank knows its own numbers, those that came, and the sums of one of these and one of its own. Whoever sends
    something else made it up.
    """
    n, length, total = len(xs), len(xs[0]), {sum(column) for column in zip(*xs, strict=True)}
    for rank, log in enumerate(logs):
        known, inbox = {0, *xs[rank]}, iter([message for message in logs[rank - 1] if message is not None])
        for message in log:
            if message is None:
                came = next(inbox).tolist()
                known |= {*came, *(a + b for a in came for b in xs[rank])}
            else:
                assert known >= set(message.tolist()), "a rank sent a number that is no sum over ranks"
        assert known >= total, "a rank cannot know the sum from what came"
        sizes = [message.numel() for message in log if message is not None]
        assert len(sizes) <= 2 * (n - 1), f"one rank sent {len(sizes)} messages"
        assert max(sizes) <= math.ceil(length / n), f"one message had {max(sizes)} numbers"


with check("no message is larger than a chunk, and there are no more than needed", weight=4, required=True):
    for n, length in ((4, 8), (3, 11), (5, 24)):
        generator = torch.Generator().manual_seed(n)
        t = torch.randint(2**20, (n, length), generator=generator).float()  # their sums are exact
        assert_ring(sent_on_ring(ring_all_reduce, list(t)), t.tolist())
with check("x is not changed", guard=True):
    for n in (3, 1):
        t = [torch.linspace(1, 2, 7) + number for number in range(n)]
        want = [x.clone() for x in t]
        assert_close(left_by_ring(ring_all_reduce, t), want)
### END HIDDEN TESTS

# %% [markdown]
# `dist.reduce_scatter_tensor` and `dist.all_gather_into_tensor` are the two halves as collectives of their own. Keep
# them in mind: a sharded model, at the end of this lab, is built from both.
#
# ## Equal models
#
# *DistributedDataParallel*, DDP for short, trains one model on many ranks. Each rank has a whole copy of the model, an
# optimizer of its own and a part of the batch, its *shard*. If all copies begin equal, and all optimizers see the same
# gradients, the copies stay equal for ever. Nobody has to send weights again.
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


# %% given
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
# ### Your turn
# First the construction: give all ranks the state of rank 0. `dist.broadcast(t, src=0)` replaces t on each rank by the
# t of rank 0.

# %% given
hint(
    "What does a model have that a training step reads, and that is not a parameter?",
    "The optimizer was made before your call, from these parameter objects. Which ways of loading a state keep them?",
)


# %% exercise: same_start
def same_start(model: nn.Module) -> None:
    """Give model, on every rank, the values of rank 0: all parameters and all buffers. Called on every rank.

    Models have the same structure on all ranks. Parameters and buffers may be of any dtypes, and are all in
    model.state_dict(). Values are equal to the last bit afterwards. The parameters stay the same objects, so that an
    optimizer that was made before goes on with them, and each keeps its requires_grad.
    """
    ### BEGIN SOLUTION
    with torch.no_grad():
        for t in (*model.parameters(), *model.buffers()):
            dist.broadcast(t, src=0)
    ### END SOLUTION


# %% given
def make_normed(state, frozen=()):
    """A model with a batch normalisation and two more buffers, these values, and frozen parameters of these names."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(3, 5), nn.BatchNorm1d(5), nn.Linear(5, 2))
    model.register_buffer("times", torch.zeros(2, dtype=torch.float64))
    model.register_buffer("mask", torch.zeros(3, dtype=torch.bool))
    model.load_state_dict(state, strict=False)
    for name in frozen:
        model.get_parameter(name).requires_grad_(False)
    return model


def start_of(rank, world_size, function, states, frozen):
    model = make_normed(states[rank], frozen)
    function(model)
    return {name: t for name, t in probes.state_of(model).items() if name in states[rank]}


def step_after(rank, world_size, function, states, frozen, x, lr):
    model = make_normed(states[rank], frozen)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    function(model)
    model(x).pow(3).sum().backward()
    optimizer.step()
    return probes.state_of(model)


def trained_after(rank, world_size, function, states, frozen):
    model = make_normed(states[rank], frozen)
    function(model)
    return {name: p.requires_grad for name, p in model.named_parameters()}


@probes.probe
def started(function, states, frozen):
    """Each rank's values after function; rank r begins with states[r]."""
    return in_group(start_of, function, states, frozen, world_size=len(states))


@probes.probe
def stepped_after(function, states, frozen, x, lr):
    """Each rank's state after function, and one step by an optimizer that was made before."""
    return in_group(step_after, function, states, frozen, x, lr, world_size=len(states))


@probes.probe
def trainable_after(function, states, frozen):
    """Which parameters of each rank are trained."""
    return in_group(trained_after, function, states, frozen, world_size=len(states))


# %% check: same_start points=2
with check("two ranks have the parameters of rank 0", weight=2, required=True):
    t = [drawn(make_normed({}), seed) for seed in (0, 1)]
    want = copy.deepcopy([t[0], t[0]])
    assert_close(started(same_start, t, ["2.weight"]), want, rtol=0, atol=0)


### BEGIN HIDDEN TESTS
def normed_state(seed):
    generator = torch.Generator().manual_seed(seed)
    state = probes.state_of(make_normed({})) | drawn(make_normed({}), seed)
    state["1.running_mean"] = torch.randn(5, generator=generator)
    state["1.running_var"] = torch.rand(5, generator=generator) + 0.5
    state["1.num_batches_tracked"] = torch.tensor(2**53 + 1 + 2 * seed)
    state["times"] = torch.rand(2, dtype=torch.float64, generator=generator)
    state["mask"] = torch.tensor([seed % 2 == 0, True, seed % 3 == 0])
    return state


with check("three ranks, and the buffers too", weight=3, required=True, hint="What does a batch normalisation count?"):
    t = [normed_state(seed) for seed in (4, 1, 2)]
    want = copy.deepcopy([t[0]] * 3)
    assert_close(started(same_start, t, ["0.bias"]), want, rtol=0, atol=0)
with check("an optimizer that was made before still trains the model", weight=2, hint="Are they the same objects?"):
    t, x, frozen = [normed_state(2), normed_state(0)], torch.linspace(-1, 1, 12).reshape(4, 3), ["2.weight"]
    model = make_normed(t[0], frozen)
    model(x).pow(3).sum().backward()
    torch.optim.SGD(model.parameters(), lr=0.1).step()
    want = [probes.state_of(model)] * 2
    assert_close(stepped_after(same_start, t, frozen, x, 0.1), want)
with check("one rank alone keeps its state", guard=True):
    for seed in (1, 2):
        t = normed_state(seed)
        want = [copy.deepcopy(t)]
        assert_close(started(same_start, [t], []), want, rtol=0, atol=0)
with check("what was frozen stays frozen", guard=True):
    t, frozen = [normed_state(1), normed_state(3)], ["0.bias", "2.weight"]
    want = [{name: name not in frozen for name, _ in make_normed({}).named_parameters()}] * 2
    assert_close(trainable_after(same_start, t, frozen), want)
### END HIDDEN TESTS

# %% [markdown]
# The same seed on all ranks would give equal parameters as well, as long as every rank draws the same numbers in the
# same order. A broadcast does not depend on that.
#
# ### What if a parameter is not used?
#
# DDP puts gradients into *buckets*, of at most about 25 MB by default, the last layers first. As soon as all gradients
# of a bucket are there, its all-reduce starts, while backward goes on with earlier layers. Communication and
# computation *overlap*. That is a reason for DDP's speed. And it is the reason why DDP must know which gradients will
# come.
#
# The model below has two branches. Rank 0 uses the first one, rank 1 the second. In which of two steps is there an
# error, and what are the gradients before it?


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


# %% given
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
# ### Your turn
# Now backward by hand: average the gradients of a model, and care for parameters that some ranks did not use. Beware
# of the rule of collectives: on the two ranks above, "all-reduce each gradient that is there" calls all_reduce equally
# often, with equal shapes. What will it add?

# %% given
hint(
    "Rank 0 has no gradient for `right`. It must take part in its all-reduce all the same: with which numbers?",
    "To find out which parameters no rank used, every rank needs to know something of the others. Which collective "
    "tells it, once for all parameters?",
)


# %% exercise: average_gradients
def average_gradients(model: nn.Module) -> None:
    """Replace the gradients of model on every rank by their means over all ranks. Called on every rank after backward.

    A parameter without gradient on some ranks counts as zeros there, and has the mean on all ranks afterwards. One
    that has no gradient on any rank keeps the gradient None; so do frozen ones. The model has the same parameters in
    the same order on all ranks, all of one dtype, float32 or float64, in which the means are too. Weights are not
    changed.
    """
    ### BEGIN SOLUTION
    parameters = [p for p in model.parameters() if p.requires_grad]
    used = torch.tensor([p.grad is not None for p in parameters], dtype=torch.int64)
    dist.all_reduce(used)
    for p, count in zip(parameters, used.tolist(), strict=True):
        if count:
            if p.grad is None:
                p.grad = torch.zeros_like(p)
            dist.all_reduce(p.grad)
            p.grad /= dist.get_world_size()
    ### END SOLUTION


# %% given
def with_gradients(weights, grads):
    """A model of branches with these weights, and these gradients by name; None for all others."""
    model = make_branches(len(weights["left.bias"])).to(weights["left.bias"].dtype)
    model.load_state_dict(weights)
    for name, p in model.named_parameters():
        p.grad = grads.get(name)
    return model


def averaged_on(rank, world_size, function, weights, grads):
    model = with_gradients(weights, grads[rank])
    function(model)
    return {name: model.get_parameter(name).grad for own in grads for name in own}


def used_on(rank, world_size, function, weights, grads):
    model = with_gradients(weights, grads[rank])
    function(model)
    return {name: p.grad is not None for name, p in model.named_parameters()}


def weights_on(rank, world_size, function, weights, grads):
    model = with_gradients(weights, grads[rank])
    function(model)
    return probes.state_of(model)


@probes.probe
def averaged(function, weights, grads):
    """What function(model) makes of the gradients on each rank. Rank r begins with grads[r], by name."""
    return in_group(averaged_on, function, weights, grads, world_size=len(grads))


@probes.probe
def used_after(function, weights, grads):
    """Which parameters of each rank have a gradient after function(model)."""
    return in_group(used_on, function, weights, grads, world_size=len(grads))


@probes.probe
def weights_after(function, weights, grads):
    """Each rank's weights after function(model)."""
    return in_group(weights_on, function, weights, grads, world_size=len(grads))


def of_layers(names, values):
    return {name: value for name, value in values.items() if name.split(".")[0] in names}


# %% check: average_gradients points=5
with check("both ranks use the same branch", weight=2, required=True):
    weights = drawn(make_branches(2), 0)
    t = [of_layers(["left"], drawn(make_branches(2), seed)) for seed in (1, 2)]
    own = copy.deepcopy(t)
    total = {name: grad + own[1][name] for name, grad in own[0].items()}
    explain(
        averaged(average_gradients, weights, t),
        [{name: grad / 2 for name, grad in total.items()}] * 2,
        {"this is the sum over the ranks": [total] * 2, "these are the gradients of one rank": own},
        name="your gradients",
    )


### BEGIN HIDDEN TESTS
def mean_of(grads):
    """The mean over all ranks, by name. No gradient counts as zeros."""
    names = [name for own in grads for name in own]
    return {name: sum(own[name] for own in grads if name in own) / len(grads) for name in names}


with check("three ranks, another model", weight=2, required=True, hint="Which number of ranks do you divide by?"):
    weights = drawn(make_branches(5), 0)
    t = [of_layers(["right"], drawn(make_branches(5), seed)) for seed in (1, 2, 3)]
    want = [mean_of(t)] * 3
    assert_close(averaged(average_gradients, weights, t), want, name="your gradients")
with check(
    "each rank uses another branch",
    weight=4,
    required=True,
    hint="Which two tensors does each all_reduce add, on rank 0 and on rank 1? By what do you divide?",
):
    weights = drawn(make_branches(2), 3)
    left, right = of_layers(["left"], drawn(make_branches(2), 4)), of_layers(["right"], drawn(make_branches(2), 5))
    want, either, none = [mean_of([left, right])] * 2, copy.deepcopy(left | right), dict.fromkeys(left | right)
    mixed = {part: (left[f"left.{part}"] + right[f"right.{part}"]) / 2 for part in ("weight", "bias")}
    added = [none | {f"{layer}.{part}": grad for part, grad in mixed.items()} for layer in ("left", "right")]
    explain(
        averaged(average_gradients, weights, [left, right]),
        want,
        {
            "gradients of two different parameters were added": added,
            "the mean is over all ranks, also over those that did not use the parameter": [either] * 2,
        },
        name="your gradients",
    )
with check("a rank without any gradient", weight=2, hint="Which of its parameters take part?"):
    weights = drawn(make_branches(4), 6)
    t = [{}, of_layers(["left", "right"], drawn(make_branches(4), 7)), {}]
    want = [mean_of(t)] * 3
    assert_close(averaged(average_gradients, weights, t), want, name="your gradients")
with check("float64", weight=1, hint="In which dtype do you send them?"):
    weights = {name: value.double() / 3 for name, value in drawn(make_branches(2), 7).items()}
    t = [of_layers(["left"], {name: value * (rank + 5) for name, value in weights.items()}) for rank in range(2)]
    want = [mean_of(t)] * 2
    assert_close(averaged(average_gradients, weights, t), want, rtol=1e-12, atol=1e-12, name="your gradients")
with check("what nobody used has no gradient", weight=2, hint="What would weight decay do to it, with zeros?"):
    for layer in ("left", "right"):  # zeros are a gradient that is there
        weights = drawn(make_branches(3), 8)
        t = [of_layers([layer], {name: value * 0 for name, value in weights.items()}) for _ in range(2)]
        want = [{name: name.startswith(layer) for name in weights}] * 2
        assert_close(used_after(average_gradients, weights, t), want, name="whether there is a gradient")
with check("one rank alone keeps its gradients", guard=True):
    for width, layer in ((3, "left"), (4, "right")):
        weights, t = drawn(make_branches(width), 9), of_layers([layer], drawn(make_branches(width), 10))
        want = [copy.deepcopy(t)]
        assert_close(averaged(average_gradients, weights, [t]), want, name="your gradients")
with check("weights are not changed", guard=True):
    weights = drawn(make_branches(3), 11)
    t = [of_layers([layer], drawn(make_branches(3), 12)) for layer in ("left", "right")]
    want = [copy.deepcopy(weights)] * 2
    assert_close(weights_after(average_gradients, weights, t), want, name="your weights")
### END HIDDEN TESTS

# %% [markdown]
# You have now written what DDP does, except for the buckets and the overlap. This is a good place for a break.
#
# ## Is it the gradient of the large batch?
#
# "N ranks with a batch of B each are the same as one batch of N * B." When is this so? DDP divides the sum of the
# gradients by N. Say for each line below whether it gives the gradient of the whole batch of 10 samples.


# %% given
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
# The last line is the worst. `ddp.module` is the bare model. Nothing is sent, nothing is averaged, and no error comes.
# The copies grow apart from the first step on. Call the wrapper, also for a loss that needs a method of the model.
#
# ### Your turn
# Write a training step that is right for shards of any sizes, the empty one included.

# %% given
hint(
    "DDP will divide the sum of the ranks' gradients by the number of ranks. You want it divided by the number of "
    "samples. By what must each rank multiply its sum of losses?",
    "All ranks need the number of samples on all ranks. It is known before the forward pass.",
)


# %% exercise: ddp_step
def ddp_step(model: DDP, x: Tensor, y: Tensor, optimizer: torch.optim.Optimizer) -> float:
    """One step of training on this rank's shard, called on every rank. Returns the loss, a float, equal on all ranks.

    The loss is the mean of the cross entropy over the samples of all ranks, with the weights before the step, and the
    step follows its gradient. x: (n, d) float32. y: (n,) int64. n may differ from rank to rank, and be 0 on some; it is
    above 0 on one. Gradients that are there before the call do not count. optimizer has this rank's parameters.
    """
    ### BEGIN SOLUTION
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    part = F.cross_entropy(model(x), y, reduction="sum") / count
    optimizer.zero_grad()
    (part * dist.get_world_size()).backward()
    optimizer.step()
    loss = part.detach()
    dist.all_reduce(loss)
    return loss.item()
    ### END SOLUTION


# %% given
def net_of(weights):
    model = make_net(0)
    model.load_state_dict(weights)
    return model


def steps_on(rank, world_size, function, weights, shards, lr, stale):
    ddp = DDP(net_of(weights))
    optimizer = torch.optim.SGD(ddp.parameters(), lr=lr)
    for name, p in ddp.module.named_parameters():
        p.grad = stale.get(name)
    losses = [function(ddp, x, y, optimizer) for x, y in shards[rank]]
    return {"losses": losses, "weights": probes.state_of(ddp.module)}


@probes.probe
def ddp_stepped(function, weights, shards, lr, stale):
    """Each rank's losses and weights after a step by SGD on each of its shards (x, y). stale: gradients before."""
    return in_group(steps_on, function, weights, shards, lr, stale, world_size=len(shards))


def sharded(sizes, seed):
    """Random samples in shards of these sizes: [(x, y), ...]."""
    generator = torch.Generator().manual_seed(seed)
    x, y = torch.randn(sum(sizes), 3, generator=generator), torch.randint(0, 2, (sum(sizes),), generator=generator)
    return list(zip(x.split(sizes), y.split(sizes), strict=True))


# %% check: ddp_step points=4
with check("shards of 7 and 3 samples", weight=2, required=True):
    weights, t = drawn(make_net(0), 0), sharded([7, 3], 0)
    model = net_of(weights)
    sums = [F.cross_entropy(model(x), y, reduction="sum") for x, y in t]
    steps = {}
    for name, loss in {
        "mean": (sums[0] + sums[1]) / 10,
        "mean of means": (sums[0] / 7 + sums[1] / 3) / 2,
        "sum": (sums[0] + sums[1]) / 2,
    }.items():
        grads = torch.autograd.grad(loss, list(model.parameters()), retain_graph=True)
        after = {key: p.detach() - 0.5 * grad for (key, p), grad in zip(model.named_parameters(), grads, strict=True)}
        steps[name] = [{"losses": [loss.item()], "weights": after}] * 2
    added = [{**step, "losses": steps["mean"][0]["losses"]} for step in steps["sum"]]
    explain(
        ddp_stepped(ddp_step, weights, [[shard_of] for shard_of in t], 0.5, {}),
        steps["mean"],
        {
            "this step follows the mean of the ranks' means": steps["mean of means"],
            "this step follows the sum of the losses, over the number of ranks": added,
        },
    )


### BEGIN HIDDEN TESTS
def one_process(weights, shards, lr):
    """Losses and weights of one process, after a step by SGD on all shards of each step."""
    model = net_of(weights)
    optimizer, losses = torch.optim.SGD(model.parameters(), lr=lr), []
    for step in zip(*shards, strict=True):
        x, y = (torch.cat(items) for items in zip(*step, strict=True))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weights": probes.state_of(model)}


with check("three ranks, four steps", weight=3, required=True, hint="By what does DDP divide?"):
    sizes = [[2, 4, 5, 3], [5, 1, 4, 6], [4, 3, 2, 2]]  # of each rank, in each step
    t, weights = [sharded(own, seed) for seed, own in enumerate(sizes)], drawn(make_net(0), 1)
    want = [one_process(weights, t, 0.3)] * 3
    assert_close(ddp_stepped(ddp_step, weights, t, 0.3, {}), want)
with check("the loss is the mean over all samples, on every rank", weight=2, hint="Which loss does each rank know?"):
    t, weights = [sharded([6, 1], 5), sharded([1, 3], 6)], drawn(make_net(0), 2)
    want = [one_process(weights, t, 0.5)] * 2
    assert_close(ddp_stepped(ddp_step, weights, t, 0.5, {}), want)
with check("an empty shard", weight=2, hint="What is the mean of no losses? Does that rank take part in backward?"):
    t, weights = [sharded([0, 2, 3], 7), sharded([4, 0, 1], 8)], drawn(make_net(0), 3)
    want = [one_process(weights, t, 0.5)] * 2
    assert_close(ddp_stepped(ddp_step, weights, t, 0.5, {}), want)
with check("one rank alone", weight=1):
    for number in (3, 5):
        t, weights = [sharded([number, 2], number)], drawn(make_net(0), number)
        want = [one_process(weights, t, 0.5)]
        assert_close(ddp_stepped(ddp_step, weights, t, 0.5, {}), want)
with check("gradients from before do not count", weight=1, hint="When are gradients set to zero?"):
    t, weights, stale = [sharded([2], 9), sharded([3], 10)], drawn(make_net(0), 4), drawn(make_net(0), 5)
    want = [one_process(weights, t, 0.5)] * 2
    assert_close(ddp_stepped(ddp_step, weights, t, 0.5, stale), want)
### END HIDDEN TESTS

# %% [markdown]
# An empty shard is no joke: the last batch of an epoch, or a filter in the data loader, makes one. A rank that leaves
# the loop early leaves the others waiting.
#
# ## Many micro-batches, one all-reduce
#
# Lab 6 accumulated gradients over micro-batches. With DDP, each `backward` averages the gradients over the ranks. The
# result is right if you do it each time. But only the last time is needed. `with ddp.no_sync():` leaves the average
# out. The gradients then pile up in `.grad`, on each rank its own. The next backward pass outside of it averages what
# has piled up.
#
# DDP decides in *forward* whether this pass will be averaged. How often are gradients sent for four micro-batches, in
# each of these three ways?


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


# %% given
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
# ### Your turn
# Accumulate a list of micro-batches, with one average at the end.

# %% given
hint(
    "Which micro-batch is not inside no_sync? Which part of its work must not be?",
    "Micro-batches of several sizes: what must their losses be divided by, so that each sample counts equally?",
)


# %% exercise: accum_no_sync
def accum_no_sync(model: DDP, batches: list[tuple[Tensor, Tensor]]) -> None:
    """Leave in .grad, on every rank, the gradient of the mean cross entropy over all samples of all ranks.

    batches: this rank's micro-batches (x, y), at least one. x: (n, d) float32, y: (n,) int64, n > 0; n may differ
    from one micro-batch to the next. All ranks have equally many micro-batches, and equally many samples in all. Before
    the call every .grad is None. model is called once for each micro-batch, and not again before the backward of this
    one: one graph is there at a time. Gradients are sent once, with the last backward or after it. Counts may be sent
    besides.
    """
    ### BEGIN SOLUTION
    count = sum(len(x) for x, _ in batches)
    for number, (x, y) in enumerate(batches):
        last = number == len(batches) - 1
        with nullcontext() if last else model.no_sync():
            loss = F.cross_entropy(model(x), y, reduction="sum") / count
            loss.backward()
    ### END SOLUTION


# %% given
class Calls(nn.Module):
    """A layer that calls a function."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def accum_on(rank, world_size, function, weights, batches, last):
    ddp = DDP(nn.Sequential(*net_of(weights), Calls(last)))
    function(ddp, batches[rank])
    return probes.gradients_of(ddp.module)


def sent_on(rank, world_size, function, weights, batches):
    ddp = DDP(net_of(weights))
    Counted(ddp)
    sizes, plain = [], dist.all_reduce

    def noticed(t, *args, **kwargs):
        sizes.append(t.numel())
        return plain(t, *args, **kwargs)

    dist.all_reduce = noticed
    try:
        function(ddp, batches[rank] * 2)
    finally:
        dist.all_reduce = plain
    return sum(size for size in sizes if size > 1)


@probes.probe
def accumulated(function, weights, batches, last=torch.clone):
    """Each rank's gradients after function(ddp, batches[rank]). last: what the model does with its output."""
    return in_group(accum_on, function, weights, batches, last, world_size=len(batches))


@probes.probe
def numbers_sent(function, weights, batches):
    """How many numbers each rank sent, besides single ones. Each micro-batch comes twice."""
    return in_group(sent_on, function, weights, batches, world_size=len(batches))


# %% check: accum_no_sync points=4
with check("two micro-batches of three samples on each of two ranks", weight=2, required=True):
    weights, t = drawn(make_net(0), 0), sharded([3, 3, 3, 3], 0)
    alone = []
    for part in (t[:2], t[2:]):
        model = net_of(weights)
        F.cross_entropy(model(torch.cat([x for x, _ in part])), torch.cat([y for _, y in part])).backward()
        alone.append(probes.gradients_of(model))
    want = {name: (alone[0][name] + alone[1][name]) / 2 for name in weights}
    explain(
        accumulated(accum_no_sync, weights, [t[:2], t[2:]]),
        [want] * 2,
        {
            "this is the gradient of one rank": alone,
            "each micro-batch counts as much as the whole": [{name: grad * 2 for name, grad in want.items()}] * 2,
        },
        name="your gradients",
    )


### BEGIN HIDDEN TESTS
def grads_of_mean(weights, batches, last=torch.clone):
    """The gradient of the mean cross entropy over all samples of all ranks, in one process."""
    model = net_of(weights)
    x, y = (torch.cat(items) for items in zip(*[batch for own in batches for batch in own], strict=True))
    F.cross_entropy(last(model(x)), y).backward()
    return probes.gradients_of(model)


with check(
    "micro-batches of several sizes", weight=4, required=True, hint="Does each sample count as much as any other?"
):
    for number, sizes in ((3, [4, 4, 1, 2, 3, 4]), (2, [1, 5, 3, 3])):
        weights, t = drawn(make_net(0), number), sharded(sizes, number)
        t = [t[:number], t[number:]]
        want = [grads_of_mean(weights, t)] * 2
        assert_close(accumulated(accum_no_sync, weights, t), want, name="your gradients")
with check("one micro-batch, and three ranks", weight=1, hint="Which one is the last one?"):
    weights, t = drawn(make_net(0), 4), [[batch] for batch in sharded([4, 4, 4], 3)]
    want = [grads_of_mean(weights, t)] * 3
    assert_close(accumulated(accum_no_sync, weights, t), want, name="your gradients")
with check("one rank alone", weight=1):
    for number in (2, 3):
        weights, t = drawn(make_net(0), number), [sharded([number, 4, 1], number)]
        want = [grads_of_mean(weights, t)]
        assert_close(accumulated(accum_no_sync, weights, t), want, name="your gradients")
with check(
    "each micro-batch alone goes through the model",
    weight=1,
    required=True,
    hint="What is the largest batch that is in memory at a time?",
):
    for sizes in ([2, 5, 3], [4, 1, 6, 2]):
        weights, t = drawn(make_net(0), 5), [sharded(sizes, 6)]
        seen, waiting = Seen(lambda out: (out * torch.tensor([3.0, -2.0])).tanh()), []

        def last(out, seen=seen, waiting=waiting):
            waiting.append(seen.kept)
            return seen(out)

        want = [grads_of_mean(weights, t, lambda out: (out * torch.tensor([3.0, -2.0])).tanh())]
        assert_close(accumulated(accum_no_sync, weights, t, last), want, name="your gradients")
        got = sorted(call.shapes[0][0] for call in seen.calls)
        assert_close(got, sorted(sizes), name="the number of samples in each call of the model")
        assert_close(waiting, [0] * len(sizes), name="the number of graphs that wait for their backward at each call")
with check("gradients are sent once", weight=3, observed=True, hint="When does DDP decide whether to send?"):
    weights, t = drawn(make_net(0), 7), sharded([2] * 4, 1)
    want = [float(sum(value.numel() for value in weights.values()))] * 2
    got = numbers_sent(accum_no_sync, weights, [t[:2], t[2:]])
    assert_close(got, want, rtol=0.2, name="how many numbers were sent")
### END HIDDEN TESTS

# %% [markdown]
# With k micro-batches, traffic is a k-th. That is the reason why accumulation can make a training faster between
# machines, and not only smaller.
#
# ## Who gets which sample?
#
# Each rank must read other samples. `DistributedSampler` gives a `DataLoader` the indices of its rank. Ten samples,
# four ranks: who gets which ones? And does a second epoch have another order?

# %% given
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
# ### Your turn
# Write the indices yourself: padded and shuffled for training, exact for evaluation.

# %% given
hint(
    "All ranks must make the same permutation of all n indices. Which generator makes it, with which seed?",
    "Every world_size-th one, from rank on, makes shards that differ by at most one. How many indices must there be "
    "for all of them to have equally many? If n is small, you may need the first ones several times.",
)


# %% exercise: shard
def shard(n: int, rank: int, world_size: int, epoch: int, train: bool) -> list[int]:
    """The indices, ints from 0 to n - 1, that this rank reads. n >= 1. Without any communication.

    train=True: ceil(n / world_size) indices on every rank. All ranks together have each index at least once, and
    the numbers of times that two indices come differ by at most 1. All n are in a random order, drawn for each epoch
    (for n = 1 there is only one), and the same whenever the call is the same. world_size may be larger than n.
    train=False: each index on exactly one rank. The numbers of indices on two ranks differ by at most one.
    Global random states, of torch, Python and NumPy, are not used or changed.
    """
    ### BEGIN SOLUTION
    if not train:
        return list(range(rank, n, world_size))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = math.ceil(n / world_size)
    padded = order * math.ceil(each * world_size / n)
    return padded[: each * world_size][rank::world_size]
    ### END SOLUTION


# %% given
@probes.probe
def seeded(function, seed, *args):
    """What function(*args) gives after the global generators got this seed, and what they draw next."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    return function(*args), [torch.rand(()).item(), random.random(), float(np.random.rand())]


# %% check: shard points=3
with check("ten samples on four ranks: 3 each in training, 10 in all in evaluation", weight=2, required=True):
    got = [shard(10, rank, 4, 0, True) for rank in range(4)]
    assert_close([len(part) for part in got], [3, 3, 3, 3], name="the numbers of indices")
    assert_close(set(chain(*got)), set(range(10)), name="the indices of all ranks")
    got = [shard(10, rank, 4, 0, False) for rank in range(4)]
    explain(
        Counter(chain(*got)),
        Counter(range(10)),
        {
            "in evaluation, samples that come twice count double": Counter([0, 0, 1, 1, *range(2, 10)]),
            "the last samples belong to no rank": Counter(range(8)),
        },
        name="how often each index comes",
    )


### BEGIN HIDDEN TESTS
def assert_padded(got, n):
    """Equally many on each rank, and each index as often as any other, or once more."""
    each = -(-n // len(got))
    assert_close([len(part) for part in got], [each] * len(got), name="the numbers of indices")
    counts = Counter(chain(*got))
    assert_close(set(counts), set(range(n)), name="the indices of all ranks")
    often, more = divmod(each * len(got), n)
    assert_close(sorted(counts.values()), [often] * (n - more) + [often + 1] * more, name="how often the indices come")


def assert_divided(got, n):
    """Each index once, and equally many on each rank, or one more."""
    assert_close(Counter(chain(*got)), Counter(range(n)), name="how often each index comes")
    few, more = divmod(n, len(got))
    sizes = [few] * (len(got) - more) + [few + 1] * more
    assert_close(sorted(len(part) for part in got), sizes, name="the numbers of indices")


def assert_shuffled(epochs):
    """The indices are not in order, and in no two epochs the same, on no rank."""
    for number, got in enumerate(epochs):
        assert sorted(got[0]) != got[0], "the indices are in order"
        for other in epochs[:number]:
            assert sorted(got[0]) != sorted(other[0]), "a rank has the same samples in two epochs"


with check(
    "training: equally many on each rank, no sample left out", weight=3, required=True, hint="What is ceil(n / N)?"
):
    for n, world_size in ((11, 3), (12, 4), (23, 5), (7, 1), (9, 2)):
        assert_padded([shard(n, rank, world_size, 3, True) for rank in range(world_size)], n)
with check("fewer samples than ranks", weight=1, hint="How often must you repeat them?"):
    for n, world_size in ((2, 5), (1, 4), (3, 8), (1, 1)):
        assert_padded([shard(n, rank, world_size, 1, True) for rank in range(world_size)], n)
        assert_divided([shard(n, rank, world_size, 1, False) for rank in range(world_size)], n)
with check(
    "evaluation: each sample on exactly one rank", weight=3, required=True, hint="Who reads the padding of a sampler?"
):
    for n, world_size in ((11, 3), (13, 5), (8, 4), (7, 1)):
        assert_divided([shard(n, rank, world_size, 2, False) for rank in range(world_size)], n)
with check("each epoch has an order of its own, the same on every call", weight=3, hint="What is your seed?"):
    t = [[shard(40, rank, 2, number, True) for rank in range(2)] for number in range(4)]
    for got in t:
        assert_padded(got, 40)
    got = [shard(40, rank, 2, 2, True) for rank in range(2)]
    assert_close(got, t[2], name="the second call of an epoch")
    assert_shuffled(t)
with check("the global random state is left alone", guard=True, hint="Which argument does randperm take?"):
    for number, train in ((0, True), (1, True), (2, False)):
        drawn_next = [
            torch.rand((), generator=torch.Generator().manual_seed(number)).item(),
            random.Random(number).random(),
            np.random.RandomState(number).rand(),
        ]
        want = [shard(15, 1, 2, number, train), drawn_next]
        assert_close(seeded(shard, number, 15, 1, 2, number, train), want)
### END HIDDEN TESTS

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
# the old one plus half of the batch's mean. It begins at 0. So it is 1 and 6 after the first pass. What is it after the
# second one, on rank 1?


# %% given
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
# ### Your turn
# Compute the mean and the variance over the samples of all ranks. Is the mean of the ranks' variances the variance?
# In the example it would be 1, and the right one is 26.

# %% given
hint(
    "The mean is global_mean, for each column. Around which mean does the variance measure?",
    "E[x**2] - E[x]**2 subtracts two nearly equal numbers if the mean is large. Two rounds of all_reduce avoid it.",
)


# %% exercise: sync_moments
def sync_moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each column over the rows of all ranks: two float32 tensors (d,).

    Both are equal on all ranks. Called on every rank. x: (n, d) float32, of any strides, not changed. n may differ from
    rank to rank, and be 0 on some; it is above 0 on one. The variance divides by the number of rows, as a batch
    normalisation does. It is right also where the mean is a thousand times the standard deviation.
    """
    ### BEGIN SOLUTION
    count = torch.tensor(float(len(x)))
    total = x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / count
    ### END SOLUTION


# %% check: sync_moments points=3
with check("the four samples above: 7 and 26", weight=2, required=True):
    t = [torch.tensor([[1.0], [3.0]]), torch.tensor([[11.0], [13.0]])]
    explain(
        on_ranks(sync_moments, t),
        [[torch.tensor([7.0]), torch.tensor([26.0])]] * 2,
        {
            "this is the mean of the ranks' variances": [[torch.tensor([7.0]), torch.tensor([1.0])]] * 2,
            "this divides by one row less than there are": [[torch.tensor([7.0]), torch.tensor([104 / 3])]] * 2,
        },
        name="your mean and variance",
    )


### BEGIN HIDDEN TESTS
def moments(parts):
    """The mean and the variance of each column over the rows of all parts, in float64."""
    rows = torch.cat(parts).double()
    return [rows.mean(0).float(), rows.var(0, correction=0).float()]


with check("three ranks with different numbers of rows", weight=3, required=True, hint="How much does a row count?"):
    t = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) * n + n for n in (5, 2, 7)]
    want = [moments(t)] * 3
    assert_close(on_ranks(sync_moments, t), want, rtol=1e-4)
with check("no rows on one rank, one row on the other", weight=2, hint="What is the mean of no rows?"):
    for rank in range(2):
        t = [torch.zeros(0, 3), torch.zeros(0, 3)]
        t[rank] = torch.tensor([[1.0, -2.0, 4.0]])
        want = [[t[rank][0].clone(), torch.zeros(3)]] * 2
        assert_close(on_ranks(sync_moments, t), want, rtol=0, atol=1e-7)
with check("a mean that is a thousand times the standard deviation", weight=2, hint="What is left of x**2 in float32?"):
    t = [torch.randn(6, 2, generator=torch.Generator().manual_seed(n)) + 1000 for n in (1, 2)]
    want = [moments(t)] * 2
    got = on_ranks(sync_moments, t)
    assert_close(got, want, rtol=1e-2)
    assert_close([mean for mean, _ in got], [mean for mean, _ in want], name="your means")
with check("one rank alone", weight=1):
    for number in (4, 7):
        t = torch.randn(number, 3, generator=torch.Generator().manual_seed(number)) * 2 - 1
        want = [moments([t])]
        assert_close(on_ranks(sync_moments, [t]), want, rtol=1e-4)
with check("transposed inputs, which are not changed", guard=True):
    t = [torch.logspace(-3, n, 6).reshape(2, 3).T for n in (1, 4)]
    want, before = [moments(t)] * 2, [x.clone() for x in t]
    assert_close(on_ranks(sync_moments, t), want, rtol=1e-4)
    assert_close(left_on_ranks(sync_moments, t), before, rtol=0, atol=0, name="your x")
### END HIDDEN TESTS

# %% [markdown]
# ## Which one to use, and how to start it
#
# ### DataParallel
#
# `nn.DataParallel(model)` looks easier: one line, one process. In each forward pass it copies the model from GPU 0 to
# all GPUs, splits the batch, and runs one thread for each GPU. The results are gathered on GPU 0, where you usually
# compute the loss. You read that GPU 0 then runs backward alone. It does not: each replica's backward runs on its own
# GPU, and the gradients are added on GPU 0.
#
# It is slower, all the same. The weights are sent in every step, the threads share one Python interpreter, and GPU 0
# needs more memory than the others. It works on one machine only. PyTorch's documentation recommends DDP, on one
# machine too. What does it do where there is no GPU?

# %% given
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
# from torch.nn.parallel import DistributedDataParallel as DDP
# from torch.utils.data import DataLoader, DistributedSampler
#
#
# def main():
#     gpu = torch.cuda.is_available()
#     dist.init_process_group("nccl" if gpu else "gloo")
#     device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if gpu else torch.device("cpu")
#     if gpu:
#         torch.cuda.set_device(device)
#     model = DDP(make_model().to(device))
#     optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
#     sampler = DistributedSampler(dataset)
#     loader = DataLoader(dataset, batch_size=32, sampler=sampler)
#     for epoch in range(3):
#         sampler.set_epoch(epoch)
#         for x, y in loader:
#             ...
#     if dist.get_rank() == 0:
#         torch.save(model.module.state_dict(), "model.pt")
#     dist.destroy_process_group()
#
#
# if __name__ == "__main__":
#     main()
# ```
#
# `make_model` and `dataset` are yours. Start it with `python -m torch.distributed.run --standalone --nproc_per_node=2
# train.py`; `torchrun` is the same program under a shorter name. `init_process_group` reads the rank, the world size
# and the address of rank 0 from the environment. Without `torchrun` you must set `MASTER_ADDR`, `MASTER_PORT`, `RANK`
# and `WORLD_SIZE` yourself, or give rank and world size as arguments. `destroy_process_group` ends the group; many
# examples leave it out, and the sampler too.
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
#
# ## Interview questions
#
# For each question, find *all* true statements. There is at least one in each. Give the letters as a string, such as
# `"ac"`. A question counts only if all of its letters are right, and one right question alone pays nothing.
#
# **q1. All-reduce**
# - a. In a ring, no rank sends more than twice its tensor, however many ranks there are.
# - b. In a ring, each rank sends its tensor to all the others.
# - c. `dist.all_reduce(t)` changes t in place.
# - d. If one rank leaves it out, the others wait.
# - e. It gives the mean if you say nothing else.
#
# **q2. DistributedDataParallel**
# - a. It sends the weights of rank 0 to all ranks in each step.
# - b. Each rank has an optimizer of its own.
# - c. Gradients of late layers are sent while those of early layers are still computed.
# - d. `ddp.module(x)` gives averaged gradients.
# - e. At its construction all ranks get the parameters and buffers of rank 0.
#
# **q3. The gradient of the large batch.** With DDP, and no batch normalisation or dropout, all ranks get it, for
# - a. a mean loss, and shards of 5 and 5.
# - b. a mean loss, and shards of 7 and 3.
# - c. a sum of losses, where the large batch has a sum as well.
# - d. a sum of losses times the number of ranks over the number of all samples, and shards of 7 and 3.
# - e. a mean loss, shards of 5 and 5, each in two micro-batches of 3 and 2 with mean losses over 2.
#
# **q4. Accumulation and unused parameters**
# - a. Without `no_sync`, accumulation over micro-batches gives wrong gradients.
# - b. `no_sync` must be around the forward pass too.
# - c. An unused parameter raises an error in the backward pass that did not use it.
# - d. With `find_unused_parameters=True`, a rank that did not use a parameter counts as zeros.
# - e. "All-reduce each gradient that is there" can add gradients of different parameters.
#
# **q5. Data and statistics**
# - a. `DistributedSampler` may give a sample to two ranks.
# - b. Without `set_epoch`, each epoch has the same order.
# - c. Accuracies of the ranks, averaged, are the accuracy if all ranks have equally many samples and none comes twice.
# - d. DDP averages the statistics of a batch normalisation over the ranks.
# - e. The mean of the ranks' variances is the variance of all samples.
#
# **q6. Which one**
# - a. In `DataParallel`, backward runs on GPU 0 alone.
# - b. `DataParallel` copies the weights to all GPUs in each forward pass.
# - c. `torch.distributed.launch` is the recommended way to start.
# - d. DDP lets a model fit that is too large for one GPU.
# - e. A fully sharded model gathers weights when they are needed.


# %% scratch
# A place to try statements.


# %% exercise: interview
def interview() -> dict[str, str]:
    """For each of q1 to q6, the letters of all true statements, such as {"q1": "abc", "q2": "e", ...}."""
    ### BEGIN SOLUTION
    return {"q1": "acd", "q2": "bce", "q3": "ad", "q4": "bde", "q5": "abc", "q6": "be"}
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
    assert_some_right(interview(), {"q1": "acd", "q2": "bce", "q3": "ad", "q4": "bde", "q5": "abc", "q6": "be"})
with check("q1: all-reduce", weight=4, hint="What did your ring send? What did the first cell print?"):
    assert_letters(interview(), "q1", "acd")
with check("q2: DistributedDataParallel", weight=4, hint="What happens once, and what in each step?"):
    assert_letters(interview(), "q2", "bce")
with check("q3: the gradient of the large batch", weight=4, hint="How much does each single sample count?"):
    assert_letters(interview(), "q3", "ad")
with check("q4: accumulation and unused parameters", weight=4, hint="In which step came the error?"):
    assert_letters(interview(), "q4", "bde")
with check("q5: data and statistics", weight=4, hint="Ten samples, four ranks: who counts double?"):
    assert_letters(interview(), "q5", "abc")
with check("q6: which one", weight=4, hint="Which of them needs the whole model on each GPU?"):
    assert_letters(interview(), "q6", "be")
### END HIDDEN TESTS

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
# ## Summary
#
# - All ranks call the same collectives, in the same order, with the same shapes. Who skips one stops all.
# - A ring has two halves, reduce-scatter and all-gather, and each rank sends 2 n (N - 1) / N numbers.
# - DDP sends rank 0's state once, and averages gradients in each backward, in buckets, during backward.
# - An average over ranks is right if every rank stands for equally many samples. Else sum, count, and divide.
# - `no_sync` goes around forward and backward of all micro-batches but the last.
# - A sampler pads, and repeats its order without `set_epoch`. Batch statistics are each rank's own.
# - DataParallel is for one machine, and slower. DDP needs the whole model on each rank; a sharded model does not.
#
# Lab 12 puts all of it into one training script.
