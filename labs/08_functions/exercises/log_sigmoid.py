# %% exercise
def log_sigmoid(x: Tensor) -> Tensor:
    """The logarithm of sigmoid(x), elementwise: values, gradients and second derivatives.

    x: any shape, float32 or float64, finite. The result has x's shape and dtype. For |x| up to 80, all three have a
    relative error of at most 1e-5 in float32, and of at most 1e-9 in float64. Beyond, they are finite, and as close as
    the dtype allows to their limits: the value to x or 0, the gradient to 1 or 0, the second derivative to 0. x stays
    as it is.
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


# %% checks
with check(
    "example",
    "values and gradients at -100, 0 and 30",
    weight=2,
    required=True,
    hint=(
        "At which of -100, 0 and 30 is it wrong, and is it the value or the gradient?",
        "Which operations keep their digits there: log1p for a small number, sigmoid(-x) in place of 1 - sigmoid(x)?",
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
            "1 - sigmoid(30) has no digit left: which other form has the same number?": t_up
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
with check(
    "values",
    "values from -80 to 80, float32 and float64",
    weight=2,
    required=True,
    hint="On which side does exp overflow? Where does 1 swallow a small number?",
):
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        t_all = torch.linspace(-80, 80, 161, dtype=dtype)
        for t in (t_all, torch.linspace(-2, 2, 12, dtype=dtype).reshape(3, 4).T, t_all[77]):
            want = true_log_sigmoid(t)[0].to(dtype)
            assert_close(log_sigmoid(t), want, rtol=rtol, atol=0)
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
with check(
    "double_backward",
    "second derivatives from -80 to 80",
    weight=3,
    hint="How does autograd differentiate what your backward does? Where is 1 - sigmoid hidden in it?",
):
    for dtype, rtol in ((torch.float32, 1e-5), (torch.float64, 1e-9)):
        t = torch.linspace(-80, 80, 81).to(dtype).requires_grad_()
        want, want_second = true_log_sigmoid(t)[0].to(dtype), -2 * true_log_sigmoid(t)[2].to(dtype)
        got = log_sigmoid(t)
        assert_close(got, want, rtol=rtol, atol=0)
        (got,) = torch.autograd.grad(got.sum(), t, create_graph=True)
        assert got.requires_grad, "your gradient has no history"
        (got,) = torch.autograd.grad(got, t, torch.full_like(got, -2.0))
        assert_close(got, want_second, rtol=rtol, atol=0, name="the second derivative")
        # Half of its square: the upstream gradient depends on x too.
        t = torch.linspace(-40, 40, 81).to(dtype).requires_grad_()
        want, want_first, want_second = true_log_sigmoid(t)
        want = (want_first**2 + want * want_second).to(dtype)
        (got,) = torch.autograd.grad(log_sigmoid(t).square().sum() / 2, t, create_graph=True)
        (got,) = torch.autograd.grad(got.sum(), t)
        assert_close(got, want, rtol=10 * rtol, atol=0, name="the second derivative of its square")
with check(
    "extreme_values", "far out nothing is NaN or infinite", weight=2, hint="What does your formula do with exp(1000)?"
):
    for dtype in (torch.float32, torch.float64):
        t = torch.tensor([-1e4, -1000.0, 1000.0, 1e4], dtype=dtype, requires_grad=True)
        want = t.detach().clamp(max=0)
        got = log_sigmoid(t)
        assert_close(got, want)
        (got,) = torch.autograd.grad(got.sum(), t, create_graph=True)
        assert_close(got, torch.tensor([1, 1, 0, 0], dtype=dtype), name="the gradient")
        (got,) = torch.autograd.grad(got.sum(), t)
        assert_close(got, torch.zeros(4, dtype=dtype), name="the second derivative")
with check("keeps_input", "x keeps its values, and an empty x is fine", guard=True, hint="Is anything done in place?"):
    t = torch.tensor([1.0, -2.0])
    assert_close(unchanged(log_sigmoid, t), torch.tensor([-0.31326169, -2.12692801]))
    assert_close(log_sigmoid(torch.empty(0, 2)), torch.empty(0, 2))


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


# %% wrong "the library's, which is right to first order" fails=double_backward
def log_sigmoid(x):
    return F.logsigmoid(x)


# %% wrong "softplus of the negative" fails=double_backward
def log_sigmoid(x):
    return -F.softplus(-x)


# %% wrong "the formula as it is defined" fails=example,values,gradient,double_backward,extreme_values
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x))


# %% wrong "a small number for safety" fails=example,values,gradient,double_backward,extreme_values
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


# %% wrong "minimum, whose gradient at 0 is a half" fails=double_backward
def log_sigmoid(x):
    return torch.minimum(x, torch.zeros_like(x)) - torch.log1p(torch.exp(-x.abs()))


# %% wrong "sigmoid(-x) in backward, and upstream forgotten" fails=example,gradient,double_backward
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


# %% wrong "sigmoid(-x) in backward, and no thought for the next derivative" fails=double_backward
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return F.logsigmoid(x)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * torch.sigmoid(-x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong "everything in float64, and back" fails=example,values,gradient,double_backward,extreme_values
def log_sigmoid(x):
    return torch.log(torch.sigmoid(x.double())).to(x.dtype)


# %% wrong "clamped to a range where nothing happens" fails=example,double_backward,extreme_values
def log_sigmoid(x):
    return -torch.log1p(torch.exp(-x.clamp(-80, 80)))


# %% right "the kinks taken on one side"
def log_sigmoid(x):
    m = torch.where(x > 0, 0, x)
    a = torch.where(x > 0, x, -x)
    return m - torch.log1p(torch.exp(-a))


# %% wrong "upstream detached" fails=double_backward
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(x):
        return F.logsigmoid(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g.detach() * LogSigmoid.apply(-x).exp()


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong "logaddexp" fails=double_backward,extreme_values
def log_sigmoid(x):
    return -torch.logaddexp(torch.zeros_like(x), -x)


# %% wrong "x of the last call, in a class attribute" fails=gradient,double_backward raises=RuntimeError
class LogSigmoid(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        LogSigmoid.x = x
        return x.clamp(max=0) - torch.log1p(torch.exp(-x.abs()))

    @staticmethod
    def backward(ctx, g):
        return g * torch.sigmoid(-LogSigmoid.x)


def log_sigmoid(x):
    return LogSigmoid.apply(x)


# %% wrong "float32 inside, and back" fails=values,gradient,double_backward
def log_sigmoid(x):
    low, high = x.float().clamp(max=0), x.float().clamp(min=0)
    return torch.where(x >= 0, -torch.log1p(torch.exp(-high)), low - torch.log1p(torch.exp(low))).to(x.dtype)


# %% equivalent "an argument that equals the result returned instead of it"
# Where x is so low that the result equals it to the bit. The gradient is 1 there, and no new tensor is promised.
