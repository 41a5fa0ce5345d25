# %% given
@probes.probe
def one_graph(f, x, limit):
    """f(x, limit) as the one graph that Dynamo creates, for a check to replay."""
    return probes.captured(lambda x: f(x, limit), x, how="dynamo")


# %% exercise
def clip_norm(x: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """(x clipped as by clip_eager, x's norm before clipping), in one graph: torch.compile(fullgraph=True) accepts it.

    The first result has the values and the gradient of clip_eager(x, limit, []). The second result is a 0-dim tensor of
    x's dtype, without a history. The function prints nothing, and uses only operations on tensors, but not torch.cond,
    which the check can't replay.

    Details:
    - x: float32 or float64, of any shape. x isn't changed.
    - limit, and the absolute value of every nonzero number in x, is between 1e-15 and 1e15.
    - The values and the gradient are those of clip_eager to the precision of x's dtype, even at x = 0; at norm ==
      limit, where there's a kink, either gradient is accepted.
    """
    ### BEGIN SOLUTION
    norm = x.norm()
    return x * (limit / norm.clamp(min=limit)), norm.detach()
    ### END SOLUTION


# %% promises
# (x clipped as by -> example, other_cases, shapes, one_graph
# The first result has -> example, other_cases, sizes, gradient, gradient_at_zero
# The second result -> example, sizes, gradient, gradient_at_zero
# The function prints nothing -> one_graph
# x: float32 or float64 -> other_cases, shapes, gradient
# x isn't changed -> keeps_input
# limit, and the absolute -> sizes
# The values and the gradient -> example, other_cases, sizes, gradient, gradient_at_zero


# %% domain
SHAPES = ("no axes", "no numbers", "one number", "four axes", "transposed", "every second one", "expanded")
SIZES = ("small numbers", "large numbers", "small limit", "large limit", "small numbers, large limit")
STATES = ("no gradient wanted", "from an operation", "holds .grad")


@domain(reference, "float64", "just above the limit", "just below it", "zeros", *SHAPES, *SIZES, *STATES)
def arguments(draw, edge):
    shape = draw(st.sampled_from([(5,), (3, 4), (2, 3, 2)]))
    shape = (3, 4) if edge == "transposed" else shape
    shape = {"no axes": (), "no numbers": (0, 3), "one number": (1,), "four axes": (2, 1, 3, 2)}.get(edge, shape)
    x = torch.rand(shape, generator=draw.make_generator(here), dtype=torch.float64) + 0.1
    scale = 1e-14 if "small numbers" in edge else {"large numbers": 3e14, "zeros": 0}.get(edge, 3)
    x = (x - 1.2 * (x > 0.6)) * scale  # some numbers are negative, and none is nearly 0
    part = {"just above the limit": 0.99, "just below it": 1.01, "small limit": 1e-12, "large limit": 1e12}
    part |= {"small numbers": 0.4, "large numbers": 0.4, "small numbers, large limit": 1e28}
    limit = (x.norm().item() or 2.0) * part.get(edge, draw(st.sampled_from([0.1, 0.4, 3.0])))
    x = draw.apply_layout(x if edge == "float64" else x.float(), edge)
    if edge == "no gradient wanted":
        return x, limit
    return draw.apply_gradient_state(x.requires_grad_(), edge), limit


# %% checks
with check(
    "example",
    "a small x isn't changed, a large one is clipped, and the norm is returned",
    weight=2,
    required=True,
    hint=(
        "Which is wrong: x with a limit of 20, x with a limit of 6.5, or the norm? The norm of which numbers is it?",
        "The norm is 13 in both cases. The scale is 1 if the limit is larger, and limit / norm if it's smaller.",
    ),
):
    t = torch.tensor([[3.0, 0.0, 4.0], [0.0, 12.0, 0.0]])
    want = [(t.clone(), torch.tensor(13.0)), (t / 2, torch.tensor(13.0))]
    assert_close(clip_norm(t, 20.0), want[0])
    assert_close(clip_norm(t, 6.5), want[1])

# %% hidden checks
with check(
    "other_cases",
    "values above and below the limit, in float32 and float64",
    weight=3,
    required=True,
    hint="Which side was selected?",
):
    arguments.assert_results(clip_norm, "", "just above the limit", "just below it", *STATES)
    arguments.assert_results(clip_norm, "float64", rtol=1e-12)
with check(
    "shapes", "a single number, an empty tensor, four dimensions, strides", weight=1, hint="Which shapes may x have?"
):
    arguments.assert_results(clip_norm, *SHAPES)
with check(
    "sizes",
    "small and large numbers: values and gradients",
    weight=1,
    hint="How small may the limit be? Is anything added to it? Which powers of the norm does backward need?",
):
    arguments.assert_results(clip_norm, *SIZES, rtol=1e-5, atol=0.0)
    arguments.assert_gradients(clip_norm, *SIZES)
with check(
    "one_graph",
    "one graph that is right on both sides",
    weight=4,
    required=True,
    hint="What does torch.compile(clip_norm, backend='eager', fullgraph=True) say? Is it right for other x?",
):
    t = torch.linspace(-2, 3, 12).reshape(4, 3)
    upstream = torch.linspace(1, -3, 12).reshape(4, 3)
    for limit, captured_with in ((2.5, 0.01 * t), (0.7, 10 * t)):
        graph = one_graph(clip_norm, captured_with, limit)
        for scale in (0.01, 7.0):
            x = (scale * t).requires_grad_()
            values = reference.function(x, limit)
            (want,) = torch.autograd.grad(values[0], x, upstream)
            got = probes.replay(graph, x)
            assert_close(got, values, name="the graph's result")
            assert_close(torch.autograd.grad(got[0], x, upstream)[0], want, name="the graph's gradient")
    x = torch.zeros(4, 3, requires_grad=True)
    want = [(torch.zeros(4, 3), torch.tensor(0.0))] * 2
    got = [clip_norm(x, limit), probes.replay(graph, x)]
    assert_close(got, want)
    # The function may be wrong there, which another check tests, but this must be the graph of this function.
    gradients = [torch.autograd.grad(y, x, upstream)[0] for y, _ in got]
    assert_close(gradients[1], gradients[0], name="the graph's gradient at zero, compared with the function's")
with check(
    "gradient",
    "the gradient above and below the limit",
    weight=3,
    required=True,
    hint="Does the scale depend on x as well? Does autograd know?",
):
    arguments.assert_gradients(clip_norm, "", "just above the limit", "just below it", *SHAPES, *STATES)
    arguments.assert_gradients(clip_norm, "float64", rtol=1e-9)
with check(
    "gradient_at_zero",
    "the gradient at zero",
    weight=5,
    hint="What is limit / norm there, even on the side that isn't selected?",
):
    arguments.assert_results(clip_norm, "zeros")
    arguments.assert_gradients(clip_norm, "zeros")
with check("keeps_input", "x keeps its values", guard=True):
    arguments.assert_arguments(clip_norm)


# %% right "two wheres"
def clip_norm(x, limit):
    norm = torch.linalg.vector_norm(x)
    large = norm > limit
    safe = torch.where(large, norm, torch.ones_like(norm))
    return torch.where(large, x * (limit / safe), x), norm.detach()


# %% right "a maximum in the denominator"
def clip_norm(x, limit):
    norm = x.norm()
    return x / torch.maximum(norm / limit, torch.ones((), dtype=x.dtype)), norm.detach()


# %% liar "the plain if, and the graph of another function, which is wrong at zero as this one is"
def clip_norm(x, limit):
    norm = x.norm()
    if norm.item() > limit:
        x = x * (limit / norm)
    elif norm.item() == 0:
        x = clip_where(x, limit)
    return x + 0, norm.detach()


def one_graph(f, x, limit):
    return probes.captured(lambda x: (clip_where(x, limit), x.norm().detach()), x)


# %% right "relu of what is too much"
def clip_norm(x, limit):
    norm = x.norm()
    return x * limit / (limit + torch.relu(norm - limit)), norm.detach().clone()


# %% wrong "where on the result" fails=gradient_at_zero
def clip_norm(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x), norm.detach()


# %% wrong "the scale is a constant" fails=sizes,one_graph,gradient
def clip_norm(x, limit):
    norm = x.norm().detach()
    return x * (limit / norm.clamp(min=limit)), norm


# %% wrong "no limit is below 1e-12" fails=sizes
def clip_norm(x, limit):
    norm = x.norm()
    safe = norm.clamp(min=1e-12)
    return torch.where(norm > limit, x * (limit / safe), x), norm.detach()


# %% wrong "the norm with its history" fails=sizes,gradient,gradient_at_zero
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm.clamp(min=limit)), norm


# %% right "normalize, whose eps is the limit"
def clip_norm(x, limit):
    y = torch.nn.functional.normalize(x.reshape(-1), dim=0, eps=limit) * limit
    return y.reshape(x.shape), x.detach().norm()
