# %% given
@probes.probe
def seeded(function, seed, *args):
    """What function(*args) gives after the global generators got this seed, and what they draw next."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    return function(*args), [torch.rand(()).item(), random.random(), float(np.random.rand())]


# %% exercise
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


# %% checks
with check(
    "example",
    "ten samples on four ranks: 3 each in training, 10 in all in evaluation",
    weight=2,
    required=True,
    hint=(
        "How many indices must a rank have in training, so that all have equally many? And in evaluation?",
        "Training: repeat indices until there are 4 * 3. Evaluation: all ten, each once, dealt out to the ranks.",
    ),
):
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


# %% hidden checks
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
    "training",
    "training: equally many on each rank, no sample left out",
    weight=3,
    required=True,
    hint="What is ceil(n / N)?",
):
    for n, world_size in ((11, 3), (12, 4), (23, 5), (7, 1), (9, 2)):
        assert_padded([shard(n, rank, world_size, 3, True) for rank in range(world_size)], n)
with check("fewer_than_ranks", "fewer samples than ranks", weight=1, hint="How often must you repeat them?"):
    for n, world_size in ((2, 5), (1, 4), (3, 8), (1, 1)):
        assert_padded([shard(n, rank, world_size, 1, True) for rank in range(world_size)], n)
        assert_divided([shard(n, rank, world_size, 1, False) for rank in range(world_size)], n)
with check(
    "evaluation",
    "evaluation: each sample on exactly one rank",
    weight=3,
    required=True,
    hint="Who reads the padding of a sampler?",
):
    for n, world_size in ((11, 3), (13, 5), (8, 4), (7, 1)):
        assert_divided([shard(n, rank, world_size, 2, False) for rank in range(world_size)], n)
with check(
    "epoch_order", "each epoch has an order of its own, the same on every call", weight=3, hint="What is your seed?"
):
    t = [[shard(40, rank, 2, number, True) for rank in range(2)] for number in range(4)]
    for got in t:
        assert_padded(got, 40)
    got = [shard(40, rank, 2, 2, True) for rank in range(2)]
    assert_close(got, t[2], name="the second call of an epoch")
    assert_shuffled(t)
with check(
    "random_state", "the global random state is left alone", guard=True, hint="Which argument does randperm take?"
):
    for number, train in ((0, True), (1, True), (2, False)):
        drawn_next = [
            torch.rand((), generator=torch.Generator().manual_seed(number)).item(),
            random.Random(number).random(),
            np.random.RandomState(number).rand(),
        ]
        want = [shard(15, 1, 2, number, train), drawn_next]
        assert_close(seeded(shard, number, 15, 1, 2, number, train), want)


# %% right "contiguous pieces"
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(n * rank // world_size, n * (rank + 1) // world_size))
    g = torch.Generator()
    g.manual_seed(1234 + 77 * epoch)
    order = torch.randperm(n, generator=g)
    each = -(-n // world_size)
    return [int(order[(rank * each + i) % n]) for i in range(each)]


# %% right "a sampler, and Python's random"
import random


def shard(n, rank, world_size, epoch, train):
    if train:
        sampler = DistributedSampler(range(n), num_replicas=world_size, rank=rank, shuffle=True)
        sampler.set_epoch(epoch)
        return list(sampler)
    order = list(range(n))
    random.Random(epoch).shuffle(order)
    return order[rank::world_size]


# %% wrong "evaluation is padded too" fails=example,fewer_than_ranks,evaluation
def shard(n, rank, world_size, epoch, train):
    sampler = DistributedSampler(range(n), num_replicas=world_size, rank=rank, shuffle=train)
    sampler.set_epoch(epoch)
    return list(sampler)


# %% wrong "the tail is dropped" fails=example,training,fewer_than_ranks,evaluation
def shard(n, rank, world_size, epoch, train):
    each = n // world_size
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist() if train else list(range(n))
    return order[rank * each : (rank + 1) * each]


# %% wrong "in evaluation, the tail is dropped" fails=example,fewer_than_ranks,evaluation
def shard(n, rank, world_size, epoch, train):
    each = math.ceil(n / world_size)
    if not train:
        order = list(range(n))
        return order[: n // world_size * world_size][rank::world_size]
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong "no set_epoch" fails=epoch_order
def shard(n, rank, world_size, epoch, train):
    if train:
        return list(DistributedSampler(range(n), num_replicas=world_size, rank=rank))
    return list(range(rank, n, world_size))


# %% wrong "each rank has a seed of its own" fails=example,training,fewer_than_ranks,epoch_order
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    generator = torch.Generator().manual_seed(1000 * epoch + rank)
    order = torch.randperm(n, generator=generator).tolist()
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong "the global generator is reseeded" fails=random_state
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    torch.manual_seed(epoch)
    order = torch.randperm(n).tolist()
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong "Python's global generator is reseeded" fails=random_state
import random


def shard(n, rank, world_size, epoch, train):
    order = list(range(n))
    if not train:
        return order[rank::world_size]
    random.seed(epoch)
    random.shuffle(order)
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% wrong "NumPy's global generator is reseeded" fails=random_state
def shard(n, rank, world_size, epoch, train):
    np.random.seed(epoch)
    order = [int(i) for i in np.random.permutation(n)]
    if not train:
        return order[rank::world_size]
    each = math.ceil(n / world_size)
    return [order[i % n] for i in range(each * world_size)][rank::world_size]


# %% wrong "the order of the first epoch is kept" fails=epoch_order
def shard(n, rank, world_size, epoch, train, orders={}):
    if not train:
        return list(range(rank, n, world_size))
    if n not in orders:
        orders[n] = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = math.ceil(n / world_size)
    return (orders[n] * world_size)[: each * world_size][rank::world_size]


# %% wrong "not padded in training" fails=example,training,fewer_than_ranks
def shard(n, rank, world_size, epoch, train):
    order = list(range(n))
    if train:
        order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    return order[rank::world_size]


# %% wrong "padded once only" fails=fewer_than_ranks
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = math.ceil(n / world_size)
    order += order[: each * world_size - n]
    return order[rank::world_size]


# %% wrong "shuffled within the rank" fails=epoch_order
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    each = math.ceil(n / world_size)
    own = (list(range(n)) * world_size)[: each * world_size][rank::world_size]
    order = torch.randperm(each, generator=torch.Generator().manual_seed(epoch)).tolist()
    return [own[i] for i in order]


# %% wrong "random each time" fails=epoch_order,random_state
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    order = list(range(n)) * world_size
    each = math.ceil(n / world_size)
    order = order[: each * world_size][rank::world_size]
    picks = torch.randperm(each, generator=torch.Generator().manual_seed(torch.seed() % 2**31)).tolist()
    return [order[i] for i in picks]


# %% wrong "two orders take turns" fails=epoch_order
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch % 2)).tolist()
    return (order * world_size)[: n + (-n % world_size)][rank::world_size]


# %% equivalent "Div to Mult: padded = order * math.ceil(each * world_size * n)"
# A longer list, cut to the same length in the next line.
