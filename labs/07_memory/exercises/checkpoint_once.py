# %% given
class Counted(nn.Sequential):
    """A block with a buffer of its own, which counts its calls."""

    def __init__(self, *layers):
        super().__init__(*layers)
        self.register_buffer("calls", torch.tensor(0))

    def forward(self, x):
        self.calls += 1
        return super().forward(x)


@probes.probe
def blocked(forward, parts, modes, xs, upstreams, between=None):
    """Results, gradients and buffers of forward(block, x) for each x; with more upstreams, the first x comes again.

    There is one backward pass for all of them. The block has a Layer for each of parts, and modes says which of its
    modules are in training mode. between: called before backward.
    """
    layers = [Layer(*part) for part in parts]
    block = Counted(*layers[:-1], nn.Sequential(layers[-1]))
    for module, mode in zip((block, *layers), modes, strict=True):
        module.training = mode
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        outs = [forward(block, xs[n % len(xs)]) for n in range(len(upstreams))]
        if between is not None:
            between()
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [parameter.grad for parameter in block.parameters()],
        "x": [x.grad for x in xs],
        "buffers": [buffer.clone() for layer in layers for buffer in layer.buffers()],
        "calls": block.calls.clone(),
        "modes": [module.training for module in (block, *layers)],
    }


def averaged(x, training, w, mean, count):
    """Running averages with a momentum of a third, as in batch normalization."""
    used = mean.clone()
    if training:
        used = x.mean(0)
        mean += (used.detach() - mean) / 3
        count += 1
    return torch.tanh((x - used) @ w)


def slow(x, training, w, mean, var, count):
    """The mean of all batches, and a last operation that changes a buffer."""
    used = mean.clone()
    if training:
        used = x.mean(0)
        count += 1
        mean += (used.detach() - mean) / count
    out = (x - used).tanh() @ w
    var *= 0.5
    var += out.detach().var(0)
    return out


def plain(x, training, w):
    return torch.tanh(x @ w * 1.5)


def thinned(x, training, w, seen):
    """Dropout, and a non-persistent buffer that holds the largest number seen."""
    torch.maximum(seen, x.detach().abs().max(), out=seen)
    kept = torch.rand_like(x) < 0.5 if training else 1
    return torch.tanh(x * kept @ w)


# %% exercise
def checkpoint_once(block: nn.Module, x: Tensor) -> Tensor:
    """block(x), checkpointed: of everything that block keeps for backward, only x is kept.

    A call runs the block once, and backward runs it once more for each call; this second run recomputes the rest and
    may end early, as in checkpoint. Values and gradients are those of block(x), with dropout too. The block may change
    some of its buffers in place; its result doesn't depend on these. After backward, each buffer of the block,
    persistent or not, has the value it had before backward, and each module is in the same mode as before. All this
    also holds for several calls before one backward.

    Details:
    - The block's result may depend on buffers that a run doesn't change, as batch normalization does in evaluation
      mode.
    - Calls may get the same x. Backward goes through a result only once, without retain_graph.
    - Any mix of the block's modules may be in training mode, and some parameters may be frozen.
    """
    ### BEGIN SOLUTION
    again = False

    def run(t: Tensor) -> Tensor:
        nonlocal again
        before = [buffer.clone() for buffer in block.buffers()] if again else []
        again = True
        try:
            out: Tensor = block(t)
            return out
        finally:
            with torch.no_grad():
                for buffer, old in zip(block.buffers(), before, strict=False):
                    buffer.copy_(old)

    result: Tensor = checkpoint(run, x, use_reentrant=False)
    return result
    ### END SOLUTION


# %% promises
# block(x), checkpointed -> keeps_nothing
# A call runs the block -> keeps_nothing
# Values and gradients -> example, gradient, buffers, buffer_at_end, evaluation_mode, keeps_nothing
# The block may change -> gradient, buffers, buffer_at_end
# After backward, each -> example, buffers, buffer_at_end, evaluation_mode
# All this also -> buffers, buffer_at_end, evaluation_mode
# The block's result may depend -> gradient, buffers, evaluation_mode
# Calls may get -> buffers
# Backward goes through -> gradient, buffers
# Any mix of the -> gradient, buffers, evaluation_mode


