# %% exercise
def running_max(x: Tensor) -> Tensor:
    """The largest element of x up to each index.

    x is (n,), float32 or float64. Returns a tensor (n,) of x's dtype.

    Details:
    - n may be 0, and all elements may be below 0.
    - x isn't changed.
    """
    ### BEGIN SOLUTION
    return x.cummax(0).values
    ### END SOLUTION


# %% promises
# The largest element of x -> example, other_cases
# x is (n,) -> other_cases, float64
# Returns a tensor (n,) -> float64, other_cases
# n may be 0 -> empty, below_zero
# x isn't changed -> keeps_input


# %% domain
@domain(reference, "below 0", "no element", "one element", "float64")
def arguments(draw, edge):
    n = {"no element": 0, "one element": 1}.get(edge, draw(st.integers(5, 40)))
    dtype = torch.float64 if edge == "float64" else torch.float32
    x = torch.randn(n, dtype=dtype, generator=draw.make_generator())
    return (x - 9 if edge == "below 0" else x,)


# %% checks
with check("example", "five numbers", required=True):
    assert_close(running_max(torch.tensor([1.0, 3.0, 2.0, 3.5, 0.0])), torch.tensor([1.0, 3.0, 3.0, 3.5, 3.5]))

# %% hidden checks
with check("other_cases", "other numbers", weight=2, required=True, hint="Which elements belong to each index?"):
    arguments.assert_results(running_max, "", "one element")
with check("below_zero", "all elements are below 0", weight=2, hint="What does your maximum begin with?"):
    arguments.assert_results(running_max, "below 0")
with check("float64", "float64 stays float64", hint="What dtype does each of your tensors have?"):
    arguments.assert_results(running_max, "float64")
with check("empty", "no element", guard=True):
    arguments.assert_results(running_max, "no element")
with check("keeps_input", "x keeps its values", guard=True):
    arguments.assert_arguments(running_max)


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


# %% wrong "it begins at zero" fails=other_cases,below_zero
def running_max(x):
    return torch.cat([torch.zeros(1, dtype=x.dtype), x]).cummax(0).values[1:]


# %% wrong "the minimum" fails=example,other_cases,below_zero,float64
def running_max(x):
    return x.cummin(0).values


# %% wrong "one maximum for all" fails=example,other_cases,below_zero,float64,empty raises=RuntimeError
def running_max(x):
    return x.max().expand(len(x))


# %% wrong "the indices" fails=example,other_cases,below_zero,float64,empty
def running_max(x):
    return x.cummax(0).indices


# %% wrong "a loop in place" fails=keeps_input
def running_max(x):
    for i in range(1, len(x)):
        x[i] = torch.maximum(x[i - 1], x[i])
    return x
