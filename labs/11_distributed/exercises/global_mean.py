# %% given
def in_group(call, *args, world_size):
    """[call(rank, world_size, *args) for each rank]. A single rank doesn't need its own process."""
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
    """What function returns on each rank. Rank r gets items[r]."""
    return in_group(result_of, function, items, world_size=len(items))


@probes.probe
def left_on_ranks(function, items):
    """items[r] on each rank r, after function was called with it."""
    return in_group(left_by, function, items, world_size=len(items))


# %% exercise
def global_mean(values: Tensor) -> Tensor:
    """The mean of all values on all ranks, a 0-dim float64 tensor. Every rank calls this, and gets the same number.

    values: this rank's own, float32 or (on all ranks) bool, with True counting as 1, of any shape and strides. The
    shape may differ from rank to rank. Some ranks may have no values, but at least one rank has some. No value is inf
    or -inf. If one is nan, so is the mean. Sums are in float64. values are not changed.
    """
    ### BEGIN SOLUTION
    pair = torch.tensor([values.double().sum().item(), values.numel()], dtype=torch.float64)
    dist.all_reduce(pair)
    return pair[0] / pair[1]
    ### END SOLUTION


# %% promises
# The mean of all values -> example, other_cases, empty_rank, float64, one_rank, bool
# Every rank calls this -> example, other_cases, empty_rank, float64
# values: this rank's own -> other_cases, bool, one_rank
# The shape may differ -> example, other_cases, empty_rank, float64
# Some ranks may have no -> empty_rank
# No value is inf -> one_rank
# If one is nan -> one_rank
# Sums are in float64 -> float64
# values are not changed -> keeps_input


# %% domain
@domain(
    reference,
    *("one value", "no axes", "three axes", "negative", "transposed", "every second one", "expanded"),
    *("bool", "all True", "all False", "bool, no axes", "bool, transposed", "beyond float32", "many values"),
    *("nan", "requires grad"),
    call=on_ranks,
)
def arguments(draw, edge):
    g = draw.make_generator()
    shape = draw(st.sampled_from([(2, 3), (4, 2), (3, 5)]))
    shape = {"one value": (1,), "three axes": (2, 3, 2), "many values": (3000,)}.get(
        edge, () if "no axes" in edge else shape
    )
    values = torch.randn(shape, generator=g) * 3 + (-9 if edge == "negative" else 1)
    if edge == "beyond float32":
        values = torch.cat([torch.full((1,), 2.0**25), torch.ones(6), torch.full((1,), -(2.0**25))])
    if "bool" in edge:
        values = values > 0
    if edge in ("all True", "all False"):
        values = torch.full(shape, edge == "all True")
    if edge == "nan":
        values[-1, 0] = math.nan
    return ([draw.apply_gradient_state(draw.apply_layout(values, edge), edge)],)


# %% checks
with check(
    "example",
    "the three ranks above: 17 / 7, on each of them",
    weight=2,
    required=True,
    hint=(
        "Is it the value, or the dtype? Which two numbers does each rank send?",
        "Reduce the sum of the values and their count, both in float64, over all ranks. Divide afterwards.",
    ),
):
    explain(
        on_ranks(global_mean, parts),
        [torch.tensor(17 / 7, dtype=torch.float64)] * 3,
        {
            "this is the mean of the means": [torch.tensor(4.0, dtype=torch.float64)] * 3,
            "this is the sum divided by the number of ranks": [torch.tensor(17 / 3, dtype=torch.float64)] * 3,
        },
    )

# %% hidden checks
with check("other_cases", "four ranks, values of any shape", weight=3, required=True, hint="What do you divide by?"):
    generator = torch.Generator().manual_seed(4)
    t = [torch.randn(shape, generator=generator) * 3 + 1 for shape in ((2, 2), (1,), (), (3, 1, 4))]
    want = [torch.cat([part.flatten() for part in t]).double().mean()] * 4
    assert_close(on_ranks(global_mean, t), want)