# %% domain
def built(functions, widths, generator, dtype=torch.float32):
    """A part for each function, from one width to the next."""
    made = []
    for f, (a, b) in zip(functions, pairwise(widths), strict=True):
        buffers = {
            averaged: [torch.full((a,), 0.25), torch.tensor(2**24 + 3)],
            slow: [torch.zeros(a), torch.ones(b), torch.tensor(0)],
            plain: [],
            thinned: [torch.tensor(0.5)],
        }[f]
        buffers = [t.to(dtype) if t.is_floating_point() else t for t in buffers]
        made.append((f, [torch.randn(a, b, generator=generator, dtype=dtype).requires_grad_()], buffers))
    return made


@domain(
    reference,
    *("one batch", "three batches", "two rows", "one layer", "float64", "dropout", "no buffers"),
    *("a buffer changed last", "a buffer that isn't saved", "one batch twice", "zeros first"),
    *("evaluation mode", "mixed modes", "only parts in training mode"),
    *("x requires grad", "frozen", "all frozen, x requires grad"),
    call=blocked,
)
def arguments(draw, edge):
    g, dtype = draw.make_generator(), torch.float64 if edge == "float64" else torch.float32
    functions = {
        "one layer": [averaged],
        "dropout": [thinned, plain],
        "no buffers": [plain, plain],
        "a buffer changed last": [plain, slow],
        "a buffer that isn't saved": [plain, thinned, plain],
        "evaluation mode": [averaged, slow, thinned],
        "mixed modes": [averaged, averaged, slow],
        "only parts in training mode": [slow, averaged, slow],
        "zeros first": [slow, averaged],
    }.get(edge, draw(st.permutations([averaged, slow, thinned, plain]))[:3])
    widths = draw(st.permutations([2, 3, 4, 5]))[: len(functions) + 1]
    parts = built(functions, widths, g, dtype)
    if "frozen" in edge:
        for _, (w,), _ in parts[: 3 if "all" in edge else 2]:
            w.requires_grad_(False)
    modes = {
        "evaluation mode": [False] * 4,
        "mixed modes": [True, False, True, True],
        "only parts in training mode": [False, True, False, True],
    }.get(edge, [True] * 4)
    sizes = {"one batch": [5], "two rows": [2, 2], "three batches": [3, 5, 4], "one batch twice": [4, 4]}
    sizes = sizes.get(edge, [6, 4])
    xs = [torch.randn(n, widths[0], generator=g, dtype=dtype) for n in sizes]
    xs = [x.requires_grad_("x requires grad" in edge) for x in xs]
    if edge == "zeros first":
        xs[0].zero_()
    upstreams = [torch.randn(n, widths[-1], generator=g, dtype=dtype) for n in sizes]
    return parts, modes[: 1 + len(parts)], xs[:1] if edge == "one batch twice" else xs, upstreams


# %% checks
with check(
    "example",
    "one batch: the result, and a count of one",
    weight=2,
    required=True,
    hint=(
        "What's the count before backward, and after it? Does the second call run your last line?",
        "Copy the buffers before the second call, and restore them in a finally block.",
    ),
):

    def normed(x, training, w, mean, count):
        mean += 0.25 * (x.detach().mean(0) - mean)
        count += 1
        return torch.tanh(x @ w - x.mean(0) @ w)

    t, g = torch.linspace(-1, 2, 15).reshape(5, 3).sin(), torch.linspace(1, -2, 20).reshape(5, 4)
    w = torch.linspace(-2, 2, 12).reshape(3, 4).cos()
    want, want_mean = torch.tanh(t @ w - t.mean(0) @ w), 0.25 * t.mean(0)
    buffers = [torch.zeros(3), torch.tensor(0)]
    got = blocked(checkpoint_once, [(normed, [w.clone().requires_grad_()], buffers)], [True] * 2, [t], [g])
    assert_close(got["outs"], [want])
    explain(
        got["buffers"],
        [want_mean, torch.tensor(1)],
        {
            "the second call changed the buffers: does it reach the line that restores them?": [
                want_mean + 0.75 * want_mean,
                torch.tensor(2),
            ]
        },
        name="the buffers",
    )

