# %% exercise
def task_gradients(losses: list, params: list[Tensor]) -> list[list[Tensor]]:
    """The gradients of each loss: result[i][j] is the gradient of losses[i](params) with respect to params[j].

    losses: functions that take the list params and return a 0-dim tensor.
    params: different leaves that require grad.
    If a loss doesn't use a parameter, the gradient is all zeros.

    Details:
    - losses may be empty. Each loss uses at least one of the params.
    - params may have any shape, and be float32 or float64. Each gradient has its parameter's shape and dtype.
    - Afterward, each .grad holds the same numbers as before, or is None again.
    - The gradients of one loss may be far larger than those of another, but all are finite.
    """
    ### BEGIN SOLUTION
    table = []
    for loss in losses:
        grads = torch.autograd.grad(loss(params), params, materialize_grads=True)  # zeros where unused
        table.append(list(grads))
    return table
    ### END SOLUTION


# %% promises
# The gradients of each -> example, other_cases, few, steep
# losses: functions -> example, other_cases
# params: different leaves -> few, other_cases
# If a loss doesn't -> unused
# losses may be empty -> few
# Each loss uses at least -> unused
# params may have any -> few, other_cases
# Each gradient has -> few, unused, other_cases
# Afterward, each .grad -> keeps_grad, old_grad
# The gradients of one -> steep


# %% domain
@domain(
    reference,
    *("one loss", "no loss", "one loss twice", "one parameter", "three parameters", "0-dim", "empty", "float64"),
    *("two dtypes", "unused", "old .grad", "old .grad of one", "transposed", "steep", "used as a list"),
)
def arguments(draw, edge):
    g, dtype = draw.make_generator(here), torch.float64 if edge == "float64" else torch.float32
    shapes = [(draw(st.integers(1, 3)), draw(st.integers(1, 3))), (draw(st.integers(2, 4)),), (2, 1)]
    shapes = shapes[: {"one parameter": 1, "three parameters": 3}.get(edge, 2)]
    if edge in ("0-dim", "empty"):
        shapes[draw(st.integers(0, 1))] = () if edge == "0-dim" else (0, 2)
    params = [torch.randn(shape, generator=g, dtype=dtype) for shape in shapes]
    if edge == "two dtypes":
        params[draw(st.integers(0, 1))] = params[0].double()
    if edge == "transposed":
        params[0] = torch.randn(2, 3, generator=g).T
    if edge == "steep":
        params = [p.to(draw(st.sampled_from([torch.float32, torch.float64]))) * 1e17 for p in params]
    for place, p in enumerate(params):
        p.requires_grad_()
        if edge == "old .grad" or edge == "old .grad of one" and place == 1:
            p.grad = torch.randn(p.shape, generator=g, dtype=p.dtype)
            p.grad[:1] = draw(st.sampled_from([0.0, 1e9]))
    known = [decay, total] if edge == "one parameter" else [decay, second_decay, total]
    losses = draw(st.permutations(known))
    if edge in ("one loss", "no loss"):
        losses = losses[: edge == "one loss"]
    if edge == "one loss twice":
        losses = [losses[0], losses[1], losses[0]]
    if edge == "steep":  # the gradients of total are 1 and 2
        losses = [total, decay, second_decay, total]
    if edge == "used as a list":
        losses = [with_squares, *losses]
    if edge == "unused":
        losses = [draw(st.sampled_from([decay, second_decay]))]
    return losses, params


# %% checks
with check(
    "example",
    "two losses of one parameter",
    weight=3,
    required=True,
    hint=(
        "Which loss does each row belong to? What was in .grad when the second backward pass started?",
        "torch.autograd.grad leaves every .grad alone. One call for each loss gives one row.",
    ),
):
    t = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    want = [[torch.tensor([2.0, -4.0, 6.0])], [torch.ones(3)]]
    got = task_gradients([decay, total], [t])
    explain(
        got,
        want,
        {
            "these are running sums: each backward added to what was already there": [
                [torch.tensor([2.0, -4.0, 6.0])],
                [torch.tensor([3.0, -3.0, 7.0])],
            ],
            "both are the same tensor: .grad was kept, not copied": [[torch.tensor([3.0, -3.0, 7.0])]] * 2,
            "the kept gradients were overwritten when .grad was set to zero": [[torch.ones(3)]] * 2,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other losses and parameters, and float64",
    weight=3,
    required=True,
    hint="Which loss and which parameter does each entry belong to?",
):
    arguments.assert_results(task_gradients, "", "float64", "one parameter", "three parameters", "one loss twice")
    arguments.assert_results(task_gradients, "used as a list")
    t = [torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor(0.5, requires_grad=True)]
    want = [[torch.tensor([-9.0, -18.0]), torch.tensor(-9.0)], [torch.tensor([1.0, 1.0]), torch.tensor(2.0)]]
    assert_close(task_gradients([fit, total], t), want)
with check(
    "unused",
    "a parameter that a loss doesn't use has a gradient of zeros",
    weight=2,
    hint="What does autograd return for a parameter that the graph doesn't reach?",
):
    arguments.assert_results(task_gradients, "unused", "two dtypes")
with check(
    "few",
    "one loss or none, 0-dim and empty parameters",
    hint="Does your code rely on the number of losses, or on a shape?",
):
    arguments.assert_results(task_gradients, "one loss", "no loss", "0-dim", "empty", "transposed")
with check(
    "old_grad", "an existing .grad has no effect", weight=2, hint="What was in .grad when your function was called?"
):
    arguments.assert_results(task_gradients, "old .grad", "old .grad of one")
with check(
    "steep",
    "a loss whose gradients are far larger than those of another",
    hint="Which digits of 1 are left in (1e17 + 1) - 1e17?",
):
    arguments.assert_results(task_gradients, "steep")
with check(
    "keeps_grad",
    "each .grad is left as it was",
    weight=2,
    guard=True,
    hint="Which of your calls write to .grad? What was there before?",
):
    arguments.assert_arguments(task_gradients)


# %% right "allow_unused, and zeros instead of None"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        grads = torch.autograd.grad(loss(params), params, allow_unused=True)
        table.append([torch.zeros_like(p) if g is None else g for p, g in zip(params, grads)])
    return table


# %% right "backward on copies, and clones"
def task_gradients(losses, params):
    table = []
    for loss in losses:
        copies = [p.detach().clone().requires_grad_() for p in params]
        loss(copies).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in copies])
    return table


# %% right "backward, with .grad put aside and put back"
def task_gradients(losses, params):
    kept = [p.grad for p in params]
    table = []
    for loss in losses:
        for p in params:
            p.grad = None
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    for p, grad in zip(params, kept):
        p.grad = grad
    return table


# %% wrong "g = p.grad keeps the gradient" fails=example,other_cases,unused,few,old_grad,steep,keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    return table


# %% wrong "backward writes to .grad, so a clone is enough" fails=example,other_cases,unused,few,old_grad,steep,keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params])
    return table


# %% wrong "zero_ makes it safe to keep .grad" fails=example,other_cases,unused,few,old_grad,steep,keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        for p in params:
            if p.grad is not None:
                p.grad.zero_()
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    return table


# %% wrong "remembered for losses and shapes that were there before" fails=other_cases
known = {}


def task_gradients(losses, params):
    key = tuple(losses), tuple((p.shape, p.dtype) for p in params)
    if key not in known:
        known[key] = [list(torch.autograd.grad(loss(params), params, materialize_grads=True)) for loss in losses]
    return known[key]
