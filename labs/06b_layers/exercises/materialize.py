# %% given
class Scaled(nn.Module):
    """A network with three buffers that state_dict() leaves out: norm_table, norm.scale, and norm.more.scale."""

    def __init__(self, features, hidden):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.first = nn.Linear(features, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.norm.more = nn.Module()
        self.norm.more.register_buffer("scale", torch.ones(hidden), persistent=False)
        self.norm.register_buffer("scale", torch.ones(hidden), persistent=False)
        self.register_buffer("norm_table", torch.zeros(features), persistent=False)

    def forward(self, x):
        return self.norm(self.first(x + self.norm_table)) * self.norm.scale + self.norm.more.scale


@probes.probe
def materialized(materialize, features, hidden, state, rest, frozen, x):
    """What materialize makes of Scaled. frozen: names of parameters that don't require grad when it's built.

    Afterward, all tensors in state and rest are overwritten, and then the model's are read: None for those on meta.
    """
    built = []

    def build():
        model = Scaled(features, hidden).eval()
        built.append(model.first.weight.device.type)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in frozen)
        return model

    model = materialize(build, state, rest)
    left = [{name: t.clone() for name, t in one.items()} for one in (state, rest)]
    for t in (*state.values(), *rest.values()):
        t.fill_(7)
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    on_meta = any(t.is_meta for t in (parameters | buffers).values())
    return {
        "built on": built,
        "values": {name: None if t.is_meta else t.detach().clone() for name, t in (parameters | buffers).items()},
        "output": None if on_meta else model(x).detach(),
        "requires grad": [name for name, t in parameters.items() if t.requires_grad],
        "state_dict": list(model.state_dict()),
        "arguments": left,
    }


@probes.probe
def keeps_default_device(materialize, features, hidden, state, rest, default):
    """Whether the call leaves the default device, which is set to this one for it, unchanged."""
    before = torch.get_default_device()
    torch.set_default_device(default)
    try:
        materialize(lambda: Scaled(features, hidden), state, rest)
    except RuntimeError as error:
        if isinstance(error, NotImplementedError):
            raise
    finally:
        kept = torch.get_default_device() == torch.device(default)
        torch.set_default_device(before)
    return kept


