# %% exercise
def running_max(x: Tensor) -> Tensor:
    """The largest element of x, of shape (n,), up to each index. Returns shape (n,), of x's dtype."""
    ### BEGIN SOLUTION
    return x.cummax(0).values
    ### END SOLUTION


# %% checks
with check("example", "five numbers", required=True):
    assert_close(running_max(torch.tensor([1.0, 3.0, 2.0, 3.5, 0.0])), torch.tensor([1.0, 3.0, 3.0, 3.5, 3.5]))

# %% hidden checks
with check(
    "below_zero",
    "any numbers, even if all are below zero",
    weight=2,
    required=True,
    hint="What does your maximum begin with?",
):
    for shift, dtype in ((0.0, torch.float32), (-9.0, torch.float64)):
        t = torch.randn(40, dtype=dtype, generator=torch.Generator().manual_seed(4)) + shift
        want = torch.stack([t[: i + 1].max() for i in range(40)])
        assert_close(running_max(t), want)
with check("empty", "no number", guard=True):
    assert_close(running_max(torch.empty(0)), torch.empty(0))
with check("keeps_input", "x keeps its values", guard=True):
    t = torch.tensor([1.0, 0.5, 2.0])
    running_max(t)
    assert_close(t, torch.tensor([1.0, 0.5, 2.0]))


# %% right "a loop"
def running_max(x):
    found = x.clone()
    for i in range(1, len(x)):
        found[i] = torch.maximum(found[i - 1], found[i])
    return found


# %% right "a triangle of all pairs"
def running_max(x):
    if len(x) == 0:
        return x.clone()
    below = torch.ones(len(x), len(x)).tril().bool()
    return x.expand(len(x), -1).masked_fill(~below, -torch.inf).amax(1)


# %% wrong "it begins at zero" fails=below_zero
def running_max(x):
    return torch.cat([torch.zeros(1, dtype=x.dtype), x]).cummax(0).values[1:]


# %% wrong "the minimum" fails=example,below_zero
def running_max(x):
    return x.cummin(0).values


# %% wrong "one maximum for all" fails=example,below_zero,empty raises=RuntimeError
def running_max(x):
    return x.max().expand(len(x))


# %% wrong "the indices" fails=example,below_zero,empty
def running_max(x):
    return x.cummax(0).indices


# %% wrong "a loop in place" fails=keeps_input
def running_max(x):
    for i in range(1, len(x)):
        x[i] = torch.maximum(x[i - 1], x[i])
    return x
