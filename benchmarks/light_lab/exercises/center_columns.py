# %% exercise
def center_columns(x: Tensor) -> Tensor:
    """From each column of x, subtract the column's mean.

    x is (n, m), float32 or float64, with n and m at least 1. Returns a tensor (n, m) of x's dtype.

    Details:
    - x isn't changed.
    """
    ### BEGIN SOLUTION
    return x - x.mean(0)
    ### END SOLUTION


# %% promises
# From each column of x -> example, other_cases
# x is (n, m) -> sizes, float64
# Returns a tensor (n, m) -> float64, other_cases
# x isn't changed -> keeps_input


# %% domain
@domain(reference, "one row", "one column", "square", "float64")
def arguments(draw, edge):
    n = draw(st.integers(2, 5))
    m = n + draw(st.integers(1, 3))
    n, m = {"one row": (1, m), "one column": (n, 1), "square": (n, n)}.get(edge, (n, m))
    dtype = torch.float64 if edge == "float64" else torch.float32
    return (torch.randn(n, m, dtype=dtype, generator=draw.make_generator()),)


# %% checks
with check("example", "three rows of two", required=True):
    assert_close(
        center_columns(torch.tensor([[1.0, 5.0], [2.0, 5.0], [6.0, 8.0]])),
        torch.tensor([[-2.0, -1.0], [-1.0, -1.0], [3.0, 2.0]]),
    )

# %% hidden checks
with check("other_cases", "other shapes", weight=2, required=True, hint="Does each column have a mean of zero?"):
    arguments.assert_results(center_columns, "")
with check("sizes", "one row, one column, and as many rows as columns", hint="Are the means aligned with columns?"):
    arguments.assert_results(center_columns, "one row", "one column", "square")
with check("float64", "float64 stays float64", hint="What dtype does each of your tensors have?"):
    arguments.assert_results(center_columns, "float64")
with check("keeps_input", "x keeps its values", guard=True):
    arguments.assert_arguments(center_columns)


# %% right "a column at a time"
def center_columns(x):
    return torch.stack([c - c.mean() for c in x.unbind(1)], 1)


# %% right "keepdim"
def center_columns(x):
    return x - x.mean(dim=0, keepdim=True)


# %% wrong "the mean of all elements" fails=example,other_cases,sizes,float64
def center_columns(x):
    return x - x.mean()


# %% wrong "the means of the rows" fails=example,other_cases,sizes,float64
def center_columns(x):
    return x - x.mean(1, keepdim=True)


# %% wrong "standardized too" fails=example,other_cases,sizes,float64
def center_columns(x):
    return (x - x.mean(0)) / (x.std(0) + 1e-6)


# %% wrong "in place" fails=keeps_input
def center_columns(x):
    x -= x.mean(0)
    return x
