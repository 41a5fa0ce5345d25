# %% given
@probes.probe
def segmented(forward, parts, x, upstream, k, between=None, order=None):
    """Result and gradients of forward(layers, x, k), and the state of the list and x afterward.

    Also whether checkpoint noticed that backward computed something different from forward.

    The list has a Layer for each of parts, or for each entry in order: the number of a part, or several, for an
    nn.Sequential. between: called before backward.
    """
    made = [Layer(*part) for part in parts]
    layers = [
        made[n] if isinstance(n, int) else nn.Sequential(*[made[m] for m in n]) for n in order or range(len(made))
    ]
    as_given = list(layers)
    x = x.detach().clone().requires_grad_(x.requires_grad)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        out = forward(layers, x, k)
        if between is not None:
            between()
        is_different = False
        if out.requires_grad:
            try:
                out.backward(upstream)
            except torch.utils.checkpoint.CheckpointError:
                is_different = True
    return {
        "is different": is_different,
        "out": out.detach(),
        "grads": [parameter.grad for layer in made for parameter in layer.parameters()],
        "x": x.grad,
        "x after": [x.detach(), x.requires_grad],
        "same list": len(layers) == len(as_given) and all(a is b for a, b in zip(layers, as_given, strict=False)),
    }


def bent(x, training, w, b):
    return torch.tanh(1.5 * x @ w + b)


def dropped(x, training, w, b):
    return nn.functional.dropout(torch.tanh(1.5 * x @ w + b), 0.5)


# %% exercise
def in_segments(layers: list[nn.Module], x: Tensor, k: int) -> Tensor:
    """The layers applied to x, one after another, in k segments, each of them checkpointed, including the last.

    A segment has one or more consecutive entries of the list. The lengths of any two segments differ by at most one. In
    forward, each entry runs once, and only the inputs to the segments are kept. In backward, each runs once more, as far
    as needed, segment by segment, starting with the last. The values, and the gradients that backward() leaves in .grad,
    are those of the plain loop, for the parameters and, if x requires grad, for x, with dropout too.

    Details:
    - layers: modules of any kind, such as nn.Sequential. One may be in the list twice; the list doesn't change before
      backward has run. Any parameters may be frozen, even all of them.
    - k: 1 <= k <= len(layers).
    - The list, x and its requires_grad aren't changed.
    """
    ### BEGIN SOLUTION
    edges = [len(layers) * number // k for number in range(k + 1)]
    for begin, end in pairwise(edges):
        x = checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=False)
    return x
    ### END SOLUTION


# %% promises
# The layers applied -> example, other_cases, dropout, recomputed
# A segment has one -> recomputed, other_cases
# The lengths of any -> recomputed
# In forward, each -> recomputed
# In backward, each -> recomputed
# The values, and the -> example, other_cases, gradient_x, dropout, recomputed, keeps_input
# layers: modules of any -> other_cases
# One may be in -> other_cases
# Any parameters may be -> other_cases
# k: 1 <= k -> recomputed, other_cases
# The list, x and its -> keeps_input


# %% domain
def chain(f, widths, generator, dtype=torch.float32):
    """A part for each step from one width to the next."""
    made = []
    for a, b in pairwise(widths):
        w, bias = (torch.randn(size, generator=generator, dtype=dtype) for size in ((a, b), (b,)))
        made.append((f, [w.requires_grad_(), bias.requires_grad_()]))
    return made


@domain(
    reference,
    *("one layer", "one segment", "a segment for each layer", "many layers", "float64", "dropout", "a layer twice"),
    *("15 layers in 11 segments", "blocks"),
    *("some frozen", "the first layers frozen", "all frozen", "one row", "no rows", "transposed"),
    *("x requires grad", "x requires grad, all frozen", "x requires grad, one segment"),
    call=segmented,
)
def arguments(draw, edge):
    g, dtype = draw.make_generator(), torch.float64 if edge == "float64" else torch.float32
    count = {"one layer": 1, "many layers": 9, "a layer twice": 2, "blocks": 6, "15 layers in 11 segments": 15}.get(
        edge, 5
    )
    widths = [draw(st.integers(2, 4)) for _ in range(count + 1)]
    widths = widths[:1] * 3 if edge == "a layer twice" else widths
    order = {"a layer twice": [0, 1, 0, 1, 1], "blocks": [[0, 1], [2, 3], [4, 5]]}.get(edge, list(range(count)))
    counts = {"one layer": 1, "a segment for each layer": count, "many layers": 4, "15 layers in 11 segments": 11}
    k = 1 if "one segment" in edge else counts.get(edge, draw(st.integers(2, 3)))
    parts = chain(dropped if edge == "dropout" else bent, widths, g, dtype)
    for n, (_, (w, bias)) in enumerate(parts):
        if "frozen" in edge:
            w.requires_grad_(edge == "some frozen" and n % 2 == 0 or edge.startswith("the first") and n > 1)
            bias.requires_grad_(edge == "some frozen" or edge.startswith("the first") and n > 1)
    n = {"one row": 1, "no rows": 0}.get(edge, draw(st.integers(2, 6)))
    x = draw.apply_layout(torch.randn(n, widths[0], generator=g, dtype=dtype), edge)
    upstream = torch.randn(n, widths[-1], generator=g, dtype=dtype)
    return parts, x.requires_grad_("x requires grad" in edge), upstream, k, None, order


