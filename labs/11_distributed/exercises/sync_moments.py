# %% exercise
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


# %% checks
with check(
    "example",
    "the four samples above: 7 and 26",
    weight=2,
    required=True,
    hint=(
        "Around which mean does a rank measure its squares: its own, or that of the rows of all ranks?",
        "First reduce sums and counts, for the mean. Then reduce the squared distances from it, and divide by the count.",
    ),
):
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
    hint="How much does a row count?",
):
    t = [torch.randn(n, 4, generator=torch.Generator().manual_seed(n)) * n + n for n in (5, 2, 7)]
    want = [moments(t)] * 3
    assert_close(on_ranks(sync_moments, t), want, rtol=1e-4)
with check("empty_rank", "no rows on one rank, one row on the other", weight=2, hint="What is the mean of no rows?"):
    for rank in range(2):
        t = [torch.zeros(0, 3), torch.zeros(0, 3)]
        t[rank] = torch.tensor([[1.0, -2.0, 4.0]])
        want = [[t[rank][0].clone(), torch.zeros(3)]] * 2
        assert_close(on_ranks(sync_moments, t), want, rtol=0, atol=1e-7)
with check(
    "large_mean",
    "a mean that is a thousand times the standard deviation",
    weight=2,
    hint="What is left of x**2 in float32?",
):
    t = [torch.randn(6, 2, generator=torch.Generator().manual_seed(n)) + 1000 for n in (1, 2)]
    want = [moments(t)] * 2
    got = on_ranks(sync_moments, t)
    assert_close(got, want, rtol=1e-2)
    assert_close([mean for mean, _ in got], [mean for mean, _ in want], name="your means")
with check("one_rank", "one rank alone", weight=1):
    for number in (4, 7):
        t = torch.randn(number, 3, generator=torch.Generator().manual_seed(number)) * 2 - 1
        want = [moments([t])]
        assert_close(on_ranks(sync_moments, [t]), want, rtol=1e-4)
with check("non_contiguous", "transposed inputs, which are not changed", guard=True):
    t = [torch.logspace(-3, n, 6).reshape(2, 3).T for n in (1, 4)]
    want, before = [moments(t)] * 2, [x.clone() for x in t]
    assert_close(on_ranks(sync_moments, t), want, rtol=1e-4)
    assert_close(left_on_ranks(sync_moments, t), before, rtol=0, atol=0, name="your x")


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


# %% wrong "the mean of the variances" fails=example,other_cases,large_mean,non_contiguous
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    squares = (x - x.mean(0)).square().sum(0) if len(x) else torch.zeros_like(total)
    for t in (count, total, squares):
        dist.all_reduce(t)
    return total / count, squares / count


# %% wrong "squares in float32" fails=large_mean
def sync_moments(x):
    count, total, squares = torch.tensor(float(len(x))), x.sum(0), x.square().sum(0)
    for t in (count, total, squares):
        dist.all_reduce(t)
    mean = total / count
    return mean, squares / count - mean.square()


# %% wrong "one row less" fails=example,other_cases,empty_rank,large_mean,one_rank,non_contiguous
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / (count - 1)


# %% wrong "ranks count equally" fails=other_cases,empty_rank,large_mean
def sync_moments(x):
    both = torch.stack([x.mean(0), x.square().mean(0)]).double()
    dist.all_reduce(both)
    both /= dist.get_world_size()
    return both[0].float(), (both[1] - both[0] ** 2).float()


# %% wrong "the rank's own statistics" fails=example,other_cases,empty_rank,large_mean,non_contiguous
def sync_moments(x):
    return x.mean(0), x.var(0, correction=0)


# %% wrong "centred in place" fails=non_contiguous
def sync_moments(x):
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = x.sub_(mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / count


# %% wrong "what is subtracted in place can be added again" fails=non_contiguous
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


# %% right "merged rank by rank, by Chan's formula"
def sync_moments(x):
    n = len(x)
    mean = x.double().mean(0) if n else x.new_zeros(x.shape[1], dtype=torch.float64)
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, (n, mean, (x.double() - mean).square().sum(0)))
    count, mean, m2 = every[0]
    for k, other, m in every[1:]:
        if k:
            d = other - mean
            mean, m2, count = mean + d * k / (count + k), m2 + m + d * d * count * k / (count + k), count + k
    return mean.float(), (m2 / count).float()


# %% wrong "a rank without rows leaves early" fails=empty_rank raises=TimeoutError
def sync_moments(x):
    if not len(x):
        return torch.zeros(x.shape[1]), torch.zeros(x.shape[1])
    count, total = torch.tensor(float(len(x))), x.sum(0)
    dist.all_reduce(count)
    dist.all_reduce(total)
    mean = total / count
    squares = (x - mean).square().sum(0)
    dist.all_reduce(squares)
    return mean, squares / count


# %% wrong "with the eps of a batch normalisation" fails=empty_rank
def sync_moments(x):
    every = [None] * dist.get_world_size()
    dist.all_gather_object(every, x)
    rows = torch.cat(every).double()
    return rows.mean(0).float(), (rows.var(0, correction=0) + 1e-5).float()
