# %% given
def cubes(x):
    """Each element on its own: the Hessian is diagonal."""
    return (x**3).sum()


def chained(x):
    """Neighbors are multiplied: the Hessian has entries beside the diagonal."""
    return (x[1:] * x[:-1] ** 2).sum() + x.sin().sum()


def plane(x):
    """Linear: the Hessian is zero."""
    return (3 * x).sum() - 1


def valley(x):
    """Rosenbrock's function, on which gradient descent is slow."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def ripples(x):
    """Swings so fast that every step is too large. 2**24 * x is exact."""
    return (x * 2**24).sin().sum() / 2**48 + 2 * x.sin().sum()


def steep_bowl(x):
    """A slope of a million, and a bowl."""
    return (1e6 * x + x**2).sum()


@probes.probe
def product_with(hvp, f, x, v, factor):
    """hvp with v, or, if that is None, with factor * x."""
    return hvp(f, x, factor * x if v is None else v)


# %% exercise
def hvp(f, x: Tensor, v: Tensor) -> Tensor:
    """The Hessian of f at x times v, without building the Hessian: the number of operations doesn't depend on n.

    f: a twice differentiable function from a tensor (n,) to a scalar. x, v: (n,).
    Returns (n,) in their dtype, without grad, exact except for rounding: a difference between two gradients isn't
    exact.

    Details:
    - f: the scalar is computed from the tensor. f may be linear. No tensor in f other than x requires grad.
    - x, v: n is from 1 to 50,000, both are float32 or both float64, and the strides may be any. Either may or may not
      require grad, and may be the result of recorded operations. v may be x or computed from x: it's treated as a
      constant.
    - The arguments aren't changed, and neither are their .grad and requires_grad.
    - Works inside torch.no_grad() as well. Afterward, recording is on or off as before.
    """
    ### BEGIN SOLUTION
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
    if not g.requires_grad:  # linear: the gradient does not depend on x
        return torch.zeros_like(leaf)
    return torch.autograd.grad(g, leaf, grad_outputs=v)[0]
    ### END SOLUTION


# %% promises
# The Hessian of f -> example, other_cases, many_numbers, two_passes
# f: a twice -> other_cases, linear
# x, v: (n,) -> other_cases, many_numbers
# Returns (n,) in -> fast_swings, requires_grad, other_cases
# f: the scalar -> other_cases, linear
# f may be linear -> other_cases, linear
# No tensor in f -> other_cases
# x, v: n is from -> other_cases, many_numbers
# Either may or -> requires_grad
# v may be x or -> v_is_x
# The arguments -> keeps_input
# Works inside -> inside_no_grad
# Afterward, recording is -> inside_no_grad


# %% domain
@domain(
    reference,
    *(
        "float64",
        "one number",
        "two numbers",
        "zeros",
        "zero gradient",
        "v is zero",
        "every second element",
        "v expanded",
    ),
    *("linear", "linear, float64", "linear, v from x", "fast swings", "fast swings, float64", "steep"),
    *(
        "v is x",
        "v is x, without grad",
        "v from x",
        "x requires grad",
        "v requires grad",
        "from operations",
        "hold .grad",
        "v is zero, requires grad",
    ),
    *("recording off", "linear, recording off"),
    call=product_with,
    contexts={"recording off": torch.no_grad, "linear, recording off": torch.no_grad},
)
def arguments(draw, edge):
    functions = [chained, cubes, bowl, tilted, wavy]
    if "float64" in edge:
        functions = [valley, chained]  # the terms of valley are too large for float32
    if "linear" in edge:
        functions = [plane, torch.sum]
    if "swings" in edge:
        functions = [ripples]
    if edge == "steep":
        functions = [steep_bowl]
    f = draw(st.sampled_from(functions))
    n = {"one number": 1, "two numbers": 2}.get(edge, draw(st.integers(3, 6)))
    g = draw.make_generator(here)
    dtype = torch.float64 if "float64" in edge else torch.float32
    x, v = (torch.randn(n, generator=g, dtype=dtype) for _ in range(2))
    if edge == "zero gradient":
        f = bowl
    if edge in ("zeros", "zero gradient"):
        x.zero_()
    if "v is zero" in edge:
        v.zero_()
    if edge == "every second element":
        x, v = torch.stack([x, -x], 1).flatten()[::2], torch.stack([v, x], 1).flatten()[::2]
    if edge == "v expanded":
        v = v[:1].expand(n)
    if edge in ("v is x", "v from x", "linear, v from x", "x requires grad", "from operations", "hold .grad"):
        x.requires_grad_()
    if edge in ("v requires grad", "v is zero, requires grad", "from operations", "hold .grad"):
        v.requires_grad_()
    if edge == "hold .grad":
        x.grad, v.grad = torch.full_like(x, 1000.0), torch.full_like(v, float("nan"))
    if edge == "from operations":
        x, v = x * 2, v * 2
    if "v is x" in edge:
        v = x
    return f, x, None if "v from x" in edge else v, -0.5


# %% checks
with check(
    "example",
    "a function that multiplies neighbors",
    weight=3,
    required=True,
    hint=(
        "What must the first gradient be connected to, so that you can differentiate it?",
        "The first pass is recorded by create_graph=True. The second starts at that gradient, and takes v.",
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
            "this is v times the sum of each row: the gradient was summed before v was used": hessian.sum(0) * t_v,
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
    hint="Is the result exact, or does it use a small step?",
):
    arguments.assert_results(hvp, "", "float64", "one number", "two numbers", "zeros", "zero gradient", "v is zero")
    arguments.assert_results(hvp, "every second element", "v expanded")
with check(
    "fast_swings",
    "a function that swings too fast for a small step, and a steep one",
    weight=2,
    hint="Does your function use a small step, or subtract one gradient from another?",
):
    arguments.assert_results(hvp, "fast swings", "fast swings, float64", "steep")
with check("v_is_x", "v is x, or is computed from x", weight=2, hint="Along which paths can the second pass reach x?"):
    t = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    want = torch.autograd.functional.hessian(chained, t.detach()) @ t.detach()
    slope = torch.autograd.functional.jacobian(chained, t.detach())
    explain(hvp(chained, t, t), want, {"v was differentiated too": want + slope})
    arguments.assert_results(hvp, "v is x", "v is x, without grad", "v from x", "linear, v from x")
with check(
    "requires_grad",
    "x and v that require grad, come from operations, or hold a .grad",
    hint="Which tensor is your leaf? Is your result still connected to anything?",
):
    arguments.assert_results(hvp, "x requires grad", "v requires grad", "from operations", "hold .grad")
    arguments.assert_results(hvp, "v is zero, requires grad")
    arguments.assert_gradients(hvp)
with check(
    "linear",
    "a linear function gives zeros",
    weight=2,
    hint="Does the gradient of a linear function require grad?",
):
    arguments.assert_results(hvp, "linear", "linear, float64")
with check("many_numbers", "50,000 numbers", weight=2, hint="How large is a matrix of 50,000 by 50,000?"):
    t = torch.linspace(-1, 2, 50_000)
    t_v = torch.linspace(0.5, -3, 50_000)
    want = 6 * t * t_v
    assert_close(hvp(cubes, t, t_v), want)
with check(
    "two_passes",
    "as many operations for a few numbers as for many",
    weight=2,
    observed=True,
    hint="How many backward passes do you need for 3 numbers, and how many for 5,000?",
):
    want = sum(probes.operations(hvp, chained, torch.linspace(-1, 2, 5000), torch.linspace(1, -3, 5000)).values())
    for n in (3, 12, 300):
        t, t_v = torch.linspace(-1, 2, n), torch.linspace(1, -3, n)
        got = sum(probes.operations(hvp, chained, t, t_v).values())
        assert_close(got, want, name="the number of operations")
with check("inside_no_grad", "it works inside torch.no_grad()", hint="What has to be recorded?"):
    arguments.assert_results(hvp, "recording off", "linear, recording off")
    arguments.assert_settings(hvp)
with check(
    "keeps_input",
    "x and v, their .grad and requires_grad aren't changed",
    guard=True,
    hint="Which calls write to .grad?",
):
    arguments.assert_arguments(hvp)


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


# %% wrong "the gradient of the sum, times v" fails=example,other_cases,v_is_x,requires_grad,inside_no_grad
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        total = g.sum()
    if not g.requires_grad:
        return torch.zeros_like(leaf)
    return torch.autograd.grad(total, leaf)[0].detach() * v.detach()


# %% wrong "second derivatives are elementwise" fails=example,other_cases,v_is_x,requires_grad,many_numbers,two_passes,inside_no_grad
def hvp(f, x, v):
    leaf = x.detach().requires_grad_()
    with torch.enable_grad():
        (g,) = torch.autograd.grad(f(leaf), leaf, create_graph=True)
        if not g.requires_grad:
            return torch.zeros_like(leaf)
        few = range(min(len(g), 100))  # all of 50,000 would take too long
        diagonal = [torch.autograd.grad(g[i], leaf, retain_graph=True)[0][i] for i in few]
    return torch.stack(diagonal).detach() * v.detach()[: len(diagonal)]


# %% wrong "one pass is enough" fails=example,other_cases,fast_swings,v_is_x,requires_grad,linear,many_numbers,inside_no_grad
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


# %% equivalent "an argument that equals the result returned instead of it"
# The result is v if v is zero, and the docstring does not say whose memory it has.
