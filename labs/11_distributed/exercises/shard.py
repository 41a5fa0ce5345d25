# %% given
@probes.probe
def shards(function, n, world_size, epochs, train):
    """The indices of each rank, in each of these epochs. The caller empties each list that it gets."""

    def take(*arguments):
        indices = function(*arguments)
        taken = list(indices)
        if isinstance(indices, list):
            indices.clear()
        return taken

    return [[take(n, rank, world_size, epoch, train) for rank in range(world_size)] for epoch in epochs]


@probes.probe
def seeded(function, seed, *args):
    """What function(*args) returns after seeding the global generators, and what they draw next."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    return function(*args), [torch.rand(()).item(), random.random(), float(np.random.rand())]


# %% exercise
def shard(n: int, rank: int, world_size: int, epoch: int, train: bool) -> list[int]:
    """The list of indices, Python ints from 0 to n - 1, that this rank reads.

    train=True: each rank has ceil(n / world_size) indices. Together they have every index, and the counts of any two
    indices differ by at most 1. The order of the n indices is random and drawn anew for each epoch, so both a rank's
    indices and their order change.
    train=False: each index is on exactly one rank. The numbers of indices on two ranks differ by at most 1.
    The same arguments give the same indices, whatever was called before. Ranks do not communicate.

    Details:
    - n and world_size are at least 1, and either may be larger. epoch is at least 0.
    - If n is small, an order may recur by chance.
    - The global random states of torch, Python and NumPy do not matter, and are not changed.
    """
    ### BEGIN SOLUTION
    if not train:
        return list(range(rank, n, world_size))
    order = torch.randperm(n, generator=torch.Generator().manual_seed(epoch)).tolist()
    each = math.ceil(n / world_size)
    padded = order * math.ceil(each * world_size / n)
    return padded[: each * world_size][rank::world_size]
    ### END SOLUTION


# %% promises
# The list of indices -> example, training, evaluation, fewer_than_ranks
# train=True: each rank has -> example, training, fewer_than_ranks
# Together they have -> example, training, fewer_than_ranks
# The order of the n -> epoch_order
# train=False: each index -> example, evaluation, fewer_than_ranks
# The numbers of indices -> example, evaluation, fewer_than_ranks
# The same arguments give -> epoch_order, random_state
# Ranks do not communicate -> example, training, evaluation, fewer_than_ranks
# n and world_size are -> training, evaluation, fewer_than_ranks
# epoch is at least 0 -> training, evaluation, epoch_order
# If n is small -> epoch_order, fewer_than_ranks
# The global random states -> random_state


# %% domain
@domain(
    reference,
    *("even shards", "one index less", "one index more", "one rank", "a late epoch", "n = 1"),
    *("one index for each rank", "fewer indices than ranks", "less than half of the ranks", "many indices"),
    *("evaluation", "evaluation, even shards", "evaluation, one index less", "evaluation, one index more"),
    *("evaluation, one rank", "evaluation, n = 1", "evaluation, one index for each rank"),
    *("evaluation, fewer indices than ranks", "evaluation, less than half of the ranks", "evaluation, many indices"),
    call=shards,
)
def arguments(draw, edge):
    world_size, times = 1 if "one rank" in edge else draw(st.integers(3, 5)), draw(st.integers(2, 4))
    n = world_size * times + draw(st.integers(1, world_size - 1)) if world_size > 1 else times
    for part, number in {
        "even shards": world_size * times,
        "one index less": world_size * times - 1,
        "one index more": world_size * times + 1,
        "one index for each rank": world_size,
        "fewer indices": world_size - 1,
        "n = 1": 1,
        "many indices": draw(st.integers(40, 50)),
    }.items():
        n = number if part in edge else n
    if "less than half" in edge:
        n, world_size = draw(st.integers(2, 3)), draw(st.integers(7, 8))
    first = 10**6 if edge == "a late epoch" else draw(st.integers(0, 3))
    epochs = 7 if edge == "many indices" else 3  # more than there are ranks, so no shards may come back in turn
    return n, world_size, list(range(first, first + epochs)), "evaluation" not in edge


# %% checks
with check(
    "example",
    "ten samples on four ranks: 3 each in training, 10 in all in evaluation",
    weight=2,
    required=True,
    hint=(
        "How many indices must a rank have in training so all have equally many? And in evaluation?",
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
            "in evaluation, samples that appear twice count double": Counter([0, 0, 1, 1, *range(2, 10)]),
            "no rank has the last samples": Counter(range(8)),
        },
        name="how often each index appears",
    )


# %% hidden checks
def assert_shards(function, *edges):
    """Each index as often as it must be, in ranks of the right size, in every epoch."""
    for trial in arguments.iter_trials(function, *edges):
        n, world_size, epochs, train = trial.case.arguments
        got = trial.report.result
        assert_close([len(epoch) for epoch in got], [world_size] * len(epochs), name="the numbers of ranks")
        for ranks in got:
            few, more = (-(-n // world_size), 0) if train else divmod(n, world_size)
            sizes = [few] * (world_size - more) + [few + 1] * more
            assert_close(sorted(len(part) for part in ranks), sizes, name="the numbers of indices")
            counts = Counter(chain(*ranks))
            assert_close(set(counts), set(range(n)), name="the indices of all ranks")
            often, more = divmod(sum(sizes), n)
            want = [often] * (n - more) + [often + 1] * more
            assert_close(sorted(counts.values()), want, name="how often the indices appear")
            assert {type(index) for index in chain(*ranks)} == {int}, "the indices aren't Python ints"


def assert_shuffled(function):
    """No epoch has the indices in order, and no two epochs share more than chance allows."""
    for trial in arguments.iter_trials(function, "many indices"):
        n, got = trial.case.arguments[0], trial.report.result
        pairs = [{pair for part in ranks for pair in zip(part, part[1:])} for ranks in got]
        for number, ranks in enumerate(got):
            rising = sum(a < b for a, b in pairs[number])
            assert 0.2 < rising / len(pairs[number]) < 0.8, "the indices are in order"
            for before in range(number):
                same = sum(len({*part} & {*its}) for part, its in zip(ranks, got[before], strict=True))
                assert same < 0.7 * n, "the ranks have the same indices in two epochs"
                together = len(pairs[number] & pairs[before])
                assert together < 0.4 * n, "the indices follow one another as in another epoch"


with check(
    "training",
    "training: equally many on each rank, and no sample omitted",
    weight=3,
    required=True,
    hint="What's ceil(n / N)?",
):
    assert_shards(shard, "", "even shards", "one index less", "one index more", "one rank", "a late epoch")
with check("fewer_than_ranks", "fewer samples than ranks", weight=1, hint="How often must you repeat them?"):
    for edge in ("n = 1", "one index for each rank", "fewer indices than ranks", "less than half of the ranks"):
        assert_shards(shard, edge, f"evaluation, {edge}")
with check(
    "evaluation",
    "evaluation: each sample on exactly one rank",
    weight=3,
    required=True,
    hint="Which ranks read a sampler's padding?",
):
    assert_shards(shard, "evaluation", "evaluation, even shards", "evaluation, one index less")
    assert_shards(shard, "evaluation, one index more", "evaluation, one rank", "evaluation, many indices")
with check("epoch_order", "each epoch has its own order, the same in every call", weight=3, hint="What's your seed?"):
    assert_shards(shard, "many indices")
    assert_shuffled(shard)
    t = [trial.report.result for trial in arguments.iter_trials(shard, "")]
    assert_close(t[-1], t[0], name="the second call of an epoch")
with check(
    "random_state", "the global random state isn't changed", guard=True, hint="Which argument does randperm take?"
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


# %% wrong "the global generator is reseeded" fails=random_state
def shard(n, rank, world_size, epoch, train):
    if not train:
        return list(range(rank, n, world_size))
    torch.manual_seed(epoch)
    order = torch.randperm(n).tolist()
    each = math.ceil(n / world_size)
    return (order * world_size)[: each * world_size][rank::world_size]


# %% equivalent "Div to Mult: padded = order * math.ceil(each * world_size * n)"
# A longer list, cut to the same length in the next line.
