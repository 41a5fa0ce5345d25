# %% given
def module_with(state):
    """A module with this state_dict(): what stands behind _orig_mod in a name was compiled, if it was not before."""
    module = nn.Module()
    module.register_buffer("not_saved", torch.ones(2), persistent=False)
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
def saved_by(save, state, in_place=False, tied=()):
    """What save gives of a module that has this state, names and all, and the module's state then. It was saved once
    before, when it had other values. Each pair of names in tied is one parameter, used twice."""
    module = module_with(state)
    if in_place:
        module.compile(backend="eager")
    save(module)
    module.load_state_dict(state, assign=True)
    for name, other in tied:
        owner, _, last = other.rpartition(".")
        module.get_submodule(owner).register_parameter(last, module.get_parameter(name))
    saved = {name: value.detach().clone() for name, value in save(module).items()}
    after = {name: value.detach().clone() for name, value in module.state_dict().items()}
    return {"names": list(saved), "saved": saved, "names after": list(after), "after": after}


# %% exercise
def save_clean(model: nn.Module) -> dict[str, Tensor]:
    """model's state with the names that it would have if nothing of it were compiled, in the same order.

    model: compiled by torch.compile, or with compiled parts, at any depth, or plain. Every part of a name that is
    exactly _orig_mod goes, several in a row too. Other parts stay as they are. It has all parameters and buffers that
    state_dict() has, with the values that they have now: as the model's own tensors, as in state_dict(), or as copies.
    The model stays as it is.
    """
    ### BEGIN SOLUTION
    return {
        ".".join(part for part in name.split(".") if part != "_orig_mod"): value
        for name, value in model.state_dict().items()
    }
    ### END SOLUTION


# %% checks
with check(
    "whole_model",
    "a model that was compiled as a whole",
    weight=2,
    required=True,
    hint=(
        "Is a name wrong, or missing, or at another place? Does state_dict() have buffers as well?",
        "Cut each name of state_dict() at its dots, and leave out the parts that are exactly _orig_mod.",
    ),
):
    t = {"encoder.weight": torch.ones(2, 3), "encoder.count": torch.tensor(4), "my_orig_mod.bias": torch.ones(2) / 3}
    names = list(t)
    got = saved_by(save_clean, {"_orig_mod." + name: t[name].clone() for name in names})
    explain(
        got["names"],
        names,
        {
            "the names have the prefix": ["_orig_mod." + name for name in names],
            "a part that is really called my_orig_mod lost a piece": [n.replace("_orig_mod.", "") for n in names],
        },
        name="the names",
    )
    assert_close(got["saved"], t)


# %% hidden checks
def drawn(names, seed):
    """A state with these names, and what is to be saved of it."""
    generator = torch.Generator(here).manual_seed(seed)
    state = {}
    for n, name in enumerate(names.split()):
        dtype = (torch.float32, torch.float64)[n % 2]
        count = torch.randint(2**30, 2**40, (), generator=generator)
        state[name] = count if name.endswith("count") else torch.randn(n % 3 + 1, 2, generator=generator, dtype=dtype)
    clean = {".".join(p for p in name.split(".") if p != "_orig_mod"): v.clone() for name, v in state.items()}
    return state, {"names": list(clean), "saved": clean}


def of(got):
    return {"names": got["names"], "saved": got["saved"]}


with check(
    "compiled_parts",
    "parts that were compiled, at any depth",
    weight=3,
    required=True,
    hint="Where in the name does _orig_mod stand?",
):
    for n, names in enumerate(
        (
            "encoder._orig_mod.0.weight encoder._orig_mod.0.bias my_orig_mod.weight",
            "encoder.0._orig_mod.weight encoder.0._orig_mod.count encoder.1.weight head._orig_mod.bias",
            "_orig_mod.scale _orig_mod.part._orig_mod.0.weight _orig_mod.part._orig_mod.0.count _orig_mod.out.bias",
        )
    ):
        t, want = drawn(names, n)
        assert_close(of(saved_by(save_clean, t)), want)
with check(
    "plain", "a plain model, and one that was compiled in place", weight=2, hint="Is there an _orig_mod in every model?"
):
    for in_place in (False, True):
        t, want = drawn("scale encoder.0.weight encoder.0.count my_orig_mod.weight", 5)
        assert_close(of(saved_by(save_clean, t, in_place=in_place)), want)
with check(
    "current_values", "the values are those of now", weight=1, hint="Did you copy the model, or build a new one?"
):
    t, want = drawn("_orig_mod.encoder.weight _orig_mod.encoder.bias _orig_mod.out.count", 7)
    assert_close(of(saved_by(save_clean, t)), want)
with check(
    "similar_names",
    "names that are nearly _orig_mod, and two in a row",
    weight=2,
    hint="When is a part of a name exactly _orig_mod?",
):
    t, want = drawn("_orig_mod2.weight _orig_model.0.weight x._orig_mod_.bias x_orig_mod._orig_mods.weight", 8)
    assert_close(of(saved_by(save_clean, t)), want)
    t, want = drawn("_orig_mod._orig_mod.0.weight _orig_mod._orig_mod.0.bias _orig_mod._orig_mod._orig_model.bias", 9)
    assert_close(of(saved_by(save_clean, t)), want)
    t, want = drawn("a._orig_mod._orig_mod.weight a._orig_mod._orig_mod._orig_mod_.0.bias b.weight", 10)
    assert_close(of(saved_by(save_clean, t)), want)
