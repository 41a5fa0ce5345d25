# %% exercise
def squared_distances(a: Tensor, b: Tensor) -> Tensor:
    """The squared distance between each row of a and each row of b.

    a is (n, d), and b is (m, d), both float32, with n, m and d at least 1. Returns a float32 tensor (n, m): entry
    [i, j] belongs to a[i] and b[j].

    Details:
    - Neither is changed.
    """
    ### BEGIN SOLUTION
    return ((a[:, None] - b) ** 2).sum(-1)
    ### END SOLUTION


# %% promises
# The squared distance between -> example, other_cases
# a is (n, d) -> other_cases, sizes
# Returns a float32 tensor -> other_cases, sizes
# Neither is changed -> keeps_input


# %% domain
@domain(reference, "one point", "one coordinate", "equal sizes")
def arguments(draw, edge):
    n = draw(st.integers(2, 4))
    m, d = n + draw(st.integers(1, 2)), n + 3
    sizes = {"one point": (1, m, d), "one coordinate": (n, m, 1), "equal sizes": (n, n, n)}
    n, m, d = sizes.get(edge, (n, m, d))
    g = draw.make_generator()
    return torch.randn(n, d, generator=g), torch.randn(m, d, generator=g)


# %% checks
with check("example", "from two points to one", required=True):
    got = squared_distances(torch.tensor([[0.0, 0.0], [1.0, 2.0]]), torch.tensor([[3.0, 4.0]]))
    assert_close(got, torch.tensor([[25.0], [8.0]]))

# %% hidden checks
with check(
    "other_cases", "other sizes", weight=2, required=True, hint="What shape do the differences of all pairs have?"
):
    arguments.assert_results(squared_distances, "", rtol=1e-4, atol=1e-4)
with check("sizes", "one point, one coordinate, and equal sizes", hint="Which sizes does your code rely on?"):
    arguments.assert_results(squared_distances, "one point", "one coordinate", "equal sizes", rtol=1e-4, atol=1e-4)
with check("keeps_input", "a and b keep their values", guard=True):
    arguments.assert_arguments(squared_distances)


# %% right "the binomial formula"
def squared_distances(a, b):
    return (a * a).sum(1)[:, None] + (b * b).sum(1) - 2 * a @ b.T


# %% right "row by row"
def squared_distances(a, b):
    return torch.stack([((b - p) ** 2).sum(1) for p in a])


# %% wrong "the square root as well" fails=example,other_cases,sizes
def squared_distances(a, b):
    return torch.cdist(a, b)


# %% wrong "from b to a" fails=example,other_cases,sizes
def squared_distances(a, b):
    return ((b[:, None] - a) ** 2).sum(-1)


# %% wrong "the sum of absolute differences" fails=example,other_cases,sizes
def squared_distances(a, b):
    return (a[:, None] - b).abs().sum(-1)


# %% wrong "pairs with the same index" fails=example,other_cases,sizes raises=RuntimeError
def squared_distances(a, b):
    return ((a - b) ** 2).sum(-1)


# %% wrong "only two coordinates" fails=other_cases,sizes
def squared_distances(a, b):
    return (a[:, None, 0] - b[:, 0]) ** 2 + (a[:, None, 1] - b[:, 1]) ** 2
