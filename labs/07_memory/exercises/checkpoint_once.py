# %% given
@probes.probe
def blocked(forward, parts, training, xs, upstreams, between=None):
    """Results, gradients and buffers of forward(block, x) for each x.

    There is one backward pass for all of them. The block has a Layer for each of parts.
    between: called before backward.
    """
    block = nn.Sequential(*[Layer(*part) for part in parts]).train(training)
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        outs = [forward(block, x) for x in xs]
        if between is not None:
            between()
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [parameter.grad for parameter in block.parameters()],
        "x": [x.grad for x in xs],
        "buffers": [buffer.clone() for buffer in block.buffers()],
        "modes": [module.training for module in block.modules()],
    }


# %% exercise
def checkpoint_once(block: nn.Module, x: Tensor) -> Tensor:
    """block(x), checkpointed: of what block keeps for backward, only x is kept.

    The rest is computed again. Values and gradients are those of block(x). The block runs once
    in forward, and once more in backward. It may change some of its buffers in place, and its
    result doesn't depend on those. It may depend on buffers that a call leaves as they are, as
    the result of a batch normalisation in evaluation mode does. After backward, each buffer of
    the block, persistent or not, is what it was before backward: the second call changes none.
    It works for several calls before one backward.
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


# %% checks
with check(
    "example",
    "one batch: the result, and a counter of one",
    weight=2,
    required=True,
    hint=(
        "What does the counter say before backward, and after it? Does the second call run your last line?",
        "Copy the buffers before the second call, and put the copies back in a finally block.",
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
    got = blocked(checkpoint_once, [(normed, [w.clone().requires_grad_()], buffers)], True, [t], [g])
    assert_close(got["outs"], [want])
    explain(
        got["buffers"],
        [want_mean, torch.tensor(1)],
        {
            "the second call changed the buffers: does it come to the line that puts them back?": [
                want_mean + 0.75 * want_mean,
                torch.tensor(2),
            ]
        },
        name="the buffers",
    )

# %% hidden checks


def averaged(x, training, w, mean, count):
    """Averages with a momentum of a third, as a batch normalisation does."""
    used = mean.clone()
    if training:
        used = x.mean(0)
        mean += (used.detach() - mean) / 3
        count += 1
    return torch.tanh((x - used) @ w)


def slow(x, training, w, mean, var, count):
    """The mean of all batches, and a norm whose last act is to change a buffer."""
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


def built(functions, widths):
    """A part for each function, from one width to the next, and buffers of its own."""
    generator = torch.Generator().manual_seed(sum(widths))
    made = []
    for f, (a, b) in zip(functions, pairwise(widths), strict=True):
        w = torch.randn(a, b, generator=generator).requires_grad_()
        buffers = {
            averaged: [torch.full((a,), 0.25), torch.tensor(3)],
            slow: [torch.zeros(a), torch.ones(b), torch.tensor(0)],
            plain: [],
            thinned: [torch.tensor(0.5)],
        }[f]
        made.append((f, [w], buffers))
    return made


def ran(parts, training, xs, upstreams):
    """What blocked gives for a plain call of the block."""
    weights = [[p.detach().clone().requires_grad_() for p in part[1]] for part in parts]
    buffers = [[b.clone() for b in part[2]] for part in parts]
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        outs = list(xs)
        for n, _ in enumerate(outs):
            for (f, *_), given, own in zip(parts, weights, buffers, strict=True):
                outs[n] = f(outs[n], training, *given, *own)
        torch.autograd.backward(outs, upstreams)
    return {
        "outs": [out.detach() for out in outs],
        "grads": [p.grad for given in weights for p in given],
        "x": [x.grad for x in xs],
        "buffers": [b for own in buffers for b in own],
    }


def thinned(x, training, w, seen):
    """Dropout, and a buffer that is not persistent, which holds the largest number seen."""
    torch.maximum(seen, x.detach().abs().max(), out=seen)
    kept = torch.rand_like(x) < 0.5 if training else 1
    return torch.tanh(x * kept @ w)


def batches(widths, sizes, leaf=False):
    """Batches of these sizes and upstream gradients for them. leaf: whether the first one
    requires grad."""
    generator = torch.Generator().manual_seed(sum(sizes))
    xs = [torch.randn(n, widths[0], generator=generator) for n in sizes]
    xs[0].requires_grad_(leaf)
    return xs, [torch.randn(n, widths[-1], generator=generator) for n in sizes]


with check(
    "gradient",
    "all gradients are those without a checkpoint",
    weight=3,
    required=True,
    hint="Is the second call made in the same mode as the first one?",
):
    for functions, widths in (
        ([plain], [4, 2]),
        ([thinned, averaged], [3, 4, 5]),
        ([slow, plain], [2, 3, 4]),
    ):
        t, g = batches(widths, (7, 4), leaf=True)
        parts = built(functions, widths)
        want = ran(parts, True, t, g)
        got = blocked(checkpoint_once, parts, True, t, g)
        assert_close(got["outs"], want["outs"])
        assert_close(got["grads"], want["grads"], name="the gradients by parameter")
        assert_close(got["x"], want["x"], name="the gradients of x")
with check(
    "buffers",
    "the buffers, also of two batches before one backward",
    weight=2,
    required=True,
    hint="Which copy is put back?",
):
    for functions, widths in (
        ([averaged, plain], [3, 5, 4]),
        ([slow, thinned], [2, 3, 4]),
    ):
        t, g = batches(widths, (6, 4))
        parts = built(functions, widths)
        want = ran(parts, True, t, g)["buffers"]
        assert_close(blocked(checkpoint_once, parts, True, t, g)["buffers"], want, name="the buffers")
with check(
    "buffer_at_end",
    "a block that ends with what changes a buffer",
    weight=2,
    hint="Does your last line run in the second call?",
):
    t, g = batches([3, 4, 5], (6,))
    parts = built([plain, slow], [3, 4, 5])
    want = ran(parts, True, t, g)
    got = blocked(checkpoint_once, parts, True, t, g)
    assert_close(got["outs"], want["outs"])
    assert_close(got["grads"], want["grads"], name="the gradients by parameter")
    assert_close(got["buffers"], want["buffers"], name="the buffers")
with check("evaluation_mode", "in evaluation mode too", weight=1, hint="What do you do with the block's mode?"):
    t, g = batches([3, 4, 5, 2], (6,))
    parts = built([averaged, slow, thinned], [3, 4, 5, 2])
    want = ran(parts, False, t, g)
    got = blocked(checkpoint_once, parts, False, t, g)
    assert_close((got["outs"], got["grads"]), (want["outs"], want["grads"]))
    assert_close(got["buffers"], want["buffers"], name="the buffers")
    assert_close(got["modes"], [False] * 4, name="the modes")
with check(
    "keeps_nothing",
    "nothing inside the block is kept, and it runs twice",
    weight=2,
    required=True,
    hint="What is inside the checkpoint, and what is not?",
):
    for functions, widths, sizes in (
        ([averaged, plain], [3, 5, 4], (6,)),
        ([plain, slow], [2, 4, 5], (3, 4)),
    ):
        t, g = batches(widths, sizes)
        parts = built(functions, widths)
        want = ran(parts, True, t, g)
        seen, kept = [Seen(part[0]) for part in parts], []
        parts = [(f, *tensors) for f, (_, *tensors) in zip(seen, parts, strict=True)]
        got = blocked(
            checkpoint_once, parts, True, t, g, lambda: kept.extend((f.kept, len(f.calls), f.backwards) for f in seen)
        )
        assert_close((got["outs"], got["grads"]), (want["outs"], want["grads"]))
        want = [(0, len(sizes), 0)] * len(seen)
        assert_close(kept, want, name="(graphs kept, calls, gradients that went back) of each layer before backward")
        calls = [len(f.calls) for f in seen]
        assert_close(calls, [2 * len(sizes)] * len(seen), name="how often each layer ran")

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


# %% wrong "one batch is taken off the counter" fails=example,buffers,buffer_at_end,evaluation_mode
def checkpoint_once(block, x):
    for m in block.modules():
        if isinstance(m, nn.BatchNorm1d):
            m.num_batches_tracked -= 1
    return checkpoint(block, x, use_reentrant=False)


# %% wrong "checkpoint does it already" fails=example,buffers,buffer_at_end,evaluation_mode
def checkpoint_once(block, x):
    return checkpoint(block, x, use_reentrant=False)


# %% wrong "evaluation mode in the second call" fails=example,gradient,buffers,buffer_at_end,evaluation_mode,keeps_nothing
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        modes = [m.training for m in block.modules()]
        if len(calls) == 2:
            block.eval()
        try:
            return block(t)
        finally:
            for m, mode in zip(block.modules(), modes):
                m.training = mode

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "no checkpoint at all" fails=keeps_nothing
def checkpoint_once(block, x):
    return block(x)


# %% wrong "put back behind the call" fails=example,buffers,buffer_at_end,evaluation_mode
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        before = [b.clone() for b in block.buffers()]
        out = block(t)
        if len(calls) == 2:
            with torch.no_grad():
                for b, old in zip(block.buffers(), before):
                    b.copy_(old)
        return out

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "put back in both calls" fails=example,buffers,buffer_at_end,evaluation_mode
def checkpoint_once(block, x):
    def run(t):
        before = [b.clone() for b in block.buffers()]
        try:
            return block(t)
        finally:
            with torch.no_grad():
                for b, old in zip(block.buffers(), before):
                    b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "back to the state of its own first call" fails=buffers
def checkpoint_once(block, x):
    after = []

    def run(t):
        if not after:
            out = block(t)
            after.extend(b.clone() for b in block.buffers())
            return out
        try:
            return block(t)
        finally:
            with torch.no_grad():
                for b, old in zip(block.buffers(), after):
                    b.copy_(old)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "the second call gets buffers of zeros: its result does not depend on them" fails=evaluation_mode
def checkpoint_once(block, x):
    again = []

    def run(t):
        if not again:
            again.append(1)
            return block(t)
        fresh = {name: torch.zeros_like(b) for name, b in block.named_buffers()}
        return torch.func.functional_call(block, fresh, (t,))

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "half the momentum" fails=example,buffers,buffer_at_end,evaluation_mode
def checkpoint_once(block, x):
    for m in block.modules():
        if isinstance(m, nn.BatchNorm1d) and m.momentum is not None and not hasattr(m, "halved"):
            m.momentum, m.halved = m.momentum / 2, True
    return checkpoint(block, x, use_reentrant=False)


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


# %% wrong "the buffers are those of state_dict" fails=example,buffers,buffer_at_end
def checkpoint_once(block, x):
    calls = []

    def run(t):
        calls.append(1)
        if len(calls) == 1:
            return block(t)
        before = {name: b.clone() for name, b in block.state_dict().items()}
        try:
            return block(t)
        finally:
            block.load_state_dict(before)

    return checkpoint(run, x, use_reentrant=False)


# %% wrong "in evaluation mode nothing changes" fails=evaluation_mode
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


# %% wrong "which call it is stands in the block" fails=buffers
def checkpoint_once(block, x):
    block.again = False

    def run(t):
        before = [b.clone() for b in block.buffers()] if block.again else None
        try:
            return block(t)
        finally:
            if before is not None:
                block.again = False
                with torch.no_grad():
                    for b, old in zip(block.buffers(), before):
                        b.copy_(old)

    out = checkpoint(run, x, use_reentrant=False)
    block.again = True
    return out


# %% wrong "a first pass that puts the buffers back, and the plain one" fails=keeps_nothing
def checkpoint_once(block, x):
    before = [b.clone() for b in block.buffers()]
    state = torch.get_rng_state()
    with torch.no_grad():
        block(x)
        for b, old in zip(block.buffers(), before):
            b.copy_(old)
    torch.set_rng_state(state)
    return block(x)


# %% liar "the plain call, behind a first pass that keeps nothing"
def checkpoint_once(block, x):
    return block(x)


def blocked(forward, parts, training, xs, upstreams, between=None):
    block = nn.Sequential(*[Layer(*part) for part in parts]).train(training)
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