# %% checks
with check(
    "example",
    "four layers in two segments: the result and all gradients",
    weight=2,
    required=True,
    hint=(
        "Does each segment still know its own layers in backward? Which argument does checkpoint need?",
        "checkpoint(nn.Sequential(*part), x, ...) binds its part immediately. Which use_reentrant do you need here?",
    ),
):
    t, g = torch.linspace(-1, 1, 20).reshape(5, 4), torch.linspace(-2, 1, 20).reshape(5, 4)
    weights = [torch.linspace(-n, 2, 16).reshape(4, 4).sin().requires_grad_() for n in range(1, 5)]
    want = t
    for w in weights:
        want = torch.tanh(want @ w)
    want_grads = list(torch.autograd.grad(want, weights, g))
    parts = [(lambda x, training, w: torch.tanh(x @ w), [w]) for w in weights]
    got = segmented(in_segments, parts, t, g, 2)
    explain(
        got["is different"],
        False,
        {"backward ran other layers than forward: a function looks up names when it runs, not when you write it": True},
    )
    assert_close(got["out"], want.detach())
    cut = torch.tanh(torch.tanh(t @ weights[0]) @ weights[1]).detach().requires_grad_()
    (at_cut,) = torch.autograd.grad(torch.tanh(torch.tanh(cut @ weights[2]) @ weights[3]), cut, g)
    by_last = torch.tanh(torch.tanh(t @ weights[2]) @ weights[3])  # the first segment, with the layers of the second
    late = [*torch.autograd.grad(by_last, weights[2:], at_cut), *want_grads[2:]]
    explain(
        got["grads"],
        want_grads,
        {
            "both segments are computed again with the last layers: a function looks up names when it runs": late,
            "no parameter has a gradient: with a reentrant checkpoint, the input has to require grad": [None] * 4,
            "the first segment has no gradients: without use_reentrant=False, x has to require grad": [
                None,
                None,
                *want_grads[2:],
            ],
        },
        name="the gradient of weights",
    )

# %% hidden checks


def numbered(n, ran, f):
    """f, which adds n to the list ran when it runs."""

    def run(*given):
        ran.append(n)
        return f(*given)

    return run


def assert_segmented(function, keys, *edges):
    """Compare these parts of what segmented reports."""
    for trial in arguments.iter_trials(function, *edges):
        got, want = ([report.result[key] for key in keys] for report in (trial.report, trial.case.report))
        assert_close(got, want, name="what segmented reports")


with check(
    "other_cases",
    "other numbers of layers and segments",
    weight=3,
    required=True,
    hint="Which layers does each function use in the backward pass? Is any layer left out, or used twice?",
):
    assert_segmented(in_segments, ["out", "grads"], "", "one layer", "one segment", "a segment for each layer")
    assert_segmented(in_segments, ["out", "grads"], "many layers", "float64", "a layer twice", "one row", "transposed")
    assert_segmented(in_segments, ["out", "grads"], "15 layers in 11 segments", "blocks")
    assert_segmented(in_segments, ["out", "grads"], "some frozen", "the first layers frozen", "all frozen")
with check(
    "gradient_x",
    "the gradient of x, if x requires grad",
    weight=2,
    hint="Is your result still connected to the x you were given?",
):
    edges = ("x requires grad", "x requires grad, all frozen", "x requires grad, one segment")
    assert_segmented(in_segments, ["out", "grads", "x"], *edges)
with check(
    "dropout",
    "dropout drops the same numbers in both passes",
    weight=1,
    hint="Which option of checkpoint is about this?",
):
    assert_segmented(in_segments, ["out", "grads"], "dropout")
