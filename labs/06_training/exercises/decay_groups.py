# %% given
torch.manual_seed(0)


class Tied(nn.Module):
    """A table that is used at both ends, a vector, a normalisation and a single number."""

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


def make_conv():
    return nn.Sequential(nn.Conv1d(1, 3, 1), nn.GroupNorm(1, 3), nn.PReLU())


def make_table():
    return nn.Sequential(nn.Embedding(5, 3), nn.LayerNorm(3))


@probes.probe
def to_group(function, rows):
    """A model with these parameters, each row in a module, where this function of the student's is."""
    return nn.ModuleList([nn.ParameterList(row) for row in rows])


@probes.probe
def grouped(groups_of, rows, weight_decay):
    """The groups of a model with these very parameters, each row in a module."""
    return groups_of(nn.ModuleList([nn.ParameterList(row) for row in rows]), weight_decay)


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
    optimizer = torch.optim.SGD(groups, lr=0.5, weight_decay=7.0)  # for groups that do not say
    for parameter in model.parameters():
        parameter.grad = torch.ones_like(parameter)
    optimizer.step()
    flags = {name: p.requires_grad for name, p in model.named_parameters()}
    after = {name: p.detach() for name, p in model.named_parameters()}
    return {"names": listed, "after": after, "flags": flags}


# %% exercise
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    """Parameter groups for an optimizer: those with two or more dimensions decay, the others do not.

    Returns [{"params": [...], "weight_decay": weight_decay}, {"params": [...], "weight_decay": 0.0}].
    Each parameter that requires grad is in exactly one of them, once, also where two modules share it. Frozen ones are
    in neither. In both lists the order is that of model.parameters(). The model stays as it is.
    """
    ### BEGIN SOLUTION
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    ### END SOLUTION


