# %% exercise
def row_means(x: Tensor) -> Tensor:
    """The mean of each row of x, of shape (n, m), n and m at least 1. Returns shape (n,), of x's dtype."""
    ### BEGIN SOLUTION
    return x.mean(1)
    ### END SOLUTION


# %% checks
with check("example", "two rows", required=True):
    assert_close(row_means(torch.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])), torch.tensor([3.0, 1.0]))

# %% hidden checks
with check(
    "other_cases", "other shapes and float64", weight=2, required=True, hint="How many numbers does a row have?"
):
    for shape, dtype in (((4, 5), torch.float32), ((1, 3), torch.float64), ((7, 1), torch.float64)):
        t = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
        want = torch.stack([sum(row) / len(row) for row in t])
        assert_close(row_means(t), want)
with check("keeps_input", "x keeps its values", guard=True):
    t = torch.tensor([[1.5, -2.0], [3.0, 8.0]])
    row_means(t)
    assert_close(t, torch.tensor([[1.5, -2.0], [3.0, 8.0]]))


# %% right "a sum and the number of columns"
def row_means(x):
    return x.sum(-1) / x.shape[1]


# %% right "a product with a vector"
def row_means(x):
    return x @ torch.full((x.shape[1],), 1 / x.shape[1], dtype=x.dtype)


# %% wrong "the means of the columns" fails=example,other_cases
def row_means(x):
    return x.mean(0)


# %% wrong "the sums" fails=example,other_cases
def row_means(x):
    return x.sum(1)


# %% wrong "one dimension too many" fails=example,other_cases
def row_means(x):
    return x.mean(1, keepdim=True)


# %% wrong "rows have three numbers" fails=other_cases
def row_means(x):
    return x.sum(1) / 3


# %% wrong "x is overwritten" fails=keeps_input
def row_means(x):
    return x.div_(x.shape[1]).sum(1)
