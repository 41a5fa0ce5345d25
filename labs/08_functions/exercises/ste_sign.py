# %% exercise
def ste_sign(x: Tensor) -> Tensor:
    """1 where x >= 0 and -1 elsewhere, with the clipped straight-through gradient.

    x: any shape, float32 or float64, finite. The result has x's shape and dtype. The gradient by x is the upstream
    gradient where |x| < 1, and 0 where |x| > 1. At -1 and 1 it may be either. x stays as it is.
    """
    ### BEGIN SOLUTION

    class Step(torch.autograd.Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return 2 * (x >= 0).to(x.dtype) - 1

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, upstream: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return upstream * (x.abs() <= 1)

    result: Tensor = Step.apply(x)
    return result
    ### END SOLUTION


# %% checks
with check(
    "example",
    "the example above, with an upstream gradient of 5",
    weight=2,
    required=True,
    hint=(
        "Is the value wrong, or the gradient? Does your mask come from x, or from something else?",
        "Save x in setup_context. In backward, upstream goes through where |x| is below 1, and 0 elsewhere.",
    ),
):
    t = torch.tensor([-3.0, -0.5, 0.5, 3.0], requires_grad=True)
    got = ste_sign(t)
    assert_close(got, torch.tensor([-1.0, -1.0, 1.0, 1.0]))
    assert got.requires_grad, "your result has no history"
    got.backward(torch.full((4,), 5.0))
    explain(
        t.grad,
        torch.tensor([0.0, 5.0, 5.0, 0.0]),
        {
            "the upstream gradient was clamped: it is x that must lie between -1 and 1": torch.ones(4),
            "gradients pass everywhere, also where |x| > 1": torch.full((4,), 5.0),
            "the upstream gradient was not used": torch.tensor([0.0, 1.0, 1.0, 0.0]),
        },
        name="the gradient",
    )

# %% hidden checks
with check(
    "other_cases",
    "other shapes and upstream gradients, float32 and float64",
    weight=4,
    required=True,
    hint="Which dtype has your result? Does the mask come from x, and the rest from upstream?",
):
    for dtype, seed in ((torch.float32, 1), (torch.float64, 2)):
        generator = torch.Generator(here).manual_seed(seed)
        t, t_2, t_up, t_up_2 = (torch.randn(7, 3, 2, dtype=dtype, generator=generator) * 2 for _ in range(4))
        want = [torch.where(x < 0, -1.0, 1.0).to(dtype) for x in (t, t_2)]
        want_grads = 10 * t_up * (t.abs() < 1), 10 * t_up_2 * (t_2.abs() < 1)
        t, t_2 = t.requires_grad_(), t_2.requires_grad_()
        got = [ste_sign(t), ste_sign(t_2)]
        assert_close(got, want)
        got = torch.autograd.grad(got, (t, t_2), (10 * t_up, 10 * t_up_2))
        assert_close(got, want_grads, rtol=4 * torch.finfo(dtype).eps, atol=0, name="your gradients")
with check(
    "zero", "zero belongs to 1, and only the sign of a tiny number counts", weight=1, hint="What does torch.sign give?"
):
    t = torch.tensor([0.0, 1e-60, -1e-60, 0.999, -0.999, 1.001, -1 - 1e-12], dtype=torch.float64, requires_grad=True)
    want = torch.tensor([1, 1, -1, 1, -1, 1, -1], dtype=torch.float64)
    want_grad = -0.25 * torch.tensor([1, 1, 1, 1, 1, 0, 0], dtype=torch.float64)
    assert_close(ste_sign(torch.tensor([-0.0, 1e20, -1e20])), torch.tensor([1.0, 1.0, -1.0]))
    got = ste_sign(t)
    assert_close(got, want)
    got.backward(torch.full((7,), -0.25, dtype=torch.float64))
    assert_close(t.grad, want_grad, name="the gradient")
with check(
    "non_contiguous",
    "a transposed x, an empty one, a single number",
    weight=1,
    hint="Does your code need a certain layout?",
):
    t = torch.linspace(-2, 2, 12).reshape(3, 4).T
    want, t_up = torch.where(t < 0, -1.0, 1.0), torch.where(t < 0, -3.0, 3.0)
    want_grad, t = t_up * (t.abs() < 1), t.requires_grad_()
    got = ste_sign(t)
    assert_close(got, want)
    assert_close(torch.autograd.grad(got, t, t_up)[0], want_grad, name="the gradient")
    assert_close(ste_sign(torch.empty(0, 3)), torch.empty(0, 3))
    assert_close(ste_sign(torch.tensor(-0.5)), torch.tensor(-1.0))
with check("keeps_input", "x keeps its values", guard=True, hint="Which calls change a tensor in place?"):
    t = torch.tensor([-3.0, -0.5, 0.5, 3.0])
    assert_close(unchanged(ste_sign, t), torch.tensor([-1.0, -1.0, 1.0, 1.0]))


# %% right "hardtanh, and the step added as a constant"
def ste_sign(x):
    soft = F.hardtanh(x)
    hard = torch.where(x >= 0, 1.0, -1.0).to(x.dtype)
    return soft + (hard - soft).detach()


# %% right "the mask is what is saved"
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward((x > -1) & (x < 1))
        return x.new_ones(()).where(x >= 0, -x.new_ones(()))

    @staticmethod
    def backward(ctx, g):
        (mask,) = ctx.saved_tensors
        return g.masked_fill(~mask, 0)


def ste_sign(x):
    return Binary.apply(x)


# %% right "clamp"
def ste_sign(x):
    through = x.clamp(-1, 1)
    return through - through.detach() + torch.where(x.detach() < 0, -torch.ones_like(x), torch.ones_like(x))


# %% wrong "the upstream gradient is clamped" fails=example,other_cases,zero,non_contiguous
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        return g.clamp(-1, 1)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong "the plain estimator" fails=example,other_cases,zero,non_contiguous
def ste_sign(x):
    hard = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
    return x + (hard - x).detach()


# %% wrong "upstream is not used" fails=example,other_cases,zero,non_contiguous
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (x.abs() <= 1).to(x.dtype)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong "float32 for everything" fails=other_cases,zero
def ste_sign(x):
    soft = F.hardtanh(x)
    return (x >= 0).float() * 2 - 1 + (soft - soft.detach()).float()


# %% wrong "torch.sign" fails=zero
def ste_sign(x):
    soft = F.hardtanh(x)
    return soft + (x.sign() - soft).detach()


# %% wrong "no gradient at all" fails=example,other_cases,zero,non_contiguous raises=RuntimeError
def ste_sign(x):
    return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))