with check(
    "recomputed",
    "what's kept, how long the segments are, and the order in which they're computed again",
    weight=2,
    required=True,
    hint="How many segments are there, and how long is each? Which one is computed again first?",
):
    for count, k, frozen in ((5, 3, 0), (7, 5, 0), (2, 1, 0), (2, 2, 0), (4, 2, 2)):
        t, g = torch.linspace(-1, 1, 15).reshape(5, 3), torch.linspace(-2, 1, 15).reshape(5, 3)
        t.requires_grad_(frozen > 0)
        parts = chain(bent, [3] * (count + 1), torch.Generator().manual_seed(count))
        for _, weights in parts[:frozen]:
            weights[:] = [w.detach() for w in weights]
        want = segmented(reference.function, parts, t, g, k)
        seen, ran, kept = [Seen(bent) for _ in range(count)], [], []
        parts = [(numbered(n, ran, f), part[1]) for n, (f, part) in enumerate(zip(seen, parts, strict=True))]
        got = segmented(
            in_segments, parts, t, g, k, lambda: kept.append((len(ran), [(f.kept, f.backwards) for f in seen]))
        )
        assert_close((got["out"], got["grads"]), (want["out"], want["grads"]))
        assert kept == [(count, [(0, 0)] * count)], (
            "the forward pass keeps a layer's graph, runs a layer twice, or runs a backward pass"
        )
        again = ran[count:]
        starts = [n for n, layer in enumerate(again) if n == 0 or layer != again[n - 1] + 1]
        segments = [again[a:b] for a, b in pairwise([*starts, len(again)])][::-1]
        assert ran[:count] == [n for segment in segments for n in segment] == list(range(count)), "the order is wrong"
        lengths = [len(segment) for segment in segments]
        assert_close(len(lengths), k, name="the number of segments that were computed again")
        assert max(lengths) - min(lengths) <= 1, "the lengths of your segments differ by more than one"
    for order, want in (([0, 1, 2, 0], [2, 0, 0, 1]), ([0, 0, 1, 2], [1, 2, 0, 0]), ([0, 1, 1, 2], [1, 2, 0, 1])):
        ran = []
        parts = chain(bent, [3] * 4, torch.Generator().manual_seed(7))
        parts = [(numbered(n, ran, f), weights) for n, (f, weights) in enumerate(parts)]
        segmented(in_segments, parts, t, g, 2, order=order)
        assert_close(ran[4:], want, name="the layers computed again, of which one is in the list twice")
with check("keeps_input", "the list and x aren't changed, and an empty batch stays empty", guard=True):
    assert_segmented(in_segments, ["same list", "x after"], "", *arguments.edges)
    assert_segmented(in_segments, ["out", "grads", "x"], "no rows")
    assert_segmented(in_segments, ["x"], "", "some frozen", "all frozen")


# %% right "a lambda with a default argument"
def in_segments(layers, x, k):
    cuts = [round(i * len(layers) / k) for i in range(k + 1)]
    for a, b in zip(cuts, cuts[1:]):
        x = checkpoint(lambda t, part=nn.Sequential(*layers[a:b]): part(t), x, use_reentrant=False)
    return x


# %% right "array_split and partial"
from functools import partial, reduce

import numpy as np


def in_segments(layers, x, k):
    for places in np.array_split(range(len(layers)), k):
        part = [layers[i] for i in places]
        f = partial(lambda part, t: reduce(lambda h, layer: layer(h), part, t), part)
        x = checkpoint(f, x, use_reentrant=False)
    return x


# %% wrong "a lambda that looks its part up later" fails=example,other_cases,gradient_x,dropout,recomputed,keeps_input raises=RuntimeError
def in_segments(layers, x, k):
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        part = nn.Sequential(*layers[begin:end])
        x = checkpoint(lambda t: part(t), x, use_reentrant=False)
    return x


# %% wrong "a function that looks up its ends later" fails=example,other_cases,gradient_x,dropout,recomputed,keeps_input
def in_segments(layers, x, k):
    begin = 0
    for n in range(1, k + 1):
        end = len(layers) * n // k

        def run(t):
            for layer in layers[begin:end]:
                t = layer(t)
            return t

        x = checkpoint(run, x, use_reentrant=False)
        begin = end
    return x


