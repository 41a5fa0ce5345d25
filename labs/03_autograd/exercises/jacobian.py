# %% exercise
def jacobian(f, x: Tensor) -> Tensor:
    """The Jacobian of f at x, without torch.autograd.functional or torch.func.

    f takes a tensor of shape (n,) and returns one of shape (m,) with the same dtype. Element (i, j) of the Jacobian is
    the derivative of output i with respect to input j. Returns (m, n) in x's dtype.

    Details:
    - x: (n,), float32 or float64; it may or may not require grad. x, its requires_grad and the numbers in its .grad
      aren't changed.
    - f: its result is computed from its argument and not from x itself, but not always from every element. n and m are
      at least 1. It may work only for x's dtype, and may create tensors that require grad.
    - Autograd is on: no call is inside torch.no_grad().
    """
    ### BEGIN SOLUTION
    x = x.detach().requires_grad_()  # a leaf of our own
    y = f(x)
    rows = []
    for v in torch.eye(len(y), dtype=y.dtype):
        (row,) = torch.autograd.grad(y, x, grad_outputs=v, retain_graph=True)
        rows.append(row)
    return torch.stack(rows)
    ### END SOLUTION


# %% promises
# The Jacobian of f -> example, other_cases, own_leaf, by_hand
# f takes a tensor -> unused_inputs, one_output, other_cases
# Element (i, j) of -> example, other_cases
# Returns (m, n) -> other_cases, one_output
# x: (n,), float32 -> other_cases, requires_grad
# x, its requires_grad -> keeps_input
# f: its result is -> unused_inputs, other_cases
# n and m are at least -> one_output
# It may work only -> other_cases, own_leaf
# Autograd is on -> example, other_cases, one_output


# %% domain
@domain(
    reference,
    *("float64", "one output", "one input", "unused inputs", "equal numbers", "two elements", "the identity plus 3"),
    *("float32 only", "a leaf of its own", "rows far apart"),
    *("requires grad", "from an operation", "holds .grad", "every second element"),
)
def arguments(draw, edge):
    n = {"one input": 1, "two elements": 2}.get(edge, draw(st.integers(3, 5)))
    functions = {"one output": [energy], "one input": [growing, energy], "unused inputs": [skipping]}
    functions |= {"the identity plus 3": [moved], "float32 only": [projected], "a leaf of its own": [with_scale]}
    functions |= {"rows far apart": [growing]}
    f = draw(st.sampled_from(functions.get(edge, [neighbours, rolled, growing])))
    g = draw.make_generator(here)
    x = torch.randn(n, generator=g, dtype=torch.float64 if edge in ("float64", "two elements") else torch.float32)
    if edge == "rows far apart":  # a small one, large ones, and another small one
        x = x * 1e5
    if edge == "equal numbers":
        x[:] = x[0]
    if edge == "every second element":
        x = torch.stack([x, -x], 1).flatten()[::2]
    if edge in ("requires grad", "from an operation", "holds .grad"):
        x.requires_grad_()
    if edge == "holds .grad":
        x.grad = torch.ones_like(x)
    if edge == "from an operation":
        x = x * 2
    return f, x


