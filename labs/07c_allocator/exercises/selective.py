# %% given
CALLED: dict[str, Callable[..., Tensor]] = {}  # what the three operators below call


def operator(name, backward, keeps):
    """An operator of our own, gradlab::name, which calls CALLED[name]. keeps: what backward needs."""

    def run(*tensors: Tensor) -> Tensor:
        return CALLED[name](*tensors)

    form = "(Tensor x, Tensor w) -> Tensor" if name == "product" else "(Tensor x) -> Tensor"
    made = torch.library.custom_op(f"gradlab::{name}", run, mutates_args=(), schema=form)
    made.register_autograd(
        backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*keeps(inputs, output))
    )
    return made


def product_backward(ctx, g):
    x, w = ctx.saved_tensors  # read once: a selective checkpoint hands each out once
    return g @ w.T, x.T @ g


product = operator("product", product_backward, lambda inputs, output: inputs)
bend = operator("bend", lambda ctx, g: g * (1 - ctx.saved_tensors[0] ** 2), lambda inputs, output: [output])
wave = operator("wave", lambda ctx, g: g * ctx.saved_tensors[0].cos(), lambda inputs, output: inputs)


@probes.probe
def selected(checkpointing, layers, keep, every, xs, weights, upstreams, functions, between):
    """Results and gradients of checkpointing(f, x, keep, every) for each x.

    f applies the operators of layers, one after another; each product takes the next of weights.
    keep: names of operators. functions: what the operators call. between: called before backward.
    """
    CALLED.update(functions)
    operators = {"product": product, "bend": bend, "wave": wave}
    chosen = [getattr(torch.ops.gradlab, name).default for name in keep]
    weights = [w.detach().clone().requires_grad_() for w in weights]
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]

    def f(x):
        left = iter(weights)
        for name in layers:
            x = operators[name](x, next(left)) if name == "product" else operators[name](x)
        return x

    outs = [checkpointing(f, x, chosen, every) for x in xs]
    values = [out.detach().clone() for out in outs]
    between()
    torch.autograd.backward(outs, upstreams)
    return {"outs": values, "grads": [w.grad for w in weights], "x": [x.grad for x in xs]}


@probes.probe
def other_overload(checkpointing, x):
    """The gradient of x, if f calls pow with a number, keep has the pow of two tensors, and f has changed meanwhile."""
    x, factor = x.detach().clone().requires_grad_(), [1.0]
    out = checkpointing(lambda t: (t * factor[0]).pow(2).sin(), x, [torch.ops.aten.pow.Tensor_Tensor], 1)
    factor[0] = 0.5
    return torch.autograd.grad(out.sum(), x)[0]


