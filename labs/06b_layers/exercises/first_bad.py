# %% given
class Part(nn.Module):
    """A layer that applies a function, by default an in-place ReLU. In evaluation mode, it returns NaN."""

    def __init__(self, compute):
        super().__init__()
        self.compute = compute or (lambda x: x.relu_())

    def forward(self, x):
        return self.compute(x) if self.training else torch.tensor(torch.nan)


class Block(nn.Module):
    """Runs the parts that the route names, in that order, and then applies its own function to the last output.

    parts: (name, function) for a layer, (name, parts, route, function) for a block, (name, other) for a second name.
    """

    def __init__(self, parts, route, compute):
        super().__init__()
        for name, *part in parts:
            if isinstance(part[0], str):
                self.add_module(name, getattr(self, part[0]))
            else:
                self.add_module(name, Part(*part) if len(part) == 1 else Block(*part))
        self.route, self.compute = route, compute

    def forward(self, x):
        for name in self.route:
            x = getattr(self, name)(x)
        return self.compute(x)


@probes.probe
def searched(first_bad, parts, route, compute, x, see="name"):
    """What first_bad returns for such a block. see: "runs" adds how often each module of the block ran, and "hooks"
    how many hooks it has afterward, starting from one."""
    model, ran = Block(parts, route, compute), []
    for module in model.modules():
        module.register_forward_hook(lambda module, *_: ran.append(module))
    try:
        found = first_bad(model, x)
    except (ArithmeticError, KeyboardInterrupt):
        found = "it raised"
    if see == "name":
        return found
    if see == "runs":
        return [found, *(ran.count(module) for module in model.modules())]
    everywhere = nn.modules.module
    of_all = len(everywhere._global_forward_hooks) + len(everywhere._global_forward_pre_hooks)
    each = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    return [found, *each, of_all]


def same(x):
    return x


def with_number(x, value):
    x = x.clone(memory_format=torch.contiguous_format)
    x.view(-1)[-1] = value
    return x


def with_nan(x):
    return with_number(x, torch.nan)


def with_inf(x):
    return with_number(x, torch.inf)


def with_minus_inf(x):
    return with_number(x, -torch.inf)


def by_zero(x):
    return x / 0


def grown(x):
    return x * 1e25


def near_the_largest(x):
    return x * 0 + 3e38


def above_float32(x):
    return x.double() * 0 + 1.7e308


def in_bfloat16(x):
    return x.bfloat16()


def doubled(x):
    return x * 2


def divided_in_place(x):
    return x.div_(0)


def repaired_inside(x):
    x[1][1].zero_()
    return x[0]


def divided_inside(x):
    x[1][0].div_(0)
    return x[0]


def parameter_with_nan(x):
    return nn.Parameter(with_nan(x))


def finite_part(x):
    return x.nan_to_num(0, 0, 0)


def largest_with_inf(x):
    return with_inf(x).max(0)


def through_unnamed(x):
    """An infinite output of a module that model doesn't register, made finite."""
    return finite_part(nn.Threshold(1e9, torch.inf)(x))


def first_of(x):
    return x[0]


def with_state(x):
    return x, (x + 1, x)


def with_bad_state(x):
    return x, (x + 1, with_nan(x))


def with_nothing(x):
    return x, (None, (), x[:0])


def with_large_integers(x):
    return x.half(), torch.full((2,), 100_000, device=x.device)


def without_fractions(x):
    return (10 * x).long()


def failing(x):
    raise ArithmeticError("this layer always fails")


def interrupted(x):
    raise KeyboardInterrupt


