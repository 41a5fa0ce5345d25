# %% given
def module_with(state):
    """A module with this state_dict(), in which whatever follows _orig_mod in a name is compiled, at most once."""
    module = nn.Module()
    module.register_buffer("not_saved", torch.ones(2), persistent=False)
    module.register_parameter("absent", None)  # like the bias of a layer without one
    module.register_buffer("also_absent", None)
    for part in dict.fromkeys(name.split(".")[0] for name in state):
        value = state.get(part)
        if value is None:
            child = module_with({k.removeprefix(part + "."): v for k, v in state.items() if k.startswith(part + ".")})
            if part == "_orig_mod" and "_orig_mod" not in child._modules:
                return torch.compile(child, backend="eager")
            module.add_module(part, child)
        elif value.is_floating_point():
            module.register_parameter(part, nn.Parameter(torch.zeros_like(value)))
        else:
            module.register_buffer(part, torch.zeros_like(value))
    return module


@probes.probe
def saved_by(save, state, in_place=False, tied=(), frozen=(), twice=()):
    """What save returns for a module with this state, including its names, and the module afterwards. It's first saved
    once with other values. Each pair of names in tied is one parameter that is used twice, and each pair in twice is
    one module. If some parameters are frozen, it's in evaluation mode."""
    module = module_with(state)
    for path, other in twice:
        module.add_module(other, module.get_submodule(path))
    if in_place:
        module.compile(backend="eager")
    save(module)
    module.load_state_dict(state, assign=True)
    for name, other in tied:
        owner, _, last = other.rpartition(".")
        module.get_submodule(owner).register_parameter(last, module.get_parameter(name))
    for name in frozen:
        module.eval().get_parameter(name).requires_grad_(False)
    saved = {name: value.detach().clone() for name, value in save(module).items()}
    after = {name: value.detach().clone() for name, value in module.state_dict().items()}
    modes = {name: part.training for name, part in module.named_modules()}
    trained = [name for name, parameter in module.named_parameters() if parameter.requires_grad]
    return {"names": list(saved), "saved": saved, "after": [list(after), after, modes, trained]}


# %% exercise
def save_clean(model: nn.Module) -> dict[str, Tensor]:
    """model's state with the names that it would have if none of it were compiled, in the same order.

    Every part of a name that is exactly _orig_mod is removed, even several in a row. Other parts aren't changed. The
    result has all parameters and buffers that state_dict() has, with their current values: as the model's own tensors,
    as in state_dict(), or as copies.

    Details:
    - model: compiled by torch.compile, or with compiled parts at any depth, or plain; nothing of its own is called
      exactly _orig_mod.
    - The model isn't changed.
    """
    ### BEGIN SOLUTION
    return {
        ".".join(part for part in name.split(".") if part != "_orig_mod"): value
        for name, value in model.state_dict().items()
    }
    ### END SOLUTION


# %% promises
# model's state with -> whole_model, compiled, plain, similar_names, shared_weight
# Every part of -> whole_model, compiled, similar_names
# Other parts aren't -> whole_model, similar_names
# The result has all -> whole_model, compiled, plain, shared_weight
# model: compiled by -> whole_model, compiled, plain
# The model isn't -> keeps_model


# %% domain
def mark_compiled(name, paths, times):
    """The name that state_dict() gives if the modules at these paths are compiled, so many times each."""
    parts = name.split(".")
    marked = [["_orig_mod"] * times * (".".join(parts[:n]) in paths) + [part] for n, part in enumerate(parts)]
    return ".".join(sum(marked, []))


@domain(
    reference,
    *("every module", "one parameter", "without elements", "frozen", "plain", "in place", "nothing to save"),
    *("similar names", "similar names, compiled", "twice in a row", "shared", "shared, compiled", "a module twice"),
    call=saved_by,
)
def arguments(draw, edge):
    similar = ["_orig_mod2", "_orig_mod_", "x_orig_mod", "_orig_model", "orig_mod", "_orig_mod_orig_mod"]
    a, b, c = draw(st.permutations(similar if "similar" in edge else ["encoder", "head", "my_orig_mod", "block"]))[:3]
    names = [f"{a}.0.weight", f"{a}.0.bias", f"{a}.count", f"{b}.weight", f"{b}.{c}.1.weight", "scale", f"{c}.0.count"]
    names = {"nothing to save": [], "one parameter": ["weight"]}.get(edge, names)
    paths = {
        "every module": ["", a, f"{a}.0", b, f"{b}.{c}", f"{b}.{c}.1", c, f"{c}.0"],
        "one parameter": [""],
        "similar names, compiled": ["", f"{a}.0", b],
        "twice in a row": ["", a, f"{b}.{c}"],
        "shared, compiled": [a],
        **dict.fromkeys(["plain", "in place", "nothing to save", "similar names", "shared", "a module twice"], []),
    }.get(edge, draw(st.sampled_from([[""], [b, c], ["", a], ["", f"{b}.{c}"], [a, f"{a}.0"]])))
    g, state = draw.make_generator(here), {}
    for n, name in enumerate(names, bool(edge)):  # edges have other sizes, since different names alone don't count
        dtype = (torch.float32, torch.float64)[n % 2]
        shape = (0, 2) if edge == "without elements" else (n % 3 + 1, 2)
        value = torch.randn(shape, generator=g, dtype=dtype)
        value = torch.randint(2**30, 2**40, (), generator=g) if name.endswith("count") else value
        state[mark_compiled(name, paths, 2 if edge == "twice in a row" else 1)] = value
    tied = []
    if edge.startswith("shared"):
        tied = [(mark_compiled(f"{a}.0.weight", paths, 1), f"{b}.weight")]
        state[tied[0][1]] = state[tied[0][0]].clone()
    twice = [(a, "again")] if edge == "a module twice" else []
    state |= {name.replace(a, "again", 1): state[name] for name in state if twice and name.startswith(a + ".")}
    frozen = [name for name in state if "bias" in name] if edge == "frozen" else []
    return state, edge == "in place", tied, frozen, twice


