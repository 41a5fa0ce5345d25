# %% given
@probes.probe
def jacobian_with_weight(find_jacobian, weight, x):
    """The Jacobian of tanh(weight @ sample) at 1 * x, and what is left: in .grad of weight, and 1 * x's retains_grad.

    weight requires grad.
    """
    weight = weight.detach().clone().requires_grad_()
    point = 1 * x
    found = find_jacobian(lambda one: (weight @ one).tanh(), point)
    return found.detach(), weight.grad, point.retains_grad


# %% exercise
def batched_jacobian(f: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """The Jacobian of f at each row of x.

    x is (n, m). f is a function from one sample (m,) to (k,), made of PyTorch's differentiable operations, which
    torch.func can run too, in reverse and in forward mode.
    Returns (n, k, m) in x's dtype: element (i, a, b) is the derivative of output a with respect to input b at row i. If
    x requires grad, and the Jacobian depends on x, gradients go back through the result to x.

    Details:
    - f: m and k are at least 1, and each result is computed from the sample. Its derivatives at each row are finite. f
      may work for x's dtype only, and may use tensors that require grad.
    - x: n at least 1, any strides, float32 or float64; it may require grad, and may be the result of recorded
      operations; recording is on.
    - The Jacobian of a linear f doesn't depend on x, and may have no history.
    - x, its requires_grad and its .grad aren't changed, and neither is the .grad of any tensor that f uses.
    """
    ### BEGIN SOLUTION
    return torch.func.vmap(torch.func.jacrev(f))(x)
    ### END SOLUTION


# %% promises
# The Jacobian of f -> polar, other_cases
# x is (n, m) -> other_cases, double_backward
# f is a function from one sample -> other_cases
# Returns (n, k, m) -> other_cases
# If x requires grad -> double_backward
# f: m and k -> other_cases
# Its derivatives at each -> other_cases
# f may work for x's dtype only -> other_cases, keeps_input
# x: n at least 1 -> other_cases, double_backward
# The Jacobian of a linear -> other_cases
# x, its requires_grad -> keeps_input


# %% domain
@domain(
    reference,
    *("float32", "float32 only", "one row", "one input", "one output", "square", "a linear function"),
    *("transposed", "every second one", "expanded"),
    *("requires grad", "one input, requires grad", "from an operation", "holds .grad", "linear, requires grad"),
)
def arguments(draw, edge):
    f = draw(st.sampled_from([polar, neighbours, spread_out]))
    n, m = draw(st.integers(2, 5)), draw(st.integers(2, 4))
    if "one input" in edge:
        f, m = spread_out, 1
    if edge == "one output":
        f, m = neighbours, 2
    if edge == "square":
        f, n, m = polar, 2, 2
    if edge in ("a linear function", "linear, requires grad"):
        f = steps
    if edge == "float32 only":
        f = mixed
    n = 1 if edge == "one row" else n
    x = torch.randn(n, m, dtype=torch.float64, generator=draw.make_generator(here))
    x = x + 0.2 * x.sign()  # no direction at the origin
    x = draw.apply_layout(x.float() if edge in ("float32", "float32 only") else x, edge)
    return f, draw.apply_gradient_state(x, edge)


@domain(reference, "one row", "one output", "x requires grad", call=jacobian_with_weight)
def weighted(draw, edge):
    n, m, k, g = draw(st.integers(2, 4)), draw(st.integers(2, 3)), draw(st.integers(2, 4)), draw.make_generator(here)
    n, k = 1 if edge == "one row" else n, 1 if edge == "one output" else k
    weight, x = torch.randn(k, m, dtype=torch.float64, generator=g), torch.randn(n, m, dtype=torch.float64, generator=g)
    return weight, draw.apply_gradient_state(x, edge)


# %% checks
with check(
    "polar",
    "three points in polar coordinates",
    weight=2,
    required=True,
    hint=(
        "Is f called with one sample at a time? What shape does the Jacobian of one sample have?",
        "Which function in torch.func computes one sample's Jacobian, and which runs that for each row of x?",
    ),
):
    t = torch.tensor([[3.0, 4.0], [1.0, -1.0], [-2.0, 0.5]])
    want = torch.stack([torch.autograd.functional.jacobian(polar, row) for row in t])
    got = batched_jacobian(polar, t)
    explain(got, want, {"rows and columns are exchanged": want.mT})

# %% hidden checks
with check(
    "other_cases",
    "other functions, sizes, strides and dtypes",
    weight=4,
    required=True,
    hint="Is f called with one sample? Which axis belongs to the input?",
):
    arguments.assert_results(batched_jacobian, "", "float32", "one row", "one input", "one output", "square")
    arguments.assert_results(batched_jacobian, "a linear function", "transposed", "every second one", "expanded")
    arguments.assert_results(batched_jacobian, "float32 only", "linear, requires grad")
with check(
    "double_backward",
    "it can be differentiated with respect to x",
    weight=2,
    required=True,
    hint="Do you detach anything?",
):
    states = "requires grad", "one input, requires grad", "from an operation", "holds .grad"
    arguments.assert_results(batched_jacobian, *states)
    arguments.assert_gradients(batched_jacobian, *states)
with check(
    "keeps_input",
    "x and x.grad aren't changed, and neither is the .grad of what f uses",
    guard=True,
    hint="Which calls write to .grad?",
):
    arguments.assert_arguments(batched_jacobian)
    weighted.assert_results(batched_jacobian, "", "one row", "one output", "x requires grad")


# %% right "jacfwd"
def batched_jacobian(f, x):
    return torch.vmap(torch.func.jacfwd(f))(x)


# %% right "a loop"
def batched_jacobian(f, x):
    return torch.stack([torch.autograd.functional.jacobian(f, row, create_graph=x.requires_grad) for row in x])


# %% right "one row after the other, by vjp"
def batched_jacobian(f, x):
    y, back = torch.func.vjp(torch.func.vmap(f), x)
    rows = []
    for k in range(y.shape[1]):
        v = torch.zeros_like(y)
        v[:, k] = 1
        rows.append(back(v)[0])
    return torch.stack(rows, 1)


# %% wrong "rows and columns exchanged" fails=polar,other_cases,double_backward,keeps_input
def batched_jacobian(f, x):
    return torch.func.vmap(torch.func.jacrev(f), out_dims=2)(x).permute(2, 1, 0)


# %% wrong "a loop over detached rows" fails=double_backward
def batched_jacobian(f, x):
    return torch.stack([torch.autograd.functional.jacobian(f, row) for row in x.detach()])


# %% wrong "backward, row by row" fails=double_backward,keeps_input raises=TypeError
def batched_jacobian(f, x):
    x.requires_grad_()
    out = torch.stack([f(row) for row in x])
    rows = []
    for k in range(out.shape[1]):
        x.grad = None
        out[:, k].sum().backward(retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows, 1).detach()


# %% wrong "x is written anew, without requires_grad" fails=keeps_input
def batched_jacobian(f, x):
    found = torch.func.vmap(torch.func.jacrev(f))(x)
    x.grad = None
    return found


# %% right "the batch's Jacobian, its diagonal"
def batched_jacobian(f, x):
    return torch.einsum("iaib->iab", torch.func.jacrev(torch.func.vmap(f))(x))


# %% right "autograd.grad for each output"
def batched_jacobian(f, x):
    t = x if x.requires_grad else x.detach().clone().requires_grad_()
    out = torch.stack([f(row) for row in t])
    return torch.stack([torch.autograd.grad(o.sum(), t, create_graph=True)[0] for o in out.unbind(1)], 1)
