# %% exercise
def polynomial(coefficients: Tensor, x: Tensor) -> Tensor:
    """The polynomial c[0] + c[1] x + c[2] x² + ..., with the coefficients c, for each element of x.

    coefficients is (k,), with k at least 1, and x has any shape; both are float32. Returns a float32 tensor of x's
    shape.

    Details:
    - Neither is changed.
    """
    ### BEGIN SOLUTION
    value = torch.zeros_like(x)
    for c in coefficients.flip(0):
        value = value * x + c
    return value
    ### END SOLUTION


# %% promises
# The polynomial c[0] -> example, other_cases
# coefficients is (k,) -> one_coefficient, shapes
# Returns a float32 tensor -> other_cases, shapes
# Neither is changed -> keeps_input


# %% domain
@domain(reference, "one coefficient", "one number", "no number", "three dimensions")
def arguments(draw, edge):
    k = 1 if edge == "one coefficient" else draw(st.integers(3, 6))
    shape = {"one number": (), "no number": (0,), "three dimensions": (2, 1, 3)}.get(edge, (3, draw(st.integers(1, 4))))
    g = draw.make_generator()
    return torch.randn(k, generator=g), torch.randn(shape, generator=g)


# %% checks
with check("example", "1 + 2x for three values", required=True):
    assert_close(polynomial(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0, -2.0])), torch.tensor([1.0, 3.0, -3.0]))

# %% hidden checks
with check("other_cases", "other polynomials", weight=2, required=True, hint="Which coefficient belongs to x²?"):
    arguments.assert_results(polynomial, "", rtol=1e-4, atol=1e-4)
with check("one_coefficient", "a constant", hint="What shape does c[0] have?"):
    arguments.assert_results(polynomial, "one coefficient")
with check("shapes", "a 0-dim x, an empty one, and one with three dimensions", hint="Where does x's shape matter?"):
    arguments.assert_results(polynomial, "one number", "no number", "three dimensions", rtol=1e-4, atol=1e-4)
with check("keeps_input", "neither argument is changed", guard=True):
    arguments.assert_arguments(polynomial)


# %% right "powers"
def polynomial(coefficients, x):
    return sum(c * x**i for i, c in enumerate(coefficients))


# %% right "a product with the powers"
def polynomial(coefficients, x):
    return x[..., None] ** torch.arange(len(coefficients)) @ coefficients


# %% wrong "the highest power first" fails=example,other_cases,shapes
def polynomial(coefficients, x):
    value = torch.zeros_like(x)
    for c in coefficients:
        value = value * x + c
    return value


# %% wrong "no constant" fails=example,other_cases,one_coefficient,shapes
def polynomial(coefficients, x):
    return sum(c * x ** (i + 1) for i, c in enumerate(coefficients))


# %% wrong "a straight line" fails=other_cases,one_coefficient,shapes raises=IndexError
def polynomial(coefficients, x):
    return coefficients[0] + coefficients[1] * x


# %% wrong "all coefficients are added" fails=example,other_cases,one_coefficient,shapes
def polynomial(coefficients, x):
    return coefficients.sum() * x


# %% wrong "x is overwritten" fails=keeps_input
def polynomial(coefficients, x):
    value = sum(c * x**i for i, c in enumerate(coefficients))
    x.zero_()
    return value