# %% exercise
def materialize(build: Callable[[], nn.Module], state: dict[str, Tensor], rest: dict[str, Tensor]) -> nn.Module:
    """The model that build makes, with these values, in its own memory.

    build() is called once, on the meta device.
    state: what state_dict() of such a model returns. rest: a tensor for each buffer that state_dict() leaves out, under
    its name in named_buffers().
    Each parameter and buffer has the values, dtype, and device of its tensor in state or rest. It's a copy: a later
    write to that tensor doesn't change the model.
    Parameters require grad as build made them, and state_dict() still leaves out the same buffers.
    Raises RuntimeError if state lacks a name, has an extra one, or has a tensor of the wrong shape.

    Details:
    - build takes no arguments, and no tensor in its model has two names.
    - In state, num_batches_tracked is int64, 0-dimensional, and never missing. All other tensors, in rest too, have a
      floating-point dtype and at least one dimension.
    - rest has the right names, so you don't have to check them.
    - No tensor in state and rest requires grad, and no two share memory. state and rest aren't changed.
    - The default device is the same afterward, even after this error.
    """
    ### BEGIN SOLUTION
    with torch.device("meta"):
        model = build()
    model.load_state_dict({name: t.clone() for name, t in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model
    ### END SOLUTION


# %% promises
# The model that -> example, other_cases
# build() is called once -> flags
# state: what -> example, other_cases
# rest: a tensor -> example, other_cases
# Each parameter and buffer -> other_cases
# It's a copy -> example, other_cases
# Parameters require grad -> flags
# Raises RuntimeError -> refused
# build takes no -> example, other_cases
# In state, num_batches_tracked -> example, other_cases
# All other tensors -> other_cases
# rest has the right -> example, other_cases
# No tensor in state -> flags, other_cases
# state and rest aren't -> keeps_arguments
# The default device -> default_device

# %% domain
# Each check needs its own model class.


# %% checks
with check(
    "example",
    "parameters and buffers of a network with 3 features",
    weight=2,
    required=True,
    hint=(
        "Is a tensor still on meta? Which load_state_dict option takes the tensor instead of copying from it?",
        "Use assign=True for the names in state. Set the other buffers with setattr, on the modules that own them.",
    ),
):
    source = Scaled(3, 2).eval()
    t, t_state = torch.linspace(-1, 1, 12).reshape(4, 3), dict(source.state_dict())
    t_rest = {"norm_table": torch.tensor([0.5, -1.0, 2.0]), "norm.scale": torch.tensor([3.0, -1.0])}
    t_rest["norm.more.scale"] = torch.tensor([-2.0, 4.0])
    want = {name: one.clone() for name, one in (t_state | t_rest).items()}
    nothing, forgotten = dict.fromkeys(want), want | dict.fromkeys(t_rest)
    aliases = {name: torch.full_like(one, 7) for name, one in want.items()}
    of_state = want | {name: aliases[name] for name in t_state}
    got = materialized(materialize, 3, 2, t_state, t_rest, [], t)
    explain(
        got["values"],
        want,
        {
            "copying into a tensor on meta does nothing": nothing,
            "the buffers that state_dict() leaves out have no values yet": forgotten,
            "the model's tensors are those in state: a write to one changes both": of_state,
            "the model's tensors are those in state and rest: a write to one changes both": aliases,
        },
        name="your model's tensors",
    )

# %% hidden checks


def a_state(features, hidden, seed, dtype, rest_dtype=None, norm_dtype=None):
    """Values for all of Scaled's tensors, in its state and the rest, and an input."""
    generator = torch.Generator().manual_seed(seed)

    def numbers(*shape):
        return torch.randn(shape, generator=generator).to(device(), dtype)

    state = {
        "first.weight": numbers(hidden, features),
        "first.bias": numbers(hidden),
        "norm.weight": numbers(hidden),
        "norm.bias": numbers(hidden),
        "norm.running_mean": numbers(hidden),
        "norm.running_var": numbers(hidden).square() + 1,
        "norm.num_batches_tracked": torch.tensor(seed, device=device()),
    }
    for name in ("weight", "bias", "running_mean", "running_var"):
        state[f"norm.{name}"] = state[f"norm.{name}"].to(norm_dtype or dtype)
    rest = {"norm.scale": numbers(hidden), "norm.more.scale": numbers(hidden), "norm_table": numbers(features)}
    return state, {name: t.to(rest_dtype or dtype) for name, t in rest.items()}, numbers(5, features)


def copied(tensors):
    return {name: one.clone() for name, one in tensors.items()}


def computed(values, x):
    x = torch.nn.functional.linear(x + values["norm_table"], values["first.weight"], values["first.bias"])
    mean, var = values["norm.running_mean"], values["norm.running_var"]
    x = torch.nn.functional.batch_norm(x, mean, var, values["norm.weight"], values["norm.bias"])
    return x * values["norm.scale"] + values["norm.more.scale"]


with check(
    "other_cases",
    "other sizes and dtypes: the values and the model's output",
    weight=5,
    required=True,
    hint="Which dtype does a parameter have after assign, and which after copying? Whose memory is it in?",
):
    for features, hidden, *dtypes in (
        (4, 3, torch.float32),
        (2, 5, torch.float64),
        (3, 1, torch.bfloat16),
        (3, 3, torch.float64, torch.float32),
        (2, 4, torch.bfloat16, torch.bfloat16, torch.float32),
    ):
        state, rest, x = a_state(features, hidden, hidden, *dtypes)
        want = copied(state | rest)
        output = computed(want, x)
        got = materialized(materialize, features, hidden, copied(state), copied(rest), [], x)
        assert_close(got["values"], want, name="your model's tensors")
        assert_close(got["output"], output, name="your model's output")
with check(
    "flags",
    "requires_grad as built, the names in state_dict(), and one model on meta",
    weight=3,
    required=True,
    hint="Does a new nn.Parameter know that the old one was frozen? Is a buffer that you register again left out?",
):
    for seed, frozen in enumerate((["first.weight"], ["norm.bias", "norm.weight"], [])):
        state, rest, x = a_state(3, 4, seed, torch.float32)
        names = [name for name in state if name.endswith(("weight", "bias")) and name not in frozen]
        want = computed(state | rest, x)
        got = materialized(materialize, 3, 4, copied(state), copied(rest), frozen, x)
        assert_close(got["output"], want, name="your model's output")
        assert_close(got["requires grad"], names, name="the parameters that require grad")
        assert_close(got["state_dict"], list(state), name="the names in state_dict()")
        assert_close(got["built on"], ["meta"], name="the devices on which the model was built")
with check(
    "default_device",
    "the default device is the same as before, even after an error",
    guard=True,
    hint="What happens after set_default_device if load_state_dict raises an error?",
):
    for lost, default in (("norm.bias", "cpu"), ("", "cpu"), ("norm.bias", "meta"), ("", "meta")):
        state, rest, _ = a_state(2, 4, 3, torch.float32)
        state.pop(lost, None)
        got = keeps_default_device(materialize, 2, 4, state, rest, default)
        assert_close(got, True, name="whether the default device is the same as before")
with check(
    "refused",
    "a missing or extra name, or a wrong shape, raises RuntimeError",
    hint="What does strict=False hide?",
):
    for lost, wrong_name, wrong_shape in (
        ("norm.running_mean", "", ()),
        ("norm.bias", "", ()),
        ("", "other", (4,)),
        ("", "norm_table", (2,)),
        ("", "first.weight", (2, 3)),
        ("", "first.bias", (1,)),
    ):
        state, rest, x = a_state(2, 3, 1, torch.float32)
        state |= {wrong_name: torch.zeros(wrong_shape, device=device())} if wrong_name else {}
        state.pop(lost, None)
        try:
            materialized(materialize, 2, 3, state, rest, [], x)
        except RuntimeError as error:
            if not isinstance(error, NotImplementedError):
                continue
            raise
        raise AssertionError("a state that doesn't fit the model was accepted")
with check("keeps_arguments", "state and rest aren't changed", guard=True, hint="Do you remove anything from a dict?"):
    for seed, frozen in enumerate((["first.weight"], [])):
        state, rest, x = a_state(2, 4, seed, torch.float32)
        want = [copied(state), copied(rest)]
        got = materialized(materialize, 2, 4, state, rest, frozen, x)
        assert_close(got["arguments"], want, name="state and rest after the call")


# %% right "buffers through _buffers"
def materialize(build, state, rest):
    import copy

    with torch.device("meta"):
        model = build()
    model.load_state_dict(copy.deepcopy(dict(state)), strict=True, assign=True)
    for path, t in rest.items():
        *parents, last = path.split(".")
        module = model
        for parent in parents:
            module = getattr(module, parent)
        module._buffers[last] = t.detach().clone()
    return model


# %% right "registered again, as not persistent"
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: torch.empty_like(v).copy_(v) for k, v in state.items()}, assign=True)
    for prefix, module in model.named_modules():
        for name, _ in list(module.named_buffers(recurse=False)):
            full = f"{prefix}.{name}" if prefix else name
            if full in rest:
                module.register_buffer(name, rest[full].clone(), persistent=False)
    return model


