# %% given
torch.manual_seed(0)


class Called(nn.Module):
    """A layer that calls a function: layer(x, whether it is in training mode)."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x, self.training)


class Counting(nn.Module):
    """Adds the number of its calls so far, from a start."""

    def __init__(self, start):
        super().__init__()
        self.calls = start

    def forward(self, x):
        self.calls += 1
        return x + self.calls


class Routed(nn.Module):
    """Defines its parts in one order and runs them in the route's. parts: pairs of a name and a part for made_of."""

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
    """A weight gives a linear layer, None an in-place ReLU, an int a Counting, a function a Called.

    A float gives a Called that multiplies by it, and has a child that is None. A list of parts gives a Sequential, a tuple a Routed, in which the name of an earlier part refers to that part.
    """
    if isinstance(part, Tensor):
        layer = nn.Linear(part.shape[1], part.shape[0], bias=False)
        layer.weight = nn.Parameter(part)
        return layer
    if isinstance(part, list | tuple):
        return Routed(*part) if isinstance(part, tuple) else nn.Sequential(*map(made_of, part))
    if part is None:
        return nn.ReLU(inplace=True)
    if isinstance(part, float):
        layer = Called(lambda x, training: x * part)
        layer.register_module("extra", None)
        return layer
    return Counting(part) if isinstance(part, int) else Called(part)


def by_mode(x, training):
    return x * (3.0 if training else -2.0)


def unchanged_x(x, training):
    return x


def failing(x, training):
    raise ArithmeticError("this layer always fails")


def hooks_of(model):
    """How many hooks each module has, and how many global hooks there are."""
    of_all = nn.modules.module
    counts = [len(layer._forward_hooks) + len(layer._forward_pre_hooks) for layer in model.modules()]
    return [*counts, len(of_all._global_forward_hooks) + len(of_all._global_forward_pre_hooks)]


@probes.probe
def traced(trace, model, x, training):
    """What trace returns for a model of such parts, each with a hook already, and what it leaves behind.

    training: the names of the modules in training mode.
    """
    model = made_of(model).to(here)
    for name, layer in model.named_modules():
        layer.training = name in training
        layer.register_forward_hook(lambda *_: None)
    entries, raised = [], False
    try:
        entries = trace(model, x.to(here))
    except ArithmeticError:
        raised = True
    seen = {"entries": [(name, output.cpu()) for name, output in entries], "raised": raised}
    seen["requires"] = [output.requires_grad for _, output in entries]
    return seen | {"hooks": hooks_of(model), "modes": [layer.training for layer in model.modules()]}


