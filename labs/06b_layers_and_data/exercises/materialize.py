# %% given
class Scaled(nn.Module):
    """A network with two buffers that state_dict() leaves out: table, and norm.scale."""

    def __init__(self, features, hidden):
        super().__init__()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            self.first = nn.Linear(features, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.norm.register_buffer("scale", torch.ones(hidden), persistent=False)
        self.register_buffer("table", torch.zeros(features), persistent=False)

    def forward(self, x):
        return self.norm(self.first(x + self.table)) * self.norm.scale


@probes.probe
def materialized(materialize, features, hidden, state, rest, frozen, x):
    """What materialize makes of Scaled. frozen: names of parameters that require no grad when it is built.

    Afterwards all tensors of state and rest are overwritten, and then the model's are read: None where one is on meta.
    """
    built = []

    def build():
        model = Scaled(features, hidden).eval()
        built.append(model.first.weight.device.type)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(name not in frozen)
        return model

    model = materialize(build, state, rest)
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
    }


# %% exercise
def materialize(build: Callable[[], nn.Module], state: dict[str, Tensor], rest: dict[str, Tensor]) -> nn.Module:
    """The model that build makes, with these values, in memory of its own.

    build: a function of no arguments that makes the model. It is called once, on the meta device, so that nothing is
    allocated for values that state has anyway. state: from the state_dict() of such a model, of any floating dtype and
    on any device. rest: a tensor for each buffer that state_dict() leaves out, by its name in named_buffers(). It has
    exactly these names, which need not be checked, and no tensor of the model has two names.
    Each parameter and buffer has the values, the dtype and the device of its tensor in state or rest. It is a copy: who
    writes into one of these tensors later does not change the model. Parameters require grad as build made them, and
    state_dict() still leaves out what it left out. state and rest are not changed. Raises RuntimeError where state
    lacks a name, has one too many, or a tensor of another shape.
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


# %% checks
with check(
    "example",
    "parameters and buffers of a network of 3 features",
    weight=2,
    required=True,
    hint=(
        "Is a tensor still on meta? Which option of load_state_dict takes the tensor in place of copying into it?",
        "assign=True for what state has. What it has not, you set yourself: setattr at the module that owns it.",
    ),
):
    source = Scaled(3, 2).eval()
    t, t_state = torch.linspace(-1, 1, 12).reshape(4, 3), source.state_dict()
    t_rest = {"table": torch.tensor([0.5, -1.0, 2.0]), "norm.scale": torch.tensor([3.0, -1.0])}
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
            "what state_dict() leaves out has no values yet": forgotten,
            "the model's tensors are those of state: whoever writes into one changes both": of_state,
            "the model's tensors are those that you were given: whoever writes into one changes both": aliases,
        },
        name="your model's tensors",
    )

# %% hidden checks


def a_state(features, hidden, seed, dtype, where):
    """Values for all of Scaled's tensors: what its state has, and the rest."""
    generator = torch.Generator().manual_seed(seed)

    def draw(*shape):
        return torch.randn(shape, generator=generator).to(where, dtype)

    state = {
        "first.weight": draw(hidden, features),
        "first.bias": draw(hidden),
        "norm.weight": draw(hidden),
        "norm.bias": draw(hidden),
        "norm.running_mean": draw(hidden),
        "norm.running_var": draw(hidden).square() + 1,
        "norm.num_batches_tracked": torch.tensor(seed, device=where),
    }
    return state, {"norm.scale": draw(hidden), "table": draw(features)}, draw(5, features)


def copied(tensors):
    return {name: one.clone() for name, one in tensors.items()}


def computed(values, x):
    x = torch.nn.functional.linear(x + values["table"], values["first.weight"], values["first.bias"])
    mean, var = values["norm.running_mean"], values["norm.running_var"]
    x = torch.nn.functional.batch_norm(x, mean, var, values["norm.weight"], values["norm.bias"])
    return x * values["norm.scale"]