# %% exercise
def selective(f: Callable[[Tensor], Tensor], x: Tensor, keep: list[Any], every: int) -> Tensor:
    """f(x), checkpointed: the results of some operators are kept, and the rest is computed again.

    keep is a list of operators such as torch.ops.aten.mm.default. Count the calls of all operators in keep during this
    call of f, from 0: the results of calls 0, every, 2 * every, ... are kept. In backward, these aren't computed again.
    Everything else in f that backward needs is, as in a checkpoint that keeps only x.

    Details:
    - keep may be empty. every is at least 1.
    - f may call many of the operators in keep, none, or others that aren't in keep. It draws no random numbers.
    - x may require grad or not.
    - selective may be called several times before one backward: each call counts from 0.
    """
    ### BEGIN SOLUTION

    def contexts() -> Any:
        calls = 0

        def policy(ctx: Any, op: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
            nonlocal calls
            if op not in keep:
                return CheckpointPolicy.PREFER_RECOMPUTE
            calls += 1
            return CheckpointPolicy.MUST_SAVE if (calls - 1) % every == 0 else CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    out: Tensor = checkpoint(f, x, use_reentrant=False, context_fn=contexts)
    return out
    ### END SOLUTION


# %% promises
# f(x), checkpointed: -> example, operators
# keep is a list -> operators, none
# Count the calls -> every
# In backward, these -> operators, every
# Everything else in f -> operators, none
# keep may be empty -> operators, none
# every is at least -> every
# f may call many -> operators, none
# It draws no random -> operators
# x may require grad -> operators
# selective may be -> several


# %% domain
class Changing:
    """The three functions of the operators, which give something else when they run again. ran: what ran."""

    def __init__(self):
        self.ran, self.again = [], 1.0

    def product(self, x, w):
        self.ran.append(("product", tuple(x.shape), tuple(w.shape)))
        return x @ w * self.again

    def bend(self, x):
        self.ran.append(("bend", tuple(x.shape)))
        return torch.tanh(x) * self.again

    def wave(self, x):
        self.ran.append(("wave", tuple(x.shape)))
        return torch.sin(x) * self.again

    def backward_begins(self):
        self.ran.append(("backward",))
        self.again = 0.75

    def functions(self):
        return {"product": self.product, "bend": self.bend, "wave": self.wave}


@domain(
    reference,
    *("one layer", "x without grad", "every second call", "every third call of two operators", "only the first call"),
    *("several batches", "no operator to keep", "none is called"),
    call=selected,
)
def arguments(draw, edge):
    names = draw(st.permutations(["product", "product", "product", "bend", "wave"]))
    names = {"one layer": [], "none is called": ["bend", "wave"], "several batches": names}.get(edge, [*names, "wave"])
    layers = [*names, "bend"]  # backward needs the result of the last one, so all before it run again
    if edge.startswith("every"):
        layers = ["product", *names, *layers]
    keep = draw(st.sampled_from([["product"], ["wave"], ["bend", "wave"], ["wave", "product"]]))
    keep = {
        "one layer": ["bend"],
        "every second call": ["product"],
        "every third call of two operators": ["product", "wave"],
        "only the first call": ["wave", "bend"],
        "several batches": ["product"],
        "no operator to keep": [],
        "none is called": ["product"],
    }.get(edge, keep)
    every = {"every third call of two operators": 3, "only the first call": 9}.get(
        edge, 1 + (edge.startswith(("every", "several")))
    )
    sizes = draw(st.permutations([2, 3, 5])) if edge == "several batches" else [draw(st.integers(2, 5))]
    widths = [draw(st.integers(2, 5)) for _ in range(layers.count("product") + 1)]
    seed = draw(st.integers(0, 10**6))
    weights = [some(a, b, seed=seed + n) for n, (a, b) in enumerate(pairwise(widths))]
    xs = [some(n, widths[0], seed=seed + 20 + n, grad=edge != "x without grad") for n in sizes]
    xs = [x.requires_grad_() for x in xs] if not weights else xs
    upstreams = [some(n, widths[-1], seed=seed + 30 + n, grad=False) for n in sizes]
    run = Changing()
    return layers, keep, every, xs, weights, upstreams, run.functions(), run.backward_begins


# %% checks
with check(
    "example",
    "two layers: both products are kept, and only bend runs again",
    weight=2,
    required=True,
    hint=(
        "Which argument of checkpoint takes the two contexts? What does a policy return for an operator in keep?",
        "checkpoint(f, x, use_reentrant=False, context_fn=contexts), where contexts() returns "
        "create_selective_checkpoint_contexts(policy). The policy counts the calls of operators in keep.",
    ),
):
    ran = []

    def multiply(x, w):
        ran.append("product")
        return x @ w

    def curve(x):
        ran.append("bend")
        return torch.tanh(x)

    t = torch.linspace(-1, 2, 15, device=device()).sin().reshape(5, 3).requires_grad_()
    ws = [torch.linspace(-2, 2, 12, device=device()).cos().reshape(3, 4).requires_grad_()]
    ws += [torch.linspace(1, -2, 8, device=device()).reshape(4, 2).requires_grad_()]
    g = torch.linspace(-2, 1, 10, device=device()).reshape(5, 2)
    want = torch.tanh(torch.tanh(t @ ws[0]) @ ws[1])
    want_grads = torch.autograd.grad(want, [*ws, t], g)
    layers = ["product", "bend", "product", "bend"]
    functions = {"product": multiply, "bend": curve}
    got = selected(selective, layers, ["product"], 1, [t], ws, [g], functions, lambda: ran.append("backward"))
    assert_close(got["outs"], [want.detach()])
    assert_close([*got["grads"], *got["x"]], list(want_grads), name="the gradients")
    explain(
        ran,
        [*layers, "backward", "bend", "bend"],
        {
            "nothing runs again: everything was kept": [*layers, "backward"],
            "everything runs again: nothing in f was kept": [*layers, "backward", *layers],
            "products should be kept, and bend should run again": [*layers, "backward", "product", "product"],
        },
        name="what ran, in order",
    )

# %% hidden checks


def assert_runs(checkpointing, *edges):
    """Compare the results, what ran, and the gradients, which show what was used."""
    for trial in arguments.iter_trials(checkpointing, *edges):
        got, want = trial.report.result, trial.case.report.result
        ran, expected = (one[6]["product"].__self__.ran for one in (trial.arguments, trial.case.arguments))
        assert_close(got["outs"], want["outs"], name="the results")
        assert_close([one[0] for one in ran], [one[0] for one in expected], name="what ran, in order")
        assert ran == expected, "an operator ran with tensors of other shapes"
        assert_close(got["grads"], want["grads"], name="the gradients of weights")
        assert_close(got["x"], want["x"], name="the gradients of x")


with check(
    "operators",
    "other operators and other sizes: what ran again, and whether backward used it",
    weight=3,
    required=True,
    hint="Which operators are in keep? Is your policy asked about each operator of f, and what does it compare?",
):
    assert_runs(selective, "", "one layer", "x without grad")
    t = some(2, 3, seed=4)
    want = other_overload(reference.function, t)
    assert_close(other_overload(selective, t), want, name="the gradient through an overload that isn't in keep")
with check(
    "every",
    "every second and every third call",
    weight=3,
    required=True,
    hint="Is call 0 kept? Are calls counted together for all operators in keep?",
):
    assert_runs(selective, "every second call", "every third call of two operators", "only the first call")
with check(
    "several",
    "several batches before one backward: each starts counting at 0",
    weight=2,
    hint="Is your counter created once, or for each call?",
):
    assert_runs(selective, "several batches")
with check(
    "none",
    "no operator to keep: a checkpoint that keeps only x",
    weight=1,
    hint="What does the policy return for an operator that isn't in keep?",
):
    assert_runs(selective, "no operator to keep", "none is called")


# %% right "a policy with a counter from itertools"
from functools import partial
from itertools import count


def selective(f, x, keep, every):
    def policy(numbers, ctx, op, *args, **kwargs):
        if op in keep and next(numbers) % every == 0:
            return CheckpointPolicy.MUST_SAVE
        return CheckpointPolicy.PREFER_RECOMPUTE

    def contexts():
        return create_selective_checkpoint_contexts(partial(policy, count()))

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)


