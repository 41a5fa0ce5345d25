# %% exercise
def task_gradients(losses: list, params: list[Tensor]) -> list[list[Tensor]]:
    """The gradient of each loss for itself: result[i][j] is the gradient of losses[i](params) for params[j].

    losses: functions that take the list params and return a scalar. A loss uses at least one of the params.
    For a parameter that a loss does not use, the gradient is zeros.
    params: leaves that require grad, float32 or float64, any shapes. Each gradient has its parameter's shape and dtype.
    Afterwards each .grad is as it was before, also where it was None.
    """
    ### BEGIN SOLUTION
    table = []
    for loss in losses:
        grads = torch.autograd.grad(loss(params), params, materialize_grads=True)  # zeros where the loss uses none
        table.append(list(grads))
    return table
    ### END SOLUTION


# %% checks
with check(
    "example",
    "two losses of one parameter",
    weight=3,
    required=True,
    hint=(
        "To which loss does each row belong? What stood in .grad when the second loss came?",
        "torch.autograd.grad writes to no .grad. One call for each loss gives one row.",
    ),
):
    t = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    want = [[torch.tensor([2.0, -4.0, 6.0])], [torch.ones(3)]]
    got = task_gradients([decay, total], [t])
    explain(
        got,
        want,
        {
            "these are running sums: each backward added to what was there": [
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
    "three losses of two parameters, and float64",
    weight=3,
    required=True,
    hint="Which loss and which parameter does each entry belong to?",
):
    for dtype, start, slope in ((torch.float32, 1.0, -9.0), (torch.float64, 1.0, -9.0), (torch.float64, 4.0, -3.0)):
        t = [
            torch.tensor([start, -2.0], dtype=dtype, requires_grad=True),
            torch.tensor(0.5, dtype=dtype, requires_grad=True),
        ]
        want = [
            [torch.tensor([1.0, 1.0], dtype=dtype), torch.tensor(2.0, dtype=dtype)],
            [torch.tensor([slope, 2 * slope], dtype=dtype), torch.tensor(slope, dtype=dtype)],
            [torch.tensor([1.0, 1.0], dtype=dtype), torch.tensor(2.0, dtype=dtype)],
        ]
        assert_close(task_gradients([total, fit, total], t), want)
with check(
    "unused",
    "a parameter that a loss does not use has the gradient zero",
    weight=2,
    hint="What does autograd say about a parameter that the graph does not reach?",
):
    t = [torch.tensor([[3.0]], requires_grad=True), torch.tensor([0.1, 2.0], dtype=torch.float64, requires_grad=True)]
    want = [
        [torch.tensor([[6.0]]), torch.zeros(2, dtype=torch.float64)],
        [torch.tensor([[1.0]]), torch.full((2,), 2.0, dtype=torch.float64)],
        [torch.zeros(1, 1), torch.tensor([0.2, 4.0], dtype=torch.float64)],
    ]
    got = task_gradients([decay, total, second_decay], t)
    assert_close(got, want)
    assert_close(got[2][1], want[2][1], rtol=1e-12, atol=1e-12)
with check(
    "old_grad", "a .grad from before does not matter", weight=2, hint="What was in .grad when your function was called?"
):
    t = [torch.tensor([2.0, 5.0], requires_grad=True)]
    t[0].grad = torch.tensor([1e9, 200.0])
    want = [[torch.tensor([4.0, 10.0])], [torch.ones(2)]]
    assert_close(task_gradients([decay, total], t), want)
with check(
    "keeps_grad",
    "each .grad is afterwards as it was before",
    weight=2,
    guard=True,
    hint="Which of your calls write to .grad? What stood there before?",
):
    t = [torch.tensor([2.0, 5.0], requires_grad=True), torch.tensor(1.0, requires_grad=True)]
    for losses in ([fit, decay], [decay, fit]):
        t[0].grad = torch.tensor([0.1, 200.0])
        unchanged(task_gradients, losses, t)


# %% right "allow_unused, and zeros in place of None"
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


# %% wrong "g = p.grad keeps the gradient" fails=example,other_cases,unused,old_grad,keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    return table


# %% wrong "backward writes to .grad, so a clone is enough" fails=example,other_cases,unused,old_grad,keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params])
    return table


# %% wrong "zero_ makes it safe to keep .grad" fails=example,other_cases,unused,old_grad,keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        for p in params:
            if p.grad is not None:
                p.grad.zero_()
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    return table


# %% wrong "every loss uses every parameter" fails=unused,keeps_grad raises=RuntimeError
def task_gradients(losses, params):
    return [list(torch.autograd.grad(loss(params), params)) for loss in losses]


# %% wrong "None is as good as zero" fails=unused
def task_gradients(losses, params):
    return [list(torch.autograd.grad(loss(params), params, allow_unused=True)) for loss in losses]


# %% wrong "the .grad of the caller can be thrown away" fails=keeps_grad
def task_gradients(losses, params):
    table = []
    for loss in losses:
        for p in params:
            p.grad = None
        loss(params).backward()
        table.append([torch.zeros_like(p) if p.grad is None else p.grad for p in params])
    for p in params:
        p.grad = None
    return table


# %% wrong "one row for each parameter" fails=example,other_cases,unused,old_grad
def task_gradients(losses, params):
    rows = [torch.autograd.grad(loss(params), params, materialize_grads=True) for loss in losses]
    return [list(column) for column in zip(*rows)]


# %% wrong "differences of running sums, started at zero" fails=old_grad
def task_gradients(losses, params):
    kept = [None if p.grad is None else p.grad.clone() for p in params]
    before = [torch.zeros_like(p) for p in params]
    table = []
    for loss in losses:
        loss(params).backward()
        after = [torch.zeros_like(p) if p.grad is None else p.grad.clone() for p in params]
        table.append([a - b for a, b in zip(after, before)])
        before = after
    for p, grad in zip(params, kept):
        p.grad = grad
    return table


# %% wrong "remembered for losses and shapes that were there before" fails=other_cases
known = {}


def task_gradients(losses, params):
    key = tuple(losses), tuple((p.shape, p.dtype) for p in params)
    if key not in known:
        known[key] = [list(torch.autograd.grad(loss(params), params, materialize_grads=True)) for loss in losses]
    return known[key]
