# %% exercise
def centred(x: Tensor) -> Tensor:
    """Subtract from each column of x, of shape (n, m), its mean. Returns shape (n, m), of x's dtype."""
    ### BEGIN SOLUTION
    return x - x.mean(0)
    ### END SOLUTION


# %% checks
with check("example", "three rows of two", required=True):
    assert_close(
        centred(torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 8.0]])),
        torch.tensor([[-2.0, -1.0], [-1.0, -1.0], [3.0, 2.0]]),
    )

# %% hidden checks
with check(
    "other_cases", "other shapes and float64", weight=2, required=True, hint="Does each column have a mean of zero?"
):
    for shape, dtype in (((4, 5), torch.float32), ((1, 3), torch.float64), ((6, 6), torch.float64)):
        t = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(2))
        want = torch.stack([column - sum(column) / len(column) for column in t.T], 1)
        assert_close(centred(t), want)
with check("keeps_input", "x keeps its values", guard=True):
    t = torch.tensor([[1.5, -2.0], [3.0, 8.0]])
    centred(t)
    assert_close(t, torch.tensor([[1.5, -2.0], [3.0, 8.0]]))


# %% right "a column at a time"
def centred(x):
    return torch.stack([c - c.mean() for c in x.unbind(1)], 1)


# %% right "keepdim"
def centred(x):
    return x - x.mean(dim=0, keepdim=True)


# %% wrong "the mean of all elements" fails=example,other_cases
def centred(x):
    return x - x.mean()


# %% wrong "the means of the rows" fails=example,other_cases
def centred(x):
    return x - x.mean(1, keepdim=True)


# %% wrong "standardised too" fails=example,other_cases
def centred(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


# %% wrong "in place" fails=keeps_input
def centred(x):
    x -= x.mean(0)
    return x
