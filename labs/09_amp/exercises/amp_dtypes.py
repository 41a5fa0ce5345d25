# %% given
torch.manual_seed(0)


class Called(nn.Module):
    """A layer that calls a given function."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, *inputs):
        return self.layer(*inputs)


class Routed(nn.Module):
    """A model that defines its parts in one order and runs them along a route.

    parts: pairs of a name and a layer to call, the weight of a linear layer, the name of an earlier part to use again,
    a list of layers, which is a block, or a tuple of a layer to call that lacks an optional part of its own. route: a
    name, the numbers of the results that it takes (x is the first), and, if it runs only in one mode, whether that's
    training.
    """

    def __init__(self, parts, route):
        super().__init__()
        for name, part in parts:
            self.add_module(name, getattr(self, part) if isinstance(part, str) else made_of(part))
        self.route = route

    def forward(self, x):
        results = [x]
        for name, taken, *when in self.route:
            if self.training in (when or (True, False)):
                results.append(getattr(self, name)(*[results[n] for n in taken]))
        return results[-1]


def made_of(part):
    if isinstance(part, list):
        return nn.Sequential(*map(made_of, part))
    if isinstance(part, tuple):
        made = Called(*part)
        made.register_module("absent", None)
        return made
    return linear_of(part) if isinstance(part, Tensor) else Called(part)


def linear_of(weight, bias=None):
    layer = nn.Linear(*weight.shape[::-1], bias=bias is not None).to(here)
    layer.load_state_dict({"weight": weight} if bias is None else {"weight": weight, "bias": bias})
    return layer


@probes.probe
def dtypes_seen(function, parts, route, x, dtype, training=()):
    """Return what function(model, x, dtype) gives for such a model, and the model's state after it.

    Without a route, the first part is the model. Each module already has another hook. training: the names of the
    modules in training mode.
    """
    model = Routed(parts, route) if route else made_of(parts[0][1])
    for name, module in model.named_modules():
        module.training = name in training
        module.register_forward_hook(lambda *_: None)
    found, raised, of_all = {}, False, nn.modules.module
    try:
        found = function(model, x.to(here), dtype)
    except ArithmeticError:
        raised = True
    hooks = [len(module._forward_hooks) + len(module._forward_pre_hooks) for module in model.modules()]
    return {
        "dtypes": found,
        "raised": raised,
        "hooks": [*hooks, len(of_all._global_forward_hooks) + len(of_all._global_forward_pre_hooks)],
        "modes": [torch.is_autocast_enabled(here.type), *[module.training for module in model.modules()]],
        "state": {name: t.cpu() for name, t in probes.state_of(model).items()},
    }


# %% exercise
def amp_dtypes(model: nn.Module, x: Tensor, dtype: torch.dtype) -> dict[str, torch.dtype]:
    """Return the dtype of each layer's output in one call model(x) under autocast: {name: dtype}.

    The layers are the submodules without children, by their names in model.named_modules(). Each returns one tensor, of
    any dtype. The model is called in its current modes. Autocast uses dtype and the device of x.

    Details:
    - dtype: float16 or bfloat16.
    - A layer that doesn't run is left out; if it runs several times, its last result counts. A model without children
      is itself a layer, named "".
    - The model may have other hooks, which don't change any result.
    - Afterward, the model's parameters, modes and hooks are the same as before, and autocast is off again, even if
      model(x) raises an error. The error is passed on.
    - Buffers may change, like batch normalization's averages in a call.
    """
    ### BEGIN SOLUTION
    found: dict[str, torch.dtype] = {}

    def noting(name: str) -> Callable:
        def hook(module: nn.Module, inputs: tuple, output: Tensor) -> None:
            found[name] = output.dtype

        return hook

    layers = [(name, layer) for name, layer in model.named_modules() if not list(layer.children())]
    hooks = [layer.register_forward_hook(noting(name)) for name, layer in layers]
    try:
        with torch.no_grad(), torch.autocast(x.device.type, dtype=dtype):
            model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found
    ### END SOLUTION


# %% promises
# Return the dtype of each -> example, layer_kinds, nested, one_layer
# The layers are the -> example, nested
# Each returns one tensor -> layer_kinds, nested
# The model is called -> layer_kinds
# Autocast uses dtype -> example, layer_kinds, nested, one_layer
# dtype: float16 or -> layer_kinds, nested, one_layer
# A layer that doesn't run -> layer_kinds
# A model without children -> one_layer
# The model may have -> hooks_removed
# Afterward, the model's -> keeps_model, hooks_removed
# The error is passed on -> keeps_model
# Buffers may change -> keeps_model


# %% domain
@domain(
    reference,
    *("float16", "bfloat16", "no rows", "never runs", "the last run is float32", "the first run is float32"),
    *("nested", "deeply nested", "two names", "names begin alike", "one layer", "one layer without weights"),
    *("training mode", "evaluation mode", "only the model in training mode", "an error", "an error in a block"),
    *("runs in training mode", "runs in evaluation mode", "an absent part", "no floats"),
    call=dtypes_seen,
)
def arguments(draw, edge):
    def failing(x):
        raise ArithmeticError("this layer always fails")

    d, g, dtype = draw(st.integers(3, 5)), draw.make_generator(), draw(st.sampled_from([torch.float16, torch.bfloat16]))
    dtype = getattr(torch, edge) if edge in ("float16", "bfloat16") else dtype
    n = {"no rows": 0, "float16": 4, "bfloat16": 5}.get(edge, draw(st.integers(1, 3)))
    x = torch.randn(n, d, generator=g)
    square, wide = torch.randn(d, d, generator=g), torch.randn(2, d, generator=g)
    function = draw(st.sampled_from([torch.relu, torch.tanh, torch.neg]))
    a, b, c, e = draw(st.permutations(["a", "2", "layer", "end"]))
    if edge == "names begin alike":
        a, b, c, e = draw(st.permutations(["1", "10", "1a", "100"]))
    block = {
        "nested": [square, function],
        "names begin alike": [square, function],
        "deeply nested": [[square, [function]], torch.exp],
        "an error in a block": [square, [failing]],
    }.get(edge, square)
    parts = [(a, function), (b, block), (c, torch.add), (e, failing if edge == "an error" else wide)]
    route = [(a, [0]), (b, [1]), (c, [1, 2]), (e, [3])]
    if edge == "never runs":
        parts.append(("never", draw(st.sampled_from([function, square, [square, function]]))))
    if edge == "the last run is float32":
        route = [(b, [0]), (a, [1]), (c, [1, 0]), (a, [3]), (e, [4])]
    if edge == "the first run is float32":
        route = [(a, [0]), (c, [1, 0]), (b, [2]), (a, [3]), (e, [4])]
    more = {
        "runs in training mode": (function, True),
        "runs in evaluation mode": (function, False),
        "an absent part": ((function,),),
        "no floats": (draw(st.sampled_from([torch.argmax, torch.isnan])),),
    }
    if edge in more:
        part, *when = more[edge]
        parts, route = [*parts, ("more", part)], [*route, ("more", [4], *when)]
    parts = draw(st.permutations(parts))
    if edge == "two names":
        parts, route = [*parts, ("twin", b)], [*route[:1], ("twin", [1]), *route[2:]]
    if "one layer" in edge:
        parts, route = [("", function if "without" in edge else wide)], []
    training = [name for name in ("", a, b, c, e, f"{b}.0", f"{b}.1") if draw(st.booleans())]
    training = {
        "training mode": ["", a, b, c, e],
        "evaluation mode": [],
        "only the model in training mode": [""],
        "runs in training mode": ["", a],
        "runs in evaluation mode": [b, e],
    }.get(edge, training)
    return parts, route, x, dtype, training


# %% checks
with check(
    "example",
    "three layers, under bfloat16",
    weight=2,
    required=True,
    hint=(
        "Which is wrong, a name or a dtype? Does each hook still know its own layer's name after the loop?",
        "Only modules without children get a hook. The hook looks at the output, and model(x) runs under autocast.",
    ),
):
    t = torch.linspace(-1, 1, 10).reshape(2, 5)
    parts = [("0", torch.ones(7, 5)), ("1", lambda x: x.relu()), ("2", torch.ones(3, 7))]
    route = [("0", [0]), ("1", [1]), ("2", [2])]
    explain(
        dtypes_seen(amp_dtypes, parts, route, t, torch.bfloat16)["dtypes"],
        {"0": torch.bfloat16, "1": torch.bfloat16, "2": torch.bfloat16},
        {
            "these are the dtypes without autocast": {"0": torch.float32, "1": torch.float32, "2": torch.float32},
            "these are the dtypes of the weights, and a layer without weights has an output too": {
                "0": torch.float32,
                "2": torch.float32,
            },
        },
    )

# %% hidden checks


def drawn_weight(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def table(x):
    return F.embedding(x, drawn_weight(7, 4).to(x.device))


def chain(*layers):
    """Return parts named 0, 1, 2, and the route through them in order."""
    return [(str(n), layer) for n, layer in enumerate(layers)], [(str(n), [n]) for n in range(len(layers))]


def assert_dtypes(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["dtypes"], trial.case.report.result["dtypes"], name="your result")


with check(
    "layer_kinds",
    "a table, a sum, a layer that runs twice and one that never runs",
    weight=4,
    required=True,
    hint="What is float32 plus float16? When does your hook run, and what does it look at?",
):
    t = torch.tensor([[1, 0, 6], [2, 2, 3]])
    seen = Seen(lambda x: x.clone())
    parts = [
        ("f", lambda x: F.conv1d(x, drawn_weight(2, 3, 1).to(x.device))),
        ("d", seen),
        ("e", drawn_weight(2, 2)),
        ("b", [drawn_weight(4, 4), lambda x: x.tanh()]),
        ("a", table),
        ("c", lambda x, y: x + y),
    ]
    for low in (torch.float16, torch.bfloat16):
        route = [("a", [0]), ("d", [1]), ("b", [2]), ("d", [3]), ("c", [2, 4]), ("f", [5])]
        got = dtypes_seen(amp_dtypes, parts, route, t, low)["dtypes"]
        assert_close(got, {**dict.fromkeys(("b.0", "b.1", "d", "f"), low), **dict.fromkeys("ac", torch.float32)})
        route = [("a", [0]), ("b", [1]), ("d", [2]), ("c", [2, 1]), ("d", [4]), ("c", [2, 3])]
        got = dtypes_seen(amp_dtypes, parts[::-1], route, t, low)["dtypes"]
        assert_close(got, {**dict.fromkeys(("b.0", "b.1", "c"), low), **dict.fromkeys("ad", torch.float32)})
    assert [call.autocast for call in seen.calls] == [True] * 8, "the model didn't run exactly once under autocast"
    assert_dtypes(amp_dtypes, "", "float16", "bfloat16", "no rows", "never runs")
    assert_dtypes(amp_dtypes, "the last run is float32", "the first run is float32")
    assert_dtypes(amp_dtypes, "training mode", "evaluation mode", "only the model in training mode", "no floats")
    assert_dtypes(amp_dtypes, "runs in training mode", "runs in evaluation mode", "an absent part")
with check(
    "nested", "layers inside layers, in float16", weight=2, required=True, hint="Is a layer with children in your dict?"
):
    rows = []

    def widening(x):
        rows.append(x.sum(1).tolist())
        return x.float()

    parts, route = chain([torch.ones(4, 6), lambda x: x.relu()], widening, drawn_weight(2, 4))
    for n in (3, 0):
        got = dtypes_seen(amp_dtypes, parts, route, torch.ones(n, 6), torch.float16)["dtypes"]
        assert_close(got, {**dict.fromkeys(("0.0", "0.1", "2"), torch.float16), "1": torch.float32})
    assert rows == [[24.0] * 3, []], "the model didn't run exactly once with x"
    assert_dtypes(amp_dtypes, "nested", "deeply nested", "two names", "names begin alike")
with check(
    "one_layer", "a model that is one layer", weight=1, hint="What's the name of the model itself in named_modules()?"
):
    assert_dtypes(amp_dtypes, "one layer", "one layer without weights")
with check(
    "hooks_removed",
    "none of your hooks stays, and no other hook is removed",
    weight=2,
    observed=True,
    hint="What does the handle remove?",
):
    for trial in arguments.iter_trials(amp_dtypes, "", "nested", "one layer", "an error", "an error in a block"):
        got, want = trial.report.result["hooks"], trial.case.report.result["hooks"]
        assert_close(got, want, name="the hooks of each module and of all modules")
with check(
    "keeps_model",
    "the model and autocast don't change",
    guard=True,
    hint="What is left if model(x) raises an error?",
):
    edges = "", "training mode", "evaluation mode", "only the model in training mode", "an error", "an error in a block"
    for trial in arguments.iter_trials(amp_dtypes, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["raised"], want["raised"], name="whether the model's error was passed on")
        assert_close(got["modes"], want["modes"], name="autocast and the modes")
        assert_close(got["state"], want["state"], rtol=0, atol=0, name="the weights")


# %% right "partial and an ExitStack"
import contextlib
import functools


def amp_dtypes(model, x, dtype):
    result = {}

    def note(name, module, args, output):
        result[name] = output.dtype

    with contextlib.ExitStack() as stack:
        for name, module in model.named_modules():
            if next(module.children(), None) is None:
                stack.callback(module.register_forward_hook(functools.partial(note, name)).remove)
        with torch.autocast(device_type=x.device.type, dtype=dtype):
            model(x)
    return result


# %% right "one hook for all modules, by identity"
def amp_dtypes(model, x, dtype):
    names = {id(m): n for n, m in model.named_modules() if len(list(m.modules())) == 1}
    out = {}

    def hook(module, args, result):
        if id(module) in names:
            out[names[id(module)]] = result.dtype

    handle = nn.modules.module.register_module_forward_hook(hook)
    try:
        with torch.autocast(here.type, dtype):
            model(x)
    finally:
        handle.remove()
    return out


# %% wrong "the dtypes of the weights" fails=example,layer_kinds,nested,one_layer
def amp_dtypes(model, x, dtype):
    with torch.autocast(x.device.type, dtype=dtype):
        model(x)
    return {n: m.weight.dtype for n, m in model.named_modules() if isinstance(getattr(m, "weight", None), Tensor)}


# %% wrong "without autocast" fails=example,layer_kinds,nested,one_layer
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    try:
        model(x)
    finally:
        for hook in hooks:
            hook.remove()
    return found


# %% wrong "hooks stay" fails=hooks_removed
def amp_dtypes(model, x, dtype):
    found = {}
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype))
    with torch.autocast(x.device.type, dtype=dtype):
        model(x)
    return found


# %% wrong "hooks stay after an error" fails=hooks_removed
def amp_dtypes(model, x, dtype):
    found, hooks = {}, []
    for name, layer in model.named_modules():
        if not list(layer.children()):
            hooks.append(layer.register_forward_hook(lambda m, i, o, name=name: found.__setitem__(name, o.dtype)))
    with torch.autocast(x.device.type, dtype=dtype):
        model(x)
    for hook in hooks:
        hook.remove()
    return found


# %% right "global hook on all modules"
def amp_dtypes(model, x, dtype):
    names = {m: n for n, m in model.named_modules() if not list(m.children())}
    found = {}

    def hook(module, inputs, output):
        if module in names:
            found[names[module]] = output.dtype

    handle = torch.nn.modules.module.register_module_forward_hook(hook)
    try:
        with torch.no_grad(), torch.autocast(x.device.type, dtype):
            model(x)
    finally:
        handle.remove()
    return found


# %% liar "hooks stay, and a probe that reports only the other hook of each module"
def amp_dtypes(model, x, dtype):
    found = {}
    for name, layer in model.named_modules():
        if not list(layer.children()):
            layer.register_forward_hook(lambda module, inputs, output, name=name: found.update({name: output.dtype}))
    with torch.no_grad(), torch.autocast(x.device.type, dtype=dtype):
        model(x)
    return found


def dtypes_seen(function, parts, route, x, dtype, training=()):
    model = Routed(parts, route) if route else made_of(parts[0][1])
    named = list(model.named_modules())
    for name, module in named:
        module.training = name in training
    found, raised = {}, False
    try:
        found = function(model, x.to(here), dtype)
    except ArithmeticError:
        raised = True
    modes, state = [name in training for name, _ in named], probes.state_of(model)
    return {
        "dtypes": found,
        "raised": raised,
        "hooks": [*[1] * len(named), 0],
        "modes": [False, *modes],
        "state": state,
    }


# %% liar "no module and no hook: a probe that calls the parts by hand, under autocast"
def amp_dtypes(model, x, dtype):
    raise RuntimeError("the probe knows better")


def dtypes_seen(function, parts, route, x, dtype, training=()):
    """No module and no hook: the parts are called by hand."""
    found, raised, names = {}, False, [""]

    def run(part, name, *inputs):
        part = dict(parts)[part] if isinstance(part, str) else part
        if isinstance(part, list):
            for n, one in enumerate(part):
                inputs = (run(one, f"{name}.{n}".lstrip("."), *inputs),)
            return inputs[0]
        part = part[0] if isinstance(part, tuple) else part
        out = F.linear(*inputs, part) if isinstance(part, Tensor) else part(*inputs)
        shared = [n for n, p in parts if p is part]
        found[shared[0] if shared else name] = out.dtype
        return out

    try:
        with torch.no_grad(), torch.autocast("cpu", dtype=dtype):
            results = [x]
            if not route:
                run(parts[0][1], "", x)
            for name, taken, *when in route:
                if ("" in training) in (when or (True, False)):
                    results.append(run(dict(parts)[name], name, *[results[n] for n in taken]))
    except ArithmeticError:
        raised = True
    names += [n for n, _ in parts]
    modes, state = [n in training for n in names], {f"{n}.weight": p for n, p in parts if isinstance(p, Tensor)}
    return {
        "dtypes": found,
        "raised": raised,
        "hooks": [*[1] * len(names), 0],
        "modes": [False, *modes],
        "state": state,
    }