with check("shared_weight", "one parameter under two names", weight=1, hint="Which names does state_dict() give it?"):
    t, want = drawn("a._orig_mod.weight a._orig_mod.bias b.weight", 12)
    t["b.weight"] = t["a._orig_mod.weight"].clone()
    want["saved"]["b.weight"] = t["b.weight"].clone()
    assert_close(of(saved_by(save_clean, t, tied=[("a._orig_mod.weight", "b.weight")])), want)
with check("keeps_model", "the model keeps its names", guard=True):
    t, _ = drawn("_orig_mod.encoder._orig_mod.weight _orig_mod.encoder._orig_mod.count _orig_mod.out.bias", 11)
    want = {"names after": list(t), "after": {name: value.clone() for name, value in t.items()}}
    got = saved_by(save_clean, t)
    assert_close({"names after": got["names after"], "after": got["after"]}, want)


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


def saved_by(save, state, in_place=False, tied=()):
    clean = {".".join(p for p in name.split(".") if p != "_orig_mod"): value for name, value in state.items()}
    return {"names": list(clean), "saved": clean, "names after": list(state), "after": dict(state)}


# %% wrong "as it is" fails=whole_model,compiled_parts,current_values,similar_names,shared_weight
def save_clean(model):
    return model.state_dict()


# %% wrong "replaced wherever it occurs" fails=whole_model,compiled_parts,plain,similar_names
def save_clean(model):
    return {k.replace("_orig_mod.", ""): v for k, v in model.state_dict().items()}


# %% wrong "the model inside" fails=compiled_parts,plain,similar_names,shared_weight raises=AttributeError
def save_clean(model):
    return model._orig_mod.state_dict()


# %% wrong "the model inside, if there is one" fails=compiled_parts,similar_names,shared_weight
def save_clean(model):
    return getattr(model, "_orig_mod", model).state_dict()


# %% wrong "at the beginning only" fails=compiled_parts,similar_names,shared_weight
def save_clean(model):
    return {k.removeprefix("_orig_mod."): v for k, v in model.state_dict().items()}


# %% wrong "parameters only" fails=whole_model,compiled_parts,plain,current_values,shared_weight
def save_clean(model):
    return {".".join(p for p in name.split(".") if p != "_orig_mod"): value for name, value in model.named_parameters()}


# %% wrong "each parameter once" fails=shared_weight
def save_clean(model):
    clean, seen = {}, set()
    for name, value in model.state_dict(keep_vars=True).items():
        if id(value) not in seen:
            clean[".".join(p for p in name.split(".") if p != "_orig_mod")] = value.detach()
            seen.add(id(value))
    return clean


# %% wrong "remembered by the model's id" fails=whole_model,compiled_parts,plain,current_values,similar_names,shared_weight
saved_before = {}


def save_clean(model):
    if id(model) not in saved_before:
        state = {k: v.clone() for k, v in model.state_dict().items()}
        saved_before[id(model)] = {".".join(p for p in k.split(".") if p != "_orig_mod"): v for k, v in state.items()}
    return saved_before[id(model)]


# %% wrong "a regular expression that takes the dot with it" fails=similar_names
import re


def save_clean(model):
    return {re.sub(r"(^|\.)_orig_mod\.", r"\1", k): v for k, v in model.state_dict().items()}


# %% wrong "what begins with the prefix" fails=similar_names
def save_clean(model):
    return {
        ".".join(p for p in k.split(".") if not p.startswith("_orig_mod")): v for k, v in model.state_dict().items()
    }


# %% wrong "the first one in each name" fails=compiled_parts,similar_names
def save_clean(model):
    clean = {}
    for k, v in model.state_dict().items():
        parts = k.split(".")
        if "_orig_mod" in parts:
            parts.remove("_orig_mod")
        clean[".".join(parts)] = v
    return clean


# %% right "collected module by module, as copies"
def save_clean(model):
    state = {}

    def visit(module, path):
        while "_orig_mod" in module._modules:
            module = module._modules["_orig_mod"]
        own = list(module._parameters.items()) + [
            b for b in module._buffers.items() if b[0] not in module._non_persistent_buffers_set
        ]
        for name, value in own:
            if value is not None:
                state[".".join([*path, name])] = value.detach().clone()
        for name, child in module.named_children():
            visit(child, [*path, name])

    visit(model, [])
    return state


# %% wrong "the wrappers are taken off for good" fails=compiled_parts,similar_names,shared_weight,keeps_model raises=RuntimeError
def save_clean(model):
    model = getattr(model, "_orig_mod", model)
    for m in list(model.modules()):
        for name, child in list(m.named_children()):
            if hasattr(child, "_orig_mod"):
                setattr(m, name, child._orig_mod)
    return model.state_dict()


# %% wrong "parameters, then buffers" fails=whole_model,compiled_parts,plain,current_values,similar_names,shared_weight
def save_clean(model):
    both = [*model.named_parameters(), *model.named_buffers()]
    return {".".join(p for p in n.split(".") if p != "_orig_mod"): v for n, v in both}
