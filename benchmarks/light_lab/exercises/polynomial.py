# %% exercise
def polynomial(coefficients: Tensor, x: Tensor) -> Tensor:
    """Return c[0] + c[1] x + c[2] x² + ... for each element of x, in x's shape. coefficients: (k,), k at least 1."""
    ### BEGIN SOLUTION
    value = torch.zeros_like(x)
    for c in coefficients.flip(0):
        value = value * x + c
    return value
    ### END SOLUTION


# %% checks
with check("example", "1 + 2x for three values", required=True):
    assert_close(polynomial(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0, -2.0])), torch.tensor([1.0, 3.0, -3.0]))

# %% hidden checks
with check("other_cases", "other degrees and shapes", weight=2, required=True, hint="Which coefficient goes with x²?"):
    for k, shape in ((4, (3, 2)), (1, (5,)), (6, (2, 1, 3))):
        g = torch.Generator().manual_seed(7)
        p, t = torch.randn(k, generator=g), torch.randn(*shape, generator=g)
        want = sum(c * t**i for i, c in enumerate(p))
        assert_close(polynomial(p, t), want)
with check("keeps_input", "x keeps its values", guard=True):
    t = torch.tensor([1.0, 0.5])
    polynomial(torch.tensor([2.0, 3.0]), t)
    assert_close(t, torch.tensor([1.0, 0.5]))


# %% right "powers"
def polynomial(coefficients, x):
    return sum(c * x**i for i, c in enumerate(coefficients))


# %% right "a product with the powers"
def polynomial(coefficients, x):
    return x[..., None] ** torch.arange(len(coefficients)) @ coefficients


# %% wrong "the highest power first" fails=example,other_cases
def polynomial(coefficients, x):
    value = torch.zeros_like(x)
    for c in coefficients:
        value = value * x + c
    return value


# %% wrong "no constant" fails=example,other_cases
def polynomial(coefficients, x):
    return sum(c * x ** (i + 1) for i, c in enumerate(coefficients))


# %% wrong "a straight line" fails=other_cases
def polynomial(coefficients, x):
    return coefficients[0] + coefficients[1] * x


# %% wrong "all coefficients are added" fails=example,other_cases
def polynomial(coefficients, x):
    return coefficients.sum() * x


# %% wrong "x is overwritten" fails=keeps_input
def polynomial(coefficients, x):
    value = sum(c * x**i for i, c in enumerate(coefficients))
    x.zero_()
    return value
