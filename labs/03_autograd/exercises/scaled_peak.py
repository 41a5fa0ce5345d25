# %% exercise
def scaled_peak(x: Tensor, w: Tensor) -> Tensor:
    """The row of x whose weighted sum is largest, times the root mean square of all weighted sums.

    x: (n, d) with n at least 1, w: (d,). The weighted sum of a row is (row * w).sum(). Returns (d,).
    It's differentiable with respect to x and w: gradients go through the row and through the root mean square.

    Details:
    - x and w are both float32 or both float64. They aren't changed.
    - Sums are compared with their signs, so -1 is larger than -2. The largest one occurs once.
    - The root mean square is from 1e-21 to 1e21, and in float32 from 1e-11 to 1e11. Don't add a constant to it.
    - The result requires grad if x or w does.
    """
    ### BEGIN SOLUTION
    sums = x @ w
    size = sums.square().mean().sqrt()
    return x[sums.argmax()] * size  # the index has no slope; the row and the size do
    ### END SOLUTION


# %% promises
# The row of x whose -> values, other_cases, tiny
# x: (n, d) with n -> other_cases
# The weighted sum -> other_cases
# Returns (d,) -> other_cases
# It's differentiable -> reaches_x, reaches_w, gradient
# x and w are both -> other_cases
# They aren't changed -> keeps_input
# Sums are compared -> other_cases
# The largest one occurs -> other_cases, tiny
# The root mean square is from -> tiny
# Don't add a constant -> tiny
# The result requires grad -> either_alone


# %% domain
@domain(
    reference,
    *("float32", "one row", "one column", "square", "a zero sum", "close sums", "negative sums", "largest by size"),
    *("two zero sums", "tiny sums", "tiny sums, float32"),
    *("transposed", "expanded w", "x alone", "w alone", "neither", "from an operation"),
)
def arguments(draw, edge):
    n, d = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    n = {"one row": 1, "close sums": max(n, 3), "two zero sums": max(n, 3)}.get(edge, n)
    d = {"one column": 1, "square": n}.get(edge, d)
    g = draw.make_generator(here)
    x = torch.randn(n, d, generator=g, dtype=torch.float64) * 3
    w = torch.rand(d, generator=g, dtype=torch.float64) + 0.5
    w[::2] *= -1
    last = x[-1] * w  # the parts of the last row's sum
    if edge == "a zero sum":
        x[-1] = 0
    if edge == "close sums":  # three that are equal in float32, and the others are negative
        x[3:] *= -(x[3:] @ w).sign()[:, None]
        x[:3] = (w / (w * w).sum())[None] * torch.tensor([[1.0], [1.0 + 1e-9], [1.0]], dtype=torch.float64)
        x[:3, 0] += torch.arange(3) * w[1]  # changes no sum
        x[:3, 1] -= torch.arange(3) * w[0]
    if "tiny sums" in edge:
        w *= 1e-10 if "float32" in edge else 1e-20
    if edge == "negative sums":
        x *= -(x @ w).sign()[:, None]
    if edge == "two zero sums":  # and the others are positive
        x *= (x @ w).sign()[:, None]
        x[:2] = 0
    if edge == "largest by size":
        x[-1] -= (last.sum() + 50) * w / (w * w).sum()
    if edge == "transposed":
        x = x.T.contiguous().T
    if edge == "expanded w":
        w = w[:1].expand(d)
    if "float32" in edge:
        x, w = x.float(), w.float()
    x.requires_grad_(edge not in ("w alone", "neither"))
    w.requires_grad_(edge not in ("x alone", "neither"))
    return (x * 2, w * 0.5) if edge == "from an operation" else (x, w)


# %% checks
with check(
    "values",
    "the values are the same as those of the broken function",
    required=True,
    hint=(
        "Which row do you take, and what do you multiply it by? Compare both with the broken function.",
        "Square all the sums, take the mean of the squares, and then take its square root.",
    ),
):
    t, t_w = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]]), torch.tensor([2.0, 1.0])
    want = scaled_peak_broken(t, t_w).detach()
    squares = torch.tensor([16.0, 25.0, 1.0])  # of the weighted sums
    explain(
        scaled_peak(t, t_w),
        want,
        {
            "this is the row times the mean square, without the root": t[1] * squares.mean(),
            "this is the row times the root of the sum of the squares, not of their mean": t[1] * squares.sum().sqrt(),
        },
    )
with check(
    "reaches_x",
    "a gradient reaches x",
    hint=(
        "Do you take the row from x itself, or from something without a history?",
        "Indexing x is recorded. detach(), NumPy and torch.tensor cut the graph.",
    ),
):
    t = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], requires_grad=True)
    t_w = torch.tensor([2.0, 1.0], requires_grad=True)
    got = scaled_peak(t, t_w)
    assert got.requires_grad, "your result doesn't require grad"
    (got,) = torch.autograd.grad(got.sum(), t, allow_unused=True)
    assert got is not None, "your result isn't connected to x"
