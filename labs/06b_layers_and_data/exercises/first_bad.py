# %% given
class Part(nn.Module):
    """A layer that somebody else computes. Without a function it is a ReLU in place."""

    def __init__(self, compute):
        super().__init__()
        self.compute = compute or (lambda x: x.relu_())

    def forward(self, x):
        return self.compute(x)


class Block(nn.Module):
    """Runs those of its parts that the route names, in its order, and computes something itself with the last output.

    parts: (name, function) for a layer, (name, parts, route, function) for a block.
    """

    def __init__(self, parts, route, compute):
        super().__init__()
        for name, *part in parts:
            self.add_module(name, Part(*part) if len(part) == 1 else Block(*part))
        self.route, self.compute = route, compute

    def forward(self, x):
        for name in self.route:
            x = getattr(self, name)(x)
        return self.compute(x)


@probes.probe
def searched(first_bad, parts, route, compute, x, see="name"):
    """What first_bad says of such a block, or how many hooks each module has afterwards, where one was before."""
    model = Block(parts, route, compute)
    for module in model.modules():
        module.register_forward_hook(lambda *_: None)
    try:
        found = first_bad(model, x)
    except ArithmeticError:
        found = "it raised"
    if see == "name":
        return found
    everywhere = nn.modules.module
    of_all = len(everywhere._global_forward_hooks) + len(everywhere._global_forward_pre_hooks)
    each = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    return [found, *each, of_all]


