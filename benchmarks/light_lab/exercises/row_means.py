# %% exercise
def row_means(x: Tensor) -> Tensor:
    """The mean of each row of x.

    x is (n, m), float32 or float64, with n and m at least 1. Returns a tensor (n,) of x's dtype.

    Details:
    - x isn't changed.
    """
    ### BEGIN SOLUTION
    return x.mean(1)
    ### END SOLUTION


# %% promises
# The mean of each row of x -> example, other_cases
# x is (n, m) -> sizes, float64
# Returns a tensor (n,) -> float64, other_cases
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
with check("example", "two rows", required=True):
    assert_close(row_means(torch.tensor([[1.0, 2.0, 6.0], [0.0, 0.0, 3.0]])), torch.tensor([3.0, 1.0]))

# %% hidden checks
with check("other_cases", "other shapes", weight=2, required=True, hint="How many numbers does a row have?"):
    arguments.assert_results(row_means, "")
with check("sizes", "one row, one column, and as many rows as columns", hint="Which dimension remains?"):
    arguments.assert_results(row_means, "one row", "one column", "square")
with check("float64", "float64 stays float64", hint="What dtype does each of your tensors have?"):
    arguments.assert_results(row_means, "float64")
with check("keeps_input", "x keeps its values", guard=True):
    arguments.assert_arguments(row_means)


# %% right "a sum and the number of columns"
def row_means(x):
    return x.sum(-1) / x.shape[1]


# %% right "a product with a vector"
def row_means(x):
    return x @ torch.full((x.shape[1],), 1 / x.shape[1], dtype=x.dtype)


# %% wrong "the means of the columns" fails=example,other_cases,sizes,float64
def row_means(x):
    return x.mean(0)


# %% wrong "the sums" fails=example,other_cases,sizes,float64
def row_means(x):
    return x.sum(1)


# %% wrong "one dimension too many" fails=example,other_cases,sizes,float64
def row_means(x):
    return x.mean(1, keepdim=True)


# %% wrong "rows have three numbers" fails=other_cases,sizes,float64
def row_means(x):
    return x.sum(1) / 3


# %% wrong "x is overwritten" fails=keeps_input
def row_means(x):
    return x.div_(x.shape[1]).sum(1)
