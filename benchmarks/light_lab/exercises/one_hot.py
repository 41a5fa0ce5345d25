# %% exercise
def one_hot(labels: Tensor, n: int) -> Tensor:
    """One row for each label, int64 of shape (k,): 1 at the label's index, else 0. Returns float32 of shape (k, n)."""
    ### BEGIN SOLUTION
    rows = torch.zeros(len(labels), n)
    rows[torch.arange(len(labels)), labels] = 1
    return rows
    ### END SOLUTION


# %% checks
with check("example", "two labels of three", required=True):
    assert_close(one_hot(torch.tensor([2, 0]), 3), torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))

# %% hidden checks
with check(
    "unused_class", "a class without a label", weight=2, required=True, hint="What says how many classes there are?"
):
    for k, n in ((7, 5), (3, 9), (1, 2)):
        t = torch.randint(n - 1, (k,), generator=torch.Generator().manual_seed(5))
        assert_close(one_hot(t, n), torch.tensor([[float(i == label) for i in range(n)] for label in t.tolist()]))
with check("empty", "no label", guard=True):
    assert_close(one_hot(torch.empty(0, dtype=torch.int64), 4), torch.empty(0, 4))


# %% right "rows of the identity"
def one_hot(labels, n):
    return torch.eye(n)[labels]


# %% right "a comparison"
def one_hot(labels, n):
    return (labels[:, None] == torch.arange(n)).float()


# %% wrong "int64, as torch's own" fails=example,unused_class,empty
def one_hot(labels, n):
    return torch.nn.functional.one_hot(labels, n)


# %% wrong "as many classes as the labels say" fails=unused_class,empty raises=RuntimeError
def one_hot(labels, n):
    return torch.eye(int(labels.max()) + 1)[labels]


# %% wrong "a column for each label" fails=example,unused_class,empty
def one_hot(labels, n):
    return torch.eye(n)[labels].T


# %% wrong "labels begin at one" fails=example,unused_class
def one_hot(labels, n):
    return torch.eye(n)[labels - 1]
