# %% exercise
def soft_gate(x: Tensor, w: Tensor) -> Tensor:
    """h * log(1 + exp(h)) with h = x * w, differentiable with respect to x and w.

    x is (n, d), and w is (d,). Returns a new tensor (n, d).

    Details:
    - x, w: both float32 or both float64, with any strides. n and d may be 0. The products are between -20 and 20.
    - x and w may require grad or not, and may be results of operations. They and their .grad aren't changed.
    """
    ### BEGIN SOLUTION
    h = x * w
    g = h.exp() + 1  # exp keeps its output, so the sum needs its own memory
    h *= g.log()  # no node keeps h
    return h
    ### END SOLUTION


# %% promises
# h * log(1 + exp(h)) -> values, gradient_x, other_cases, gradient, either_alone
# x is (n, d) -> other_cases, gradient, keeps_input
# Returns a new tensor -> either_alone, keeps_input
# x, w: both float32 -> other_cases, gradient
# n and d may be 0 -> keeps_input
# The products are -> other_cases, gradient
# x and w may require -> either_alone
# They and their -> keeps_input


# %% domain
@domain(
    reference,
    *("float32", "large products", "zeros in x", "zeros in w", "square"),
    *("one row", "one column", "no rows", "no columns", "transposed", "every second one", "expanded"),
    *("neither requires grad", "neither requires grad, no rows", "neither requires grad, only zeros", "only zeros"),
    *("only x requires grad", "only w requires grad", "from operations", "hold .grad"),
)
def arguments(draw, edge):
    n, d = draw(st.integers(2, 4)), draw(st.integers(2, 4))
    n = 1 if edge == "one row" else 0 if "no rows" in edge else n
    d = {"one column": 1, "no columns": 0, "square": n}.get(edge, d + (n == d))
    n, d = (2, 3) if edge == "neither requires grad" else (n, d)  # two inputs of one size
    g = draw.make_generator(here)
    x, w = (torch.rand(size, dtype=torch.float64, generator=g) * 4 - 2 for size in ((n, d), (d,)))
    if edge == "large products":
        x += 8 * x.sign()
        w[0], x[0, 0], x[1, 0] = 2.0, 10.0, -10.0
    if edge == "zeros in x":
        x[::2] = 0.0
    if "only zeros" in edge:
        x.zero_()
    if edge == "zeros in w":
        w[::2] = 0.0
    x, w = ((t.float() if edge == "float32" else t) for t in (x, w))
    x, w = draw.apply_layout(x, edge), draw.apply_layout(w, edge)
    x.requires_grad_("neither" not in edge and edge != "only w requires grad")
    w.requires_grad_("neither" not in edge and edge != "only x requires grad")
    if edge == "from operations":
        x, w = x * 1, w * 1
    if edge == "hold .grad":
        x.grad, w.grad = torch.full_like(x, 1000.0), torch.full_like(w, float("nan"))
    return x, w


# %% checks
with check(
    "values",
    "the values are as before",
    required=True,
    hint=(
        "h is used twice. Does it still hold x * w at its second use?",
        "Write to h only when nothing needs x * w anymore. Which of your calls end in an underscore?",
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
        "Which tensor does exp keep for its derivative? Does any line write to it, or hide a write from autograd?",
        "Use neither .data nor detach(). Give the sum with 1 its own memory; a recorded write to h may stay.",
    ),
):
    t, t_w = torch.tensor([[1.0, -2.0], [0.5, 3.0]], requires_grad=True), torch.tensor([2.0, 0.5])
    h = t.detach() * t_w
    gate, slope = h.exp().add(1).log(), h.sigmoid()
    want = t_w * (gate + h * slope)
    got = soft_gate(t, t_w)
    assert_close(got.detach(), h * gate)
    assert got.requires_grad, "your result doesn't require grad"
    (got,) = torch.autograd.grad(got.sum(), t)
    explain(
        got,
        want,
        {
            "this is only the gradient of x * w: the write to h wasn't recorded": t_w.expand(2, 2),
            "exp's node computed with g + 1: the write to g wasn't counted": t_w * (gate + h),
            "the gate was treated as a constant": t_w * gate,
        },
    )

# %% hidden checks
with check(
    "other_cases",
    "values for other shapes, large and small products, and float32",
    weight=2,
    required=True,
    hint="Is each number of the result computed from x and w?",
):
    arguments.assert_results(soft_gate, "", "float32", "large products", "zeros in x", "zeros in w", "square")
    arguments.assert_results(soft_gate, "one row", "one column", "transposed", "every second one", "expanded")
with check(
    "gradient",
    "the gradients for x and w are complete",
    weight=4,
    required=True,
    hint="On which paths does h reach the result?",
):
    arguments.assert_results(soft_gate, "")
    arguments.assert_gradients(soft_gate, "", "float32", "large products", "zeros in x", "zeros in w", "square")
    arguments.assert_gradients(soft_gate, "only zeros", "no rows", "no columns")
    arguments.assert_gradients(soft_gate, "one row", "one column", "transposed", "every second one", "expanded")
with check(
    "either_alone",
    "only x, only w or neither may require grad",
    weight=2,
    hint="Does any line of your code need a recorded input?",
):
    for edges in (("only x requires grad", "only w requires grad"), ("neither requires grad", "from operations")):
        arguments.assert_results(soft_gate, *edges)
        arguments.assert_gradients(soft_gate, *edges)
with check(
    "keeps_input",
    "x and w aren't changed, and x may be empty",
    guard=True,
    hint="Which line writes to an argument?",
):
    arguments.assert_results(soft_gate, "no rows", "no columns", "neither requires grad, no rows", "hold .grad")
    arguments.assert_results(soft_gate, "neither requires grad, only zeros", "only zeros")
    arguments.assert_arguments(soft_gate)
    arguments.assert_memory(soft_gate)


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


# %% wrong "detach() takes the trouble away" fails=gradient_x,gradient,either_alone
def soft_gate(x, w):
    h = x * w
    g = (h.detach().exp() + 1).log()
    return h * g


# %% wrong "x can hold the product where it needs no gradient" fails=keeps_input
def soft_gate(x, w):
    h = x * w if x.requires_grad or w.requires_grad else x.mul_(w)
    g = h.exp() + 1
    h *= g.log()
    return h


# %% right "logsumexp with a second slice of zeros"
def soft_gate(x, w):
    h = x * w
    return h * torch.stack([h, torch.zeros_like(h)]).logsumexp(0)
