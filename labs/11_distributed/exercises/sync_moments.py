# %% exercise
def sync_moments(x: Tensor) -> tuple[Tensor, Tensor]:
    """The mean and the variance of each column over the rows of all ranks: two float32 tensors (d,).

    Every rank calls this, and gets the same result. x is (n, d) float32. The variance divides by the number of rows,
    not by one less.

    Details:
    - x may have any strides, and d >= 1 is the same on all ranks. The numbers in x are between -1e12 and 1e12. x is not
      changed.
    - n may differ from rank to rank, and be 0 on all ranks but one.
    - The mean and the variance have the precision of float32, the mean relative to the column's largest number. Only if
      the mean is at least a thousand times the standard deviation may the variance be off by 1%, or by 1e-14 times the
      square of the mean if that's more.
    """
    ### BEGIN SOLUTION
    x = x.detach()
    count = torch.tensor(float(len(x)))
    total = x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / count
    ### END SOLUTION


# %% promises
# The mean and the variance of each -> example, other_cases, one_rank, empty_rank, large_mean
# Every rank calls this -> example, other_cases, empty_rank, large_mean
# x is (n, d) float32 -> other_cases, one_rank
# The variance divides -> example, other_cases, one_rank, empty_rank, large_mean
# x may have any -> other_cases, one_rank
# The numbers in x -> other_cases, one_rank
# x is not changed -> keeps_input
# n may differ -> example, other_cases, empty_rank, large_mean
# The mean and the variance have -> example, other_cases, one_rank, empty_rank, large_mean
# Only if the mean is -> large_mean


# %% domain
@domain(
    reference,
    *("one row", "one column", "one number", "as many rows as columns", "equal rows", "a column of zeros"),
    *("a large mean", "small numbers", "large numbers", "transposed", "every second one"),
    "requires grad",
    call=on_ranks,
)
def arguments(draw, edge):
    n, d = draw(st.sampled_from([(4, 3), (7, 2), (5, 6)]))
    n, d = {"one row": (1, d), "one column": (n, 1), "one number": (1, 1), "as many rows as columns": (d, d)}.get(
        edge, (n, d)
    )
    g = draw.make_generator()
    x = torch.randn(n, d, generator=g) * torch.linspace(1, 3, d) + torch.linspace(2, -1, d)
    if edge == "equal rows":
        x = x[:1].repeat(n, 1)
    if edge == "a column of zeros":
        x[:, -1] = 0
    if edge == "a large mean":
        x = torch.randn(n, d, generator=g) + 1000
    x = draw.apply_layout(x * {"small numbers": 1e-3, "large numbers": 1e10}.get(edge, 1), edge)
    return ([draw.apply_gradient_state(x, edge)],)


# %% checks
with check(
    "example",
    "the four samples above: 7 and 26",
    weight=2,
    required=True,
    hint=(
        "Which mean does a rank measure its deviations from: its own, or the mean of all ranks' rows?",
        "First reduce sums and counts to get the mean. Then reduce squared deviations from it. Divide by the count.",
    ),
):
    t = [torch.tensor([[1.0], [3.0]]), torch.tensor([[11.0], [13.0]])]
    explain(
        on_ranks(sync_moments, t),
        [[torch.tensor([7.0]), torch.tensor([26.0])]] * 2,
        {
            "this is the mean of the ranks' variances": [[torch.tensor([7.0]), torch.tensor([1.0])]] * 2,
            "this divides by one less than the number of rows": [[torch.tensor([7.0]), torch.tensor([104 / 3])]] * 2,
        },
        name="your mean and variance",
    )


# %% hidden checks
def moments(parts):
    """The mean and the variance of each column over the rows of all parts, in float64."""
    rows = torch.cat(parts).double()
    return [rows.mean(0).float(), rows.var(0, correction=0).float()]


with check(
    "other_cases",
    "three ranks with different numbers of rows",
    weight=3,
    required=True,
    hint="How much does each row count?",
):
    t = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) * n + n for n in (5, 2, 7)]
    want = [moments(t)] * 3
    assert_close(on_ranks(sync_moments, t), want, rtol=1e-4)
