# %% given
def reversed_cubes(reverse, lam):
    """A function from a vector to a number, with reverse between the vector and its cubes."""
    return lambda vector: (reverse(vector, lam) ** 3).sum()


@probes.probe
def reversed_ways(reverse, x, upstream, first, second, third):
    """The gradient by x of three paths to one sum: reversed by first and second, by third, and not at all."""
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
    """x in the forward pass, and -lam times the upstream gradient in the backward pass.

    The result has x's shape and dtype, and exactly x's values. A gradient that reaches x along another path isn't
    reversed. Works under torch.func.grad too, and when torch.func.vmap runs such a gradient for each row of a batch.

    Details:
    - x: any shape, including () and shapes without elements, any strides, float32 or float64; it may contain NaN. It
      may require grad or not, and may be the result of recorded operations.
    - lam: an int or float from 0 to 100.
    - The result has exactly x's values even if they're infinite or near the dtype's largest number; it may share x's
      memory. It requires grad only if x does. Inside torch.no_grad(), either is fine.
    - x, its requires_grad and its .grad aren't changed.
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


# %% promises
# x in the forward -> example, other_cases, two_in_row
# The result has x's shape -> other_cases, extreme_values
# A gradient that reaches x -> example, two_in_row, keeps_input
# Works under torch.func.grad -> torch_func
# x: any shape -> other_cases, extreme_values, keeps_input
# It may require grad -> other_cases, keeps_input
# lam: an int or float -> other_cases
# The result has exactly -> other_cases, extreme_values
# It requires grad only -> keeps_input
# Inside torch.no_grad(), either -> keeps_input
# x, its requires_grad -> example, two_in_row, keeps_input


# %% domain
@domain(
    reference,
    *("float32", "lam 0", "lam 1", "lam 100", "infinite values", "NaN", "huge numbers", "huge numbers, float32"),
    *("no axes", "one number", "no rows", "no columns", "transposed", "every second one", "expanded"),
    *("from an operation", "holds .grad", "constant", "recording off"),
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    shape = {"no axes": (), "one number": (1,), "no rows": (0, 3), "no columns": (2, 0)}.get(
        edge, (draw(st.integers(2, 4)), draw(st.integers(3, 4)))
    )
    x = torch.randn(shape, dtype=torch.float64, generator=draw.make_generator(here))
    if edge == "infinite values":
        x[:, 0], x[:, 1] = math.inf, -math.inf
    if edge == "NaN":
        x[:, draw(st.integers(0, 2))] = math.nan
    if "huge" in edge:
        x = x.sign() * (0.9 * torch.finfo(torch.float32 if "float32" in edge else torch.float64).max)
    x = draw.apply_layout(x.float() if "float32" in edge else x, edge)
    lam = {"lam 0": 0.0, "lam 1": 1, "lam 100": 100}.get(edge, draw(st.sampled_from([0.1, 0.7, 2.3, 33.3])))
    return x if edge == "constant" else draw.apply_gradient_state(x.requires_grad_(), edge), lam


@domain(reference, "float32", "small upstream", "large upstream", "equal numbers", call=reversed_ways)
def ways(draw, edge):
    n, g, dtype = (
        draw(st.integers(2, 4)),
        draw.make_generator(here),
        torch.float32 if edge == "float32" else torch.float64,
    )
    scale = {"small upstream": 1e-30, "large upstream": 1e12}.get(edge, 10.0)
    x, upstream = (torch.randn(n, dtype=dtype, generator=g) for _ in range(2))
    lams = [0.3] * 3 if edge == "equal numbers" else draw(st.permutations([0.3, 2.0, 7.1]))
    return x, scale * upstream, *lams


@domain(reference, "float32", "one row", "one column", "lam 1", call=reversed_for_each)
def rows(draw, edge):
    n, m = 1 if edge == "one row" else draw(st.integers(2, 4)), 1 if edge == "one column" else draw(st.integers(2, 4))
    x = torch.randn(n, m, dtype=torch.float64, generator=draw.make_generator(here))
    lam = 1.0 if edge == "lam 1" else draw(st.sampled_from([0.1, 0.7, 2.3]))
    return x.float() if edge == "float32" else x, lam


# %% checks
with check(
    "example",
    "x in the forward pass, and -0.5 times the gradient in the backward pass",
    weight=2,
    required=True,
    hint=(
        "Is the value wrong, or the gradient? What is the upstream gradient here, and where does it go?",
        "The upstream gradient is 2 * x here. backward returns it times -lam, which setup_context saved in ctx.",
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
            "the gradient is scaled, but not reversed": torch.tensor([1.0, -2.0, 3.0]),
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
    hint="What happens to upstream gradients? Is lam or the gradient converted to float32?",
):
    arguments.assert_results(grad_reverse, "", "float32", "lam 0", "lam 1", "lam 100", rtol=0, atol=0)
    arguments.assert_gradients(grad_reverse, "", "lam 0", "lam 1", "lam 100", rtol=1e-9, atol=0)
    arguments.assert_gradients(grad_reverse, "float32", rtol=1e-6, atol=0)
    more = "transposed", "every second one", "expanded", "no axes", "one number", "from an operation", "holds .grad"
    arguments.assert_results(grad_reverse, *more, rtol=0, atol=0)
    arguments.assert_gradients(grad_reverse, *more, rtol=1e-9, atol=0)
with check(
    "two_in_row",
    "two in a row, and only one of two paths reversed",
    weight=2,
    required=True,
    hint="Is lam kept for each call, or once? What does a hook on x do to other paths through x?",
):
    ways.assert_results(grad_reverse, "", "small upstream", "large upstream", "equal numbers", rtol=1e-9, atol=0)
    ways.assert_results(grad_reverse, "float32", rtol=1e-5, atol=0)
with check(
    "torch_func",
    "under torch.func.grad, and vmap over it",
    weight=2,
    hint="Is there setup_context? Which attribute does vmap look for?",
):
    rows.assert_results(grad_reverse, "", "float32", "one row", "one column", "lam 1")
with check(
    "extreme_values",
    "infinite and very large values are preserved",
    weight=1,
    hint="What is inf - inf? And 100 times 3e38, in float32?",
):
    extreme = "infinite values", "NaN", "huge numbers", "huge numbers, float32"
    arguments.assert_results(grad_reverse, *extreme, rtol=0, atol=0)
    arguments.assert_gradients(grad_reverse, *extreme)
with check(
    "keeps_input",
    "x keeps its values, and an empty or constant x is fine",
    guard=True,
    hint="Is anything done in place?",
):
    arguments.assert_arguments(grad_reverse)
    arguments.assert_results(grad_reverse, "no rows", "no columns", "constant", "recording off")
    arguments.assert_gradients(grad_reverse, "no rows", "no columns", "constant")


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


# %% equivalent "call of view_as left out: return x"
# Where forward hands back an input as it is, apply makes a view of it.
