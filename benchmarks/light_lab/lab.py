# Six short exercises and one picture: what a class costs where the exercises themselves cost nearly nothing.

# %% given
import matplotlib.pyplot as plt
import torch
from torch import Tensor

from labkit import assert_close, check

# %% [markdown]
# # A light lab
#
# ## Rows and columns
#
# Which of the two dimensions does `sum(0)` remove, and which does `sum(1)`?

# %% given
table = torch.arange(12.0).reshape(3, 4)
print(table.sum(0), table.sum(1))


# %% exercise: row_means
def row_means(x: Tensor) -> Tensor:
    """The mean of each row of x, of shape (n, m), n and m at least 1. Returns shape (n,), of x's dtype."""
    ### BEGIN SOLUTION
    return x.mean(1)
    ### END SOLUTION


# %% check: row_means points=3
with check("two rows", required=True):
    assert_close(row_means(torch.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])), torch.tensor([3.0, 1.0]))
### BEGIN HIDDEN TESTS
with check("other shapes and float64", weight=2, required=True, hint="How many numbers does a row have?"):
    for shape, dtype in (((4, 5), torch.float32), ((1, 3), torch.float64), ((7, 1), torch.float64)):
        t = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(1))
        want = torch.stack([sum(row) / len(row) for row in t])
        assert_close(row_means(t), want)
with check("x keeps its values", guard=True):
    t = torch.tensor([[1.5, -2.0], [3.0, 8.0]])
    row_means(t)
    assert_close(t, torch.tensor([[1.5, -2.0], [3.0, 8.0]]))
### END HIDDEN TESTS


# %% exercise: centred
def centred(x: Tensor) -> Tensor:
    """x of shape (n, m) less the mean of each of its columns. Returns shape (n, m), of x's dtype."""
    ### BEGIN SOLUTION
    return x - x.mean(0)
    ### END SOLUTION


# %% check: centred points=3
with check("three rows of two", required=True):
    assert_close(
        centred(torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 8.0]])),
        torch.tensor([[-2.0, -1.0], [-1.0, -1.0], [3.0, 2.0]]),
    )
### BEGIN HIDDEN TESTS
with check("other shapes and float64", weight=2, required=True, hint="Does each column have a mean of zero?"):
    for shape, dtype in (((4, 5), torch.float32), ((1, 3), torch.float64), ((6, 6), torch.float64)):
        t = torch.randn(*shape, dtype=dtype, generator=torch.Generator().manual_seed(2))
        want = torch.stack([column - sum(column) / len(column) for column in t.T], 1)
        assert_close(centred(t), want)
with check("x keeps its values", guard=True):
    t = torch.tensor([[1.5, -2.0], [3.0, 8.0]])
    centred(t)
    assert_close(t, torch.tensor([[1.5, -2.0], [3.0, 8.0]]))
### END HIDDEN TESTS

# %% [markdown]
# ## A picture
#
# Where does the curve of the running maximum stay flat?

# %% given
steps = torch.randn(60, generator=torch.Generator().manual_seed(3)).cumsum(0)
plt.figure(figsize=(5, 2.5))
plt.plot(steps.tolist())
plt.xlabel("step")
plt.show()


# %% exercise: running_max
def running_max(x: Tensor) -> Tensor:
    """The largest element of x, of shape (n,), up to each place. Returns shape (n,), of x's dtype."""
    ### BEGIN SOLUTION
    return x.cummax(0).values
    ### END SOLUTION


# %% check: running_max points=4
with check("five numbers", required=True):
    assert_close(running_max(torch.tensor([1.0, 3.0, 2.0, 3.5, 0.0])), torch.tensor([1.0, 3.0, 3.0, 3.5, 3.5]))
### BEGIN HIDDEN TESTS
with check("any numbers, all below zero too", weight=2, required=True, hint="Where does your maximum begin?"):
    for shift, dtype in ((0.0, torch.float32), (-9.0, torch.float64)):
        t = torch.randn(40, dtype=dtype, generator=torch.Generator().manual_seed(4)) + shift
        want = torch.stack([t[: i + 1].max() for i in range(40)])
        assert_close(running_max(t), want)