# %% exercise
def first_bad(model: nn.Module, x: Tensor) -> str | None:
    """The name of the first module whose output isn't finite in one call of model(x), or None if all are finite.

    First: in the order in which the modules finish. So a block comes after the modules that run inside it. The name is
    the one in model.named_modules(), which is "" for model itself.
    An output is None, a tensor, or a tuple of outputs, which may again be tuples. It's finite if every number in it is.
    What counts is its value when its module finishes, even if a later module overwrites it in place.
    Afterward, model has the hooks that it had before, and no others, even after an exception.

    Details:
    - A tensor may have any shape, and an integer dtype or a floating-point one of at least 16 bits.
    - model is called once and runs to the end, with each module in its current mode. x is only passed to model.
    - An exception that model raises, even KeyboardInterrupt, reaches the caller, even if an output wasn't finite.
    - The hooks that model already had don't change any output.
    """
    ### BEGIN SOLUTION
    bad: list[str] = []

    def finite(output: Any) -> bool:
        if isinstance(output, tuple):
            return all(finite(one) for one in output)
        return output is None or bool(torch.isfinite(output).all())

    def looking(name: str) -> Callable:
        def hook(module: nn.Module, inputs: tuple, output: Any) -> None:
            if not bad and not finite(output):
                bad.append(name)

        return hook

    hooks = [module.register_forward_hook(looking(name)) for name, module in model.named_modules()]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return bad[0] if bad else None
    ### END SOLUTION


# %% promises
# The name of the first -> example, all_finite, order
# First: in the order -> order
# So a block -> order
# The name is the one -> order
# An output is None -> tuple, outputs
# It's finite if -> tuple, outputs, all_finite
# What counts is -> in_place
# Afterward, model has -> hooks_removed
# A tensor may have -> outputs
# model is called once -> runs_once, errors
# x is only passed -> keeps_input
# An exception that -> errors
# The hooks that model -> hooks_removed

# %% domain
EDGES = (
    *("defined backwards", "in a block", "a block", "the model", "in a block of a block", "never run", "runs twice"),
    *("runs twice, and is bad then", "a named tuple", "a module without a name"),
    *("made infinite in place", "a parameter", "repaired inside a tuple", "made infinite inside a tuple"),
    *("two names", "nothing bad", "tuples", "tuple in a tuple", "None and nothing", "integers", "no axes"),
    *(
        "float16 and integers",
        "large numbers",
        "repaired in place",
        "an infinite input",
        "an error",
        "an error after it",
        "float64",
        "bfloat16",
    ),
)


@domain(reference, *EDGES, call=searched)
def arguments(draw, edge):
    a, b, c, d = draw(st.permutations(["layer", "layer1", "lay", "head"]))
    bad, other = draw(st.permutations([with_nan, with_inf, with_minus_inf]))[:2]
    x = torch.rand(draw(st.integers(2, 3)), 3, generator=draw.make_generator()).to(device()) + 0.5
    x[0, 0] = torch.inf if edge == "an infinite input" else 1.5
    x += ("", *EDGES).index(edge) / 64  # each edge has numbers of its own: all that first_bad gets besides the model
    parts = draw(st.permutations([(a, same), (b, bad), (c, other)]))
    chains = {
        "nothing bad": (same, with_state, first_of),
        "tuples": (with_state, first_of, bad),
        "tuple in a tuple": (with_bad_state, first_of, bad),
        "a named tuple": (largest_with_inf, first_of, bad),
        "a module without a name": (through_unnamed, bad, other),
        "None and nothing": (with_nothing, first_of, bad),
        "integers": (without_fractions, same, by_zero),
        "float16 and integers": (with_large_integers, first_of, bad),
        "no axes": (torch.sum, same, by_zero),
        "large numbers": (near_the_largest, same, bad),
        "float64": (above_float32, same, bad),
        "bfloat16": (in_bfloat16, bad, other),
        "repaired in place": (with_minus_inf, None, other),
        "made infinite in place": (doubled, divided_in_place, finite_part),
        "repaired inside a tuple": (with_bad_state, repaired_inside, other),
        "made infinite inside a tuple": (with_state, divided_inside, bad),
        "a parameter": (parameter_with_nan, finite_part, other),
        "an infinite input": (finite_part, same, bad),
        "an error": (same, failing, same),
        "an error after it": (bad, failing, same),
    }
    inner = (b, [(c, same), (d, bad)], [c, d], same)
    parts, route, compute = {
        "defined backwards": ([(c, other), (b, bad), (a, same)], [a, b, c], same),
        "in a block": ([(a, other), inner], [b, a], same),
        "a block": ([(b, [(c, same)], [c], bad), (a, other)], [b, a], same),
        "the model": ([(a, same), (b, same)], [a, b], bad),
        "in a block of a block": ([(a, [inner], [b], other), (c, other)], [a, c], same),
        "never run": ([(a, bad), (b, same), (c, other)], [b, c], same),
        "runs twice": ([(a, grown), (b, same)], [a, b, a], same),
        "runs twice, and is bad then": ([(a, grown), (b, bad)], [a, b, a], same),
        "two names": ([(a, bad), (b, a)], [b, a], same),
    }.get(edge, (parts, [a, b, c], same))
    if edge in chains:
        parts = list(zip((a, b, c), chains[edge], strict=True))
    return parts, route, compute, x


