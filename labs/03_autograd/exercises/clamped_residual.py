# %% exercise
def clamped_residual(x: Tensor, branch, limit: float) -> Tensor:
    """x + branch(x), with the gradient that the branch sends to x clamped.

    In a backward pass, the gradient that the branch sends to x is clamped elementwise to [-limit, limit]; the gradient
    along the direct path isn't changed. The branch's own parameters get their gradients unclamped, even if x doesn't
    require grad.

    Details:
    - x: any shape, float32 or float64; it may or may not require grad. x, its requires_grad and its .grad aren't
      changed.
    - branch: a function of one tensor that returns one of the same shape and dtype.
    - limit: at least 0.
    - Recording is on: no call is inside torch.no_grad().
    """
    ### BEGIN SOLUTION
    inside = x.view_as(x)  # the branch's own tensor, so its gradient is only the branch's
    if inside.requires_grad:
        inside.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(inside)
    ### END SOLUTION


# %% promises
# x + branch(x), with -> values, gradient, other_cases, zero_branch
# In a backward pass -> gradient, other_cases, direct_way
# The branch's own -> requires_grad
# x: any shape, float32 -> other_cases, zero_dim_empty, requires_grad
# x, its requires_grad -> keeps_input
# branch: a function -> zero_branch, other_cases
# limit: at least 0 -> other_cases
# Recording is on -> gradient, two_calls, other_cases, values


# %% domain
def inverse(x):
    return 1 / x


@domain(
    reference,
    *("float32", "limit 0", "large limit", "zeros", "-0.0", "0-dim", "empty", "one element", "transposed", "expanded"),
    *("no grad needed", "from an operation", "holds .grad"),
)
def arguments(draw, edge):
    shape = {"0-dim": (), "empty": (0, 3), "one element": (1,)}.get(edge, (draw(st.integers(2, 3)), 3))
    g = draw.make_generator(here)
    x = torch.randn(shape, generator=g, dtype=torch.float32 if edge == "float32" else torch.float64) * 2
    branch = draw(
        st.sampled_from([steep, shifted] if edge in ("0-dim", "zeros") else [steep, shifted, mixed, weighted])
    )
    if edge == "zeros":
        x, branch = x * 0, steep
    if edge == "-0.0":
        x, branch = torch.full_like(x, -0.0), inverse
    limit = draw(st.sampled_from([0.05, 0.5, 3.0, 20.0]))
    limit = {"limit 0": 0.0, "large limit": 1e6}.get(edge, limit)
    if edge == "transposed":
        x = x.T.contiguous().T
    if edge == "expanded":
        x = x[:1].expand(shape)
    x.requires_grad_(edge != "no grad needed")
    if edge == "holds .grad":
        x.grad = torch.ones_like(x)
    return x * 2 if edge == "from an operation" else x, branch, limit


# %% checks
with check(
    "values",
    "the value is x + branch(x), even if x doesn't require grad",
    required=True,
    hint=(
        "Which number do you add to x: the branch's value itself, or a modified one?",
        "Nothing is clamped in the forward pass. A hook changes only the gradient.",
    ),
):
    t = torch.tensor([[0.0, 1.0, -2.0]])
    want = t + 40 * t.sin()
    assert_close(clamped_residual(t, steep, 1.0), want)