with check(
    "other_cases",
    "other sizes and dtypes: values, and what the model gives",
    weight=5,
    required=True,
    hint="Which dtype has a parameter after assign, and which one after copying? Whose memory is it?",
):
    for features, hidden, dtype in ((4, 3, torch.float32), (2, 5, torch.float64), (3, 1, torch.bfloat16)):
        state, rest, x = a_state(features, hidden, hidden, dtype, device())
        want = copied(state | rest)
        output = computed(want, x)
        got = materialized(materialize, features, hidden, copied(state), copied(rest), [], x)
        assert_close(got["values"], want, name="your model's tensors")
        assert_close(got["output"], output, name="your model's output")
with check(
    "flags",
    "requires_grad as it was built, the names of state_dict(), and one model on meta",
    weight=3,
    required=True,
    hint="Does a new nn.Parameter know that the old one was frozen? Is a buffer that you register again left out?",
):
    for seed, frozen in enumerate((["first.weight"], ["norm.bias", "norm.weight"], [])):
        state, rest, x = a_state(3, 4, seed, torch.float32, device())
        names = [name for name in state if name.endswith(("weight", "bias")) and name not in frozen]
        want = computed(state | rest, x)
        got = materialized(materialize, 3, 4, copied(state), copied(rest), frozen, x)
        assert_close(got["output"], want, name="your model's output")
        assert_close(got["requires grad"], names, name="what requires grad")
        assert_close(got["state_dict"], list(state), name="the names in state_dict()")
        assert_close(got["built on"], ["meta"], name="the devices on which the model was built")
with check(
    "refused",
    "a name that is missing, or one too many, raises a RuntimeError",
    hint="What does strict=False hide?",
):
    for change in ("missing", "unexpected", "shape"):
        state, rest, x = a_state(2, 3, 1, torch.float32, device())
        if change == "missing":
            del state["norm.running_mean"]
        else:
            state["other" if change == "unexpected" else "first.weight"] = torch.zeros(4, device=device())
        try:
            materialized(materialize, 2, 3, state, rest, [], x)
        except RuntimeError as error:
            if not isinstance(error, NotImplementedError):
                continue
            raise
        raise AssertionError("a state that does not fit the model was accepted")


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


# %% wrong "nobody's tensor is copied" fails=example,other_cases,flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict(state, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t)
    return model


# %% wrong "empty memory, then copied" fails=other_cases raises=RuntimeError
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.to_empty(device=next(iter(state.values())).device)
    model.load_state_dict(state)
    for name, t in rest.items():
        model.get_buffer(name).copy_(t)
    return model


# %% wrong "new parameters, which all require grad" fails=flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model.requires_grad_(True)


# %% wrong "buffers that are saved from now on" fails=flags
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        module = model.get_submodule(owner)
        delattr(module, own_name)
        module.register_buffer(own_name, t.clone())
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


# %% wrong "everything into one dict" fails=example,other_cases,flags,refused
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in {**state, **rest}.items()}, assign=True, strict=False)
    return model


# %% wrong "built with memory" fails=flags
def materialize(build, state, rest):
    model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model


# %% wrong "built twice" fails=flags
def materialize(build, state, rest):
    learning = [name for name, p in build().named_parameters() if p.requires_grad]
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    for name, p in model.named_parameters():
        p.requires_grad_(name in learning)
    return model


# %% wrong "cast to the dtype that the model had" fails=other_cases raises=RuntimeError
def materialize(build, state, rest):
    with torch.device("meta"):
        model = build()
    model.load_state_dict({k: v.clone() for k, v in state.items()}, assign=True)
    for name, t in rest.items():
        owner, _, own_name = name.rpartition(".")
        setattr(model.get_submodule(owner), own_name, t.clone())
    return model.float()


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

    model = materialize(build, state, rest)
    parameters, buffers = dict(model.named_parameters()), dict(model.named_buffers())
    return {
        "built on": ["meta"],
        "values": {name: t.detach().clone() for name, t in (parameters | buffers).items()},
        "output": model(x).detach(),
        "requires grad": [name for name, t in parameters.items() if t.requires_grad],
        "state_dict": list(model.state_dict()),
    }