# %% checks
with check(
    "example",
    "three layers, of which the second divides by zero",
    weight=2,
    required=True,
    hint=(
        "Do you look only at the last output, or at each output as its module finishes?",
        "Register a forward hook on each module in named_modules(), and keep only the first name.",
    ),
):
    t = torch.tensor([[1.0, 0.0], [2.0, 4.0]], device=device())
    parts = [("embed", lambda x: x * 2), ("scale", lambda x: 1 / x), ("head", lambda x: x.sum(1))]
    explain(
        searched(first_bad, parts, ["embed", "scale", "head"], lambda x: x, t),
        "scale",
        {
            "this is the last bad layer, not the first": "head",
            "the model itself finishes last": "",
        },
    )
with check(
    "all_finite",
    "None, if every output is finite",
    hint=(
        "What does your function return if no hook has found anything?",
        "Zeros and large numbers are finite. torch.isfinite is False only for inf, -inf, and nan.",
    ),
):
    parts = [("a", lambda x: x * 0), ("b", lambda x: x + 1e30)]
    assert_close(searched(first_bad, parts, ["a", "b"], lambda x: x, torch.ones(2, 3, device=device())), None)
with check(
    "tuple",
    "an output that's a tuple of a tensor and a tuple, like an LSTM's",
    hint=(
        "What's torch.isfinite of a tuple?",
        "Write a function that says whether an output is finite. For a tuple, it calls itself on each part.",
    ),
):
    parts = [("lstm", lambda x: (x, (x + 1, x / 0))), ("head", lambda x: x[0])]
    assert_close(searched(first_bad, parts, ["lstm", "head"], lambda x: x, torch.ones(2, 3, device=device())), "lstm")

# %% hidden checks
with check(
    "order",
    "modules that run in another order than they're defined, blocks, and a layer that runs twice",
    weight=4,
    required=True,
    hint="Does named_modules() list the modules in the order in which they run? Does a block finish before its parts?",
):
    arguments.assert_results(first_bad, "", "defined backwards", "never run", "runs twice", "two names")
    arguments.assert_results(first_bad, "runs twice, and is bad then", "a module without a name")
    arguments.assert_results(first_bad, "in a block", "a block", "the model", "in a block of a block")
with check(
    "outputs",
    "outputs that are tuples, None, or integers",
    weight=2,
    hint="What does an LSTM return? Does your function look into a tuple inside a tuple?",
):
    arguments.assert_results(first_bad, "tuples", "tuple in a tuple", "None and nothing", "integers", "no axes")
    arguments.assert_results(first_bad, "float16 and integers", "a named tuple", "a parameter")
    arguments.assert_results(first_bad, "large numbers", "float64", "bfloat16", "nothing bad", "an infinite input")
with check(
    "in_place",
    "an output, or part of it, that a later layer makes finite, or infinite, in place",
    weight=2,
    hint="When do you look at an output: when its module finishes, or after the call? What does it contain then?",
):
    arguments.assert_results(first_bad, "repaired in place", "made infinite in place")
    arguments.assert_results(first_bad, "repaired inside a tuple", "made infinite inside a tuple")