with check(
    "gradient",
    "the gradient is the direct one plus the clamped one",
    weight=2,
    required=True,
    hint=(
        "Two gradients flow back to x. Which one should be clamped, and which tensor receives only that one?",
        "Give the branch a tensor made from x by a recorded operation. Its hook returns the clamped gradient.",
    ),
):
    t = torch.tensor([0.0, 1.0, 1.57, -2.0], requires_grad=True)
    s = 40 * t.detach().cos()
    want = 1 + s.clamp(-5, 5)
    value = t.detach() + 40 * t.detach().sin()
    got = clamped_residual(t, steep, 5.0)
    assert_close(got.detach(), value)
    (got,) = torch.autograd.grad(got.sum(), t)
    explain(
        got,
        want,
        {
            "the sum of both gradients was clamped": (1 + s).clamp(-5, 5),
            "nothing was clamped": 1 + s,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "other upstream gradients, limits and float32",
    weight=3,
    required=True,
    hint="Which gradient do you clamp: the one that enters the branch, the one that leaves it, or the sum?",
):
    t = torch.linspace(-2, 3, 6, dtype=torch.float64).reshape(2, 3).requires_grad_()
    weight = torch.tensor([[3.0, -0.1, 0.5], [-4.0, 1.0, 0.02]], dtype=torch.float64)
    s = 40 * t.detach().cos()
    want = weight + (weight * s).clamp(-0.5, 0.5)
    (got,) = torch.autograd.grad((clamped_residual(t, steep, 0.5) * weight).sum(), t)
    explain(
        got,
        want,
        {
            "the sum of both gradients was clamped here": (weight + weight * s).clamp(-0.5, 0.5),
            "the upstream gradient was clamped before the branch multiplied it": weight + weight.clamp(-0.5, 0.5) * s,
        },
    )
    t = torch.tensor([[0.1, -0.7, 1.3], [2.0, 0.3, -1.1]], dtype=torch.float64, requires_grad=True)
    (inner_grad,) = torch.autograd.grad(t.softmax(-1), t, grad_outputs=weight)  # no elementwise branch
    want = weight + inner_grad.clamp(-0.2, 0.2)
    got = clamped_residual(t, mixed, 0.2)
    assert_close(got.detach(), (t + t.softmax(-1)).detach(), rtol=1e-12, atol=1e-12)
    for _ in range(2):
        (again,) = torch.autograd.grad(got, t, grad_outputs=weight, retain_graph=True)
        assert_close(again, want)
    arguments.assert_results(clamped_residual, "", "limit 0", "large limit", "transposed", "expanded", "one element")
    arguments.assert_gradients(clamped_residual, "", "limit 0", "large limit", "transposed", "expanded", "one element")
    arguments.assert_results(clamped_residual, "float32", atol=1e-4)
    arguments.assert_gradients(clamped_residual, "float32", atol=1e-3)
with check(
    "direct_way",
    "the branch passes its gradient on unchanged, and the direct path isn't clamped",
    weight=2,
    hint="Does your hook return a new tensor, or change the one that it gets?",
):
    t = torch.tensor([1.0, -2.0, 0.5], requires_grad=True)
    weight = torch.tensor([3.0, -0.25, -7.0])
    want = torch.tensor([4.0, -0.5, -8.0])
    got = clamped_residual(t, shifted, 1.0)
    assert_close(got.detach(), 2 * t.detach() + 3)
    (got,) = torch.autograd.grad(got, t, grad_outputs=weight.clone())
    assert_close(got, want)
with check(
    "two_calls",
    "two calls with the same x don't affect each other",
    weight=2,
    hint="Does the first call leave a hook on x?",
):
    t = torch.tensor([0.0, 1.0], requires_grad=True)
    s = 40 * t.detach().cos()
    want = (1 + s.clamp(-5, 5)) + 2 * (1 + s.clamp(-10, 10) / 2)
    got = clamped_residual(t, steep, 5.0).sum() + (2 * clamped_residual(t, steep, 10.0)).sum()
    (got,) = torch.autograd.grad(got, t)
    assert_close(got, want)
with check(
    "requires_grad",
    "x may be the result of an operation, or may not require grad while the branch has a parameter",
    hint="Which of your calls works only for a leaf? Is the branch recorded for every x?",
):
    t = torch.tensor([0.5, 2.5], requires_grad=True)
    inner_grad = 1 + (40 * (2 * t.detach()).cos()).clamp(-3, 3)
    (got,) = torch.autograd.grad(clamped_residual(2 * t, steep, 3.0).sum(), t)
    assert_close(got, 2 * inner_grad)
    t = torch.tensor([0.5, 2.5])
    got = clamped_residual(t, weighted, 0.1)
    assert got.requires_grad, "if x doesn't require grad, the branch's own parameter gets no gradient"
    own = torch.tensor(3.0, requires_grad=True)
    clamped_residual(t, lambda x: x * own, 0.1).sum().backward()
    assert_close(own.grad, torch.tensor(3.0), name="the gradient of the branch's own parameter")
    assert not t.requires_grad, "x requires grad now"
    arguments.assert_results(clamped_residual, "no grad needed", "from an operation")
    arguments.assert_gradients(clamped_residual, "no grad needed", "from an operation")
with check(
    "zero_branch",
    "a branch that returns zeros, or that tells -0.0 from 0.0",
    hint="Does a branch that adds nothing have a slope of zero? Does the branch get exactly the values of x?",
):
    arguments.assert_results(clamped_residual, "zeros", "-0.0")
    arguments.assert_gradients(clamped_residual, "zeros", "-0.0")
with check("zero_dim_empty", "an empty x and a 0-dim x keep their shapes", guard=True):
    arguments.assert_results(clamped_residual, "0-dim", "empty")
    arguments.assert_gradients(clamped_residual, "0-dim", "empty")
with check("keeps_input", "x, its requires_grad and its .grad aren't changed", guard=True):
    arguments.assert_results(clamped_residual, "holds .grad")
    arguments.assert_arguments(clamped_residual)


# %% right "a clone for the branch"
def clamped_residual(x, branch, limit):
    copy = x.clone()
    if x.requires_grad:
        copy.register_hook(lambda grad: torch.clamp(grad, min=-limit, max=limit))
    return branch(copy) + x


# %% right "a Function that is the identity"
class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, limit):
        ctx.limit = limit
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return grad.clamp(-ctx.limit, ctx.limit), None


def clamped_residual(x, branch, limit):
    return x + branch(Clamp.apply(x, limit))


# %% right "the hook on the node, times one"
def clamped_residual(x, branch, limit):
    inside = x * 1
    if inside.grad_fn is not None:
        inside.grad_fn.register_prehook(lambda grads: (grads[0].clamp(-limit, limit),))
    return x + branch(inside)


# %% wrong "the hook belongs on x" fails=gradient,other_cases,direct_way,two_calls,requires_grad,zero_branch,zero_dim_empty
def clamped_residual(x, branch, limit):
    if x.requires_grad:
        x.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(x)


# %% wrong "the hook belongs on what the branch returns" fails=gradient,other_cases,two_calls,requires_grad,zero_branch,zero_dim_empty
def clamped_residual(x, branch, limit):
    out = branch(x)
    if out.requires_grad:
        out.register_hook(lambda g: g.clamp(-limit, limit))
    return x + out


# %% wrong "every x requires grad" fails=values,requires_grad raises=RuntimeError
def clamped_residual(x, branch, limit):
    inside = x.view_as(x)
    inside.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(inside)


# %% wrong "plus zero is a copy" fails=zero_branch
def clamped_residual(x, branch, limit):
    inside = x + 0
    if inside.requires_grad:
        inside.register_hook(lambda g: g.clamp(-limit, limit))
    return x + branch(inside)