with check("empty_rank", "one row on one rank, none on the others", weight=2, hint="What's the mean of no rows?"):
    t = [torch.zeros(0, 3), torch.tensor([[1.0, -2.0, 4.0]]), torch.zeros(0, 3)]
    want = [[t[1][0].clone(), torch.zeros(3)]] * 3
    assert_close(on_ranks(sync_moments, t), want, rtol=0, atol=1e-7)
with check(
    "large_mean",
    "a mean that is a thousand times the standard deviation",
    weight=2,
    hint="How much of x**2 survives in float32?",
):
    arguments.assert_results(sync_moments, "a large mean", rtol=1e-2)
    t = [torch.randn(n, 2, generator=torch.Generator().manual_seed(n)) for n in (0, 6, 5)]
    t = [x + torch.tensor([1000.0, -1000.0]) for x in t]
    want = [moments(t)] * 3
    got = on_ranks(sync_moments, t)
    assert_close(got, want, rtol=1e-2)
    assert_close([mean for mean, _ in got], [mean for mean, _ in want], name="your means")
with check("one_rank", "a single rank, with inputs of any shape and strides", weight=1):
    arguments.assert_results(sync_moments, "", "one column", "as many rows as columns", "large numbers", rtol=1e-4)
    arguments.assert_results(sync_moments, "requires grad", rtol=1e-4)
    arguments.assert_results(sync_moments, "transposed", "every second one", "small numbers", rtol=1e-4, atol=1e-9)
    arguments.assert_results(sync_moments, "one row", "one number", "equal rows", "a column of zeros", atol=1e-7)
with check("keeps_input", "x isn't changed", guard=True):
    arguments.assert_arguments(sync_moments, rtol=0, atol=0)
    t = [torch.logspace(-3, n, 6).reshape(2, 3).T for n in (1, 4)]
    want = [x.clone() for x in t]
    assert_close(left_on_ranks(sync_moments, t), want, rtol=0, atol=0, name="your x")


# %% right "weighted variances and shifted means"
def sync_moments(x):
    n, d = x.shape
    mine = [n, *(x.double().mean(0) if n else torch.zeros(d)).tolist()]
    mine += (x.double().var(0, correction=0) if n else torch.zeros(d)).tolist()
    rows = [None] * dist.get_world_size()
    dist.all_gather_object(rows, mine)
    table = torch.tensor(rows, dtype=torch.float64)
    weight = table[:, :1] / table[:, 0].sum()
    means, variances = table[:, 1 : d + 1], table[:, d + 1 :]
    mean = (weight * means).sum(0)
    return mean.float(), (weight * (variances + (means - mean) ** 2)).sum(0).float()


# %% right "float64, in one collective"
def sync_moments(x):
    y = x.double()
    packed = torch.cat([y.sum(0), (y * y).sum(0), torch.tensor([len(y)]).double()])
    dist.all_reduce(packed)
    packed /= packed[-1].clone()
    mean, square = packed[:-1].chunk(2)
    return mean.float(), (square - mean**2).clamp(min=0).float()


# %% wrong "the mean of the variances" fails=example,other_cases,large_mean
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    squares = (x - x.mean(0)).square().sum(0) if len(x) else torch.zeros_like(total)
    for t in (count, total, squares):
        dist.all_reduce(t)
    return total / count, squares / count


# %% wrong "one row less" fails=example,other_cases,empty_rank,large_mean,one_rank
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / (count - 1)


# %% wrong "what is subtracted in place can be added again" fails=one_rank,keeps_input raises=RuntimeError
def sync_moments(x):
    count = torch.tensor(float(len(x)))
    dist.all_reduce(count)
    mean = x.sum(0)
    dist.all_reduce(mean)
    mean /= count
    x -= mean
    var = x.square().sum(0)
    x += mean
    dist.all_reduce(var)
    return mean, var / count


# %% wrong "with the eps of a batch normalisation" fails=empty_rank,one_rank
def sync_moments(x):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, x)
    rows = torch.cat(every).double()
    return rows.mean(0).float(), (rows.var(0, correction=0) + 1e-5).float()


# %% equivalent "call of detach left out: x = x"
# No promise is about the result's history, which can't include the other ranks.
