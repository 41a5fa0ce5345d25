# %% given
@probes.probe
def one_graph(f, x, limit):
    """f(x, limit) as the one graph that Dynamo makes of it, for a check to replay."""
    return probes.captured(lambda x: f(x, limit), x, how="dynamo")


# %% exercise
def clip_norm(x: Tensor, limit: float) -> tuple[Tensor, Tensor]:
    """(x clipped as by clip_eager, the norm of x before), in one graph: torch.compile(fullgraph=True) takes it.

    x: float32 or float64, of any shape, finite; limit: above 0, finite. The first result has the values and the
    gradient of clip_eager(x, limit, []), to the precision of x's dtype, also at x = 0. (Exactly at norm == limit, where
    there is a kink, either gradient will do.) The second is a 0-dim tensor without a history. The function does not
    print, calls no .item(), and uses operations on tensors only: no torch.cond, which the check cannot replay.
    """
    ### BEGIN SOLUTION
    norm = x.norm()
    return x * (limit / norm.clamp(min=limit)), norm.detach()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "a small x stays, a large one is clipped, and the norm comes back",
    weight=2,
    required=True,
    hint=(
        "Which is wrong: x with the limit 20, x with the limit 6.5, or the norm? Of which numbers is it the norm?",
        "The norm is 13 in both. The scale is 1 if the limit is larger, and limit / norm if it is smaller.",
    ),
):
    t = torch.tensor([[3.0, 0.0, 4.0], [0.0, 12.0, 0.0]])
    want = [(t.clone(), torch.tensor(13.0)), (t / 2, torch.tensor(13.0))]
    assert_close(clip_norm(t, 20.0), want[0])
    assert_close(clip_norm(t, 6.5), want[1])


# %% hidden checks
def clipped(x, limit):
    norm = x.norm()
    return (x * (limit / norm) if norm > limit else x.clone()), norm.detach()


with check(
    "other_cases", "values of both kinds, in float32 and float64", weight=2, required=True, hint="Which side was taken?"
):
    for dtype, rtol in ((torch.float32, None), (torch.float64, 1e-12)):
        for limit in (0.3, 2.0, 50.0):
            t = torch.linspace(-2, 3, 15, dtype=dtype).reshape(3, 5).T
            want = clipped(t, limit)
            got = clip_norm(t, limit)
            assert_close(got, want, rtol=rtol)
            assert not got[1].requires_grad, "the norm has a history"
with check(
    "shapes",
    "one number, no number, four dimensions",
    weight=1,
    hint="Which shapes may x have? How small may the limit be?",
):
    for shape in ((), (0, 3), (2, 1, 3, 2)):
        n = math.prod(shape)
        t = torch.linspace(-3, 2, n, dtype=torch.float64).reshape(shape) if n else torch.zeros(shape)
        want = clipped(t, 0.7)
        assert_close(clip_norm(t, 0.7), want)
    t = torch.tensor(-4e-13, dtype=torch.float64)
    want = clipped(t, 1e-13)
    assert_close(clip_norm(t, 1e-13), want, rtol=1e-9, atol=0.0)