# %% right "swapped through torch.func's names"
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    learning = {name: p.requires_grad for name, p in model.named_parameters()}
    model.load_state_dict({k: v.clone().requires_grad_(learning.get(k, False)) for k, v in state.items()}, assign=True)
    owners = dict(model.named_modules())
    for name, value in rest.items():
        owner = owners[name[: -len(name.split(".")[-1])].rstrip(".")]
        setattr(owner, name.split(".")[-1], value + 0)
    return model


# %% wrong "copied into meta" fails=example,other_cases,flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict(state)
    return model


# %% wrong "the rest is forgotten" fails=example,other_cases,flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    return model


# %% wrong "the state's own tensors" fails=example,other_cases,flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict(state, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model


# %% wrong "no tensor is copied" fails=example,other_cases,flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict(state, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t)
    return model


# %% wrong "strict=False" fails=refused
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True, strict=False)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model


# %% wrong "the default device is put back if nothing goes wrong" fails=default_device
def materialize(build, state, rest):
    before = torch.get_default_device()
    torch.set_default_device("meta")
    model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    torch.set_default_device(before)
    return model


# %% liar "built with memory, and a probe that says meta"
def materialize(build, state, rest):
    model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model


def materialized(materialize, features, hidden, state, rest, frozen, x):
    def build():
        model = Scaled(features, hidden).eval()
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in frozen)
        return model

    left = [{name: t.clone() for name, t in one.items()} for one in (state, rest)]
    model = materialize(build, state, rest)
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    return {
        "built on": ["meta"],
        "values": {name: t.detach().clone() for name, t in (parameters | buffers).items()},
        "output": model(x).detach(),
        "requires grad": [name for name, t in parameters.items() if t.requires_grad],
        "state_dict": list(model.state_dict()),
        "arguments": left,
    }