with check("no number", guard=True):
    assert_close(running_max(torch.empty(0)), torch.empty(0))
with check("x keeps its values", guard=True):
    t = torch.tensor([1.0, 0.5, 2.0])
    running_max(t)
    assert_close(t, torch.tensor([1.0, 0.5, 2.0]))
### END HIDDEN TESTS


# %% exercise: one_hot
def one_hot(labels: Tensor, n: int) -> Tensor:
    """A row for each of the labels, int64 of shape (k,): 1 at the label's place, else 0. float32, shape (k, n)."""
    ### BEGIN SOLUTION
    rows = torch.zeros(len(labels), n)
    rows[torch.arange(len(labels)), labels] = 1
    return rows
    ### END SOLUTION


# %% check: one_hot points=3
with check("two labels of three", required=True):
    assert_close(one_hot(torch.tensor([2, 0]), 3), torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]))
### BEGIN HIDDEN TESTS
with check("a class without a label", weight=2, required=True, hint="Who says how many classes there are?"):
    for k, n in ((7, 5), (3, 9), (1, 2)):
        t = torch.randint(n - 1, (k,), generator=torch.Generator().manual_seed(5))
        assert_close(one_hot(t, n), torch.tensor([[float(i == label) for i in range(n)] for label in t.tolist()]))
with check("no label", guard=True):
    assert_close(one_hot(torch.empty(0, dtype=torch.int64), 4), torch.empty(0, 4))
### END HIDDEN TESTS


# %% exercise: squared_distances
def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """The squared distance of each row of a, shape (n, d), to each row of b, shape (m, d). Returns shape (n, m)."""
    ### BEGIN SOLUTION
    return ((a[:, None] - b) ** 2).sum(-1)
    ### END SOLUTION


# %% check: squared_distances points=4
with check("two points and one", required=True):
    got = squared_distances(torch.tensor([[0.0, 0.0], [1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    assert_close(got, torch.tensor([[25.0], [8.0]]))
### BEGIN HIDDEN TESTS
with check("other sizes", weight=2, required=True, hint="Which shape has the difference of all pairs?"):
    for n, m, d in ((4, 3, 2), (2, 2, 5), (1, 6, 1)):
        g = torch.Generator().manual_seed(6)
        p, q = torch.randn(n, d, generator=g), torch.randn(m, d, generator=g)
        want = torch.tensor([[sum((x - y) ** 2 for x, y in zip(v, w, strict=True)) for w in q] for v in p])
        assert_close(squared_distances(p, q), want)
### END HIDDEN TESTS


# %% exercise: polynomial
def polynomial(coefficients: Tensor, x: Tensor) -> Tensor:
    """c[0] + c[1] x + c[2] x² + ... for each element of x. coefficients: shape (k,), k at least 1. Gives x's shape."""
    ### BEGIN SOLUTION
    value = torch.zeros_like(x)
    for c in coefficients.flip(0):
        value = value * x + c
    return value
    ### END SOLUTION


# %% check: polynomial points=3
with check("1 + 2x at three places", required=True):
    assert_close(polynomial(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0, -2.0])), torch.tensor([1.0, 3.0, -3.0]))
### BEGIN HIDDEN TESTS
with check("other degrees and shapes", weight=2, required=True, hint="Which coefficient stands at x²?"):
    for k, shape in ((4, (3, 2)), (1, (5,)), (6, (2, 1, 3))):
        g = torch.Generator().manual_seed(7)
        p, t = torch.randn(k, generator=g), torch.randn(*shape, generator=g)
        want = sum(c * t**i for i, c in enumerate(p))
        assert_close(polynomial(p, t), want)
with check("x keeps its values", guard=True):
    t = torch.tensor([1.0, 0.5])
    polynomial(torch.tensor([2.0, 3.0]), t)
    assert_close(t, torch.tensor([1.0, 0.5]))
### END HIDDEN TESTS
