# %% exercise
def hvp(f, x: Tensor, v: Tensor) -> Tensor:
    """The Hessian of f at x times v, without building the Hessian.

    f: a function from a tensor (n,) to a scalar, computed from x and twice differentiable; it may be linear. No tensor
    but x requires grad in it. x, v: (n,), both float32 or both float64; either may require grad, and v may be x or
    computed from x: it counts as a constant. Returns (n,) in that dtype, without grad, exact but for rounding: a
    difference of two gradients is not. n may be 20,000. The arguments stay as they are, their .grad and requires_grad
    too. Works inside torch.no_grad() as well.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    if not g.requires_grad:  # linear: the gradient does not depend on x
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v)[0]
    ### END SOLUTION


# %% checks
with check(
    "example",
    "neighbours that are multiplied",
    weight=3,
    required=True,
    hint=(
        "What must the first gradient have behind it, so that it can be differentiated?",
        "The first pass is recorded by create_graph=True. The second goes through the gradient, and v comes in there.",
    ),
):
    t = torch.tensor([1.0, -2.0, 0.5])
    t_v = torch.tensor([2.0, 1.0, -1.0])
    hessian = torch.autograd.functional.hessian(chained, t)
    want = hessian @ t_v
    explain(
        hvp(chained, t, t_v),
        want,
        {
            "this is v times the sum of each row: the gradient was summed before v came in": hessian.sum(0) * t_v,
            "only the diagonal of the Hessian was used": hessian.diagonal() * t_v,
            "this is the gradient times v, and not the Hessian": torch.autograd.functional.jacobian(chained, t) * t_v,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other functions, sizes and float64",
    weight=4,
    required=True,
    hint="Is the result exact, or is there a small step in it?",
):
    for dtype in (torch.float32, torch.float64):
        for f, n in ((valley, 5), (cubes, 1), (chained, 7)):
            t = torch.linspace(-1.5, 1, 2 * n, dtype=dtype)
            t, t_v = t[::2], t.flip(0)[::2].cos()
            want = torch.autograd.functional.hessian(f, t) @ t_v
            assert_close(hvp(f, t, t_v), want)
with check(
    "fast_swings",
    "a function that swings too fast for a small step",
    weight=2,
    hint="Is there a number in your function that stands for a small step?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([0.5, -1.0, 0.25], dtype=dtype)
        t_v = torch.tensor([1.0, 3.0, -2.0], dtype=dtype)
        want = -(t * 2**24).sin() * t_v - 2 * t.sin() * t_v
        assert_close(hvp(ripples, t, t_v), want)
with check("v_is_x", "v is x, or is computed from x", weight=2, hint="Through which ways can the second pass reach x?"):
    for factor in (None, -0.5):
        t = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
        t_v = t if factor is None else factor * t
        want = torch.autograd.functional.hessian(chained, t.detach()) @ t_v.detach()
        got = hvp(chained, t, t_v)
        explain(
            got,
            want,
            {
                "v was differentiated too": want
                + (factor or 1.0) * torch.autograd.functional.jacobian(chained, t.detach()),
            },
        )
        assert not got.requires_grad, "your result requires grad"
with check(
    "linear",
    "a linear function gives zeros, and one without bends gives what it should",
    weight=2,
    hint="Does the gradient of a linear function require grad?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([1.0, 2.0, -1.0], dtype=dtype)
        assert_close(hvp(plane, t, t + 1), torch.zeros(3, dtype=dtype))
        assert_close(hvp(bowl, t, t + 1), 2 * (t + 1))
with check("many_numbers", "20,000 numbers", weight=2, hint="How large is a matrix of 20,000 by 20,000?"):
    t = torch.linspace(-1, 2, 20_000)
    t_v = torch.linspace(0.5, -3, 20_000)
    want = 6 * t * t_v
    assert_close(hvp(cubes, t, t_v), want)
with check("inside_no_grad", "it works inside torch.no_grad()", hint="What has to be recorded?"):
    t = torch.tensor([1.0, -2.0, 0.5])
    want = 6 * t * torch.tensor([1.0, 0.5, 3.0])
    with torch.no_grad():
        got = hvp(cubes, t, torch.tensor([1.0, 0.5, 3.0]))
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"
    assert_close(got, want)
with check(
    "keeps_input",
    "x and v, their .grad and requires_grad stay as they are",
    guard=True,
    hint="Which calls write to .grad?",
):
    for flag in (False, True):
        t, t_v = torch.tensor([1.0, -2.0, 0.5], requires_grad=flag), torch.tensor([1.0, 3.0, 2.0], requires_grad=flag)
        t.grad = torch.tensor([7.0, 8.0, 9.0])
        unchanged(hvp, valley, t, t_v)


# %% right "the gradient times v, summed, differentiated again"
def hvp(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().clone().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        dot = (g * v.detach()).sum()
        if dot.grad_fn is None:
            return torch.zeros_like(x)
        return torch.autograd.grad(dot, leaf)[0].detach()


# %% right "PyTorch has a function for it"
def hvp(f, x, v):
    with torch.enable_grad():
        return torch.autograd.functional.hvp(f, x.detach(), v.detach())[1]


# %% right "forward over backward"
def hvp(f, x, v):
    return torch.func.jvp(torch.func.grad(f), (x.detach(),), (v.detach(),))[1]


# %% right "a zero that keeps the graph connected"
def hvp(f, x, v):
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        (g,) = torch.autograd.grad(f(leaf) + 0 * (leaf**2).sum(), leaf, create_graph=True)
    return torch.autograd.grad(g, leaf, v.detach())[0]


# %% wrong "retain_graph=True keeps what the second pass needs" fails=example,other_cases,fast_swings,v_is_x,linear,many_numbers,inside_no_grad
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, retain_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v.detach())[0]


# %% wrong "the gradient of the sum, times v" fails=example,other_cases,v_is_x
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        total = g.sum()
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(total, leaf)[0].detach() * v.detach()


# %% wrong "second derivatives are elementwise" fails=example,other_cases,v_is_x
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(leaf)
        diagonal = [torch.autograd.grad(g[i], leaf, retain_graph=True)[0][i] for i in range(len(g))]
    return torch.stack(diagonal).detach() * v.detach()


# %% wrong "one pass is enough" fails=example,other_cases,fast_swings,v_is_x,linear,many_numbers,inside_no_grad
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        return torch.autograd.grad(f(leaf), leaf)[0] * v.detach()


# %% wrong "v is a constant by itself" fails=v_is_x
def hvp(f, x, v):
    marked = x.requires_grad
    leaf = x if marked else x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        dot = (g * v).sum()
    if not dot.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(dot, leaf, materialize_grads=True)[0].detach()


# %% wrong "every gradient has a graph behind it" fails=linear raises=RuntimeError
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    return torch.autograd.grad(g, leaf, grad_outputs=v.detach())[0]


# %% wrong "recording is always on" fails=inside_no_grad raises=RuntimeError
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v.detach())[0]


# %% wrong "backward twice on the caller's x" fails=keeps_input
def hvp(f, x, v):
    marked = x.requires_grad
    x.requires_grad_()
    x.grad = None
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
    if g.requires_grad:
        g.backward(v.detach())
    result = torch.zeros_like(x) if x.grad is None else x.grad
    x.requires_grad_(marked)
    return result.detach()


# %% wrong "differences in float64 are exact enough, with a second step that takes the error out" fails=fast_swings
def hvp(f, x, v):
    def gradient(point):
        leaf = point.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(f(leaf), leaf)[0]

    point, along = x.detach().double(), v.detach().double()

    def slope(h):
        return (gradient(point + h * along) - gradient(point - h * along)) / (2 * h)

    return ((64 * slope(1e-3) - 20 * slope(2e-3) + slope(4e-3)) / 45).to(x.dtype)


# %% wrong "a difference of two gradients is near enough" fails=example,other_cases,fast_swings,v_is_x,many_numbers,inside_no_grad
def hvp(f, x, v):
    def gradient(point):
        leaf = point.detach().requires_grad_()
        with torch.enable_grad():
            return torch.autograd.grad(f(leaf), leaf)[0]

    h = 1e-3
    return (gradient(x + h * v) - gradient(x - h * v)) / (2 * h)