# %% exercise
def first_bad(model: nn.Module, x: Tensor) -> str | None:
    """The name of the first module whose output is not finite in one call model(x), None where all are finite.

    First: in the order in which the modules end. So a module comes behind those that run inside it. The name is that
    in model.named_modules(), which is "" for model itself. An output is a tensor, None, or a tuple of outputs, and is
    finite where each number in it is. It counts as it is when its module ends, whatever later ones write into it.
    model is called once, and to its end. An error that it raises goes on to the caller. Afterwards model has the hooks
    that it had before, also after an error.
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


# %% checks
with check(
    "example",
    "of three layers, the second one divides by zero",
    weight=2,
    required=True,
    hint=(
        "Whose output do you look at: the last one's, or each one's as it comes?",
        "Register a forward hook at each module of named_modules(), and note the first name only.",
    ),
):
    t = torch.tensor([[1.0, 0.0], [2.0, 4.0]], device=device())
    parts = [("embed", lambda x: x * 2), ("scale", lambda x: 1 / x), ("head", lambda x: x.sum(1))]
    explain(
        searched(first_bad, parts, ["embed", "scale", "head"], lambda x: x, t),
        "scale",
        {
            "the first bad one is wanted, and not the last layer that is": "head",
            "the whole model ends last": "",
        },
    )
with check(
    "all_finite",
    "None, where every output is finite",
    hint=(
        "What does your function return if no hook has found anything?",
        "Zeros and large numbers are finite. torch.isfinite says False for inf, -inf and nan only.",
    ),
):
    parts = [("a", lambda x: x * 0), ("b", lambda x: x + 1e30)]
    assert_close(searched(first_bad, parts, ["a", "b"], lambda x: x, torch.ones(2, 3, device=device())), None)

# %% hidden checks


def same(x):
    return x


def spoiling(value, row=0):
    """A layer that puts this number into one place."""

    def run(x):
        x = x.clone()
        x[row, -1] = value
        return x

    return run


with check(
    "order",
    "another order than that of definition, blocks, and a layer that runs twice",
    weight=4,
    required=True,
    hint="Does named_modules() list the modules in the order in which they run? Which ends first, a block or its parts?",
):
    t = torch.linspace(-1, 1, 6, device=device()).reshape(2, 3)
    nan, inf = spoiling(torch.nan), spoiling(-torch.inf, 1)
    inner = [("last", nan), ("first", same), ("mid", spoiling(torch.inf))]
    for parts, route, compute, want in (
        ([("c", nan), ("a", inf), ("b", same)], ["b", "a", "c"], same, "a"),
        ([("never", nan), ("b", same)], ["b"], same, None),
        ([("late", nan), ("block", inner, ["first", "mid", "last"], same)], ["block", "late"], same, "block.mid"),
        ([("block", inner[1:2], ["first"], inf), ("late", nan)], ["block", "late"], same, "block"),
        ([("late", nan), ("block", inner[1:2], ["first"], same)], ["block"], inf, ""),
        ([("grow", lambda x: x * 1e25), ("same", same)], ["grow", "same", "grow"], same, "grow"),
    ):
        assert_close(searched(first_bad, parts, route, compute, t.clone()), want)
with check(
    "outputs",
    "outputs that are tuples, None or integers",
    weight=2,
    hint="What does an LSTM give? Does your function look into a tuple inside a tuple?",
):
    t = torch.linspace(1, 2, 6, device=device()).reshape(2, 3)

    def lstm_like(state):
        return lambda x: (x, (x + 1, state(x)))

    for first, second, want in (
        (lstm_like(spoiling(torch.nan)), lambda x: x[0], "one"),
        (lstm_like(same), lambda x: x[1][1] / 0, "two"),
        (lambda x: (x, None), lambda x: x[0], None),
        (lambda x: x.long(), lambda x: x / 0, "two"),
        (lambda x: (None, (x, x * torch.inf)), lambda x: x[1][0], "one"),
    ):
        parts = [("two", second), ("one", first)]
        assert_close(searched(first_bad, parts, ["one", "two"], same, t.clone()), want)
with check(
    "in_place",
    "an output that a later layer repairs in place",
    weight=2,
    hint="When do you look at an output: when its module ends, or after the call? What is there then?",
):
    for value in (-torch.inf, -torch.inf):
        t = torch.linspace(1, 2, 6, device=device()).reshape(2, 3)
        parts = [("relu", None), ("low", spoiling(value)), ("last", lambda x: x - 1)]
        assert_close(searched(first_bad, parts, ["low", "relu", "last"], same, t), "low")
with check(
    "runs_once",
    "the model runs once, and to its end",
    guard=True,
    hint="How often does your function call the model?",
):
    ran = []

    def noting(name, value):
        def run(x):
            ran.append(name)
            return x * value

        return run

    parts = [("a", noting("a", 1.0)), ("b", noting("b", torch.inf)), ("c", noting("c", 1.0))]
    got = searched(first_bad, parts, ["a", "b", "c"], same, torch.ones(1, 2, device=device()))
    assert_close(got, "b")
    assert ran == ["a", "b", "c"], "the layers ran in another order, or not once each"
with check(
    "hooks_removed",
    "only your hooks are removed, after an error too",
    weight=2,
    observed=True,
    hint="What does finally do? Whose hooks do you remove?",
):

    def failing(x):
        raise ArithmeticError("this layer always fails")

    for last, want in ((same, None), (spoiling(torch.nan), "block.b"), (failing, "it raised")):
        parts = [("a", same), ("block", [("b", last)], ["b"], same)]
        got = searched(first_bad, parts, ["a", "block"], same, torch.ones(2, 2, device=device()), "hooks")
        assert_close(got, [want, 1, 1, 1, 1, 0], name="the answer, and the hooks of each module")


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


# %% wrong "in the order of named_modules" fails=order,hooks_removed
def first_bad(model, x):
    bad = set()

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.add(name))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return next((name for name, _ in model.named_modules() if name in bad and name), None)


# %% wrong "layers without children only" fails=order
def first_bad(model, x):
    bad = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
        if not list(module.children())
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None


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


# %% wrong "only NaN" fails=example,order,outputs,in_place,runs_once
def first_bad(model, x):
    bad = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else not out.isnan().any()

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None


# %% wrong "tensors only" fails=outputs
def first_bad(model, x):
    bad = []

    def ok(out):
        return not isinstance(out, torch.Tensor) or bool(torch.isfinite(out).all())

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None


# %% wrong "one level of a tuple" fails=outputs
def first_bad(model, x):
    bad = []

    def ok(out):
        outs = out if isinstance(out, tuple) else (out,)
        return all(bool(torch.isfinite(t).all()) for t in outs if isinstance(t, torch.Tensor))

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    finally:
        for handle in handles:
            handle.remove()
    return bad[0] if bad else None


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


# %% wrong "all hooks are cleared" fails=hooks_removed
def first_bad(model, x):
    bad = []

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    for name, module in model.named_modules():
        module.register_forward_hook(lambda _m, _i, out, name=name: None if ok(out) else bad.append(name))
    try:
        model(x)
    finally:
        for module in model.modules():
            module._forward_hooks.clear()
    return bad[0] if bad else None


# %% wrong "the last one found" fails=example,order,outputs,runs_once,hooks_removed
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


# %% wrong "the last layer of all that is bad" fails=example,order,runs_once,hooks_removed
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


# %% wrong "it stops at the first bad one" fails=runs_once
def first_bad(model, x):
    class Found(BaseException):
        pass

    def ok(out):
        if out is None:
            return True
        return all(map(ok, out)) if isinstance(out, tuple) else bool(torch.isfinite(out).all())

    def hook(name, out):
        if not ok(out):
            raise Found(name)

    handles = [
        module.register_forward_hook(lambda _m, _i, out, name=name: hook(name, out))
        for name, module in model.named_modules()
    ]
    try:
        model(x)
    except Found as found:
        return found.args[0]
    finally:
        for handle in handles:
            handle.remove()
    return None
