# %% given
@probes.probe
def pulled_back_twice(function, tensors, upstreams):
    """The results of an elementwise function for several tensors, their gradients, and the gradients of these.

    Each of the three comes from all tensors at once. None for what has no history, or can't be differentiated again.
    """
    results = [function(x) for x in tensors]
    if not any(result.requires_grad for result in results):
        return results, None, None
    firsts = torch.autograd.grad(results, tensors, upstreams, create_graph=True)
    try:
        seconds = torch.autograd.grad(firsts, tensors, upstreams)
    except NotImplementedError:
        raise
    except RuntimeError:
        seconds = None
    return results, firsts, seconds


# %% exercise
def log_sigmoid(x: Tensor) -> Tensor:
    """The logarithm of sigmoid(x), elementwise: values, gradients and second derivatives.

    For |x| up to 80, all three have a relative error of at most 1e-5 in float32, and of at most 1e-9 in float64.
    Farther out, up to 1e38 in float32 and 1e300 in float64, they are their limits, up to rounding: the value is x or 0,
    the gradient 1 or 0, the second derivative 0. The result has x's shape and dtype.

    Details:
    - x: any shape, including () and shapes without elements, any strides, float32 or float64, finite. It may require
      grad or not, and may be the result of recorded operations.
    - Second derivatives of a function of the result, such as its square, are right too.
    - The result has history only if x requires grad and operations are recorded.
    - x, its requires_grad and its .grad aren't changed.
    """
    ### BEGIN SOLUTION

    class LogSigmoid(torch.autograd.Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))

        @staticmethod
        def setup_context(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
            ctx.save_for_backward(*inputs)

        @staticmethod
        def backward(ctx: Any, upstream: Tensor) -> Tensor:
            (x,) = ctx.saved_tensors
            return upstream * torch.exp(LogSigmoid.apply(-x))

    result: Tensor = LogSigmoid.apply(x)
    return result
    ### END SOLUTION


# %% promises
# The logarithm of sigmoid(x) -> example, values, gradient, double_backward
# For |x| up to 80 -> values, gradient, double_backward
# Farther out -> extreme_values
# The result has x's shape -> values, gradient, double_backward, keeps_input
# Second derivatives of a -> double_backward
# x: any shape -> values, gradient, double_backward
# It may require grad -> gradient, double_backward, keeps_input
# The result has history only -> values, gradient, double_backward, keeps_input
# x, its requires_grad -> example, keeps_input


# %% domain
@domain(
    reference,
    *("float32", "tails", "near zero", "near zero, float32", "zeros", "tiny numbers"),
    *("beyond 80", "beyond 80, float32", "far out", "far out, float32"),
    *("no axes", "one number", "no rows", "no columns", "transposed", "every second one", "expanded"),
    *("from an operation", "holds .grad", "constant", "recording off"),
    call=pulled_back_twice,
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    rows, columns = draw(st.integers(3, 5)), draw(st.integers(2, 4))
    shape = {"no axes": (), "one number": (1,), "no rows": (0, 3), "no columns": (2, 0)}.get(edge, (rows, columns))
    dtype, g = torch.float32 if "float32" in edge else torch.float64, draw.make_generator(here)
    ranges = {"tails": (20, 80), "near zero": (0, 5), "zeros": (0, 0), "tiny numbers": (1e-100, 1e-90)}
    ranges |= {"beyond 80": (110, 1000), "far out": (1e30, 1e38) if dtype == torch.float32 else (1e200, 1e300)}
    low, high = ranges.get(edge.removesuffix(", float32"), (0, 80))
    tensors, upstreams = [], []
    for _ in range(2):  # the gradients of both calls come from one pass
        sizes = [torch.rand(shape, dtype=torch.float64, generator=g) for _ in range(2)]
        size = low + (high - low) * sizes[0]
        size = torch.where((size > 19) & (size < 22), size + 3, size)  # softplus is x there, to almost nine digits
        signs = [torch.where(torch.rand(shape, generator=g) < 0.5, -1.0, 1.0) for _ in range(2)]
        x = draw.apply_layout((signs[0] * size).to(dtype), edge)
        tensors.append(x if edge == "constant" else draw.apply_gradient_state(x.requires_grad_(), edge))
        upstreams.append((signs[1] * (0.5 + 2 * sizes[1])).to(dtype))
    return tensors, upstreams


# %% checks
with check(
    "example",
    "values and gradients at -100, 0 and 30",
    weight=2,
    required=True,
    hint=(
        "At which of -100, 0 and 30 is it wrong, and is it the value or the gradient?",
        "Which operations keep their digits there: log1p for a small number, sigmoid(-x) instead of 1 - sigmoid(x)?",
    ),
):
    t = torch.tensor([-100.0, 0.0, 30.0], requires_grad=True)
    t_up = torch.tensor([2.0, -4.0, 3.0])
    want = torch.tensor([-100.0, -0.6931471805599453, -9.357622968839737e-14])
    want_grad = torch.tensor([2.0, -2.0, 2.807286890651921e-13])
    got = log_sigmoid(t)
    explain(
        got,
        want,
        {
            "sigmoid(-100) is 0 in float32, and has no logarithm": t.detach().sigmoid().log(),
            "a small number was added, and is all that is left of sigmoid(-100)": (t.detach().sigmoid() + 1e-7).log(),
        },
        rtol=1e-5,
        atol=0,
    )
    assert got.requires_grad, "your result has no history"
    got.backward(t_up)
    explain(
        t.grad,
        want_grad,
        {
            "1 - sigmoid(30) has no digits left: which other formula gives the same number?": t_up
            * torch.tensor([1.0, 0.5, 0.0]),
            "the upstream gradient was not used": torch.tensor([1.0, 0.5, 9.357622968839737e-14]),
            "where differentiates both sides": t_up * torch.tensor([float("nan"), 0.5, 9.357622968839737e-14]),
            "at 0 the slope is 0.5: two kinks meet there, and must cancel": t_up
            * torch.tensor([1.0, 1.0, 9.357622968839737e-14]),
        },
        rtol=1e-5,
        atol=0,
        name="the gradient",
    )

# %% hidden checks


def compare_parts(answer, place, rtol, *edges):
    """Compare the results, and the part at this place: 0 are the results, 1 the gradients, 2 the second derivatives."""
    for trial in arguments.iter_trials(answer, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got[0], want[0], rtol=rtol, atol=0)
        assert_close(got[place], want[place], rtol=rtol, atol=0, name="a derivative")


with check(
    "values",
    "values from -80 to 80, float32 and float64",
    weight=2,
    required=True,
    hint="On which side does exp overflow? Where does 1 swallow a small number?",
):
    compare_parts(log_sigmoid, 0, 1e-9, "", "tails", "near zero", "zeros", "tiny numbers")
    compare_parts(log_sigmoid, 0, 1e-9, "transposed", "every second one", "expanded")
    compare_parts(log_sigmoid, 0, 1e-9, "no axes", "one number", "no rows", "no columns")
    compare_parts(log_sigmoid, 0, 1e-5, "float32", "near zero, float32")
with check(
    "gradient",
    "gradients from -80 to 80, float32 and float64",
    weight=3,
    required=True,
    hint="Compare your gradient with sigmoid(-x), relative to its size.",
):
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        t, t_2 = torch.linspace(-80, 80, 161, dtype=dtype), torch.linspace(-3, 3, 8, dtype=dtype).reshape(2, 4)
        t_up, t_up_2 = torch.linspace(3, -2, 161, dtype=dtype), torch.linspace(-1, 2, 8, dtype=dtype).reshape(2, 4)
        want, want_grad = (part.to(dtype) for part in true_log_sigmoid(t)[:2])
        want_2, want_grad_2 = (part.to(dtype) for part in true_log_sigmoid(t_2)[:2])
        want_grads = t_up * want_grad, t_up_2 * want_grad_2
        t_lost = t_up * (1 - t.sigmoid()), t_up_2 * (1 - t_2.sigmoid())
        t, t_2 = t.requires_grad_(), t_2.requires_grad_()
        got = [log_sigmoid(t), log_sigmoid(t_2)]
        assert_close(got, [want, want_2], rtol=rtol, atol=0)
        explain(
            torch.autograd.grad(got, (t, t_2), (t_up, t_up_2)),
            want_grads,
            {"this is 1 - sigmoid(x)": t_lost},
            rtol=rtol,
            atol=0,
            name="your gradients",
        )
    compare_parts(log_sigmoid, 1, 1e-9, "", "tails", "near zero", "zeros", "tiny numbers")
    compare_parts(log_sigmoid, 1, 1e-9, "from an operation", "holds .grad", "transposed", "every second one")
    compare_parts(log_sigmoid, 1, 1e-9, "expanded", "no axes", "one number", "no rows", "no columns")
    compare_parts(log_sigmoid, 1, 1e-5, "float32", "near zero, float32")
with check(
    "double_backward",
    "second derivatives from -80 to 80",
    weight=3,
    hint="How does autograd differentiate what your backward does? Where is 1 - sigmoid hidden in it?",
):
    compare_parts(log_sigmoid, 2, 1e-9, "", "tails", "near zero", "zeros", "tiny numbers")
    compare_parts(log_sigmoid, 2, 1e-9, "from an operation", "transposed", "no axes", "no rows")
    compare_parts(log_sigmoid, 2, 1e-5, "float32", "near zero, float32")
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        # Half of its square: the upstream gradient depends on x too.
        t = torch.linspace(-40, 40, 81).to(dtype).requires_grad_()
        want, want_first, want_second = true_log_sigmoid(t)
        want = (want_first**2 + want * want_second).to(dtype)
        (got,) = torch.autograd.grad(log_sigmoid(t).square().sum() / 2, t, create_graph=True)
        assert got.requires_grad, "your gradient has no history"
        (got,) = torch.autograd.grad(got.sum(), t)
        assert_close(got, want, rtol=10 * rtol, atol=0, name="the second derivative of its square")
with check(
    "extreme_values", "far out nothing is NaN or infinite", weight=2, hint="What does your formula do with exp(1000)?"
):
    arguments.assert_results(log_sigmoid, "beyond 80", "beyond 80, float32", "far out", "far out, float32")
with check(
    "keeps_input",
    "x isn't changed, and a constant x is fine",
    guard=True,
    hint="Is anything done in place?",
):
    arguments.assert_arguments(log_sigmoid)
    arguments.assert_results(log_sigmoid, "constant", "recording off", rtol=1e-9, atol=0)


# %% right "harmless inputs on both sides of where"
def log_sigmoid(x):
    low, high = x.clamp(max=0), x.clamp(min=0)
    return torch.where(x >= 0, -torch.log1p(torch.exp(-high)), low - torch.log1p(torch.exp(low)))


# %% right "a Function for the slope as well"
class Slope(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sigmoid(-x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return -g * torch.sigmoid(x) * torch.sigmoid(-x)


class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return -torch.logaddexp(torch.zeros_like(x), -x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * Slope.apply(x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong "the formula as it is defined" fails=example,values,gradient,double_backward,extreme_values,keeps_input
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x))


# %% wrong "a small number for safety" fails=example,values,gradient,double_backward,extreme_values,keeps_input
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x) + 1e-7)


# %% wrong "1 - sigmoid in backward" fails=example,gradient,double_backward
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (1 - torch.sigmoid(x))


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong "where, with both formulas on all of x" fails=example,extreme_values
def log_sigmoid(x):
    return torch.where(x >= 0, -torch.log1p(torch.exp(-x)), x - torch.log1p(torch.exp(x)))


# %% wrong "clamp and the absolute value: a kink at 0" fails=example,gradient,double_backward
def log_sigmoid(x):
    return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))


# %% wrong "sigmoid(-x) in backward, and upstream forgotten" fails=example,gradient,double_backward,extreme_values
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return torch.sigmoid(-x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% right "the kinks taken on one side"
def log_sigmoid(x):
    m = torch.where(x > 0, 0, x)
    a = torch.where(x > 0, x, -x)
    return m - torch.log1p(torch.exp(-a))