# %% wrong "the mask comes from the result" fails=example,other_cases,zero,non_contiguous
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * (y.abs() <= 1)


def ste_sign(x):
    return Binary.apply(x)


# %% wrong "clamped in place first" fails=keeps_input
def ste_sign(x):
    hard = torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))
    inside = x.detach().abs() <= 1
    soft = x * inside
    x.data.clamp_(-1, 1)
    return soft + (hard - soft).detach()


# %% wrong "masked by x, and limited for safety as well" fails=other_cases
class MaskedAndClamped(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.where(x >= 0, 1.0, -1.0).to(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return (g * (x.abs() <= 1)).clamp(-10, 10)


def ste_sign(x):
    return MaskedAndClamped.apply(x)


# %% right "through the line, rounded sum"
def ste_sign(x):
    soft = x.clamp(-1, 1)
    return soft + (torch.where(x >= 0, 1.0, -1.0).to(x) - soft).detach()


# %% wrong "the mask of the last call, in a class attribute" fails=other_cases
class Binary(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        Binary.mask = x.abs() <= 1
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    def backward(ctx, g):
        return g * Binary.mask


def ste_sign(x):
    return Binary.apply(x)


# %% wrong "the sign bit, which -0.0 has too" fails=zero
class _Step2(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return torch.ones_like(x).copysign(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    @staticmethod
    def backward(ctx, upstream):
        (x,) = ctx.saved_tensors
        return upstream * (x.abs() <= 1)


def ste_sign(x: Tensor) -> Tensor:
    return _Step2.apply(x)


# %% wrong "x plus what is missing, which is rounded for large x" fails=zero
def ste_sign(x: Tensor) -> Tensor:
    ones = torch.ones_like(x)
    moving = torch.where(x.abs() <= 1, x, x.detach())
    return moving + (torch.where(x >= 0, ones, -ones) - moving).detach()


# %% equivalent "LtE to Lt: return upstream * (x.abs() < 1)"
# At exactly -1 and 1 either gradient is allowed.


# %% equivalent "an argument that equals the result returned instead of it"
# Where all of x is -1 or 1: no new tensor is promised, and there either gradient holds.
