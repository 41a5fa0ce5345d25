# %% given
torch.manual_seed(0)


class Tied(nn.Module):
    """A table used at both ends, a vector, a normalization and a single number."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(5, 3)
        self.norm = nn.LayerNorm(3)
        self.temperature = nn.Parameter(torch.tensor(2.0))
        self.out = nn.Linear(3, 5)
        self.out.weight = self.table.weight

    def forward(self, x):
        return self.out(self.norm(self.table(x))) * self.temperature


def make_dense():
    return nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Linear(3, 2, bias=False))


def built_of(parts):
    """A module with these parameters, in this order. A list among them becomes a submodule."""
    module = nn.Module()
    for number, part in enumerate(parts):
        if isinstance(part, list):
            module.add_module(f"part{number}", built_of(part))
        else:
            module.register_parameter(f"{('bias', 'weight')[number % 2]}{number}", part)
    return module


@probes.probe
def to_group(function, parts):
    """A model with these parameters, in the process of this function of the student's."""
    return built_of(parts)


@probes.probe
def grouped(groups_of, parts, weight_decay):
    """The groups of a model with these very parameters, and a buffer."""
    model = built_of(parts)
    model.register_buffer("seen", torch.ones(2, 2))
    return groups_of(model, weight_decay)


@probes.probe
def decayed(groups_of, make_model, weight_decay, frozen=()):
    """One step of SGD on the groups of a model whose parameters are all 1, with gradients of 1 and a rate of 0.5."""
    model = make_model()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.fill_(1.0)
            parameter.requires_grad_(name not in frozen)
    groups = groups_of(model, weight_decay)
    names = {id(p): name for name, p in model.named_parameters()}
    listed = [[names.get(id(p), "?") for p in group["params"]] for group in groups]
    optimizer = torch.optim.SGD(groups, lr=0.5, weight_decay=7.0)  # for groups that don't set their own
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    flags = {name: p.requires_grad for name, p in model.named_parameters()}
    after = {name: p.detach() for name, p in model.named_parameters()}
    return {"names": listed, "after": after, "flags": flags}