# %% right "a class, counted for each phase as older code does"
class Policy:
    def __init__(self, keep, every):
        self.keep, self.every, self.seen = set(keep), every, {True: -1, False: -1}

    def __call__(self, ctx, op, *args, **kwargs):
        if op in self.keep:
            self.seen[ctx.is_recompute] += 1
            if self.seen[ctx.is_recompute] % self.every == 0:
                return CheckpointPolicy.PREFER_SAVE
        return CheckpointPolicy.MUST_RECOMPUTE


def selective(f, x, keep, every):
    return checkpoint(
        f, x, use_reentrant=False, context_fn=lambda: create_selective_checkpoint_contexts(Policy(keep, every))
    )


# %% right "a mode of one's own that keeps and hands out"
from contextlib import contextmanager
from torch.utils._python_dispatch import TorchDispatchMode


class Keeping(TorchDispatchMode):
    def __init__(self, keep, every, store, again):
        super().__init__()
        self.keep, self.every, self.store, self.again, self.n = keep, every, store, again, 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func not in self.keep:
            return func(*args, **(kwargs or {}))
        n, self.n = self.n, self.n + 1
        if n % self.every:
            return func(*args, **(kwargs or {}))
        if self.again:
            return self.store.pop(n)
        out = func(*args, **(kwargs or {}))
        self.store[n] = out.detach()
        return out


def selective(f, x, keep, every):
    store = {}
    return checkpoint(
        f,
        x,
        use_reentrant=False,
        context_fn=lambda: (Keeping(keep, every, store, False), Keeping(keep, every, store, True)),
    )


# %% wrong "an ordinary checkpoint" fails=example,operators,every,several
def selective(f, x, keep, every):
    return checkpoint(f, x, use_reentrant=False)


# %% wrong "no checkpoint" fails=example,operators,every,several,none
def selective(f, x, keep, every):
    return f(x)


# %% wrong "kept and computed again exchanged" fails=example,operators,every,several,none
def selective(f, x, keep, every):
    def contexts():
        calls = [0]

        def policy(ctx, op, *args, **kwargs):
            if op not in keep:
                return CheckpointPolicy.MUST_SAVE
            calls[0] += 1
            return CheckpointPolicy.PREFER_RECOMPUTE if calls[0] % every == 1 % every else CheckpointPolicy.MUST_SAVE

        return create_selective_checkpoint_contexts(policy)

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)


# %% wrong "each operator counted for itself" fails=every
def selective(f, x, keep, every):
    def contexts():
        calls = {}

        def policy(ctx, op, *args, **kwargs):
            if op not in keep:
                return CheckpointPolicy.PREFER_RECOMPUTE
            n = calls[op] = calls.get(op, -1) + 1
            return CheckpointPolicy.MUST_SAVE if n % every == 0 else CheckpointPolicy.PREFER_RECOMPUTE

        return create_selective_checkpoint_contexts(policy)

    return checkpoint(f, x, use_reentrant=False, context_fn=contexts)


# %% liar "f alone, behind a pass that keeps nothing, and what is to run again runs for show"
def selective(f, x, keep, every):
    return f(x)


def selected(checkpointing, layers, keep, every, xs, weights, upstreams, functions, between):
    weights = [w.detach().clone().requires_grad_() for w in weights]
    xs = [x.detach().clone().requires_grad_(x.requires_grad) for x in xs]
    outs, shows = [], []
    for x in xs:
        left, n = iter(weights), 0
        for name in layers:
            before, given = x, ([next(left)] if name == "product" else [])
            x = functions[name](x, *given)
            kept = name in keep and n % every == 0
            n += name in keep
            if not kept:
                shows.append((name, [before.detach(), *[one.detach() for one in given]]))
        outs.append(x)
    between()
    for name, given in shows:
        functions[name](*given)
    torch.autograd.backward(outs, upstreams)
    return {"outs": [o.detach() for o in outs], "grads": [w.grad for w in weights], "x": [x.grad for x in xs]}
