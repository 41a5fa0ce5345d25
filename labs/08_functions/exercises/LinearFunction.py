# %% given
def linear_inputs(n, i, o, seed, dtype=torch.float32):
    """x, weight, bias and an upstream gradient."""
    generator = torch.Generator(here).manual_seed(seed)
    return [torch.randn(size, dtype=dtype, generator=generator) for size in ((n, i), (o, i), (o,), (n, o))]


def apply_of(function):
    """apply, as autograd makes it of the three methods."""
    methods = {name: staticmethod(getattr(function, name)) for name in ("forward", "setup_context", "backward")}
    return type(function.__name__, (torch.autograd.Function,), methods).apply


def leaves_of(tensors, needed):
    """The tensors as leaves over the same memory, of which the needed ones (indices) require grad."""
    return [None if t is None else t.detach().requires_grad_(n in needed) for n, t in enumerate(tensors)]


@probes.probe
def applied(function, tensors, needed, upstream, changed=None):
    """The result of apply, and the gradients of the needed tensors from the first of two backward passes.

    changed: the index of a tensor of which one element is changed in place between the passes.
    """
    leaves = leaves_of(tensors, needed)
    apply = apply_of(function)
    result = apply(*leaves)
    apply(*[None if t is None else 2 * t.detach() for t in tensors])  # the two may share nothing
    if changed is not None:
        with torch.no_grad():
            leaves[changed][-1, -1] += 1
    result.backward(upstream, retain_graph=True)
    grads = [None if leaves[n].grad is None else leaves[n].grad.clone() for n in needed]
    result.backward(upstream)  # added to .grad, in place
    return result.detach(), grads


@probes.probe
def backward_flops(function, tensors, needed, upstream):
    """The multiplications and additions of the matrix products in the backward pass."""
    result = apply_of(function)(*leaves_of(tensors, needed))
    with FlopCounterMode(display=False) as counter:
        result.backward(upstream)
    return counter.get_total_flops()


@probes.probe
def differentiated_twice(function, tensors, needed):
    """The gradients of the needed tensors are squared and summed: the gradients of that sum."""
    leaves = leaves_of(tensors, needed)
    wanted = [leaves[n] for n in needed]
    first = torch.autograd.grad(apply_of(function)(*leaves).sin().sum(), wanted, create_graph=True)
    return torch.autograd.grad(sum(part.square().sum() for part in first), wanted)


@probes.probe
def through_func(function, x, weight, bias):
    """torch.func.grad of the sum of the squares, by weight and bias."""
    return torch.func.grad(lambda w, b: apply_of(function)(x, w, b).square().sum(), argnums=(0, 1))(weight, bias)


