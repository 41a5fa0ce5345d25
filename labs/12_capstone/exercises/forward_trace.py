# %% given
class Called(nn.Module):
    """A layer that somebody else computes: layer(x, whether it is in training mode)."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, self.training)


class Routed(nn.Module):
    """Defines its parts in one order, and runs those of the route.

    parts: pairs of a name and a layer to call, a class of modules, None for a ReLU in place, the name of an earlier
    part for that one again, or a list of parts, which is a block.
    """

    def __init__(self, parts, route):
        super().__init__()
        for name, part in parts:
            self.add_module(name, getattr(self, part) if isinstance(part, str) else made_of(part))
        self.route = route

    def forward(self, x):
        for name in self.route:
            x = getattr(self, name)(x)
        return x


def made_of(part):
    if isinstance(part, list):
        return nn.Sequential(*map(made_of, part))
    if isinstance(part, type):
        return part()
    return nn.ReLU(inplace=True) if part is None else Called(part)


def hooks_of(model):
    """How many hooks each module has, and how many stand for all modules."""
    of_all = nn.modules.module
    counts = [len(layer._forward_hooks) + len(layer._forward_pre_hooks) for layer in model.modules()]
    return [*counts, len(of_all._global_forward_hooks) + len(of_all._global_forward_pre_hooks)]


@probes.probe
def traced_by(trace, parts, route, x, see="entries", training=None):
    """What trace gives for such a model, or what it leaves there. No route: the model is the first part alone.

    A hook of somebody else is there before. training: the names of the modules in training mode, None for all.
    """
    model = Routed(parts, route) if route else made_of(parts[0][1])
    for name, layer in model.named_modules():
        layer.training = training is None or name in training
        layer.register_forward_hook(lambda *_: None)
    raised, entries = False, []
    try:
        entries = trace(model, x)
    except ArithmeticError:
        raised = True
    if see == "hooks":
        return [raised, *hooks_of(model)]
    if see == "training":
        return [layer.training for layer in model.modules()]
    return [output.requires_grad for _, output in entries] if see == "requires" else entries


# %% exercise
def forward_trace(model: nn.Module, x: Tensor) -> list[tuple[str, Tensor]]:
    """What each layer gives in one call model(x): [(name, output), ...], in the order in which the layers run.

    Layers are the modules without children, by their names in model.named_modules(). Each gives one tensor. One that
    runs twice is listed twice, one that does not run is not listed. Each output has the values that it had when its
    layer gave it, and requires no grad. The model's modes are not changed. Afterwards the model has no other hooks than
    before, also where model(x) raises an error, which is passed on.
    """
    ### BEGIN SOLUTION
    found: list[tuple[str, Tensor]] = []

    def noting(name: str) -> Callable:
        def hook(layer: nn.Module, inputs: tuple, output: Tensor) -> None:
            found.append((name, output.detach().clone()))

        return hook

    layers = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(noting(name)) for name, layer in layers]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found
    ### END SOLUTION


# %% checks
with check(
    "example",
    "three layers, one of them in place",
    weight=2,
    required=True,
    hint=(
        "Is it a name, or an output? Does each entry still have the values that its layer gave?",
        "The layer named 1 writes in place. Which call gives a tensor memory of its own?",
    ),
):
    t = torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.1, -1.0]], device=here)
    first = t @ torch.tensor([[1.0, -0.5], [0.2, 1.0], [-1.0, 0.3]], device=here)
    want = [("0", first), ("1", first.relu()), ("2", first.relu() * 3)]
    parts = [
        ("0", lambda x, _: x @ torch.tensor([[1.0, -0.5], [0.2, 1.0], [-1.0, 0.3]], device=here)),
        ("1", None),
        ("2", lambda x, _: x * 3),
    ]
    explain(
        traced_by(forward_trace, parts, ["0", "1", "2"], t.clone()),
        want,
        {"a later layer has changed what you kept: it is the same memory": [("0", first.relu()), *want[1:]]},
        name="your list",
    )

# %% hidden checks


def product(rows, columns, dtype=torch.float32):
    """A layer with weights of its own, which require grad."""
    generator = torch.Generator().manual_seed(10 * rows + columns)
    w = torch.randn(rows, columns, generator=generator).to(here, dtype).requires_grad_()
    return lambda x, training: x @ w


def winding(width, dtype):
    """Parts in one order, a route in another: one part twice, one never, one a block."""
    last, block, first = product(width, 2, dtype), product(width, width, dtype), product(3, width, dtype)
    parts = [("last", last), ("unused", block), ("act", None), ("block", [block, nn.Identity]), ("first", first)]
    return parts, ["first", "act", "block", "act", "last"]


with check(
    "layer_kinds",
    "layers in another order, twice, never, and inside a block",
    weight=4,
    required=True,
    hint="Is a block a layer? Do you list the layers as they are defined, or as they run?",
):
    for n, dtype in ((3, torch.float64), (6, torch.float32)):
        t = torch.randn(n, 3, generator=torch.Generator().manual_seed(n)).to(here, dtype)
        parts, route = winding(n, dtype)
        with torch.no_grad():
            a = product(3, n, dtype)(t, True)
            b = product(n, n, dtype)(a.relu(), True)
            c = product(n, 2, dtype)(b.relu(), True)
        want = [("first", a), ("act", a.relu()), ("block.0", b), ("block.1", b), ("act", b.relu()), ("last", c)]
        assert_close(traced_by(forward_trace, parts, route, t.clone()), want, name="your list")
    t = torch.randn(2, 4, generator=torch.Generator().manual_seed(9)).to(here)
    with torch.no_grad():
        a = product(4, 4)(t, True)
        b = product(4, 4)(a, True)
    parts = [("one", product(4, 4)), ("other", "one")]
    got = traced_by(forward_trace, parts, ["one", "other"], t.clone())
    assert_close(got, [("one", a), ("one", b)], name="your list, where a layer has two names")
with check(
    "one_layer", "a model that is one layer", weight=1, hint="Which name has the model itself in named_modules()?"
):
    t = torch.randn(2, 3, generator=torch.Generator().manual_seed(1)).to(here)
    want = [("", product(3, 5)(t, True).detach())]
    assert_close(traced_by(forward_trace, [("", product(3, 5))], [], t.clone()), want, name="your list")
with check(
    "no_history",
    "no output requires grad",
    weight=2,
    observed=True,
    hint="What does a clone of a tensor with a history have?",
):
    for n in (4, 5):
        parts, route = winding(n, torch.float32)
        got = traced_by(forward_trace, parts, route, torch.ones(2, 3, device=here), "requires")
        assert_close(got, [False] * 6, name="requires_grad")
with check(
    "hooks_removed",
    "only your hooks are removed",
    weight=2,
    observed=True,
    hint="Whose hooks does your code remove, and when?",
):
    for n in (4, 3):
        parts, route = winding(n, torch.float32)
        got = traced_by(forward_trace, parts, route, torch.ones(1, 3, device=here), "hooks")
        assert_close(got, [False] + [1] * 8 + [0], name="an error, and the hooks")
with check(
    "after_error",
    "an error is passed on, and the hooks are removed",
    weight=2,
    observed=True,
    hint="What does finally do?",
):
    for n in (1, 4):

        def failing(x, training):
            raise ArithmeticError("this layer always fails")

        t = torch.ones(n, 3, device=here)
        parts = [("0", product(3, 4)), ("1", failing), ("2", None)]
        got = traced_by(forward_trace, parts, ["0", "1", "2"], t, "hooks")
        assert_close(got, [True, 1, 1, 1, 1, 0], name="an error, and the hooks")
with check(
    "keeps_modes",
    "the modes are not changed, and the model runs once",
    guard=True,
    hint="Which of your calls sets a mode?",
):
    for modes in ([], ["", "0", "1", "2"], ["2"]):
        noted = []

        def noting(x, training):
            noted.append(training)
            return x * (3.0 if training else 2.0)

        parts, route = [("0", noting), ("1", None), ("2", noting)], ["0", "1", "2"]
        t = torch.ones(0, 3, device=here) if modes == ["2"] else torch.ones(2, 3, device=here)
        a, b = t * (3.0 if "0" in modes else 2.0), 3.0 if "2" in modes else 2.0
        got = traced_by(forward_trace, parts, route, t.clone(), training=modes)
        assert_close(got, [("0", a), ("1", a), ("2", a * b)], name="your list")
        assert noted == ["0" in modes, "2" in modes], "the layers ran in another mode, or not once"
        got = traced_by(forward_trace, parts, route, t, "training", modes)
        assert_close(got, ["" in modes, "0" in modes, "1" in modes, "2" in modes], name="the modes")


# %% right "under no_grad, ids of the layers"
def forward_trace(model, x):
    names = {id(layer): name for name, layer in model.named_modules() if not any(True for _ in layer.children())}
    found, handles = [], []

    def hook(layer, inputs, output):
        if id(layer) in names:
            found.append((names[id(layer)], output.clone()))

    for layer in model.modules():
        handles.append(layer.register_forward_hook(hook))
    try:
        with torch.no_grad():
            model(x)
    finally:
        while handles:
            handles.pop().remove()
    return found


# %% right "contexts on a stack"
def forward_trace(model, x):
    from contextlib import ExitStack

    found = []
    with ExitStack() as stack:
        for name, layer in model.named_modules():
            if len(list(layer.children())) == 0:
                handle = layer.register_forward_hook(
                    lambda _m, _i, out, name=name: found.append((name, out.detach() + 0))
                )
                stack.callback(handle.remove)
        model(x)
    return found


# %% wrong "a reference is kept" fails=example,layer_kinds
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong "a clone has no history" fails=no_history
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong "the hooks stay" fails=hooks_removed,after_error
def forward_trace(model, x):
    found = []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
    model(x)
    return found


# %% wrong "removed at the end only" fails=after_error
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    model(x)
    for hook in hooks:
        hook.remove()
    return found


# %% wrong "all hooks are cleared" fails=hooks_removed,after_error
def forward_trace(model, x):
    found = []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
    try:
        model(x)
    finally:
        for layer in model.modules():
            layer._forward_hooks.clear()
    return found


# %% wrong "blocks are layers too" fails=layer_kinds,one_layer,no_history
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if layer is not model
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong "one entry for each layer, as they are defined" fails=layer_kinds,no_history
def forward_trace(model, x):
    found = {}
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.update({name: out.detach().clone()}))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return [(name, found[name]) for name, _ in model.named_modules() if name in found]


# %% wrong "an error is swallowed" fails=after_error
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    except Exception:
        pass
    for hook in hooks:
        hook.remove()
    return found


# %% right "one global module hook"
def forward_trace(model, x):
    names = {m: n for n, m in model.named_modules() if not list(m.children())}
    seen = []

    def note(m, args, out):
        if m in names:
            seen.append((names[m], out.data.clone()))

    handle = torch.nn.modules.module.register_module_forward_hook(note)
    try:
        model(x)
    finally:
        handle.remove()
    return seen


# %% wrong "in eval mode and back to train" fails=keeps_modes
def forward_trace(model, x):
    seen, handles = [], []
    was = model.training
    model.eval()
    for name, layer in model.named_modules():
        if not list(layer.children()):
            handles.append(
                layer.register_forward_hook(lambda m, i, o, name=name: seen.append((name, o.detach().clone())))
            )
    try:
        model(x)
    finally:
        for h in handles:
            h.remove()
        model.train(was)
    return seen


# %% wrong "each name is a layer" fails=layer_kinds
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules(remove_duplicate=False)
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong "all numbers are float32" fails=layer_kinds,keeps_modes
def forward_trace(model, x):
    found = []
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, torch.tensor(out.tolist()))))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong "a list that is kept from call to call" fails=layer_kinds,one_layer,no_history,keeps_modes
def forward_trace(model, x, found=[]):
    hooks = [
        layer.register_forward_hook(lambda _m, _i, out, name=name: found.append((name, out.detach().clone())))
        for name, layer in model.named_modules()
        if not list(layer.children())
    ]
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return list(found)
