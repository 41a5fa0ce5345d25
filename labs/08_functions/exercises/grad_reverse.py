# %% given
def reversed_cubes(reverse, lam):
    """A function from a vector to a number, with reverse between the vector and its cubes."""
    return lambda vector: (reverse(vector, lam) ** 3).sum()


@probes.probe
def reversed_ways(reverse, x, upstream, first, second, third):
    """The gradient by x of three ways to one sum: reversed by first and second, by third, and not at all."""
    x = x.detach().clone().requires_grad_()
    result = reverse(reverse(x, first), second) + reverse(x, third) + x
    result.backward(upstream)
    return x.grad


@probes.probe
def reversed_for_each(reverse, rows, lam):
    """The gradient of reversed_cubes for each row, by vmap and grad, and for the first row by grad alone."""
    one = torch.func.grad(reversed_cubes(reverse, lam))
    return one(rows[0]), torch.func.vmap(one)(rows)


# %% exercise
def grad_reverse(x: Tensor, lam: float) -> Tensor:
    """x forward, and -lam times the upstream gradient backward.

    x: any shape, float32 or float64. lam: a number from 0 to 100. The result has x's shape and dtype, and exactly x's
    values, also where they are infinite, or near the largest number of the dtype. It may share x's memory. x stays as
    it is. Works under torch.func.grad and torch.func.vmap too.
    """
    ### BEGIN SOLUTION

    class Reverse(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Tensor, lam: float) -> Tensor:
            return x.view_as(x)

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
            ctx.lam = inputs[1]

        @staticmethod
        def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor, None]:
            return -ctx.lam * upstream, None

    result: Tensor = Reverse.apply(x, lam)
    return result
    ### END SOLUTION


# %% checks
with check(
    "example",
    "x forward, and -0.5 times the gradient backward",
    weight=2,
    required=True,
    hint=(
        "Is it the value that is wrong, or the gradient? What is the upstream gradient here, and where does it go?",
        "Upstream is 2 * x here. backward sends it on times -lam, which setup_context has kept in ctx.",
    ),
):
    t = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    want = torch.tensor([1.0, -2.0, 3.0])
    got = grad_reverse(t, 0.5)
    explain(got, want, {"forward does nothing: only the gradient is reversed": -0.5 * want})
    assert got.requires_grad, "your result has no history"
    (got**2).sum().backward()
    explain(
        t.grad,
        torch.tensor([-1.0, 2.0, -3.0]),
        {
            "the gradient is scaled, and not reversed": torch.tensor([1.0, -2.0, 3.0]),
            "lam was not used": torch.tensor([-2.0, 4.0, -6.0]),
        },
        name="the gradient",
    )

# %% hidden checks
with check(
    "other_cases",
    "other sizes, numbers and dtypes",
    weight=3,
    required=True,
    hint="What becomes of upstream gradients?",
):
    for lam, dtype, size in ((1, torch.float32, (4, 3)), (2.5, torch.float64, (2, 1, 5)), (0.0, torch.float64, ())):
        t = torch.randn(size, dtype=dtype, generator=torch.Generator(here).manual_seed(3)).requires_grad_()
        want, t_up = t.detach().clone(), 3 * t.detach().cos()
        want_grad, digits = -lam * t_up, 4 * torch.finfo(dtype).eps
        got = grad_reverse(t, lam)
        assert_close(got, want, rtol=0, atol=0)
        (got,) = torch.autograd.grad(got, t, t_up)
        assert_close(got, want_grad, rtol=digits, atol=0, name="the gradient")
with check(
    "two_in_row",
    "two in a row, and only one way of two reversed",
    weight=2,
    required=True,
    hint="Is lam kept for each call, or once?",
):
    for first, second, third in ((2.0, 3.0, 0.25), (0.5, 5.0, 4.0)):
        t = torch.tensor([0.5, -2.0], dtype=torch.float64)
        t_up = torch.tensor([1.0, -10.0], dtype=torch.float64)
        want = (first * second - third + 1) * t_up
        assert_close(reversed_ways(grad_reverse, t, t_up, first, second, third), want, name="the gradient")
with check(
    "torch_func",
    "under torch.func.grad, and vmap over it",
    weight=2,
    hint="Is there setup_context? What does vmap ask for by name?",
):
    for lam, n in ((0.5, 4), (3.0, 2)):
        t = torch.linspace(-1, 2, 3 * n).reshape(n, 3)
        want = -3 * lam * t[0] ** 2, -3 * lam * t**2
        assert_close(reversed_for_each(grad_reverse, t, lam), want)