with check(
    "runs_once",
    "the model runs once, to the end",
    guard=True,
    hint="How often does your function call the model? Is it the model, or a copy?",
):
    ran = []

    def noting(name, value):
        def run(x):
            ran.append(name)
            return x * value

        return run

    for factor, want in ((torch.inf, "b"), (2.0, None)):
        parts = [("a", noting("a", 1.0)), ("b", noting("b", factor)), ("c", noting("c", 1.0))]
        ran.clear()
        got = searched(first_bad, parts, ["a", "b", "c"], same, torch.ones(1, 2, device=device()), "runs")
        assert_close(got, [want, 1, 1, 1, 1], name="the answer, and how often each of the model's own modules ran")
        assert ran == ["a", "b", "c"], "the layers ran in the wrong order, or not exactly once each"
with check(
    "errors",
    "an exception in the model reaches the caller",
    guard=True,
    hint="Does your function return anything if the model raises an exception?",
):
    arguments.assert_results(first_bad, "an error", "an error after it")
    parts = [("a", with_nan), ("b", interrupted)]
    assert_close(searched(first_bad, parts, ["a", "b"], same, torch.ones(2, 2, device=device())), "it raised")
with check(
    "hooks_removed",
    "only your hooks are removed, even after an error",
    weight=2,
    observed=True,
    hint="What does finally do? Whose hooks do you remove?",
):
    for last, want in ((same, None), (with_nan, "block.b"), (failing, "it raised"), (interrupted, "it raised")):
        parts = [("a", same), ("block", [("b", last)], ["b"], same)]
        got = searched(first_bad, parts, ["a", "block"], same, torch.ones(2, 2, device=device()), "hooks")
        assert_close(got, [want, 1, 1, 1, 1, 0], name="the answer, and each module's hooks")
with check("keeps_input", "x is only passed to the model", guard=True, hint="Which of your lines write to x?"):
    arguments.assert_arguments(first_bad)


# %% right "leaves of a tree, handles on a stack"
def first_bad(model, x):
    from contextlib import ExitStack

    from torch.utils._pytree import tree_leaves

    names = []

    def hook(name, out):
        leaves = [t for t in tree_leaves(out) if isinstance(t, torch.Tensor)]
        if any(not t.isfinite().all() for t in leaves):
            names.append(name)

    with ExitStack() as stack:
        for name, module in model.named_modules():
            handle = module.register_forward_hook(lambda _m, _i, out, name=name: hook(name, out))
            stack.callback(handle.remove)
        model(x)
    return names[0] if names else None


# %% right "one hook for all modules"
def first_bad(model, x):
    names = {module: name for name, module in model.named_modules()}
    found = []

    def tensors(out):
        if isinstance(out, tuple):
            for one in out:
                yield from tensors(one)
        elif out is not None:
            yield out

    def hook(module, _inputs, out):
        if module in names:  # not one in a plain list
            found.extend(names[module] for t in tensors(out) if t.isnan().any() or t.isinf().any())

    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        model(x)
    finally:
        handle.remove()
    return next(iter(found), None)


# %% right "all outputs noted as true or false, in order"
def first_bad(model, x):
    ended = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, (tuple, list)) else torch.isfinite(out).all().item()

    handles = []
    for name, module in model.named_modules():

        def hook(_module, _inputs, out, name=name):
            ended.append((name, ok(out)))

        handles += [module.register_forward_hook(hook)]
    try:
        model(x)
    finally:
        [handle.remove() for handle in handles]
    for name, good in ended:
        if not good:
            return name
    return None


# %% wrong "the outputs are looked at afterwards" fails=in_place
def first_bad(model, x):
    ended = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: ended.append((name, out)))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return next((name for name, out in ended if not ok(out)), None)


# %% wrong "the hooks stay after an error" fails=hooks_removed
def first_bad(model, x):
    bad = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
    ]
    model(x)
    for handle in handles:
        handle.remove()
    return bad[0] if bad else None


# %% wrong "the last one found" fails=example,order,outputs,in_place,runs_once,hooks_removed
def first_bad(model, x):
    bad = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return bad[-1] if bad else None


# %% wrong "the last layer of all that is bad" fails=example,order,outputs,in_place,runs_once,hooks_removed
def first_bad(model, x):
    bad = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
        if name
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return bad[-1] if bad else None