with check("bool", "bool values: an accuracy", weight=1, hint="What dtype can you sum True in?"):
    arguments.assert_results(global_mean, "bool", "all True", "all False", "bool, no axes", "bool, transposed")
with check("empty_rank", "ranks without values", weight=2, hint="What's the mean of an empty tensor?"):
    t = [torch.zeros(0), torch.zeros(2, 0), torch.tensor([3.0, 4.0, 8.0, 9.0, 1.0]), torch.zeros(0)]
    assert_close(on_ranks(global_mean, t), [torch.tensor(5.0, dtype=torch.float64)] * 4)
with check(
    "float64",
    "sums are in float64, and the ranks' results are equal bit for bit",
    weight=1,
    hint="What's 2**24 + 1 in float32? Does each rank add the same numbers in the same order?",
):
    arguments.assert_results(global_mean, "beyond float32")
    t = [torch.tensor([2.0**24, 1.0]), torch.tensor([2.0**-29]), torch.tensor([2.0**-29])]  # the order shows
    want = [torch.tensor((2.0**24 + 1) / 4, dtype=torch.float64)] * 3
    got = on_ranks(global_mean, t)
    assert_close(got, want, rtol=1e-9, atol=0)
    assert_close(got, got[:1] * 3, rtol=0, atol=0, name="the ranks' results, compared with rank 0's")
with check("one_rank", "a single rank, with values of any shape and strides, and with nan", weight=1):
    arguments.assert_results(global_mean, "", "one value", "no axes", "three axes", "negative", "many values")
    arguments.assert_results(global_mean, "transposed", "every second one", "expanded", "nan", "requires grad")
with check("keeps_input", "values aren't changed", guard=True):
    arguments.assert_arguments(global_mean)
    t = [torch.tensor([1.5, -2.0, 4.0]), torch.tensor([0.5, 3.0, 7.0])]
    want = [part.clone() for part in t]
    assert_close(left_on_ranks(global_mean, t), want)


# %% right "two collectives"
def global_mean(values):
    total = values.sum(dtype=torch.float64)
    count = torch.tensor(values.numel())
    dist.all_reduce(total)
    dist.all_reduce(count)
    return total / count


# %% right "all values are gathered as objects"
def global_mean(values):
    everybody = [None] * dist.get_world_size()
    dist.all_gather_object(everybody, values.flatten().tolist())
    return torch.tensor([v for part in everybody for v in part], dtype=torch.float64).mean()


# %% right "weighted means"
def global_mean(values):
    n = torch.tensor(float(values.numel()), dtype=torch.float64)
    mine = values.double().mean() * n if values.numel() else torch.zeros((), dtype=torch.float64)
    both = torch.stack([mine, n])
    dist.all_reduce(both)
    return both[0].div(both[1])


# %% wrong "the mean of the means" fails=example,other_cases,empty_rank,float64
def global_mean(values):
    mean = values.double().mean()
    dist.all_reduce(mean)
    return mean / dist.get_world_size()


# %% wrong "a sum over ranks is divided by ranks" fails=example,other_cases,bool,empty_rank,float64,one_rank
def global_mean(values):
    total = values.double().sum()
    dist.all_reduce(total)
    return total / dist.get_world_size()


# %% wrong "a rank without values leaves early" fails=empty_rank raises=TimeoutError
def global_mean(values):
    if values.numel() == 0:
        return torch.tensor(0.0, dtype=torch.float64)
    pair = torch.tensor([values.double().sum(), values.numel()], dtype=torch.float64)
    dist.all_reduce(pair)
    return pair[0] / pair[1]


# %% wrong "all_reduce gives its result back" fails=example,other_cases,bool,empty_rank,float64,one_rank,keeps_input raises=TypeError
def global_mean(values):
    total = dist.all_reduce(values.double().sum())
    count = dist.all_reduce(torch.tensor(float(values.numel())))
    return total / count


# %% equivalent "call of item left out: pair = torch.tensor([values.double().sum(), values.numel()], dtype=torch.float64)"
# torch.tensor takes the number of a 0-dim tensor. If that one requires grad, it warns.