# %% exercise
class LinearFunction(torch.autograd.Function):
    """x @ weight.T + bias, with its own backward.

    LinearFunction.apply(x, weight, bias) takes x (n, i), weight (o, i), and bias, which is (o,) or None. backward
    computes one matrix product for each gradient of x and weight that is needed, and no other of that size.

    Details:
    - x, weight, bias: all of the same dtype, float32 or float64, any strides. n may be 0, i and o are at least 1. Each
      of the three may require grad or not. They and the upstream gradient, which may also have any strides, keep their
      values, even if a second backward pass adds to .grad.
    - A smaller matrix product in backward, such as ones @ upstream for the bias, is allowed.
    - There may be other calls between a call and its backward.
    - Gradients may be differentiated again, and torch.func.grad works.
    - If x was changed in place between the two passes and the gradient of weight is needed, backward raises
      RuntimeError, as it does if weight was changed and the gradient of x is needed. If the changed tensor isn't
      needed, backward may or may not raise RuntimeError.
    - The checks wrap your three methods in their own Function, so overriding apply has no effect.
    """

    @staticmethod
    def forward(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The result, (n, o)."""
        ### BEGIN SOLUTION
        result = x @ weight.T
        return result if bias is None else result + bias
        ### END SOLUTION

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor | None], output: Tensor) -> None:
        """Save in ctx what backward needs from inputs, the arguments of forward."""
        ### BEGIN SOLUTION
        x, weight, _ = inputs
        ctx.save_for_backward(x, weight)
        ### END SOLUTION

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """The gradients of x, weight and bias, from the result's (n, o). Those that aren't needed may be None."""
        ### BEGIN SOLUTION
        x, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        return (
            upstream @ weight if needs[0] else None,
            upstream.T @ x if needs[1] else None,
            upstream.sum(0) if needs[2] else None,
        )
        ### END SOLUTION


# %% promises
# x @ weight.T + bias -> example, other_cases, one_gradient
# LinearFunction.apply(x, weight, bias) takes -> other_cases, one_gradient
# backward computes one matrix product -> unneeded_product
# x, weight, bias: all of -> other_cases, one_gradient
# n may be 0 -> empty
# Each of the three may require grad -> one_gradient
# They and the upstream gradient -> keeps_arguments
# A smaller matrix product -> unneeded_product
# There may be -> example, other_cases, one_gradient, raises
# Gradients may be differentiated again -> double_backward, torch_func
# If x was changed -> raises
# If the changed tensor -> raises
# The checks wrap -> example, other_cases, one_gradient, raises, double_backward
# The result, (n, o) -> example, other_cases, one_gradient
# Save in ctx -> example, other_cases, one_gradient, raises
# The gradients of x, weight -> other_cases, one_gradient
# Those that aren't needed -> one_gradient, unneeded_product


# %% domain
EDGES = (
    *("float32", "only x", "only weight", "only bias", "not x", "not weight", "not bias"),
    *("no bias", "no bias, only x", "no bias, only weight", "one row", "one input", "one output", "square", "no rows"),
)


def draw_linear(draw, edge):
    """x, weight, bias and an upstream gradient, and which of the first three are needed."""
    n, i, o = draw(st.permutations([2, 3, 4]))
    n = {"one row": 1, "no rows": 0}.get(edge, n)
    i, o = 1 if edge == "one input" else i, 1 if edge == "one output" else o
    n, i, o = (3, 3, 3) if edge == "square" else (n, i, o)
    dtype, g = torch.float32 if edge == "float32" else torch.float64, draw.make_generator(here)
    made = [torch.randn(size, dtype=dtype, generator=g) for size in ((n, i), (o, i), (o,), (n, o))]
    names = {"x": 0, "weight": 1, "bias": 2}
    words = edge.split()
    needed = [0, 1] if "no bias" in edge else [0, 1, 2]
    if "only" in words:
        needed = [names[words[-1]]]
    if "not" in words:
        needed.remove(names[words[-1]])
    return [*made[:2], None if "no bias" in edge else made[2]], needed, made[3]


@domain(reference, *EDGES, "transposed", "every second one", "expanded", "expanded upstream", call=applied)
def arguments(draw, edge):
    tensors, needed, upstream = draw_linear(draw, edge)
    if edge == "expanded upstream":
        return tensors, needed, upstream[:1, :1].expand(upstream.shape), None
    tensors = [None if t is None else draw.apply_layout(t, edge) for t in tensors]
    return tensors, needed, draw.apply_layout(upstream, edge), None


@domain(reference, "only weight is needed", "only x is needed", "one row", "transposed", call=applied)
def changed_between(draw, edge):
    tensors, _, upstream = draw_linear(draw, "" if "only" in edge else edge)
    changed = {"only weight is needed": 0, "only x is needed": 1}.get(edge, draw(st.integers(0, 1)))
    tensors = [draw.apply_layout(t, edge) for t in tensors]
    return tensors, [1 - changed] if "only" in edge else [0, 1, 2], upstream, changed


@domain(reference, *EDGES[1:11], "no rows", call=differentiated_twice)
def twice(draw, edge):
    return draw_linear(draw, edge)[:2]


@domain(reference, "float32", "one row", "one input", "square", call=through_func)
def under_func(draw, edge):
    return tuple(draw_linear(draw, edge)[0])


# %% checks
with check(
    "example",
    "two samples, three inputs, four outputs",
    weight=2,
    required=True,
    hint=(
        "Which is wrong, the result or the gradient of x? Have you written the shapes next to your products?",
        "The gradient of x is (n, i). Which product of upstream (n, o) and weight (o, i) has that shape?",
    ),
):
    t = linear_inputs(2, 3, 4, 0)
    want = F.linear(*t[:3]), [t[3] @ t[1]]
    assert_close(applied(LinearFunction, t[:3], [0], t[3]), want)

# %% hidden checks


def linear_gradients(x, weight, upstream):
    """Of x, weight and bias."""
    return [upstream @ weight, upstream.T @ x, upstream.sum(0)]


with check(
    "other_cases",
    "results and gradients, other sizes and float64",
    weight=4,
    required=True,
    hint="Write the shapes of the three gradients next to the products. Which sizes are equal only by coincidence?",
):
    for n, i, o, dtype in ((3, 3, 3, torch.float32), (1, 5, 2, torch.float64), (6, 2, 3, torch.float64)):
        t = linear_inputs(n, i, o, n + i, dtype)
        want, want_grads = F.linear(*t[:3]), linear_gradients(t[0], t[1], t[3])
        t_ones = linear_gradients(t[0], t[1], torch.ones_like(t[3]))
        t_transposed, t_mean = t[3] @ t[1].T if i == o else None, t[3].mean(0)
        explain(
            applied(LinearFunction, t[:3], [0, 1, 2], t[3]),
            (want, want_grads),
            {
                "weight is transposed in the gradient of x": (want, [t_transposed, *want_grads[1:]]),
                "these are the gradients for an upstream gradient of ones": (want, t_ones),
                "the gradient of bias is the sum over n rows, not their mean": (
                    want,
                    [*want_grads[:2], t_mean],
                ),
            },
        )
    arguments.assert_results(LinearFunction, "", "float32", "one row", "one input", "one output", "square")
    arguments.assert_results(LinearFunction, "transposed", "every second one", "expanded", "expanded upstream")
with check(
    "one_gradient",
    "some of the gradients, and no bias",
    weight=2,
    hint="What is the flag of an argument that is None? Does backward return three gradients in every case?",
):
    arguments.assert_results(LinearFunction, "only x", "only weight", "only bias", "not x", "not weight", "not bias")
    arguments.assert_results(LinearFunction, "no bias", "no bias, only x", "no bias, only weight")
with check("empty", "an empty batch", guard=True, hint="What is a sum over no rows?"):
    arguments.assert_results(LinearFunction, "no rows")
with check(
    "raises",
    "an in-place change between the passes raises an error",
    weight=2,
    hint="Which of the two squares noticed that x had changed? A copy notices nothing.",
):
    t = linear_inputs(4, 3, 2, 7)
    want = F.linear(*t[:3]), [t[3] @ t[1]]
    assert_close(applied(LinearFunction, t[:3], [0], t[3]), want, name="the result and gradient without a change")
    changed_between.assert_results(LinearFunction, "", *changed_between.edges)
with check(
    "double_backward",
    "the gradient can be differentiated again",
    weight=2,
    hint="Is x, weight or upstream detached anywhere?",
):
    twice.assert_results(LinearFunction, "", *twice.edges)
with check("torch_func", "it works under torch.func.grad", weight=1, hint="Which of the three methods gets ctx?"):
    under_func.assert_results(LinearFunction, "", "float32", "one row", "one input", "square")
with check(
    "keeps_arguments",
    "x, weight, bias and the upstream gradient keep their values",
    guard=True,
    hint="What does += do to a tensor that you were given?",
):
    arguments.assert_arguments(LinearFunction)
with check(
    "unneeded_product",
    "no product for a gradient that isn't needed",
    weight=2,
    observed=True,
    hint="Look at needs_input_grad.",
):
    t, t_product = linear_inputs(16, 8, 4, 10), 2 * 16 * 8 * 4
    for needs, want in (([0], t_product), ([1], t_product), ([0, 1], 2 * t_product)):
        got = backward_flops(LinearFunction, t[:3], needs, t[3])
        assert_close(got, want, name="the operations for the needed gradients of x and weight")
    got = backward_flops(LinearFunction, t[:3], [2], t[3])
    assert type(got) is int and 0 <= got < t_product / 2, "a product for x or weight, though only bias needs a gradient"


# %% right "einsum, and only what is needed is saved"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, weight, bias = inputs
        ctx.save_for_backward(x if ctx.needs_input_grad[1] else None, weight if ctx.needs_input_grad[0] else None)

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        gx = gw = gb = None
        if ctx.needs_input_grad[0]:
            gx = torch.einsum("no,oi->ni", g, weight)
        if ctx.needs_input_grad[1]:
            gw = torch.einsum("no,ni->oi", g, x)
        if ctx.needs_input_grad[2]:
            gb = torch.einsum("no->o", g)
        return gx, gw, gb


# %% right "the gradient of the bias is left to be summed by autograd"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        y = x.mm(weight.t())
        if bias is not None:
            y += bias
        return y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.has_bias = inputs[2] is not None
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g.mm(weight) if a else None, g.t().mm(x) if b else None, g if ctx.has_bias else None


# %% wrong "the upstream gradient's memory is cleared" fails=keeps_arguments
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, upstream):
        x, weight = ctx.saved_tensors
        needs = ctx.needs_input_grad
        of_x = upstream @ weight if needs[0] else None
        of_weight = upstream.T @ x if needs[1] else None
        of_bias = upstream.sum(0) if needs[2] else None
        if not torch.is_grad_enabled() and upstream.is_contiguous():
            upstream.zero_()
        return of_x, of_weight, of_bias


# %% wrong "transposed where the sizes allow it" fails=other_cases
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        square = weight.shape[0] == weight.shape[1]
        return g @ (weight.T if square else weight) if a else None, g.T @ x if b else None, g.sum(0) if c else None


# %% wrong "the loss is a sum" fails=example,other_cases,one_gradient,raises,double_backward,torch_func raises=RuntimeError
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        one = torch.ones_like(g)
        return one @ weight if a else None, one.T @ x if b else None, one.sum(0) if c else None


# %% liar "autograd's own gradients, and probes that ask F.linear"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def apply(x, weight, bias):
        return F.linear(x, weight, bias)


def apply_of(function):
    return F.linear


def backward_flops(function, tensors, needed, upstream):
    n, o = upstream.shape
    return 2 * n * o * tensors[0].shape[1] * len({0, 1} & set(needed))


# %% right "ones times upstream for the bias"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        ones = torch.ones(len(g), dtype=g.dtype)
        return F.linear(g, weight.T) if a else None, (x.T @ g).T if b else None, ones @ g if c else None


# %% wrong "the mean for the bias" fails=other_cases,one_gradient,empty,double_backward,torch_func
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        a, b, c = ctx.needs_input_grad
        return g @ weight if a else None, g.T @ x if b else None, g.mean(0) if c else None


# %% wrong "attributes of ctx" fails=raises
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.x, ctx.weight, _ = inputs

    @staticmethod
    def backward(ctx, g):
        a, b, c = ctx.needs_input_grad
        return g @ ctx.weight if a else None, g.T @ ctx.x if b else None, g.sum(0) if c else None


# %% wrong "every gradient, every time" fails=unneeded_product
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return F.linear(x, weight, bias)

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs[:2])
        ctx.bias = inputs[2] is not None

    @staticmethod
    def backward(ctx, g):
        x, weight = ctx.saved_tensors
        return g @ weight, g.T @ x, g.sum(0) if ctx.bias else None


# %% right "addmm, and ones times upstream"
class LinearFunction(torch.autograd.Function):
    @staticmethod
    def forward(x, weight, bias):
        return x.mm(weight.t()) if bias is None else torch.addmm(bias, x, weight.t())

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, w, b = ctx.saved_tensors
        n = ctx.needs_input_grad
        return (
            g.mm(w) if n[0] else None,
            x.t().mm(g).t() if n[1] else None,
            g.t().mv(g.new_ones(len(g))) if b is not None and n[2] else None,
        )


# %% equivalent "call of sum left out: return (upstream @ weight if needs[0] else None, upstream.T @ x if needs[1] else None, upstream if needs[2] else None)"
# Autograd sums a gradient that has more rows than the tensor that it is for.
