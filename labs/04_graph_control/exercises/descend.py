# %% given
# Functions for the checks. You can try your solution on them.
def bowl(x):
    """Lowest at 0."""
    return x.square().sum()


def tilted(x):
    """Lowest where x is 0.5, 1.5, 2.5, ..., and steeper along the later elements."""
    goal = torch.arange(x.numel(), dtype=x.dtype).reshape(x.shape) + 0.5
    return ((goal + 1) * (x - goal) ** 2).sum()


def wavy(x):
    return (x.sin() + 0.1 * x**2).sum()


def undefined(x):
    raise ZeroDivisionError("this function has no value anywhere")


# %% exercise
def descend(f, x: Tensor, lr: float, steps: int) -> list[Tensor]:
    """The points that gradient descent visits: the start and the point after each step.

    A step goes from x to x - lr * g, where g is the gradient of f at x. f takes a tensor and returns a scalar
    that is computed from it. Returns steps + 1 tensors of x's shape and dtype. They don't require grad.

    Details:
    - steps and lr are 0 or more. All steps are taken, even if lr is 0, or g is 0 or NaN.
    - x: any shape, even () or one without elements, any strides, float32 or float64. It may require grad or be the
      result of recorded operations. x, its requires_grad and its .grad aren't changed.
    - No two of the tensors returned share storage, as slices of one tensor do, and none shares it with x.
    - Works inside torch.no_grad() as well. Afterward, recording is on or off as before, even if f raises an error,
      which reaches the caller.
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


# %% promises
# The points that -> example, other_cases, no_move
# A step goes from -> example, other_cases
# f takes a tensor -> other_cases
# Returns steps + 1 -> other_cases, no_move
# They don't require -> no_history, requires_grad
# steps and lr are -> no_move
# All steps are taken -> no_move
# x: any shape -> other_cases
# It may require -> other_cases, requires_grad
# x, its requires_grad -> keeps_input
# No two of the -> no_sharing
# Works inside -> inside_no_grad
# Afterward, recording is -> after_error, inside_no_grad


# %% domain
@domain(
    reference,
    *("float64", "no steps", "one step", "lr 0", "zero gradient", "a NaN", "no axes", "one number", "no elements"),
    *("equal slopes", "transposed", "every second one", "expanded"),
    *("requires grad", "no steps, requires grad", "from an operation", "holds .grad"),
    *("recording off", "an error", "an error, recording off"),
    contexts={"recording off": torch.no_grad, "an error, recording off": torch.no_grad},
)
def arguments(draw, edge):
    f = draw(st.sampled_from([bowl, tilted, wavy]))
    steps = {"no steps": 0, "one step": 1}.get(edge.split(",")[0], draw(st.integers(2, 4)))
    lr = 0.0 if edge == "lr 0" else draw(st.sampled_from([0.03, 0.05, 0.1]))
    shape = {"no axes": (), "one number": (1,), "no elements": (0, 2), "every second one": (4,)}.get(
        edge, (draw(st.integers(2, 3)), 2)
    )
    g = draw.make_generator(here)
    x = torch.randn(shape, generator=g, dtype=torch.float64 if edge == "float64" else torch.float32) * 2
    if edge == "zero gradient":
        f, x = bowl, torch.zeros_like(x)
    if edge == "a NaN":
        x[-1, 0] = float("nan")
    if edge == "equal slopes":
        f = torch.sum  # its gradient is one number, with stride 0
    x = draw.apply_gradient_state(draw.apply_layout(x, edge), edge)
    return undefined if "an error" in edge else f, x, lr, steps


# %% checks
with check(
    "example",
    "three steps into the bowl, each of which halves the point",
    weight=3,
    required=True,
    hint=(
        "Which point does each step start from, with which gradient? Is any point that you keep changed later?",
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
            "all entries share the same memory: they all show the last point": [want[3]] * 4,
            "the gradients of earlier steps were added: .grad accumulates": summed,
            "the start or the last point is missing": want[1:],
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
    arguments.assert_results(descend, "", "float64", "one step", "equal slopes", "no axes", "one number")
    arguments.assert_results(descend, "no elements", "transposed", "every second one", "expanded")
with check(
    "no_move",
    "no steps, a step of size zero, and a gradient of zero or NaN",
    hint="How many points are there if all of them are equal, or NaN?",
):
    arguments.assert_results(descend, "no steps", "no steps, requires grad", "lr 0", "zero gradient", "a NaN")
with check(
    "no_history",
    "the points don't require grad",
    hint="Which of your operations are recorded, and which shouldn't be?",
):
    arguments.assert_results(descend, "", "requires grad")
    for trial in arguments.iter_trials(descend, "", "requires grad", "no steps, requires grad", "from an operation"):
        assert not any(state.requires_grad for state in trial.report.states), "one of the points requires grad"
with check(
    "no_sharing",
    "the points share no memory with each other or with x",
    weight=2,
    hint="Which calls return a new tensor, and which return a second tensor over the same memory?",
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
    arguments.assert_memory(descend)
with check("inside_no_grad", "it works inside torch.no_grad()", weight=2, hint="What turns recording back on?"):
    arguments.assert_results(descend, "recording off")
    arguments.assert_settings(descend, "", "recording off")
with check(
    "requires_grad",
    "an x that requires grad, is the result of an operation, or has a .grad",
    hint="Which tensor is the leaf of your first step?",
):
    arguments.assert_results(descend, "requires grad", "from an operation", "holds .grad")
with check(
    "after_error",
    "an error in f reaches the caller, and recording is on or off as before",
    guard=True,
    hint="Which of your lines run after an error?",
):
    arguments.assert_results(descend, "an error", "an error, recording off")
    arguments.assert_settings(descend, "an error", "an error, recording off")
with check(
    "keeps_input",
    "x, its requires_grad and its .grad aren't changed",
    guard=True,
    hint="Which of your calls change x?",
):
    arguments.assert_arguments(descend)


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


# %% wrong "detach() is a snapshot" fails=example,other_cases,no_move,no_history,no_sharing,inside_no_grad,requires_grad
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


# %% wrong ".grad is the gradient of this step" fails=example,other_cases,no_move,no_history,no_sharing,inside_no_grad,requires_grad
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


# %% wrong "the history begins with the first step" fails=example,other_cases,no_move,no_history,no_sharing,inside_no_grad,requires_grad
def descend(f, x, lr, steps):
    w = x.detach().clone().requires_grad_()
    points = []
    with torch.enable_grad():
        for _ in range(steps):
            (grad,) = torch.autograd.grad(f(w), w)
            w = (w - lr * grad).detach().requires_grad_()
            points.append(w.detach().clone())
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