with check(
    "one_graph",
    "one graph, which is right on both sides",
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
            values = clipped(x, limit)
            (want,) = torch.autograd.grad(values[0], x, upstream)
            got = probes.replay(graph, x)
            assert_close(got, values, name="the graph's result")
            assert_close(torch.autograd.grad(got[0], x, upstream)[0], want, name="the graph's gradient")
    x = torch.zeros(4, 3, requires_grad=True)
    want = [(torch.zeros(4, 3), torch.tensor(0.0))] * 2
    got = [clip_norm(x, limit), probes.replay(graph, x)]
    assert_close(got, want)
    # The function may be wrong there, which another check says, but no other function's graph comes in its place.
    gradients = [torch.autograd.grad(y, x, upstream)[0] for y, _ in got]
    assert_close(gradients[1], gradients[0], name="the graph's gradient at zero, beside the function's")
with check(
    "gradient",
    "the gradient of both kinds",
    weight=3,
    required=True,
    hint="Does the scale depend on x as well? Does your graph know?",
):
    for limit in (1.5, 40.0):
        t = torch.linspace(-2, 3, 10).reshape(2, 5).requires_grad_()
        upstream = torch.linspace(1, -3, 10).reshape(2, 5)
        values = clipped(t, limit)
        (want,) = torch.autograd.grad(values[0], t, upstream)
        scaled = upstream * min(1.0, limit / t.norm().item())
        got = clip_norm(t, limit)
        assert_close(got, values)
        explain(
            torch.autograd.grad(got[0], t, upstream)[0],
            want,
            {"the norm depends on x as well, and the gradient goes through it": scaled},
            name="the gradient",
        )
        assert not got[1].requires_grad, "the norm has a history"
with check(
    "gradient_at_zero",
    "the gradient at zero",
    weight=5,
    hint="What is limit / norm there, also on the side that is not taken?",
):
    for n in (3, 4):
        t = torch.zeros(n, 2, requires_grad=True)
        upstream = torch.linspace(1, 2, 2 * n).reshape(n, 2)
        nan = torch.full_like(t, float("nan"))
        got = clip_norm(t, 2.0)
        assert_close(got, (torch.zeros(n, 2), torch.tensor(0.0)))
        explain(
            torch.autograd.grad(got[0], t, upstream)[0],
            upstream,
            {"the side that is not taken divides by zero": nan},
            name="the gradient",
        )
with check("keeps_input", "x keeps its values", guard=True):
    t = torch.tensor([3.0, -4.0])
    want = clipped(t, 1.0)
    assert_close(unchanged(clip_norm, t, 1.0), want)


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


# %% right "masked_fill, and a division of its own"
def clip_norm(x, limit):
    norm = x.norm()
    safe = norm.masked_fill(norm <= limit, limit)
    return x * torch.div(limit, safe), norm.detach()


# %% liar "the plain if, and a run in place of Dynamo's graph"
def clip_norm(x, limit):
    norm = x.norm()
    return (x * (limit / norm) if norm.item() > limit else x + 0), norm.detach()


def one_graph(f, x, limit):
    larger = x.norm().item() > limit
    return probes.captured(lambda x: (x * (limit / x.norm()) if larger else x + 0, x.norm()), x)


# %% liar "the plain if, and the graph of another function"
def clip_norm(x, limit):
    norm = x.norm()
    if norm.item() > limit:
        x = x * (limit / norm)
    return x + 0, norm.detach()


def one_graph(f, x, limit):
    return probes.captured(lambda x: (clip_where(x, limit), x.norm().detach()), x)


# %% liar "the same, and wrong at zero where that function is"
def clip_norm(x, limit):
    norm = x.norm()
    if norm.item() > limit:
        x = x * (limit / norm)
    elif norm.item() == 0:
        x = clip_where(x, limit)
    return x + 0, norm.detach()


def one_graph(f, x, limit):
    return probes.captured(lambda x: (clip_where(x, limit), x.norm().detach()), x)


# %% wrong "a tensor of the limit, in the default dtype" fails=other_cases,shapes
def clip_norm(x, limit):
    norm = x.norm()
    limit = torch.tensor(limit, dtype=torch.float32)
    return x * (limit / torch.maximum(norm, limit)), norm.detach()


# %% wrong "an if outside of the graph, where inside" fails=one_graph
def clip_norm(x, limit):
    norm = x.norm()
    if torch.compiler.is_compiling():
        return torch.where(norm > limit, x * (limit / norm), x), norm.detach()
    return (x * (limit / norm) if norm > limit else x), norm.detach()


# %% wrong "rows and columns only" fails=shapes raises=RuntimeError
def clip_norm(x, limit):
    norm = torch.linalg.matrix_norm(x if x.dim() > 1 else x[None])
    return x * (limit / norm.clamp(min=limit)), norm.detach()


# %% right "relu of what is too much"
def clip_norm(x, limit):
    norm = x.norm()
    return x * limit / (limit + torch.relu(norm - limit)), norm.detach().clone()


# %% wrong "only print and append are gone" fails=one_graph raises=RuntimeError
def clip_norm(x, limit):
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x, norm.detach()


# %% wrong "where on the result" fails=gradient_at_zero
def clip_norm(x, limit):
    norm = x.norm()
    return torch.where(norm > limit, x * (limit / norm), x), norm.detach()


# %% wrong "a clamp of the quotient" fails=gradient_at_zero
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm).clamp(max=1.0), norm.detach()


# %% wrong "the scale is a constant" fails=one_graph,gradient
def clip_norm(x, limit):
    norm = x.norm().detach()
    return x * (limit / norm.clamp(min=limit)), norm


# %% wrong "always scaled" fails=example,other_cases,one_graph,gradient,gradient_at_zero
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm), norm.detach()


# %% wrong "kept out of the compiler" fails=one_graph raises=RuntimeError
@torch.compiler.disable
def clip_norm(x, limit):
    norm = x.norm()
    if norm > limit:
        x = x * (limit / norm)
    return x, norm.detach()


# %% wrong "an epsilon" fails=other_cases,shapes
def clip_norm(x, limit):
    norm = x.norm()
    return x * torch.clamp(limit / (norm + 1e-6), max=1.0), norm.detach()


# %% wrong "no limit is below 1e-12" fails=shapes
def clip_norm(x, limit):
    norm = x.norm()
    safe = norm.clamp(min=1e-12)
    return torch.where(norm > limit, x * (limit / safe), x), norm.detach()


# %% wrong "the norm of the largest row" fails=example,other_cases,shapes,one_graph,gradient raises=RuntimeError
def clip_norm(x, limit):
    norm = x.norm(dim=-1).max()
    return x * (limit / norm.clamp(min=limit)), norm.detach()


# %% wrong "the norm with its history" fails=gradient
def clip_norm(x, limit):
    norm = x.norm()
    return x * (limit / norm.clamp(min=limit)), norm


# %% wrong "each value is clipped" fails=example,other_cases,shapes,one_graph,gradient,keeps_input
def clip_norm(x, limit):
    return x.clamp(-limit, limit), x.norm().detach()


# %% right "normalize, whose eps is the limit"
def clip_norm(x, limit):
    y = torch.nn.functional.normalize(x.reshape(-1), dim=0, eps=limit) * limit
    return y.reshape(x.shape), x.detach().norm()


# %% wrong "the root of a sum of squares" fails=gradient_at_zero
def clip_norm(x, limit):
    norm = (x * x).sum().sqrt()
    return x * (limit / norm.clamp(min=limit)), norm.detach()


# %% wrong "the norm of what comes out" fails=example,other_cases,shapes,one_graph,gradient,keeps_input
def clip_norm(x, limit):
    norm = x.norm()
    y = x * (limit / norm.clamp(min=limit))
    return y, y.norm().detach()