# %% exercise
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Parameter groups for an optimizer: parameters with two or more dimensions decay, the others don't.

    Returns [{"params": [...], "weight_decay": weight_decay}, {"params": [...], "weight_decay": 0.0}]: always both
    groups, even if one is empty.
    Each parameter that requires grad is in exactly one group, once, even if two modules share it. Both lists follow the
    order of model.parameters().

    Details:
    - The lists hold the parameters themselves, not copies. The parameters aren't changed.
    - Frozen parameters are in neither group, even if they hold a .grad.
    """
    ### BEGIN SOLUTION
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    ### END SOLUTION


# %% promises
# Parameter groups for -> example, other_cases
# Returns [{"params" -> other_cases, empty_groups
# Each parameter that -> shared_weight
# Both lists -> other_cases
# The lists hold -> other_cases, shared_weight
# The parameters aren't -> keeps_model
# Frozen parameters are -> frozen


# %% domain
@domain(
    reference,
    *("sizes of one", "no elements", "equal values", "float64", "only in the model itself", "only in its parts"),
    *("weight decay 0", "weight decay above 1", "only vectors", "only matrices", "no parameters"),
    *("shared", "shared in one module", "shared vector", "some frozen", "matrices frozen", "vectors frozen"),
    *("all frozen", "shared and frozen", "frozen ones hold .grad", "hold .grad"),
    call=grouped,
)
def arguments(draw, edge):
    vectors, matrices = [(3,), (), (2,), (4,)], [(2, 3), (4, 1, 2), (3, 2), (1, 2, 1, 2)]
    if edge == "sizes of one":
        vectors, matrices = [(1,), (), (1,), (1,)], [(1, 1), (1, 3), (3, 1), (1, 1, 1)]
    if edge == "no elements":
        vectors, matrices = [(0,), (3,), (0,), ()], [(0, 3), (2, 0), (3, 2), (2, 0, 2)]
    if edge == "equal values":
        vectors, matrices = [(3,)] * 4, [(2, 3)] * 4
    pairs = [shape for pair in zip(vectors, matrices, strict=True) for shape in pair]
    shapes = {"only vectors": vectors, "only matrices": matrices, "no parameters": []}.get(edge, pairs)
    shapes, g = draw(st.permutations(shapes)), draw.make_generator(here)
    number = draw(st.integers(0, 3))
    p = []
    for place, shape in enumerate(shapes):
        value = torch.randn(shape, generator=g, dtype=torch.float64 if edge == "float64" else torch.float32)
        value = torch.ones_like(value) if edge == "equal values" else value
        is_frozen = {
            "some frozen": place % 3 == number % 3,
            "matrices frozen": len(shape) > 1,
            "vectors frozen": len(shape) < 2,
            "all frozen": True,
            "shared and frozen": place in (0, 4),
            "frozen ones hold .grad": place % 2 == number % 2,
        }.get(edge, False)
        p.append(nn.Parameter(value, not is_frozen))
        if "hold .grad" in edge:
            p[-1].grad = torch.ones_like(value)
    if edge == "shared vector":
        p.sort(key=lambda t: t.ndim)
    parts = [p[0], [p[1], [p[2]], p[3]], p[4], [], [p[5], p[6]], p[7]] if len(p) > 7 else [[t] for t in p]
    if edge == "only in the model itself":
        parts = p[:-1]
    if edge == "only in its parts":
        parts = [[[[p[1]]], [p[0], p[2]]], [p[3], [p[4]]], p[5:]]
    if edge.startswith("shared"):
        parts[4].append(p[5] if "in one" in edge else p[0])
        parts += [] if "frozen" in edge else [[p[6], p[2], [p[4]]]]
    rate = draw(st.integers(1, 10**6)) / 10**7
    return parts, {"weight decay 0": 0.0, "weight decay above 1": 1 + rate}.get(edge, rate)


# %% checks
with check(
    "example",
    "two linear layers and a normalization layer",
    weight=2,
    required=True,
    hint=(
        "Which parameters have one dimension, and which group are they in?",
        "Choose by ndim, in the order of model.parameters(). Each group has its own weight_decay.",
    ),
):
    want = [["0.weight", "3.weight"], ["0.bias", "1.weight", "1.bias"]]
    got = decayed(decay_groups, make_dense, 0.2)
    explain(
        got["names"],
        want,
        {
            "the weight of the normalization layer decays: a name says little": [
                ["0.weight", "1.weight", "3.weight"],
                ["0.bias", "1.bias"],
            ],
            "all parameters decay": [["0.weight", "0.bias", "1.weight", "1.bias", "3.weight"], []],
        },
    )
    ones = {name: torch.ones_like(p) for name, p in make_dense().named_parameters()}
    want = {name: p * (0.4 if name in ("0.weight", "3.weight") else 0.5) for name, p in ones.items()}
    assert_close(got["after"], want, name="the parameters after a step")

# %% hidden checks
with check(
    "other_cases",
    "other shapes and decays, and parameters in nested modules",
    weight=3,
    required=True,
    hint="How many dimensions do a kernel and a single number have? Where does weight_decay go?",
):
    parts, rate = arguments.list_cases()[0].drawn.make_arguments()
    want = reference.function(built_of(parts), rate)
    got = decay_groups(to_group(decay_groups, parts), rate)
    assert_close(got, want, rtol=1e-12, atol=0, name="your groups")
    edges = "", "sizes of one", "no elements", "equal values", "float64", "only in the model itself"
    others = "only in its parts", "weight decay 0", "weight decay above 1"
    arguments.assert_results(decay_groups, *edges, *others, rtol=1e-12, atol=0)
    arguments.assert_returns(decay_groups, "the model's parameter", *edges, *others)
with check(
    "empty_groups",
    "a group without parameters is still returned",
    hint="What do you return for a model that has no matrices? And for one that has nothing else?",
):
    arguments.assert_results(decay_groups, "only vectors", "only matrices", "no parameters", rtol=1e-12, atol=0)
with check(
    "shared_weight",
    "a shared weight is in one group, once",
    weight=2,
    hint="What does SGD do with a weight that it's given twice?",
):
    want = [["table.weight"], ["temperature", "norm.weight", "norm.bias", "out.bias"]]
    assert_close(decayed(decay_groups, Tied, 0.3)["names"], want, name="the names in your groups")
    arguments.assert_results(decay_groups, "shared", "shared in one module", "shared vector", rtol=1e-12, atol=0)
    arguments.assert_returns(decay_groups, "the model's parameter", "shared", "shared in one module", "shared vector")
with check(
    "frozen", "a frozen parameter isn't in any group, and doesn't move", weight=3, hint="Which attribute tells you?"
):
    want = [["3.weight"], ["0.bias", "1.weight"]]
    got = decayed(decay_groups, make_dense, 0.2, ["0.weight", "1.bias"])
    assert_close(got["names"], want, name="the names in your groups")
    edges = "some frozen", "matrices frozen", "vectors frozen", "all frozen", "shared and frozen"
    arguments.assert_results(decay_groups, *edges, "frozen ones hold .grad", "hold .grad", rtol=1e-12, atol=0)
with check(
    "keeps_model",
    "the parameters aren't changed",
    guard=True,
    hint="Which of your lines freezes or unfreezes something?",
):
    arguments.assert_arguments(decay_groups)


# %% right "one loop with named_parameters"
def decay_groups(model, weight_decay):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (no_decay if p.dim() <= 1 else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


# %% right "through the modules, with a set of what was seen"
def decay_groups(model, weight_decay):
    seen, groups = set(), ([], [])
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if id(p) not in seen and p.requires_grad:
                seen.add(id(p))
                groups[len(p.shape) < 2].append(p)
    return [dict(params=list(g), weight_decay=w) for g, w in zip(groups, (weight_decay, 0.0))]


# %% wrong "by the name: what is called weight decays" fails=example,other_cases,empty_groups,shared_weight,frozen
def decay_groups(model, weight_decay):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [
        {"params": [p for n, p in named if n.endswith("weight")], "weight_decay": weight_decay},
        {"params": [p for n, p in named if not n.endswith("weight")], "weight_decay": 0.0},
    ]


# %% wrong "all of them decay" fails=example,other_cases,empty_groups,shared_weight,frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [{"params": trained, "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]


# %% wrong "thawed first, so that everything trains" fails=frozen,keeps_model
def decay_groups(model, weight_decay):
    trained = [p.requires_grad_() for p in model.parameters()]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong "an old .grad of a frozen parameter is taken away first" fails=keeps_model
def decay_groups(model, weight_decay):
    for p in model.parameters():
        if not p.requires_grad:
            p.grad = None
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% liar "no groups, and a probe that works out the step from the names"
def decay_groups(model, weight_decay):
    """Nothing."""


def decayed(groups_of, make_model, weight_decay, frozen=()):
    named = list(make_model().named_parameters())
    high = [n for n, p in named if p.ndim > 1 and n not in frozen]
    low = [n for n, p in named if p.ndim < 2 and n not in frozen]
    rate = {n: 0.5 - 0.5 * weight_decay if n in high else 0.5 if n in low else 1.0 for n, _ in named}
    after = {n: torch.ones_like(p.detach()) * rate[n] for n, p in named}
    return {"names": [high, low], "after": after, "flags": {n: n not in frozen for n, _ in named}}


# %% liar "right groups of copies, and probes that work out the step from the names and find what was copied by its values"
def decay_groups(model, weight_decay):
    trained = [(p, p.detach().clone().requires_grad_()) for p in model.parameters() if p.requires_grad]
    return [
        {"params": [t for p, t in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [t for p, t in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


def decayed(groups_of, make_model, weight_decay, frozen=()):
    named = list(make_model().named_parameters())
    high = [n for n, p in named if p.ndim > 1 and n not in frozen]
    low = [n for n, p in named if p.ndim < 2 and n not in frozen]
    rate = {n: 0.5 - 0.5 * weight_decay if n in high else 0.5 if n in low else 1.0 for n, _ in named}
    after = {n: torch.ones_like(p.detach()) * rate[n] for n, p in named}
    return {"names": [high, low], "after": after, "flags": {n: n not in frozen for n, _ in named}}


def grouped(groups_of, parts, weight_decay):
    model = built_of(parts)
    groups, own = groups_of(model, weight_decay), list(model.parameters())
    return [g | {"params": [next(p for p in own if torch.equal(p, t)) for t in g["params"]]} for g in groups]