# %% hidden checks


def numbered_run(n, ran, f):
    """f, which adds n to the list ran when it runs."""

    def run(*given):
        ran.append(n)
        return f(*given)

    return run


def assert_blocked(function, keys, *edges):
    """Compare these parts of what blocked reports."""
    for trial in arguments.iter_trials(function, *edges):
        got, want = ([report.result[key] for key in keys] for report in (trial.report, trial.case.report))
        assert_close(got, want, name="what blocked reports")


with check(
    "gradient",
    "all gradients are the same as without a checkpoint",
    weight=3,
    required=True,
    hint="Is the second call made in the same mode as the first one?",
):
    assert_blocked(
        checkpoint_once, ["outs", "grads", "x"], "", "one batch", "two rows", "one layer", "float64", "dropout"
    )
    assert_blocked(checkpoint_once, ["outs", "grads", "x"], "no buffers", "x requires grad", "frozen")
    assert_blocked(checkpoint_once, ["outs", "grads", "x"], "all frozen, x requires grad", "mixed modes")
    assert_blocked(checkpoint_once, ["outs", "grads", "x"], "only parts in training mode")
with check(
    "buffers",
    "the buffers, also for two batches before one backward",
    weight=2,
    required=True,
    hint="Which copy do you restore?",
):
    assert_blocked(checkpoint_once, ["buffers", "calls", "modes"], "", "three batches", "mixed modes", "frozen")
    assert_blocked(checkpoint_once, ["buffers", "calls", "modes"], "only parts in training mode", "one batch twice")
    assert_blocked(checkpoint_once, ["buffers", "calls", "modes"], "zeros first")
    assert_blocked(checkpoint_once, ["outs", "grads"], "three batches")
with check(
    "buffer_at_end",
    "a block whose last operation changes a buffer",
    weight=2,
    hint="Does your last line run in the second call?",
):
    keys = ["outs", "grads", "buffers", "calls", "modes"]
    assert_blocked(checkpoint_once, keys, "a buffer changed last", "a buffer that isn't saved", "one batch")
with check("evaluation_mode", "in evaluation mode too", weight=1, hint="What do you do with the block's mode?"):
    assert_blocked(checkpoint_once, ["outs", "grads", "buffers", "calls", "modes"], "evaluation mode")
with check(
    "keeps_nothing",
    "nothing inside the block is kept, and it runs twice",
    weight=2,
    required=True,
    hint="What is inside the checkpoint, and what isn't?",
):
    for functions, widths, sizes in (
        ([averaged, plain], [3, 5, 4], (6,)),
        ([plain, slow], [2, 4, 5], (3, 4)),
    ):
        g = torch.Generator().manual_seed(sum(sizes))
        parts, modes = built(functions, widths, g), [True] * 3
        t, ups = ([torch.randn(n, widths[i], generator=g) for n in sizes] for i in (0, 2))
        want = blocked(reference.function, parts, modes, t, ups)
        seen, ran, kept = [Seen(part[0]) for part in parts], [], []
        parts = [(numbered_run(n, ran, f), *part[1:]) for n, (f, part) in enumerate(zip(seen, parts, strict=True))]
        got = blocked(
            checkpoint_once,
            parts,
            modes,
            t,
            ups,
            lambda: kept.extend((f.kept, len(f.calls), f.backwards) for f in seen),
        )
        assert_close((got["outs"], got["grads"]), (want["outs"], want["grads"]))
        want = [(0, len(sizes), 0)] * len(seen)
        assert_close(kept, want, name="(graphs kept, calls, gradients that went back) of each layer before backward")
        order = [*range(len(seen))] * 2 * len(sizes)  # with an inner checkpoint, the last layer would run again first
        assert_close(ran, order, name="the order in which the layers ran")


# %% right "a context for the second call"
from contextlib import contextmanager, nullcontext


