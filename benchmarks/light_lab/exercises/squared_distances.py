# %% exercise
def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """The squared distance of each row of a, shape (n, d), to each row of b, shape (m, d). Returns shape (n, m)."""
    ### BEGIN SOLUTION
    return ((a[:, None] - b) ** 2).sum(-1)
    ### END SOLUTION


# %% checks
with check("example", "from two points to one", required=True):
    got = squared_distances(torch.tensor([[0.0, 0.0], [1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    assert_close(got, torch.tensor([[25.0], [8.0]]))

# %% hidden checks
with check(
    "other_cases", "other sizes", weight=2, required=True, hint="Which shape do the differences of all pairs have?"
):
    for n, m, d in ((4, 3, 2), (2, 2, 5), (1, 6, 1)):
        g = torch.Generator().manual_seed(6)
        p, q = torch.randn(n, d, generator=g), torch.randn(m, d, generator=g)
        want = torch.tensor([[sum((x - y) ** 2 for x, y in zip(v, w, strict=True)) for w in q] for v in p])
        assert_close(squared_distances(p, q), want)


# %% right "the binomial formula"
def squared_distances(a, b):
    return (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T


# %% right "row by row"
def squared_distances(a, b):
    return torch.stack([((b - p) ** 2).sum(1) for p in a])


# %% wrong "the square root as well" fails=example,other_cases
def squared_distances(a, b):
    return torch.cdist(a, b)


# %% wrong "from b to a" fails=example,other_cases
def squared_distances(a, b):
    return ((b[:, None] - a) ** 2).sum(-1)


# %% wrong "the sum of absolute differences" fails=example,other_cases
def squared_distances(a, b):
    return (a[:, None] - b).abs().sum(-1)


# %% wrong "pairs with the same index" fails=example,other_cases raises=RuntimeError
def squared_distances(a, b):
    return ((a - b) ** 2).sum(-1)


# %% wrong "only two coordinates" fails=other_cases
def squared_distances(a, b):
    return (a[:, None, 0] - b[:, 0]) ** 2 + (a[:, None, 1] - b[:, 1]) ** 2