# %% checks
with check(
    "example",
    "two linear layers and a normalisation",
    weight=2,
    required=True,
    hint=(
        "Which of the parameters have one dimension, and in which group are they in your result?",
        "Choose by ndim, in the order of model.parameters(). Each group names a weight_decay of its own.",
    ),
):
    want = [["0.weight", "3.weight"], ["0.bias", "1.weight", "1.bias"]]
    got = decayed(decay_groups, make_dense, 0.2)
    explain(
        got["names"],
        want,
        {
            "the weight of the normalisation layer decays: a name says little": [
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


def rows_and_groups(seed, frozen, rate):
    """Parameters of several modules, one of them in two, and their groups."""
    generator = torch.Generator(here).manual_seed(seed)
    shapes = [(seed, 2), (3,), (), (2, 1, 1), (1,), (1, 1, 2, seed), (4, 3)]
    p = [nn.Parameter(torch.randn(shape, generator=generator), n not in frozen) for n, shape in enumerate(shapes)]
    p.append(nn.Parameter(p[1].detach().clone()))  # the values of another one
    trained = [t for t in p if t.requires_grad]
    groups = [
        {"params": [t for t in trained if t.ndim > 1], "weight_decay": rate},
        {"params": [t for t in trained if t.ndim < 2], "weight_decay": 0.0},
    ]
    return [[p[0], p[1]], [*p[2:5], p[0]], p[5:]], groups


def places_of(groups, rows):
    """Where the parameters that the groups hold stand in the rows."""
    model = [p for row in rows for p in row]
    return [[next((n for n, p in enumerate(model) if p is t), "a copy") for t in group["params"]] for group in groups]


with check(
    "other_cases",
    "a convolution, a single number and other rates",
    weight=3,
    required=True,
    hint="How many dimensions do a kernel and a single number have? Where does the rate go?",
):
    for make, matrix, rate in (
        (make_conv, "0.weight", 0.5),
        (Tied, "table.weight", 0.1),
        (make_conv, "0.weight", 0.0),
        (make_table, "0.weight", 0.3),
    ):
        ones = {name: torch.ones_like(p) for name, p in make().named_parameters()}
        want = {name: p * (0.5 - 0.5 * rate if name == matrix else 0.5) for name, p in ones.items()}
        got = decayed(decay_groups, make, rate)
        assert_close(got["after"], want, name="the parameters after a step")
        names = [[matrix], [n for n in ones if n != matrix]]
        assert_close(got["names"], names, name="the names in your groups")
    rows, want = rows_and_groups(2, (), 1e-3)
    assert_close(decay_groups(to_group(decay_groups, rows), 1e-3), want, rtol=1e-12, atol=0, name="your groups")
    got = grouped(decay_groups, rows, 1e-3)
    assert_close(got, want, rtol=1e-12, atol=0, name="your groups")
    assert_close(places_of(got, rows), places_of(want, rows), name="the places of your groups' parameters in the model")
with check(
    "shared_weight",
    "a shared weight is in one group, once",
    weight=2,
    hint="What does SGD do with a weight it gets twice?",
):
    want = [["table.weight"], ["temperature", "norm.weight", "norm.bias", "out.bias"]]
    assert_close(decayed(decay_groups, Tied, 0.3)["names"], want, name="the names in your groups")
with check(
    "frozen", "a frozen parameter is in no group, and does not move", weight=3, hint="Which attribute tells it?"
):
    ones = {name: torch.ones_like(p) for name, p in make_dense().named_parameters()}
    for frozen in (["0.weight", "1.bias"], ["0.bias", "1.weight", "1.bias", "3.weight"], ["0.weight", "3.weight"]):
        factor = {name: 1.0 if name in frozen else 0.4 if p.ndim > 1 else 0.5 for name, p in ones.items()}
        want = {name: p * factor[name] for name, p in ones.items()}
        names = [[n for n in ones if factor[n] == 0.4], [n for n in ones if factor[n] == 0.5]]
        got = decayed(decay_groups, make_dense, 0.2, frozen)
        assert_close(got["after"], want, name="the parameters after a step")
        assert_close(got["names"], names, name="the names in your groups")
    rows, want = rows_and_groups(3, (1, 6), 0.3)
    assert_close(decay_groups(to_group(decay_groups, rows), 0.3), want, rtol=1e-12, atol=0, name="your groups")
    got = grouped(decay_groups, rows, 0.3)
    assert_close(got, want, rtol=1e-12, atol=0, name="your groups")
    assert_close(places_of(got, rows), places_of(want, rows), name="the places of your groups' parameters in the model")
with check(
    "keeps_model", "the model stays as it is", guard=True, hint="Which of your lines freezes or thaws something?"
):
    want = {"0.weight": False, "0.bias": True, "1.weight": True, "1.bias": True, "3.weight": True}
    assert_close(decayed(decay_groups, make_dense, 0.2, ["0.weight"])["flags"], want, name="requires_grad")


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


# %% wrong "by the name: what is called weight decays" fails=example,other_cases,shared_weight,frozen
def decay_groups(model, weight_decay):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [
        {"params": [p for n, p in named if n.endswith("weight")], "weight_decay": weight_decay},
        {"params": [p for n, p in named if not n.endswith("weight")], "weight_decay": 0.0},
    ]


# %% wrong "all of them decay" fails=example,other_cases,shared_weight,frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [{"params": trained, "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]


# %% wrong "frozen ones as well" fails=frozen
def decay_groups(model, weight_decay):
    return [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong "exactly two dimensions" fails=other_cases,frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim == 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim != 2], "weight_decay": 0.0},
    ]


# %% wrong "dimensions of size one do not count" fails=other_cases,frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.squeeze().ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.squeeze().ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong "no group without parameters" fails=frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


# %% wrong "a shared weight from both of its modules" fails=other_cases,shared_weight,frozen
def decay_groups(model, weight_decay):
    trained = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong "a single number decays like a weight" fails=other_cases,shared_weight,frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim != 1], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim == 1], "weight_decay": 0.0},
    ]


# %% wrong "the usual rate of 0.01" fails=other_cases,frozen
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": 0.2},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong "thawed first, so that everything trains" fails=frozen,keeps_model
def decay_groups(model, weight_decay):
    trained = [p.requires_grad_() for p in model.parameters()]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong "the weights of linear layers and convolutions, by the type of the module" fails=other_cases,frozen
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    weights = {id(m.weight) for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d))}
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if id(p) in weights], "weight_decay": weight_decay},
        {"params": [p for p in trained if id(p) not in weights], "weight_decay": 0.0},
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


def grouped(groups_of, rows, weight_decay):
    groups = groups_of(nn.ModuleList([nn.ParameterList(row) for row in rows]), weight_decay)
    own = [p for row in rows for p in row]
    return [g | {"params": [next(p for p in own if torch.equal(p, t)) for t in g["params"]]} for g in groups]
