# %% exercise
def soft_gate(x: Tensor, w: Tensor) -> Tensor:
    """h * log(1 + exp(h)) with h = x * w, differentiable for x and w.

    x (n, d), w (d,), both float32 or both float64; n may be 0. The products lie between -20 and 20. Either may require
    grad or not. Returns (n, d). x and w stay as they are.
    """
    ### BEGIN SOLUTION
    h = x * w
    g = h.exp() + 1  # exp keeps its output, so the sum needs memory of its own
    h *= g.log()  # nobody keeps h
    return h
    ### END SOLUTION


# %% checks
with check(
    "values",
    "the values are as before",
    required=True,
    hint=(
        "h is used twice. Does it still hold x * w at its second use?",
        "A write to h may come only where nobody needs x * w again. Which of your calls end in an underscore?",
    ),
):
    t, t_w = torch.tensor([[1.0, -2.0], [0.5, 3.0]]), torch.tensor([2.0, 0.5])
    want = soft_gate_broken(t.clone(), t_w).clone()
    assert_close(soft_gate(t, t_w), want)
with check(
    "gradient_x",
    "the gradient for x is the slope",
    weight=2,
    required=True,
    hint=(
        "Which tensor does exp keep for its derivative? Does a line write to it, or hide from autograd?",
        "No .data and no detach(). Let the sum with 1 have memory of its own; a recorded write to h may stay.",
    ),
):
    t, t_w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), torch.tensor([2.0, 0.5])
    h = t.detach() * t_w
    gate, slope = h.exp().add(1).log(), h.sigmoid()
    want = t_w * (gate + h * slope)
    got = soft_gate(t, t_w)
    assert_close(got.detach(), h * gate)
    assert got.requires_grad, "your result does not require grad"
    (got,) = torch.autograd.grad(got.sum(), t)
    explain(
        got,
        want,
        {
            "the gradient is that of x * w alone: the write to h was not recorded": t_w.expand(2, 2),
            "exp's node computed with g + 1: the write to g was not counted": t_w * (gate + h),
            "the gate was treated as a constant": t_w * gate,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "values for other shapes, large and small products, and float64",
    weight=2,
    required=True,
    hint="Does each number of the result come from x and w?",
):
    for dtype in (torch.float32, torch.float64):
        t = torch.linspace(-4, 5, 12, dtype=dtype).reshape(3, 4).T
        t_w = torch.tensor([3.0, -0.5, 4.0], dtype=dtype)
        h = t * t_w
        want = h * h.exp().add(1).log()
        assert_close(soft_gate(t, t_w), want)
with check(
    "gradient",
    "the gradients for x and w are complete",
    weight=4,
    required=True,
    hint="On which paths does h reach the result?",
):
    weight = torch.tensor([[3.0, -1.0, 0.5], [2.0, 0.1, -4.0]], dtype=torch.float64)
    for t in (torch.linspace(-2, 3, 6, dtype=torch.float64).reshape(2, 3), torch.zeros(2, 3, dtype=torch.float64)):
        t_w = torch.tensor([0.7, -1.5, 2.0], dtype=torch.float64)
        h = t * t_w
        inner = weight * (h.exp().add(1).log() + h * h.sigmoid())
        value, want = h * h.exp().add(1).log(), (inner * t_w, (inner * t).sum(0))
        t.requires_grad_(), t_w.requires_grad_()
        got = soft_gate(t, t_w)
        assert_close(got.detach(), value)
        assert_close(torch.autograd.grad((got * weight).sum(), (t, t_w)), want)
with check(
    "either_alone",
    "either argument alone may require grad, or none",
    weight=2,
    hint="Does a line of your code need a recorded input?",
):
    t, t_w = torch.tensor([[1.0, -2.0, 0.5]]), torch.tensor([2.0, 0.5, -1.0])
    h = t * t_w
    inner = h.exp().add(1).log() + h * h.sigmoid()
    want, want_x, want_w = h * h.exp().add(1).log(), inner * t_w, (inner * t).sum(0)
    t_grad, w_grad = t.clone().requires_grad_(), t_w.clone().requires_grad_()
    (got,) = torch.autograd.grad(soft_gate(t_grad, t_w).sum(), t_grad)
    assert_close(got, want_x)
    (got,) = torch.autograd.grad(soft_gate(t, w_grad).sum(), w_grad)
    assert_close(got, want_w)
    got = soft_gate(t, t_w)
    assert_close(got, want)
    assert not got.requires_grad, "with neither, your result requires grad"
with check(
    "keeps_input",
    "x and w keep their values, and an empty x is fine",
    guard=True,
    hint="Which line writes to an argument?",
):
    t_w = torch.tensor([2.0, 0.5])
    unchanged(soft_gate, torch.tensor([[1.0, -2.0]]), t_w)
    assert_close(soft_gate(torch.empty(0, 2), t_w), torch.empty(0, 2))


# %% right "nothing in place"
def soft_gate(x, w):
    h = x * w
    return h * torch.log(1 + torch.exp(h))


# %% right "softplus"
def soft_gate(x, w):
    h = torch.einsum("nd,d->nd", x, w)
    return h * torch.nn.functional.softplus(h)


# %% right "a clone before the write"
def soft_gate(x, w):
    h = x * w
    g = h.exp().clone()
    g += 1
    g = g.log()
    h.mul_(g)
    return h


# %% right "log1p works in place on a fresh product, and reuses nothing"
def soft_gate(x, w):
    h = w * x
    return h.exp().log1p().mul(h)


# %% right "a Function with its own derivative"
class SoftGate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, h):
        ctx.save_for_backward(h)
        return h * torch.nn.functional.softplus(h)

    @staticmethod
    def backward(ctx, grad):
        (h,) = ctx.saved_tensors
        return grad * (torch.nn.functional.softplus(h) + h * h.sigmoid())


def soft_gate(x, w):
    return SoftGate.apply(x * w)


# %% wrong "the version counter is a nuisance" fails=gradient_x,gradient,either_alone
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g.data += 1
    g = g.log()
    h.data *= g
    return h


# %% wrong "only one .data has to go" fails=gradient_x,gradient,either_alone
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g.data += 1
    h *= g.log()
    return h


# %% wrong "a recorded write is always safe" fails=gradient_x,gradient,either_alone raises=RuntimeError
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g += 1
    h *= g.log()
    return h


# %% wrong "detach() takes the trouble away" fails=gradient_x,gradient,either_alone
def soft_gate(x, w):
    h = x * w
    g = (h.detach().exp() + 1).log()
    return h * g


# %% wrong "no_grad for the writes" fails=gradient_x,gradient,either_alone raises=RuntimeError
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    with torch.no_grad():
        g += 1
    return h * g.log()


# %% wrong "the clone afterwards" fails=gradient_x,gradient,either_alone raises=RuntimeError
def soft_gate(x, w):
    h = x * w
    g = h.exp()
    g += 1
    g = g.clone().log()
    return h * g


# %% wrong "x can hold the product where it needs no gradient" fails=keeps_input
def soft_gate(x, w):
    h = x * w if x.requires_grad or w.requires_grad else x.mul_(w)
    g = h.exp() + 1
    h *= g.log()
    return h


# %% wrong "h was overwritten before its second use" fails=values,gradient_x,other_cases,gradient,either_alone
def soft_gate(x, w):
    h = x * w
    g = h.exp_()
    return h * (g + 1).log()


# %% right "logsumexp with a second slice of zeros"
def soft_gate(x, w):
    h = x * w
    return h * torch.stack([h, torch.zeros_like(h)]).logsumexp(0)