with check(
    "extreme_values",
    "infinite and very large values come through",
    weight=1,
    hint="What is inf - inf? And 100 times 3e38, in float32?",
):
    for dtype, big in ((torch.float32, 3e38), (torch.float64, 1e308)):
        t = torch.tensor([big, -big, math.inf, -math.inf, 0.1], dtype=dtype, requires_grad=True)
        want, want_grad = t.detach().clone(), torch.tensor([-100.0, 200.0, 50.0, -100.0, -0.0], dtype=dtype)
        got = grad_reverse(t, 100.0)
        assert_close(got, want, rtol=0, atol=0)
        got.backward(torch.tensor([1.0, -2.0, -0.5, 1.0, 0.0], dtype=dtype))
        assert_close(t.grad, want_grad, name="the gradient")
with check(
    "keeps_input",
    "x keeps its values, and an empty or constant x is fine",
    guard=True,
    hint="Is anything done in place?",
):
    got = unchanged(grad_reverse, torch.tensor([1.0, -2.0]), 0.5)
    assert_close(got, torch.tensor([1.0, -2.0]))
    assert not got.requires_grad, "the result of a constant requires grad"
    assert_close(grad_reverse(torch.empty(0, 2), 2.0), torch.empty(0, 2))


# %% wrong "a constant is added" fails=other_cases,extreme_values
def grad_reverse(x, lam):
    return -lam * x + ((1 + lam) * x).detach()


# %% right "lam as a tensor, a copy forward, and a rule for vmap"
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None

    @staticmethod
    def vmap(info, in_dims, x, lam):
        return Reversal.apply(x, lam), in_dims[0]


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong "the gradient is scaled" fails=example,other_cases,two_in_row,torch_func,extreme_values
def grad_reverse(x, lam):
    return lam * x + ((1 - lam) * x).detach()


# %% wrong "forward too" fails=example,other_cases,torch_func,extreme_values,keeps_input
def grad_reverse(x, lam):
    return -lam * x


# %% wrong "lam is left out" fails=example,other_cases,two_in_row,torch_func,extreme_values
def grad_reverse(x, lam):
    return -x + (2 * x).detach()


# %% wrong "one gradient for two arguments" fails=example,other_cases,two_in_row,torch_func,extreme_values raises=RuntimeError
class Reversal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, lam):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong "the older form of a Function" fails=torch_func raises=RuntimeError
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, lam):
        ctx.lam = lam
        return x.view_as(x)

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong "without a rule for vmap" fails=torch_func raises=RuntimeError
class Reversal(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return -ctx.lam * g, None


def grad_reverse(x, lam):
    return Reversal.apply(x, lam)


# %% wrong "lam in a class attribute" fails=two_in_row
class Reversal(torch.autograd.Function):
    generate_vmap_rule = True
    lam = 1.0

    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, g):
        return -Reversal.lam * g


def grad_reverse(x, lam):
    Reversal.lam = lam
    return Reversal.apply(x)


# %% wrong "the hook stays on x" fails=two_in_row
def grad_reverse(x, lam):
    if x.requires_grad:
        x.register_hook(lambda g: -lam * g)
    return x.view_as(x)


# %% right "a hook"
def grad_reverse(x, lam):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: -lam * g)
    return y


# %% wrong "a difference that is zero" fails=extreme_values
def grad_reverse(x, lam):
    return x.detach() - lam * (x - x.detach())


# %% right "a vmap method, forward hands x back"
class Reverse(torch.autograd.Function):
    @staticmethod
    def forward(x, lam):
        return x

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.lam = inputs[1]

    @staticmethod
    def backward(ctx, g):
        return g.neg() * ctx.lam, None

    @staticmethod
    def vmap(info, in_dims, x, lam):
        return Reverse.apply(x, lam), in_dims[0]


def grad_reverse(x, lam):
    return Reverse.apply(x, lam)


# %% right "a Function that gets lam as a tensor"
class Reversal(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x, lam):
        return x.clone()

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[1])

    @staticmethod
    def backward(ctx, g):
        (lam,) = ctx.saved_tensors
        return -lam * g, None


def grad_reverse(x, lam):
    return Reversal.apply(x, torch.as_tensor(lam, dtype=x.dtype))


# %% wrong "the gradient through float32" fails=other_cases
def grad_reverse(x, lam):
    y = x.clone()
    if y.requires_grad:
        y.register_hook(lambda g: (-lam * g.float()).to(g.dtype))
    return y


# %% equivalent "call of view_as left out: return x"
# Where forward hands back an input as it is, apply makes a view of it.