# %% checks
with check(
    "example",
    "two products of three numbers have a Jacobian of shape (2, 3)",
    weight=3,
    required=True,
    hint=(
        "Which v gives just one of the two rows? Does a pass leave something behind that affects the next one?",
        "Call torch.autograd.grad once for each output, with a 1 there and 0 elsewhere. Stack the results.",
    ),
):
    t = torch.tensor([1.0, 2.0, 3.0])
    want = torch.tensor([[2.0, 1.0, 0.0], [0.0, 3.0, 2.0]])
    explain(
        jacobian(neighbours, t),
        want,
        {
            "rows and columns are swapped: rows belong to outputs": want.T,
            "all rows are the same tensor: .grad itself was kept, and each pass added to it": want.sum(0).expand(2, 3),
            "each row also includes the rows above it: every pass adds to .grad": want.cumsum(0),
            "this is the sum of the rows, from one pass with ones": want.sum(0),
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other functions, sizes and float64",
    weight=3,
    required=True,
    hint="What was in x's .grad when you read the second row?",
):
    t = torch.tensor([0.5, -1.5, 2.0, 3.0], dtype=torch.float64)
    running = [
        [1.0, 0.0, 0.0, 0.0],
        [-1.5, 0.5, 0.0, 0.0],
        [-3.0, 1.0, -0.75, 0.0],
        [-9.0, 3.0, -2.25, -1.5],
    ]
    want = torch.cat([torch.tensor(running, dtype=torch.float64), t.cos()[None]])
    assert_close(jacobian(growing, t.float()), want.float())  # the same numbers in the other dtype
    explain(
        jacobian(growing, t),
        want,
        {
            "each row also includes the rows above it: every pass adds to .grad": want.cumsum(0),
            "all rows are the same tensor: .grad itself was kept, and each pass added to it": want.sum(0).expand(5, 4),
        },
    )
    for dtype in (torch.float32, torch.float64):
        t, want = torch.tensor([1.5, 2.0, 3.0], dtype=dtype), torch.tensor([[2.0, 1.5, 0.0], [0.0, 3.0, 2.0]])
        assert_close(jacobian(neighbours, t), want.to(dtype))
    arguments.assert_results(jacobian, "", "float64", "two elements", "equal numbers", "every second element")
    arguments.assert_results(jacobian, "the identity plus 3", "float32 only", "rows far apart")
with check(
    "one_output", "a single output gives a single row", weight=2, hint="Does your result have two dimensions for any m?"
):
    arguments.assert_results(jacobian, "one output", "one input")
with check(
    "unused_inputs",
    "a function that doesn't use every input",
    hint="What is the derivative with respect to an input that the result doesn't depend on?",
):
    arguments.assert_results(jacobian, "unused inputs")
with check(
    "requires_grad",
    "x may require grad, or be the result of an operation",
    weight=2,
    hint="Which tensor do you differentiate with respect to, and is it a leaf?",
):
    arguments.assert_results(jacobian, "requires grad", "from an operation", "holds .grad")
with check("own_leaf", "f creates a tensor that requires grad", weight=2, hint="Which library runs f for you?"):
    arguments.assert_results(jacobian, "a leaf of its own")
with check(
    "by_hand", "without torch.autograd.functional or torch.func", observed=True, hint="Which function did you call?"
):
    for f in (neighbours, growing):
        t = torch.tensor([1.0, -2.0, 3.0])
        assert_close(probes.derivatives(jacobian, f, t)["functional"], 0, name="the number of their steps")
with check(
    "keeps_input",
    "x, its requires_grad and its .grad aren't changed",
    weight=2,
    guard=True,
    hint="Where does backward add its result? Which of your calls change the x that you were given?",
):
    arguments.assert_arguments(jacobian)
    arguments.assert_settings(jacobian)


# %% right "a fresh graph for each row, and .grad reset to None"
def jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    rows = []
    for i in range(f(x).shape[0]):
        x.grad = None
        f(x)[i].backward()
        rows.append(x.grad)
    return torch.stack(rows)


# %% right "all rows in one batched call"
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.autograd.grad(y, x, torch.eye(y.numel(), dtype=y.dtype), is_grads_batched=True)[0]


# %% wrong "one row for each input" fails=example,other_cases,one_output,unused_inputs,requires_grad
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.stack([torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))], dim=1)


# %% wrong "the copy protects from accumulation" fails=example,other_cases,one_output,unused_inputs,requires_grad,own_leaf
def jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = []
    for v in torch.eye(len(y), dtype=y.dtype):
        y.backward(v, retain_graph=True)
        rows.append(x.grad.clone())
    return torch.stack(rows)


# %% wrong "x.grad is a new tensor every time" fails=example,other_cases,one_output,unused_inputs,requires_grad,own_leaf
def jacobian(f, x):
    x = x.detach().clone().requires_grad_()
    y = f(x)
    rows = []
    for v in torch.eye(len(y), dtype=y.dtype):
        y.backward(v, retain_graph=True)
        rows.append(x.grad)
    return torch.stack(rows)


# %% wrong "backward with ones gives the Jacobian" fails=example,other_cases,one_output,unused_inputs,requires_grad,own_leaf
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    return torch.autograd.grad(y, x, torch.ones_like(y))[0]


# %% right "the caller's x is marked, and put back"
def jacobian(f, x):
    required = x.requires_grad
    x.requires_grad_()
    y = f(x)
    rows = [torch.autograd.grad(y[i], x, retain_graph=True)[0] for i in range(len(y))]
    if not required:
        x.requires_grad_(False)
    return torch.stack(rows)


# %% right "a float32 identity matrix: autograd casts it to the dtype of y"
def jacobian(f, x):
    x = x.detach().requires_grad_()
    y = f(x)
    basis = torch.eye(len(y))
    return torch.autograd.grad(y, x, basis, is_grads_batched=True)[0]


# %% equivalent "argument dtype dropped: for v in torch.eye(len(y)):"
# autograd.grad casts grad_outputs to the dtype of the output, and zeros and ones are exact in float32.
