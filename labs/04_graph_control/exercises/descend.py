# %% exercise
def descend(f, x: Tensor, lr: float, steps: int) -> list[Tensor]:
    """The points that gradient descent visits: the start, and the point after each step.

    A step goes from x to x - lr * g, where g is the gradient of f at x.
    f: a differentiable function from a tensor to a scalar that is computed from it. x: any shape, float32 or float64; it
    may require grad or not, and may be the result of recorded operations. steps may be 0.
    Returns steps + 1 tensors of x's shape and dtype. They do not require grad, and no two of them share memory, nor
    with x. x, its requires_grad and its .grad stay as they are. Works inside torch.no_grad() as well. Whether
    operations are recorded is afterwards as before.
    """
    ### BEGIN SOLUTION
    points = [x.detach().clone()]
    for _ in range(steps):
        leaf = points[-1].detach().requires_grad_()
        with torch.enable_grad():
            (grad,) = torch.autograd.grad(f(leaf), leaf)
        points.append(points[-1] - lr * grad)
    return points
    ### END SOLUTION


# %% checks
with check(
    "example",
    "three steps into the bowl",
    weight=3,
    required=True,
    hint=(
        "From which point does each step start, with which gradient, and is a kept point changed later?",
        "For each step: a new leaf with the last point's values, torch.autograd.grad, and a new tensor to keep.",
    ),
):
    t = torch.tensor([4.0, -2.0])
    want = [t.clone(), t / 2, t / 4, t / 8]
    summed, total = [t.clone()], torch.zeros(2)
    for _ in range(3):
        total = total + 2 * summed[-1]
        summed.append(summed[-1] - 0.25 * total)
    explain(
        descend(bowl, t, 0.25, 3),
        want,
        {
            "all entries are one memory: they show the last point": [want[3]] * 4,
            "the gradients of earlier steps were added: .grad accumulates": summed,
            "the start is missing, or the last point": want[1:],
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other functions, shapes, step sizes and float64",
    weight=3,
    required=True,
    hint="Does every number come from the arguments? Is the gradient taken at the newest point?",
):
    for dtype in (torch.float32, torch.float64):
        for f, lr, count in ((tilted, 0.1, 4), (wavy, 0.3, 6), (bowl, 0.7, 1), (tilted, 0.05, 0)):
            t = torch.linspace(-2, 3, 6, dtype=dtype).reshape(2, 3).T
            want = [t.clone()]
            for _ in range(count):
                leaf = want[-1].clone().requires_grad_()
                want.append(want[-1] - lr * torch.autograd.grad(f(leaf), leaf)[0])
            assert_close(descend(f, t, lr, count), want)
    assert_close(descend(bowl, torch.zeros(2), 0.5, 3), [torch.zeros(2)] * 4)  # where the gradient is zero
with check(
    "no_history",
    "the points do not require grad",
    hint="Which of your operations are recorded, and which should not be?",
):
    for flag in (False, True):
        t = torch.tensor([1.0, 3.0])
        want = [t.clone(), t / 2, t / 4]
        got = descend(bowl, t.requires_grad_(flag), 0.25, 2)
        assert_close(got, want)
        assert not any(point.requires_grad for point in got), "one of the points requires grad"
with check(
    "no_sharing",
    "the points share no memory, and none with x",
    weight=2,
    hint="Which calls give a new tensor, and which a second one over the same memory?",
):
    t = torch.tensor([4.0, -2.0])
    want = [t.clone(), t / 2, t / 4]
    got = descend(bowl, t, 0.25, 2)
    assert_close(got, want)
    for i in range(3):
        got[i].add_(100)
        want[i] = want[i] + 100
        assert_close(got, want, name="the points, after one of them was changed,")
    assert_close(t, torch.tensor([4.0, -2.0]), name="x")
with check("inside_no_grad", "it works inside torch.no_grad()", weight=2, hint="What switches recording on again?"):
    t = torch.tensor([1.0, 2.0])
    want = [t.clone(), torch.tensor([0.4, 0.8])]
    with torch.no_grad():
        assert_close(descend(bowl, t, 0.3, 1), want)
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"
    assert_close(descend(bowl, t, 0.3, 1), want)
    assert torch.is_grad_enabled(), "recording was on before the call, and is off now"
with check(
    "requires_grad",
    "an x that requires grad, comes from an operation, or has a .grad",
    hint="Which tensor is the leaf of your first step?",
):
    t = torch.tensor([1.0, 2.0], requires_grad=True)
    t.grad = torch.tensor([50.0, float("nan")])
    want = [torch.tensor([1.0, 2.0]), torch.tensor([0.5, 1.0])]
    assert_close(descend(bowl, t, 0.25, 1), want)
    assert_close(descend(bowl, t * 2, 0.25, 1), [2 * want[0], 2 * want[1]])
with check(
    "keeps_input",
    "x, its requires_grad and its .grad stay as they are",
    guard=True,
    hint="Which of your calls change x?",
):
    for flag in (False, True):
        t = torch.tensor([1.0, 2.0], requires_grad=flag)
        t.grad = torch.tensor([7.0, 8.0])
        unchanged(descend, tilted, t, 0.1, 2)


# %% right "a leaf that is changed in place, and clones of it"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = [w.detach().clone()]
    for _ in range(steps):
        with torch.enable_grad():
            loss = f(w)
        w.grad = None
        loss.backward()
        with torch.no_grad():
            w -= lr * w.grad
        points.append(w.detach().clone())
    return points


# %% right "an optimizer, and copies by addition"
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    optimizer = torch.optim.SGD([w], lr=lr)
    points = [w.detach() + 0]
    with torch.enable_grad():
        for _ in range(steps):
            optimizer.zero_grad()
            f(w).backward()
            optimizer.step()
            points.append(w.detach() + 0)
    return points


# %% right "torch.func.grad"
def descend(f, x, lr, steps):
    points = [x.detach().clone()]
    for _ in range(steps):
        points.append(points[-1] - lr * torch.func.grad(f)(points[-1]))
    return tuple(points)


# %% wrong "detach() is a snapshot" fails=example,other_cases,no_history,no_sharing,inside_no_grad,requires_grad
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = [w.detach()]
    with torch.enable_grad():
        for _ in range(steps):
            (grad,) = torch.autograd.grad(f(w), w)
            with torch.no_grad():
                w -= lr * grad
            points.append(w.detach())
    return points


# %% wrong ".grad is the gradient of this step" fails=example,other_cases,no_history,no_sharing
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = [w.detach().clone()]
    with torch.enable_grad():
        for _ in range(steps):
            f(w).backward()
            with torch.no_grad():
                w -= lr * w.grad
            points.append(w.detach().clone())
    return points


# %% wrong "the history begins with the first step" fails=example,other_cases,no_history,no_sharing,inside_no_grad,requires_grad
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = []
    with torch.enable_grad():
        for _ in range(steps):
            (grad,) = torch.autograd.grad(f(w), w)
            w = (w - lr * grad).detach().requires_grad_()
            points.append(w.detach().clone())
    return points


# %% wrong "recording is always on" fails=inside_no_grad raises=RuntimeError
def descend(f, x, lr, steps):
    points = [x.detach().clone()]
    for _ in range(steps):
        leaf = points[-1].detach().requires_grad_()
        (grad,) = torch.autograd.grad(f(leaf), leaf)
        points.append(points[-1] - lr * grad)
    return points


# %% wrong "the points are leaves, so nothing is recorded" fails=no_history,no_sharing raises=RuntimeError
def descend(f, x, lr, steps):
    points = [x.detach().clone().requires_grad_()]
    for _ in range(steps):
        with torch.enable_grad():
            (grad,) = torch.autograd.grad(f(points[-1]), points[-1])
        points.append((points[-1] - lr * grad).detach().requires_grad_())
    return points


# %% wrong "the start is only read" fails=no_sharing
def descend(f, x, lr, steps):
    points = [x.detach()]
    for _ in range(steps):
        leaf = points[-1].clone().requires_grad_()
        with torch.enable_grad():
            (grad,) = torch.autograd.grad(f(leaf), leaf)
        points.append(points[-1] - lr * grad)
    return points


# %% wrong "the caller's x may be marked, and its .grad used" fails=requires_grad,keeps_input raises=TypeError
def descend(f, x, lr, steps):
    points = [x.detach().clone()]
    x.requires_grad_()
    with torch.enable_grad():
        for i in range(steps):
            leaf = x if i == 0 else points[-1].clone().requires_grad_()
            if i == 0:
                leaf.grad = None
            f(leaf).backward()
            points.append(points[-1] - lr * leaf.grad)
    return points


# %% wrong "it stops where the gradient is zero" fails=other_cases
def descend(f, x: Tensor, lr: float, steps: int) -> list[Tensor]:
    points = [x.detach().clone()]
    with torch.enable_grad():
        for _ in range(steps):
            leaf = points[-1].clone().requires_grad_()
            (g,) = torch.autograd.grad(f(leaf), leaf)
            if not g.any():
                break
            points.append(points[-1] - lr * g)
    return points