# %% checks
with check(
    "whole_model",
    "a model that was compiled as a whole",
    weight=2,
    required=True,
    hint=(
        "Is a name wrong, missing, or in another position? Does state_dict() contain buffers as well?",
        "Split each name in state_dict() at its dots, and leave out the parts that are exactly _orig_mod.",
    ),
):
    t = {"encoder.weight": torch.ones(2, 3), "encoder.count": torch.tensor(4), "my_orig_mod.bias": torch.ones(2) / 3}
    names = list(t)
    got = saved_by(save_clean, {"_orig_mod." + name: t[name].clone() for name in names})
    explain(
        got["names"],
        names,
        {
            "the names still have the prefix": ["_orig_mod." + name for name in names],
            "a part that is really called my_orig_mod lost a piece": [n.replace("_orig_mod.", "") for n in names],
        },
        name="the names",
    )
    assert_close(got["saved"], t)


# %% hidden checks
def assert_saved(save, *edges):
    """Compare the saved names and values with the reference's."""
    for trial in arguments.iter_trials(save, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["names"], want["names"], name="the names")
        assert_close(got["saved"], want["saved"], name="the saved state")


with check(
    "compiled",
    "models and parts that were compiled, at any depth",
    weight=4,
    required=True,
    hint="Where in the name is _orig_mod? Did you copy the model, or remember an earlier state?",
):
    assert_saved(save_clean, "", "every module", "one parameter", "without elements", "frozen")
with check(
    "plain", "a plain model, and one that was compiled in place", weight=2, hint="Is there an _orig_mod in every model?"
):
    assert_saved(save_clean, "plain", "in place", "nothing to save")
with check(
    "similar_names",
    "names that are nearly _orig_mod, and two in a row",
    weight=2,
    hint="When is a part of a name exactly _orig_mod?",
):
    assert_saved(save_clean, "similar names", "similar names, compiled", "twice in a row")
with check("shared_weight", "one parameter under two names", weight=1, hint="Which names does state_dict() give it?"):
    assert_saved(save_clean, "shared", "shared, compiled", "a module twice")
with check("keeps_model", "the model keeps its names, values and modes", guard=True):
    for trial in arguments.iter_trials(save_clean, "", *arguments.edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["after"], want["after"], name="the model afterwards")


# %% right "a new dict, in a loop"
def save_clean(model):
    clean = {}
    for name, value in model.state_dict().items():
        parts = name.split(".")
        while "_orig_mod" in parts:
            parts.remove("_orig_mod")
        clean[".".join(parts)] = value.clone()
    return clean


# %% right "a regular expression"
import re


def save_clean(model):
    return {re.sub(r"(^|(?<=\.))_orig_mod\.", "", k): v for k, v in model.state_dict().items()}


# %% liar "no model at all: the names of the state that it is to have"
def save_clean(model):
    return {}


def saved_by(save, state, in_place=False, tied=(), frozen=(), twice=()):
    clean = {".".join(p for p in name.split(".") if p != "_orig_mod"): value for name, value in state.items()}
    return {"names": list(clean), "saved": clean, "after": [list(state), dict(state), {"": True}, []]}


# %% wrong "as it is" fails=whole_model,compiled,similar_names,shared_weight
def save_clean(model):
    return model.state_dict()


# %% wrong "replaced wherever it occurs" fails=whole_model,compiled,plain,similar_names,shared_weight
def save_clean(model):
    return {k.replace("_orig_mod.", ""): v for k, v in model.state_dict().items()}


# %% wrong "a regular expression that takes the dot with it" fails=similar_names
import re


def save_clean(model):
    return {re.sub(r"(^|\.)_orig_mod\.", r"\1", k): v for k, v in model.state_dict().items()}


# %% wrong "in evaluation mode, as for a checkpoint" fails=keeps_model
def save_clean(model):
    model.eval()
    return {".".join(p for p in k.split(".") if p != "_orig_mod"): v for k, v in model.state_dict().items()}