with check(
    "reaches_w",
    "a gradient reaches w",
    hint=(
        "Follow w to the result. What's the first value without a grad_fn?",
        "Keep the sums and their root mean square as tensors: item(), float(), NumPy and torch.tensor cut the graph.",
    ),
):
    t = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], requires_grad=True)
    t_w = torch.tensor([2.0, 1.0], requires_grad=True)
    got = scaled_peak(t, t_w)
    assert got.requires_grad, "your result doesn't require grad"
    (got,) = torch.autograd.grad(got.sum(), t_w, allow_unused=True)
    assert got is not None, "your result isn't connected to w"

# %% hidden checks
with check(
    "other_cases",
    "other sizes, negative sums and float32",
    weight=2,
    required=True,
    hint="Do you choose one row, by its signed sum?",
):
    arguments.assert_results(scaled_peak, "", "one row", "one column", "square", "negative sums", "largest by size")
    arguments.assert_results(scaled_peak, "a zero sum", "two zero sums", "close sums", "transposed", "expanded w")
    arguments.assert_results(scaled_peak, "float32", rtol=1e-4, atol=1e-3)
with check(
    "gradient",
    "the gradients for x and w are complete",
    weight=4,
    required=True,
    hint="The result is a row times a number. What does each of the two depend on?",
):
    t = torch.tensor([[1.0, 2.0], [3.0, -1.0], [0.0, 1.0]], dtype=torch.float64, requires_grad=True)
    t_w = torch.tensor([-2.0, 0.5], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1.0, -3.0], dtype=torch.float64)
    sums = (t * t_w).sum(1)
    size, row = sums.square().mean().sqrt(), t[int(sums.argmax())]
    want = torch.autograd.grad((row * size * weight).sum(), (t, t_w), retain_graph=True)
    only_row = torch.autograd.grad((row * size.detach() * weight).sum(), t, retain_graph=True)[0]
    only_size = torch.autograd.grad((row.detach() * size * weight).sum(), (t, t_w))
    value = (row * size).detach().clone()
    got = scaled_peak(t, t_w)
    assert_close(got.detach(), value, rtol=1e-12, atol=1e-12)
    got = torch.autograd.grad((got * weight).sum(), (t, t_w), allow_unused=True)
    explain(
        got,
        want,
        {
            "the root mean square was treated as a constant": (only_row, None),
            "the row was treated as a constant": only_size,
        },
    )
    arguments.assert_gradients(scaled_peak, "", "one row", "one column", "a zero sum", "close sums", "transposed")
    arguments.assert_gradients(scaled_peak, "from an operation", "expanded w", "negative sums", "two zero sums")
with check(
    "either_alone",
    "only one of the arguments requires grad, or neither",
    weight=2,
    hint="Is each of the two connected to the result?",
):
    arguments.assert_gradients(scaled_peak, "x alone", "w alone", "neither")
    arguments.assert_results(scaled_peak, "x alone", "w alone", "neither", "from an operation")
with check(
    "tiny",
    "sums near 1e-20, and near 1e-10 in float32",
    hint="Do you add a number that's larger than the sums, or than their squares?",
):
    arguments.assert_results(scaled_peak, "tiny sums", rtol=1e-7, atol=0.0)
    arguments.assert_gradients(scaled_peak, "tiny sums", rtol=1e-7, atol=0.0)
    arguments.assert_results(scaled_peak, "tiny sums, float32", rtol=1e-4, atol=0.0)
    arguments.assert_gradients(scaled_peak, "tiny sums, float32", rtol=1e-4, atol=0.0)
with check("keeps_input", "x and w keep their values", guard=True, hint="Which line changes a tensor in place?"):
    arguments.assert_arguments(scaled_peak)


# %% right "line by line, with stack instead of lists of numbers"
def scaled_peak(x, w):
    sums = torch.stack([(row * w).sum() for row in x])
    best = int(np.argmax(sums.detach().numpy()))
    size = torch.sqrt(torch.mean(torch.square(sums)))
    return x[best] * size


# %% right "a norm, and the index of max"
def scaled_peak(x, w):
    sums = torch.einsum("nd,d->n", x, w)
    best = sums.max(dim=0).indices
    return torch.index_select(x, 0, best[None])[0] * torch.linalg.vector_norm(sums) / len(x) ** 0.5


# %% wrong "the row is the result, its size is only a number" fails=reaches_w,gradient,either_alone,tiny
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.argmax()] * sums.square().mean().sqrt().item()


# %% wrong "a row taken by an index is a copy" fails=gradient,either_alone,tiny
def scaled_peak(x, w):
    sums = x @ w
    best = x[sums.argmax()].clone().detach()
    return best * sums.square().mean().sqrt()


# %% wrong "the root mean square is the mean of the squares" fails=values,other_cases,gradient,either_alone,tiny
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.argmax()] * (sums**2).mean()


# %% wrong "the root mean square is the norm" fails=values,other_cases,gradient,either_alone,tiny
def scaled_peak(x, w):
    sums = x @ w
    return x[sums.argmax()] * torch.linalg.vector_norm(sums)
