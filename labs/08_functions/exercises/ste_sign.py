# %% given
@probes.probe
def pulled_back(function, tensors, upstreams):
    """The results of an elementwise function for several tensors, and the gradients by these, all from one pass.

    Each tensor gets the same upstream gradients on a direct way, too. No gradients if the results have no history.
    """
    results = [function(x) for x in tensors]
    if not any(result.requires_grad for result in results):
        return results, None
    direct = [x.clone() for x in tensors]
    return results, torch.autograd.grad([*results, *direct], tensors, [*upstreams, *upstreams])


# %% exercise
def ste_sign(x: Tensor) -> Tensor:
    """1 if x >= 0 and -1 otherwise, elementwise, with the clipped straight-through gradient.

    The result has x's shape and dtype. The gradient with respect to x is the upstream gradient if |x| < 1, and 0 if
    |x| > 1. At -1 and 1, it may be either.

    Details:
    - x: any shape, including () and shapes without elements, any strides, float32 or float64, finite. It may require
      grad or not, and may be the result of recorded operations.
    - The upstream gradient is finite.
    - The result has history only if x requires grad and operations are recorded.
    - x, its requires_grad and its .grad aren't changed.
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


# %% promises
# 1 if x >= 0 -> example, other_cases, zero
# The result has x's shape -> other_cases, zero, non_contiguous
# The gradient with respect -> example, other_cases, zero, non_contiguous
# At -1 and 1 -> zero
# x: any shape -> non_contiguous
# It may require grad -> other_cases, non_contiguous, keeps_input
# The upstream gradient is finite -> example, other_cases, zero, non_contiguous
# The result has history only -> keeps_input
# x, its requires_grad -> example, keeps_input


# %% domain
@domain(
    reference,
    *("float32", "zeros", "tiny numbers", "tiny numbers, float32", "huge numbers", "huge numbers, float32"),
    *("next to one", "next to one, float32", "all inside", "all outside"),
    *("small upstream", "large upstream", "no axes", "one number", "no rows", "no columns"),
    *("transposed", "every second one", "expanded"),
    *("from an operation", "holds .grad", "constant", "recording off"),
    call=pulled_back,
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    rows, columns = draw(st.integers(3, 5)), draw(st.integers(2, 4))
    shape = {"no axes": (), "one number": (1,), "no rows": (0, 3), "no columns": (2, 0)}.get(edge, (rows, columns))
    dtype, g = torch.float32 if "float32" in edge else torch.float64, draw.make_generator(here)
    tensors, upstreams = [], []
    for _ in range(2):  # the gradients of both calls come from one pass
        size = torch.rand(shape, dtype=torch.float64, generator=g)
        beyond = torch.rand(shape, generator=g) < 0.5
        beyond = torch.full_like(beyond, edge == "all outside") if edge in ("all inside", "all outside") else beyond
        size = torch.where(beyond, 1.05 + 3 * size, 0.05 + 0.9 * size)
        if "tiny" in edge:
            size = size * (1e-36 if "float32" in edge else 1e-300)
        if "huge" in edge:
            size = size * (1e37 if "float32" in edge else 1e300)
        if "next to one" in edge:
            size = torch.ones(shape, dtype=dtype).nextafter(torch.where(beyond, 2, 0).to(dtype)).double()
        x = size * torch.where(torch.rand(shape, generator=g) < 0.5, -1.0, 1.0)
        if edge == "zeros":
            x[::2], x[1::2] = 0.0, -0.0
        if edge in ("constant", "recording off"):
            x[0] = 0.0
        x = draw.apply_layout(x.to(dtype), edge)
        x = x if edge == "constant" else draw.apply_gradient_state(x.requires_grad_(), edge)
        scale = {"small upstream": 1e-30, "large upstream": 1e12}.get(edge, 10.0)
        tensors.append(x)
        upstreams.append((scale * torch.randn(shape, dtype=torch.float64, generator=g)).to(dtype))
    return tensors, upstreams


# %% checks
with check(
    "example",
    "the example above, with an upstream gradient of 5",
    weight=2,
    required=True,
    hint=(
        "Is the value wrong, or the gradient? Does your mask come from x, or from something else?",
        "Save x in setup_context. In backward, return upstream where |x| is less than 1, and 0 elsewhere.",
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
            "the upstream gradient was clamped: the limits -1 and 1 are for x": torch.ones(4),
            "gradients pass everywhere, even where |x| > 1": torch.full((4,), 5.0),
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
    hint="What dtype does your result have? Does the mask come from x, and the rest from upstream?",
):
    arguments.assert_results(ste_sign, "", "all inside", "all outside", rtol=1e-9, atol=0)
    arguments.assert_results(ste_sign, "small upstream", "large upstream", rtol=1e-9, atol=0)
    arguments.assert_results(ste_sign, "float32", rtol=1e-6, atol=0)
with check(
    "zero",
    "zero gives 1, only the sign of a tiny number counts, and the gradient ends exactly at -1 and 1",
    weight=1,
    hint="What does torch.sign return?",
):
    arguments.assert_results(ste_sign, "zeros", "tiny numbers", "huge numbers", rtol=1e-9, atol=0)
    arguments.assert_results(ste_sign, "next to one", rtol=1e-9, atol=0)
    arguments.assert_results(ste_sign, "tiny numbers, float32", "huge numbers, float32", rtol=1e-6, atol=0)
    arguments.assert_results(ste_sign, "next to one, float32", rtol=1e-6, atol=0)
with check(
    "non_contiguous",
    "a transposed x, an empty one, a single number, and an x from an operation",
    weight=1,
    hint="Does your code need a certain layout, or a leaf?",
):
    arguments.assert_results(ste_sign, "transposed", "every second one", "expanded", rtol=1e-9, atol=0)
    arguments.assert_results(ste_sign, "no axes", "one number", "no rows", "no columns", rtol=1e-9, atol=0)
    arguments.assert_results(ste_sign, "from an operation", "holds .grad", rtol=1e-9, atol=0)
with check(
    "keeps_input",
    "x keeps its values, and no history is needed",
    guard=True,
    hint="Which calls change a tensor in place?",
):
    arguments.assert_arguments(ste_sign)
    arguments.assert_results(ste_sign, "constant", "recording off")


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


# %% wrong "torch.sign" fails=zero,keeps_input
def ste_sign(x):
    soft = F.hardtanh(x)
    return soft + (x.sign() - soft).detach()


# %% right "through the line, rounded sum"
def ste_sign(x):
    soft = x.clamp(-1, 1)
    return soft + (torch.where(x >= 0, 1.0, -1.0).to(x) - soft).detach()


# %% equivalent "LtE to Lt: return upstream * (x.abs() < 1)"
# At exactly -1 and 1 either gradient is allowed.


# %% equivalent "an argument that equals the result returned instead of it"
# Where all of x is -1 or 1: no new tensor is promised, and there either gradient holds.