def checkpoint_once(block, x):
    @contextmanager
    def put_back():
        before = [b.detach().clone() for b in block.buffers()]
        try:
            yield
        finally:
            for b, old in zip(block.buffers(), before):
                b.data.copy_(old)

    return checkpoint(block, x, use_reentrant=False, context_fn=lambda: (nullcontext(), put_back()))


# %% right "copies of the buffers in the second call"
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        if len(calls) == 1:
            return block(t)
        copies = {name: b.clone() for name, b in block.named_buffers()}
        return torch.func.functional_call(block, {**dict(block.named_parameters()), **copies}, (t,))

    return checkpoint(run, x, use_reentrant=False)


# %% right "a copy of the block for the second call"
import copy


def checkpoint_once(block, x):
    blocks = [block]

    def run(t):
        return (blocks.pop() if blocks else copy.deepcopy(block))(t)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "checkpoint does it already" fails=example,buffers,buffer_at_end,evaluation_mode
def checkpoint_once(block, x):
    return checkpoint(block, x, use_reentrant=False)


# %% wrong "no checkpoint at all" fails=keeps_nothing
def checkpoint_once(block, x):
    return block(x)


# %% wrong "the second call gets buffers of zeros: its result does not depend on them" fails=gradient,evaluation_mode
def checkpoint_once(block, x):
    again = []

    def run(t):
        if not again:
            again.append(1)
            return block(t)
        fresh = {name: torch.zeros_like(b) for name, b in block.named_buffers()}
        return torch.func.functional_call(block, fresh, (t,))

    return checkpoint(run, x, use_reentrant=False)


# %% right "an autograd.Function, and buffers put back behind its second call"
class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, block, x, *parameters):
        ctx.block, ctx.random = block, torch.get_rng_state()
        ctx.save_for_backward(x)
        return block(x)

    @staticmethod
    def backward(ctx, grad):
        x = ctx.saved_tensors[0].detach().requires_grad_(ctx.needs_input_grad[1])
        parameters = list(ctx.block.parameters())
        before = [b.clone() for b in ctx.block.buffers()]
        with torch.enable_grad(), torch.random.fork_rng(devices=[]):
            torch.set_rng_state(ctx.random)
            out = ctx.block(x)
        with torch.no_grad():
            for b, old in zip(ctx.block.buffers(), before):
                b.copy_(old)
        found = iter(torch.autograd.grad(out, [t for t in (x, *parameters) if t.requires_grad], grad))
        return None, *(next(found) if t.requires_grad else None for t in (x, *parameters))


def checkpoint_once(block, x):
    return Once.apply(block, x, *block.parameters())


# %% wrong "in evaluation mode nothing changes" fails=buffers,evaluation_mode
def checkpoint_once(block, x):
    again = []

    def run(t):
        before = [b.clone() for b in block.buffers()] if again and block.training else None
        again.append(1)
        try:
            return block(t)
        finally:
            if before is not None:
                with torch.no_grad():
                    for b, old in zip(block.buffers(), before):
                        b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% liar "the plain call, behind a first pass that keeps nothing"
def checkpoint_once(block, x):
    return block(x)


def blocked(forward, parts, modes, xs, upstreams, between=None):
    block = nn.Sequential(*[Layer(*part) for part in parts])
    for module, mode in zip(block.modules(), modes):
        module.training = mode
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        if between is not None:
            with torch.no_grad():
                [block(x) for x in xs]
            between()
        outs = [block(x) for x in xs]
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [parameter.grad for parameter in block.parameters()],
        "x": [x.grad for x in xs],
        "buffers": list(block.buffers()),
        "modes": [module.training for module in block.modules()],
    }


# %% equivalent "argument strict dropped: for buffer, old in zip(block.buffers(), before):"
# strict=False is the default.


# %% liar "all derivatives are taken in forward and kept; in backward the block runs for show"
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


def checkpoint_once(block, x):
    def again():
        before = [b.clone() for b in block.buffers()]
        block(x.detach())
        for b, old in zip(block.buffers(), before, strict=True):
            b.copy_(old)

    return _known(block, x, list(block.parameters()), again)