# %% exercise
def forward_trace(model: nn.Module, x: Tensor) -> list[tuple[str, Tensor]]:
    """What each layer returns in one call model(x): [(name, output), ...], in the order in which the layers run.

    Layers are the modules without children, by their names in model.named_modules(). Each returns one tensor. Each
    output has the values that its layer returned, in its own memory, and requires no grad.

    Details:
    - A layer that runs twice is listed twice, and one that does not run is not listed.
    - After the call, the modes of the modules and PyTorch's grad mode are as before. The model may run in either grad
      mode.
    - The model may have its own hooks, which return None. Afterward, it has these and no others, even if model(x)
      raises an error, which is passed on.
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


# %% promises
# What each layer returns -> example, layer_kinds, one_layer, keeps_modes
# Layers are the modules -> layer_kinds, one_layer
# Each returns one tensor -> example, layer_kinds, one_layer
# Each output has the values -> example, layer_kinds, own_memory, no_history
# A layer that runs twice -> layer_kinds
# After the call, the modes -> keeps_modes
# The model may run -> example, layer_kinds, one_layer, no_history
# The model may have its own hooks -> hooks_removed, after_error
# Afterward, it has these -> hooks_removed, after_error


# %% domain
@domain(
    reference,
    *("in place first", "twice in a row", "again later", "one never runs", "none runs", "two names", "similar names"),
    *("a block", "a block in a block", "a block twice", "an empty block", "a block of another class", "its own result"),
    *(
        "a child that is None",
        "one layer",
        "no rows",
        "one row",
        "float64",
        "all train",
        "none trains",
        "only the model trains",
    ),
    *("raises first", "raises last", "raises in a block"),
    call=traced,
)
def arguments(draw, edge):
    g, width, n = draw.make_generator(), draw(st.integers(2, 4)), draw(st.integers(2, 5))
    dtype, n = torch.float64 if edge == "float64" else torch.float32, {"no rows": 0, "one row": 1}.get(edge, n)

    def weight():
        return torch.randn(width, width, generator=g, dtype=dtype)

    names = ["first", "act", "count", "mode", "last"]
    parts = list(zip(names, [weight(), None, draw(st.integers(0, 3)), by_mode, weight()], strict=True))
    route = draw(st.permutations(names))
    more = {
        "two names": ["first"],
        "similar names": [weight()],
        "a block": [[weight(), None, by_mode]],
        "a block in a block": [[[weight()], [None, [by_mode]]]],
        "a block twice": [[weight(), None]],
        "an empty block": [[]],
        "a block of another class": [([("b", None), ("a", weight())], ["a", "b"])],
        "its own result": [unchanged_x],
        "a child that is None": [-1.5],
        "raises in a block": [[weight(), failing]],
        "raises first": [failing],
        "raises last": [failing],
    }.get(edge, [])
    parts += [("firs" if edge == "similar names" else "more", part) for part in more]
    route += [name for name, _ in parts[5:]]
    route = {
        "in place first": ["act", *(name for name in route if name != "act")],
        "raises first": route[::-1],
        "twice in a row": [route[0], *route],
        "again later": [*route, *route[:2]],
        "a block twice": [*route, "more", "act", "more"],
        "one never runs": route[1:],
        "none runs": [],
    }.get(edge, route)
    training = draw(st.sampled_from([["", "mode"], ["mode", "count"], ["first", "more"]]))
    training = {"none trains": [], "only the model trains": [""], "all train": ["", "more", *names]}.get(edge, training)
    x = torch.randn(n, width, generator=g, dtype=dtype)
    return (weight() if edge == "one layer" else (parts, route)), x, training


# %% checks
with check(
    "example",
    "three layers, one of which works in place",
    weight=2,
    required=True,
    hint=(
        "Is it a name, or an output? Does each entry still have the values that its layer returned?",
        "The layer named 1 writes in place. Which call gives a tensor its own memory?",
    ),
):
    t = torch.tensor([[1.0, -2.0, 0.5], [0.3, 0.1, -1.0]])
    t_weight = torch.tensor([[1.0, 0.2, -1.0], [-0.5, 1.0, 0.3]])
    first = t @ t_weight.T
    want = [("0", first), ("1", first.relu()), ("2", first.relu() * -2)]
    explain(
        traced(forward_trace, [t_weight.clone(), None, by_mode], t.clone(), [])["entries"],
        want,
        {"a later layer has changed what you kept: it's the same memory": [("0", first.relu()), *want[1:]]},
        name="your list",
    )

# %% hidden checks


def assert_entries(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["entries"], trial.case.report.result["entries"], name="your list")


def assert_left(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["raised"], want["raised"], name="whether the error was passed on")
        assert_close(got["hooks"], want["hooks"], name="the numbers of hooks")


with check(
    "layer_kinds",
    "layers in a different order, twice, never, and inside a block",
    weight=4,
    required=True,
    hint="Is a block a layer? Do you list the layers as they are defined, or as they run?",
):
    assert_entries(forward_trace, "", "in place first", "twice in a row", "again later", "one never runs", "none runs")
    assert_entries(forward_trace, "two names", "similar names", "a block", "a block in a block", "a block twice")
    assert_entries(forward_trace, "an empty block", "a block of another class", "its own result")
    assert_entries(forward_trace, "a child that is None", "no rows", "one row", "float64")
with check("one_layer", "a model that is one layer", weight=1, hint="What's the model's own name in named_modules()?"):
    assert_entries(forward_trace, "one layer")
with check("own_memory", "each output has its own memory", guard=True, hint="Which calls return new memory?"):
    arguments.assert_memory(forward_trace, "", "its own result", "an empty block", "one layer")
with check(
    "no_history",
    "no output requires grad",
    weight=2,
    observed=True,
    hint="What does a clone of a tensor with a history have?",
):
    for trial in arguments.iter_trials(forward_trace, "", "a block", "one layer"):
        assert_close(trial.report.result["requires"], trial.case.report.result["requires"], name="requires_grad")
with check(
    "hooks_removed",
    "only your hooks are removed",
    weight=2,
    observed=True,
    hint="Whose hooks does your code remove, and when?",
):
    assert_left(forward_trace, "", "again later", "one never runs", "none runs", "two names", "a block", "one layer")
with check(
    "after_error",
    "an error is passed on, and the hooks are removed",
    weight=2,
    observed=True,
    hint="What does finally do?",
):
    assert_left(forward_trace, "raises first", "raises last", "raises in a block")
with check(
    "keeps_modes",
    "the modes and the grad mode don't change, and the model runs once",
    guard=True,
    hint="Which of your calls sets a mode?",
):
    assert_entries(forward_trace, "all train", "none trains", "only the model trains")
    for trial in arguments.iter_trials(forward_trace, "", "all train", "none trains", "only the model trains"):
        assert_close(trial.report.result["modes"], trial.case.report.result["modes"], name="the modes")
    arguments.assert_settings(forward_trace, "", "one layer", "raises last")


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


# %% wrong "a reference is kept" fails=example,layer_kinds,own_memory,keeps_modes
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


# %% equivalent "arguments left as they were"
# Where a layer writes into x, it may write into a copy.

# %% equivalent "changes of arguments by a new .data"
# Where a layer writes into x, it may write into a copy.