# %% wrong "reentrant, with an input that needs no gradient" fails=example,other_cases,dropout,recomputed,keeps_input
def in_segments(layers, x, k):
    edges = [len(layers) * n // k for n in range(k + 1)]
    for begin, end in zip(edges[:-1], edges[1:]):
        x = checkpoint(nn.Sequential(*layers[begin:end]), x, use_reentrant=True)
    return x


# %% wrong "no checkpoint" fails=recomputed
def in_segments(layers, x, k):
    for layer in layers:
        x = layer(x)
    return x


# %% wrong "checkpoint_sequential as it is by default" fails=example,other_cases,dropout,recomputed,keeps_input
from torch.utils.checkpoint import checkpoint_sequential


def in_segments(layers, x, k):
    return checkpoint_sequential(layers, k, x)


# %% right "an autograd.Function of one's own"
class Segment(torch.autograd.Function):
    @staticmethod
    def forward(ctx, part, x, *parameters):
        ctx.part, ctx.random = part, torch.get_rng_state()
        ctx.save_for_backward(x)
        return part(x)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        x = x.detach().requires_grad_(ctx.needs_input_grad[1])
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            out = ctx.part(x)
        inputs = [x, *ctx.part.parameters()]
        found = iter(torch.autograd.grad(out, [t for t in inputs if t.requires_grad], grad))
        return None, *(next(found) if t.requires_grad else None for t in inputs)


def in_segments(layers, x, k):
    for n in range(k):
        part = nn.Sequential(*layers[len(layers) * n // k : len(layers) * (n + 1) // k])
        x = Segment.apply(part, x, *part.parameters())
    return x


# %% right "a Function whose backward lets .grad be filled, and a trigger that requires grad"
class Again(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, trigger, f):
        ctx.f, ctx.state = f, torch.random.get_rng_state()
        ctx.save_for_backward(x)
        with torch.no_grad():
            return f(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_()
        now = torch.random.get_rng_state()
        torch.random.set_rng_state(ctx.state)
        with torch.enable_grad():
            y = ctx.f(x)
        torch.random.set_rng_state(now)
        torch.autograd.backward(y, grad)
        return x.grad, None, None


def in_segments(layers, x, k):
    trigger = torch.zeros((), requires_grad=True)
    for n in range(k):
        x = Again.apply(x, trigger, nn.Sequential(*layers[len(layers) * n // k : len(layers) * (n + 1) // k]))
    return x


# %% right "reentrant, with a first input that requires grad"
def in_segments(layers, x, k):
    h = x if x.requires_grad else x.detach().requires_grad_()
    for n in range(k):
        h = checkpoint(nn.Sequential(*layers[len(layers) * n // k : len(layers) * (n + 1) // k]), h, use_reentrant=True)
    return h


# %% liar "the plain loop, behind a first pass that keeps nothing"
def in_segments(layers, x, k):
    for layer in layers:
        x = layer(x)
    return x


def segmented(forward, parts, x, upstream, k, between=None, order=None):
    layers = [Layer(*part) for part in parts]
    x = x.detach().clone().requires_grad_(x.requires_grad)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        if between is not None:
            with torch.no_grad():
                in_segments(layers, x, k)
            between()
        out = in_segments(layers, x, k)
        out.backward(upstream)
    grads = [p.grad for layer in layers for p in layer.parameters()]
    return {"out": out.detach(), "grads": grads, "x": x.grad, "same list": True}


# %% equivalent "1 to 2: edges = [len(layers) * number // k for number in range(k + 2)]"
# The part more is empty. An empty Sequential gives its input back, and checkpoint keeps nothing for it.


# %% liar "all derivatives are taken in forward and kept; in backward the layers run for show"
class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx, out, jacobians, again, *inputs):
        ctx.save_for_backward(*jacobians)
        ctx.again = again
        return out

    @staticmethod
    def backward(ctx, g):
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            ctx.again()
        n = g.numel()
        return None, None, None, *[(g.reshape(n, *[1] * (j.dim() - 1)) * j).sum(0) for j in ctx.saved_tensors]


def _known(f, x, parameters, again):
    """f(x) with all its derivatives, taken at once; nothing of its graph is left."""
    parameters = [p for p in parameters if p.requires_grad]
    with torch.enable_grad():
        leaf = x.detach().requires_grad_()
        out = f(leaf)
        inputs, rows = [leaf, *parameters], []
        for j in range(out.numel()):
            e = torch.zeros(out.numel(), dtype=out.dtype)
            e[j] = 1
            rows.append(torch.autograd.grad(out, inputs, e.reshape(out.shape), retain_graph=j + 1 < out.numel()))
        jacobians = [
            torch.stack([row[i] for row in rows]) if rows else t.new_zeros(0, *t.shape) for i, t in enumerate(inputs)
        ]
        value = out.detach().clone()
    del out, leaf, inputs, rows
    return _Known.apply(value, jacobians, again, x, *parameters)


def in_segments(layers, x, k):
    layers, starts = list(layers), []
    edges = [len(layers) * number // k for number in range(k + 1)]

    def plain(t):
        for layer in layers:
            starts.append(t.detach())
            t = layer(t)
        return t

    def again():
        for begin, end in reversed(list(pairwise(edges))):
            t = starts[begin]
            for layer in layers[begin:end]:
                t = layer(t)

    return _known(plain, x, [p for layer in layers for p in layer.parameters()], again)
