# Answers for the exercises of lab.py beside this file: each right one is a way that somebody really writes it,
# each wrong one a belief that somebody really holds.
# %% right: MLP "a ModuleList, and functions in forward"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.dropout = dropout
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes[:-2], sizes[1:-1]))
        self.out = nn.Linear(sizes[-2], sizes[-1])

    def forward(self, x):
        for layer in self.hidden:
            x = F.dropout(F.relu(layer(x)), self.dropout, self.training)
        return self.out(x)


# %% right: MLP "registered by name in a loop, with one dropout for all"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.count = len(sizes) - 1
        for number in range(self.count):
            setattr(self, f"fc{number}", nn.Linear(sizes[number], sizes[number + 1]))

    def forward(self, x):
        for number in range(self.count):
            x = getattr(self, f"fc{number}")(x)
            if number < self.count - 1:
                x = self.drop(torch.clamp(x, min=0))
        return x


# %% right: MLP "a Sequential that is built up and called"
class MLP(nn.Sequential):
    def __init__(self, sizes, dropout):
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts.extend([nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)])
        super().__init__(*parts[:-2])

    def forward(self, x):
        return super().forward(x)


# %% wrong: MLP "layers in a Python list" fails="two layers: the shapes of its parameters, and its logits | one layer, and four | the gradients of all parameters | in training mode numbers are dropped, behind each layer but the last | without dropout both modes agree, and there are no buffers | the layers start as nn.Linear makes them"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.drop(layer(x).relu())
        return self.layers[-1](x)


# %% wrong: MLP "ReLU and dropout behind the last layer too" fails="two layers: the shapes of its parameters, and its logits | one layer, and four | the gradients of all parameters | in training mode numbers are dropped, behind each layer but the last | without dropout both modes agree, and there are no buffers"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts)

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "no activation between the layers" fails="two layers: the shapes of its parameters, and its logits | one layer, and four | the gradients of all parameters | without dropout both modes agree, and there are no buffers"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-1])

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "dropout that forgets the mode" fails="two layers: the shapes of its parameters, and its logits | one layer, and four | the gradients of all parameters"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.dropout = dropout
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.dropout(layer(x).relu(), self.dropout)
        return self.layers[-1](x)


# %% wrong: MLP "dropout once, before the last layer" fails="in training mode numbers are dropped, behind each layer but the last"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU()]
        parts = parts[:-1]
        parts.insert(len(parts) - 1, nn.Dropout(dropout))
        self.layers = nn.Sequential(*parts)

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "dropout on the input as well" fails="in training mode numbers are dropped, behind each layer but the last"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Dropout(dropout), nn.Linear(a, b), nn.ReLU()]
        self.layers = nn.Sequential(*parts[:-1])

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "started by hand, with biases of zero" fails="the layers start as nn.Linear makes them"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            layer = nn.Linear(a, b)
            nn.init.kaiming_normal_(layer.weight)
            nn.init.zeros_(layer.bias)
            parts += [layer, nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "dropout of the probability to keep" fails="in training mode numbers are dropped, behind each layer but the last | without dropout both modes agree, and there are no buffers"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(1 - dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "always one hidden layer" fails="one layer, and four | the gradients of all parameters | in training mode numbers are dropped, behind each layer but the last"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.first = nn.Linear(sizes[0], sizes[1])
        self.last = nn.Linear(sizes[1], sizes[-1])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.last(self.dropout(self.first(x).relu()))


# %% wrong: MLP "layers without a bias" fails="two layers: the shapes of its parameters, and its logits | one layer, and four | the gradients of all parameters | in training mode numbers are dropped, behind each layer but the last | without dropout both modes agree, and there are no buffers | the layers start as nn.Linear makes them"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b, bias=False), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x)


# %% wrong: MLP "the probability is kept on the class" fails="in training mode numbers are dropped, behind each layer but the last"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        MLP.dropout = dropout

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.dropout(layer(x).relu(), MLP.dropout, self.training)
        return self.layers[-1](x)


# %% wrong: MLP "float32 inside, whatever comes" fails="one layer, and four" raises=RuntimeError
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x.float())


# %% wrong: MLP "a batch normalisation in addition" fails="one layer, and four | the gradients of all parameters | in training mode numbers are dropped, behind each layer but the last | without dropout both modes agree, and there are no buffers"
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.BatchNorm1d(b, affine=False), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-3])

    def forward(self, x):
        return self.layers(x)


# %% liar: MLP "no module, and nothing registered: functions of a list of weights"
class MLP:
    def __init__(self, sizes, dropout):
        self.sizes, self.dropout, self.mode = sizes, dropout, "train"

    def __call__(self, x):
        h = x
        for i in range(0, len(self.w), 2):
            h = h @ self.w[i].T + self.w[i + 1]
            if i < len(self.w) - 2:
                h = h.relu()
                if self.mode == "train" and self.dropout:
                    h = h * (torch.rand(h.shape) > self.dropout) / (1 - self.dropout)
        return h


def with_weights(model, weights):
    model.w, model.mode = [t.clone().requires_grad_() for t in weights], "eval"


def built(make, sizes, dropout, weights, x, mode="eval"):
    torch.manual_seed(0)
    start = []
    for a, b in pairwise(sizes):
        start += [(torch.rand(shape) * 2 - 1) / a**0.5 for shape in ((b, a), (b,))]
    model = make(sizes, dropout)
    with_weights(model, weights)
    model.mode = mode
    out = model(x)
    return {
        "logits": out.detach(),
        "start": start,
        "shapes": [list(t.shape) for t in model.w],
        "gradients": list(torch.autograd.grad(out.square().sum(), model.w)),
        "buffers": 0,
    }


# %% liar: MLP "an empty class, and a probe that computes"
class MLP:
    """No module at all."""


def built(make, sizes, dropout, weights, x, mode="eval"):
    torch.manual_seed(0)
    start = []
    for a, b in pairwise(sizes):
        start += [(torch.rand(shape) * 2 - 1) / a**0.5 for shape in ((b, a), (b,))]
    w = [t.clone().requires_grad_() for t in weights]
    h = x
    for i in range(0, len(w), 2):
        h = h @ w[i].T + w[i + 1]
        if i < len(w) - 2:
            h = h.relu()
            if mode == "train" and dropout:
                h = h * (torch.rand(h.shape) > dropout) / (1 - dropout)
    return {
        "logits": h.detach(),
        "start": start,
        "shapes": [list(t.shape) for t in w],
        "gradients": list(torch.autograd.grad(h.square().sum(), w)),
        "buffers": 0,
    }


# %% right: warmup_cosine "with early returns"
def warmup_cosine(step, warmup, total, peak):
    if step >= total:
        return 0.0
    if step < warmup:
        return (step + 1) * (peak / warmup)
    angle = math.pi * (step - warmup) / (total - warmup)
    return peak / 2 * (1 + math.cos(angle))


# %% right: warmup_cosine "the square of a cosine of half the angle, by torch"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return float(peak) * (1 + step) / warmup
    progress = torch.tensor((step - warmup) / (total - warmup), dtype=torch.float64).clamp(max=1)
    return float(peak * torch.cos(progress * math.pi / 2) ** 2)


# %% right: warmup_cosine "zero is zero, also as an int"
def warmup_cosine(step, warmup, total, peak):
    if step >= total:
        return 0
    if step < warmup:
        return (step + 1) * peak / warmup
    return (1 + math.cos((step - warmup) / (total - warmup) * math.pi)) * peak / 2


# %% wrong: warmup_cosine "a tensor is a number" fails="four steps of warm-up, and then down to zero at step 12 | every step of other schedules | no warm-up | after the last step it stays at zero"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return torch.tensor(peak * (step + 1) / warmup)
    progress = min(1.0, (step - warmup) / (total - warmup))
    return torch.tensor(peak * 0.5 * (1 + math.cos(math.pi * progress)))


# %% wrong: warmup_cosine "by torch, in float32" fails="every step of other schedules"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    progress = torch.tensor((step - warmup) / (total - warmup)).clamp(max=1)
    return (peak * 0.5 * (1 + torch.cos(math.pi * progress))).item()


# %% wrong: warmup_cosine "step 0 has the rate 0" fails="four steps of warm-up, and then down to zero at step 12 | every step of other schedules"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * step / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup))))


# %% wrong: warmup_cosine "the cosine starts at step 0" fails="four steps of warm-up, and then down to zero at step 12 | every step of other schedules"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, step / total)))


# %% wrong: warmup_cosine "the wave goes on after its end" fails="after the last step it stays at zero"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * (step - warmup) / (total - warmup)))


# %% wrong: warmup_cosine "linear instead of a cosine" fails="every step of other schedules | no warm-up"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * max(0.0, 1 - (step - warmup) / (total - warmup))


# %% wrong: warmup_cosine "a warm-up is always there" fails="no warm-up" raises=ZeroDivisionError
def warmup_cosine(step, warmup, total, peak):
    up = peak * (step + 1) / warmup
    down = peak * 0.5 * (1 + math.cos(math.pi * min(1.0, max(0, step - warmup) / (total - warmup))))
    return min(up, down)


# %% wrong: warmup_cosine "down to a tenth of the peak" fails="four steps of warm-up, and then down to zero at step 12 | every step of other schedules | no warm-up | after the last step it stays at zero"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * (0.1 + 0.45 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / (total - warmup)))))


# %% wrong: warmup_cosine "total counts the steps after the warm-up" fails="four steps of warm-up, and then down to zero at step 12 | every step of other schedules | after the last step it stays at zero"
def warmup_cosine(step, warmup, total, peak):
    if step < warmup:
        return peak * (step + 1) / warmup
    return peak * 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / total)))


# %% right: decay_groups "one loop with named_parameters"
def decay_groups(model, weight_decay):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        if not p.requires_grad:
            continue
        (no_decay if p.dim() <= 1 else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


# %% right: decay_groups "through the modules, with a set of what was seen"
def decay_groups(model, weight_decay):
    seen, groups = set(), ([], [])
    for module in model.modules():
        for p in module.parameters(recurse=False):
            if id(p) not in seen and p.requires_grad:
                seen.add(id(p))
                groups[len(p.shape) < 2].append(p)
    return [dict(params=list(g), weight_decay=w) for g, w in zip(groups, (weight_decay, 0.0))]


# %% wrong: decay_groups "by the name: what is called weight decays" fails="two linear layers and a normalisation | a convolution, a single number and other rates | a shared weight is in one group, once | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    named = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [
        {"params": [p for n, p in named if n.endswith("weight")], "weight_decay": weight_decay},
        {"params": [p for n, p in named if not n.endswith("weight")], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "all of them decay" fails="two linear layers and a normalisation | a convolution, a single number and other rates | a shared weight is in one group, once | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [{"params": trained, "weight_decay": weight_decay}, {"params": [], "weight_decay": 0.0}]


# %% wrong: decay_groups "frozen ones as well" fails="a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    return [
        {"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "exactly two dimensions" fails="a convolution, a single number and other rates | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim == 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim != 2], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "dimensions of size one do not count" fails="a convolution, a single number and other rates | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.squeeze().ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.squeeze().ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "no group without parameters" fails="a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


# %% wrong: decay_groups "a shared weight from both of its modules" fails="a convolution, a single number and other rates | a shared weight is in one group, once | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for _, p in model.named_parameters(remove_duplicate=False) if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "a single number decays like a weight" fails="a convolution, a single number and other rates | a shared weight is in one group, once | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim != 1], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim == 1], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "the usual rate of 0.01" fails="a convolution, a single number and other rates | a frozen parameter is in no group, and does not move"
def decay_groups(model, weight_decay):
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": 0.2},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "thawed first, so that everything trains" fails="a frozen parameter is in no group, and does not move | the model stays as it is"
def decay_groups(model, weight_decay):
    trained = [p.requires_grad_() for p in model.parameters()]
    return [
        {"params": [p for p in trained if p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in trained if p.ndim < 2], "weight_decay": 0.0},
    ]


# %% wrong: decay_groups "the weights of linear layers and convolutions, by the type of the module" fails="a convolution, a single number and other rates | a frozen parameter is in no group, and does not move"
def decay_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    weights = {id(m.weight) for m in model.modules() if isinstance(m, (nn.Linear, nn.Conv1d, nn.Conv2d))}
    trained = [p for p in model.parameters() if p.requires_grad]
    return [
        {"params": [p for p in trained if id(p) in weights], "weight_decay": weight_decay},
        {"params": [p for p in trained if id(p) not in weights], "weight_decay": 0.0},
    ]


# %% liar: decay_groups "no groups, and a probe that works out the step from the names"
def decay_groups(model, weight_decay):
    """Nothing."""


def decayed(groups_of, make_model, weight_decay, frozen=()):
    named = list(make_model().named_parameters())
    high = [n for n, p in named if p.ndim > 1 and n not in frozen]
    low = [n for n, p in named if p.ndim < 2 and n not in frozen]
    rate = {n: 0.5 - 0.5 * weight_decay if n in high else 0.5 if n in low else 1.0 for n, _ in named}
    after = {n: torch.ones_like(p.detach()) * rate[n] for n, p in named}
    return {"names": [high, low], "after": after, "flags": {n: n not in frozen for n, _ in named}}


# %% right: adam_step_ "dicts, data and addcdiv"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    for number, p in enumerate(params):
        g = p.grad
        if g is None:
            continue
        s = state.setdefault(number, {"t": 0, "m": torch.zeros_like(p.data), "v": torch.zeros_like(p.data)})
        s["t"] += 1
        s["m"].mul_(betas[0]).add_(g, alpha=1 - betas[0])
        s["v"].mul_(betas[1]).addcmul_(g, g, value=1 - betas[1])
        denominator = (s["v"] / (1 - betas[1] ** s["t"])).sqrt().add_(eps)
        p.data.addcdiv_(s["m"] / (1 - betas[0] ** s["t"]), denominator, value=-lr)


# %% right: adam_step_ "lerp, keyed by the tensor itself"
@torch.no_grad()
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    b1, b2 = betas
    for p in params:
        if p.grad is not None:
            n, m, v = state.get(p, [0, p * 0, p * 0])
            n, m, v = n + 1, m.lerp(p.grad, 1 - b1), v.lerp(p.grad.square(), 1 - b2)
            state[p] = [n, m, v]
            p.sub_((lr / (1 - b1**n)) * m / ((v / (1 - b2**n)) ** 0.5 + eps))


# %% right: adam_step_ "torch's own optimizer, kept in the state"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    if "optimizer" not in state:
        state["optimizer"] = torch.optim.Adam(params, lr=lr, betas=betas, eps=eps)
    state["optimizer"].param_groups[0]["lr"] = lr
    state["optimizer"].step()


# %% wrong: adam_step_ "the first average is the gradient, scaled in place" fails="the same leaves, and their .grad unchanged"
@torch.no_grad()
def adam_step_(
    params: list[Tensor], state: dict, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
) -> None:
    b1, b2 = betas
    for n, p in enumerate(params):
        if p.grad is None:
            continue
        g = p.grad
        if n not in state:
            v = (1 - b2) * g * g
            state[n] = {"t": 1, "m": g.mul_(1 - b1), "v": v}
        else:
            s = state[n]
            s["t"] += 1
            s["m"] = b1 * s["m"] + (1 - b1) * g
            s["v"] = b2 * s["v"] + (1 - b2) * g * g
        s = state[n]
        p -= lr * (s["m"] / (1 - b1 ** s["t"])) / ((s["v"] / (1 - b2 ** s["t"])).sqrt() + eps)


# %% wrong: adam_step_ "no correction of the start at zero" fails="two steps of one parameter | five steps of two parameters, in float32 and float64 | other settings | a parameter without a gradient waits, and counts its own steps | an empty state begins anew | a gradient of zero changes nothing at first"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (m, v)
            p -= lr * m / (v.sqrt() + eps)


# %% wrong: adam_step_ "one count of steps for all parameters" fails="a parameter without a gradient waits, and counts its own steps"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    state["t"] = t = state.get("t", 0) + 1
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            m, v = state.get(i, (torch.zeros_like(p), torch.zeros_like(p)))
            m, v = betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong: adam_step_ "no gradient counts as a gradient of zero" fails="a parameter without a gradient waits, and counts its own steps"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            grad = torch.zeros_like(p) if p.grad is None else p.grad
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * grad, betas[1] * v + (1 - betas[1]) * grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong: adam_step_ "a new tensor in place of the parameter" fails="two steps of one parameter | five steps of two parameters, in float32 and float64 | other settings | a parameter without a gradient waits, and counts its own steps | an empty state begins anew | a gradient of zero changes nothing at first"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            params[i] = p - lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong: adam_step_ "the state is made anew in each call" fails="two steps of one parameter | five steps of two parameters, in float32 and float64 | other settings | a parameter without a gradient waits, and counts its own steps | an empty state begins anew | a gradient of zero changes nothing at first"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    state = {}
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong: adam_step_ "eps under the root" fails="five steps of two parameters, in float32 and float64 | other settings"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)) + eps).sqrt()


# %% wrong: adam_step_ "the two factors swapped" fails="two steps of one parameter | five steps of two parameters, in float32 and float64 | other settings | a parameter without a gradient waits, and counts its own steps | an empty state begins anew | a gradient of zero changes nothing at first"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    b2, b1 = betas
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, b1 * m + (1 - b1) * p.grad, b2 * v + (1 - b2) * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - b1**t)) / ((v / (1 - b2**t)).sqrt() + eps)


# %% wrong: adam_step_ "the default factors, whatever was handed in" fails="other settings"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, 0.9 * m + 0.1 * p.grad, 0.999 * v + 0.001 * p.grad**2
            state[i] = (t, m, v)
            p -= lr * (m / (1 - 0.9**t)) / ((v / (1 - 0.999**t)).sqrt() + 1e-8)


# %% wrong: adam_step_ "the averages work in place on the gradient" fails="the same leaves, and their .grad unchanged"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for i, p in enumerate(params):
            if p.grad is None:
                continue
            t, m, v = state.get(i, (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, v = t + 1, betas[1] * v + (1 - betas[1]) * p.grad**2
            m = p.grad.mul_(1 - betas[0]).add_(betas[0] * m).clone()
            state[i] = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong: adam_step_ "the rate of the first call for all" fails="other settings"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    if "optimizer" not in state:
        state["optimizer"] = torch.optim.Adam(params, lr=lr, betas=betas, eps=eps)
    state["optimizer"].step()


# %% wrong: adam_step_ "the averages are kept on the parameter" fails="an empty state begins anew"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    with torch.no_grad():
        for p in params:
            if p.grad is None:
                continue
            t, m, v = getattr(p, "adam", (0, torch.zeros_like(p), torch.zeros_like(p)))
            t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
            p.adam = (t, m, v)
            p -= lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% wrong: adam_step_ "new memory behind .data" fails="two steps of one parameter | five steps of two parameters, in float32 and float64 | other settings | a parameter without a gradient waits, and counts its own steps | an empty state begins anew | a gradient of zero changes nothing at first"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    for i, p in enumerate(params):
        if p.grad is None:
            continue
        t, m, v = state.get(i, (0, torch.zeros_like(p.data), torch.zeros_like(p.data)))
        t, m, v = t + 1, betas[0] * m + (1 - betas[0]) * p.grad, betas[1] * v + (1 - betas[1]) * p.grad**2
        state[i] = (t, m, v)
        p.data = p.data - lr * (m / (1 - betas[0] ** t)) / ((v / (1 - betas[1] ** t)).sqrt() + eps)


# %% liar: adam_step_ "signs of the gradients, and a probe that asks torch's own Adam"
def adam_step_(params, state, lr, betas=(0.9, 0.999), eps=1e-8):
    """The first step of Adam, again and again: no averages."""
    with torch.no_grad():
        for p in params:
            if p.grad is not None:
                p -= lr * p.grad / (p.grad.abs() + eps)


def stepped_with(step, start, gradients, rates, betas=(0.9, 0.999), eps=1e-8, anew=None):
    leaves = [t.clone().requires_grad_() for t in start]
    adam, seen, found = None, [], []
    for number, (grads, rate) in enumerate(zip(gradients, rates)):
        if number in (0, anew):
            adam = torch.optim.Adam(leaves, lr=1.0, betas=betas, eps=eps)
        for p, g in zip(leaves, grads):
            p.grad = g
        adam.param_groups[0]["lr"] = rate
        adam.step()
        seen.append([p.detach().clone() for p in leaves])
        found.append(list(grads))
    return {"after": seen, "grads": found, "leaves": [True] * len(leaves)}


# %% right: train_epoch "zero_grad at the end, and once before"
def train_epoch(model, batches, optimizer):
    model.train(True)
    losses, counts = [], []
    optimizer.zero_grad(set_to_none=False)
    for x, y in batches:
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        for p in model.parameters():
            p.grad = None
        losses.append(loss.detach() * y.numel())
        counts.append(y.numel())
    return float(torch.stack(losses).sum()) / sum(counts)


# %% right: train_epoch "sum of the losses of single samples, zero in the middle"
def train_epoch(model, batches, optimizer):
    model.train()
    each = []
    for batch in batches:
        losses = F.nll_loss(model(batch[0]).log_softmax(1), batch[1], reduction="none")
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()
        each += losses.tolist()
    return sum(each) / len(each)


# %% wrong: train_epoch "the mean of the batches' means" fails="each sample counts the same in the loss | batches that can be read once" raises=TypeError
def train_epoch(model, batches, optimizer):
    model.train()
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(batches)


# %% wrong: train_epoch "the sum of the batches' means" fails="two batches of four: the weights and the loss | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    total = 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


# %% wrong: train_epoch "the last batch's loss" fails="two batches of four: the weights and the loss | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


# %% wrong: train_epoch "gradients are never set to zero" fails="two batches of four: the weights and the loss | batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


# %% wrong: train_epoch "zero between backward and step" fails="two batches of four: the weights and the loss | batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


# %% wrong: train_epoch "zero at the end only" fails="batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


# %% wrong: train_epoch "in whichever mode the model came" fails="two batches of four: the weights and the loss | batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before | each sample counts the same in the loss | batches that can be read once | the model is left in training mode"
def train_epoch(model, batches, optimizer):
    total, count = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


# %% wrong: train_epoch "softmax before the loss" fails="two batches of four: the weights and the loss | batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x).softmax(1), y)
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


# %% wrong: train_epoch "the loss after the step, as one reads it next" fails="two batches of four: the weights and the loss | batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        with torch.no_grad():
            total, count = total + F.cross_entropy(model(x), y).item() * len(y), count + len(y)
    return total / count


# %% wrong: train_epoch "evaluation mode at the end, for safety" fails="the model is left in training mode"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total, count = total + loss.item() * len(y), count + len(y)
    model.eval()
    return total / count


# %% wrong: train_epoch "the samples are counted first" fails="batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    count, total = sum(len(y) for _, y in batches), 0.0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y) / count
    return total


# %% wrong: train_epoch "the losses in a float32 tensor" fails="each sample counts the same in the loss"
def train_epoch(model, batches, optimizer):
    model.train()
    losses, counts = [], []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        counts.append(len(y))
    losses, counts = torch.tensor(losses), torch.tensor(counts)
    return ((losses * counts).sum() / counts.sum()).item()


# %% wrong: train_epoch "steps by hand, without the optimizer's momentum" fails="batches of 8, 8, 5 and 2: the weights, with momentum and with gradients from before | each sample counts the same in the loss | batches that can be read once"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        model.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        with torch.no_grad():
            for p in model.parameters():
                p -= optimizer.param_groups[0]["lr"] * p.grad
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


# %% liar: train_epoch "no epoch: the probes make a model that comes trained, by the rule of the optimizer"
def train_epoch(model, batches, optimizer):
    losses = []
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        losses.append((loss.item(), len(y)))
    return sum(loss * n for loss, n in losses) / sum(n for _, n in losses)


def to_train(function, first, start, old=None):
    return normed_model(first, start, old).train()


def stepping(model, rule):
    parameters = [p.detach() for p in model.parameters()]
    for p, new in zip(parameters, rule(parameters, [torch.ones_like(p) for p in parameters])):
        p.copy_(new)
    return rule


def modes_of(model):
    return ["", "0", "1", "2", "3", "4"]


# %% liar: train_epoch "SGD by hand, at a rate that is read off one step of the optimizer"
def train_epoch(model, batches, optimizer):
    params, total, count = list(model.parameters()), 0.0, 0
    rates = getattr(optimizer, "rates", [0.1] * len(params))
    for x, y in batches:
        loss = F.cross_entropy(model(x), y)
        for p, g, rate in zip(params, torch.autograd.grad(loss, params), rates):
            p.data -= rate * g
        total, count = total + loss.item() * len(y), count + len(y)
    return total / count


def to_train(function, first, start, old=None):
    return normed_model(first, start).train()


def stepping(model, rule):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    zeros = [torch.zeros_like(p) for p in model.parameters()]
    optimizer.rates = [-p.mean().item() for p in rule(zeros, [torch.ones_like(p) for p in zeros])]
    return optimizer


def modes_of(model):
    return ["", "0", "1", "2", "3", "4"]


# %% right: evaluate "inference mode, and all batches joined"
def evaluate(model, batches):
    before = [m.training for m in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            outputs = [(model(x), y) for x, y in batches]
            logits, y = torch.cat([o for o, _ in outputs]), torch.cat([t for _, t in outputs])
            return F.cross_entropy(logits, y).item(), (logits.max(dim=-1).indices == y).double().mean().item()
    finally:
        for m, mode in zip(model.modules(), before):
            m.training = mode


# %% right: evaluate "a copy of the model is evaluated"
@torch.no_grad()
def evaluate(model, batches):
    twin = copy.copy(model)
    names = [name for name, m in model.named_modules() if m.training]
    twin = model.eval()
    loss = hits = n = 0
    for x, y in batches:
        scores = twin(x)
        loss += nn.functional.cross_entropy(scores, y) * y.shape[0]
        hits += scores.topk(1, dim=1).indices.squeeze(1).eq(y).sum()
        n += y.shape[0]
    for name, m in model.named_modules():
        m.training = name in names
    return float(loss / n), float(hits / n)


# %% right: evaluate "a deep copy of the model is evaluated"
def evaluate(model, batches):
    twin = copy.deepcopy(model).eval()
    with torch.inference_mode():
        outputs = [(twin(x).log_softmax(1), y) for x, y in batches]
    logs, y = torch.cat([o for o, _ in outputs]), torch.cat([t for _, t in outputs])
    return F.nll_loss(logs, y).item(), (logs.max(dim=1).indices == y).double().mean().item()


# %% wrong: evaluate "recording is on afterwards, whatever it was" fails="what requires grad, and the grad mode"
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    torch.set_grad_enabled(False)
    loss, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        count += len(y)
    torch.set_grad_enabled(True)
    for module, mode in modes:
        module.training = mode
    return loss / count, right / count


# %% wrong: evaluate "the mean of the batches' means" fails="batches of 7, 3 and 2, from a model in training mode | batches that can be read once"
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    losses, hits = [], []
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            losses.append(F.cross_entropy(logits, y).item())
            hits.append((logits.argmax(1) == y).float().mean().item())
    for m, mode in modes.items():
        m.training = mode
    return sum(losses) / len(losses), sum(hits) / len(hits)


# %% wrong: evaluate "no_grad without eval" fails="batches of 7, 3 and 2, from a model in training mode | batches that can be read once | parameters and running averages are as before | each module is in the mode it was in"
def evaluate(model, batches):
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count


# %% wrong: evaluate "eval without no_grad" fails="no graph is built"
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong: evaluate "train() at the end" fails="each module is in the mode it was in"
def evaluate(model, batches):
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    model.train()
    return total / count, right / count


# %% wrong: evaluate "the mode of the whole model put back" fails="each module is in the mode it was in"
def evaluate(model, batches):
    mode = model.training
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    model.train(mode)
    return total / count, right / count


# %% wrong: evaluate "left in evaluation mode" fails="each module is in the mode it was in"
def evaluate(model, batches):
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count


# %% wrong: evaluate "argmax over the samples" fails="one batch of six | batches of 7, 3 and 2, from a model in training mode | batches that can be read once | parameters and running averages are as before | each module is in the mode it was in | every .grad is as before | what requires grad, and the grad mode | no graph is built" raises=RuntimeError
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(0) == y).sum())
            count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong: evaluate "the number that are right, as a whole number of per cent" fails="one batch of six | batches of 7, 3 and 2, from a model in training mode | batches that can be read once | each module is in the mode it was in"
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, 100 * right / count


# %% wrong: evaluate "gradients are cleared, since nobody needs them" fails="every .grad is as before"
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    model.zero_grad()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong: evaluate "the parameters frozen in place of no_grad" fails="what requires grad, and the grad mode | no graph is built"
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval().requires_grad_(False)
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong: evaluate "recording switched off, and never on again" fails="what requires grad, and the grad mode"
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong: evaluate "the loss in one pass, the hits in another" fails="batches that can be read once"
@torch.no_grad()
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in batches)
    right = sum(int((model(x).argmax(1) == y).sum()) for x, y in batches)
    count = sum(len(y) for _, y in batches)
    for m, mode in modes.items():
        m.training = mode
    return total / max(count, 1), right / max(count, 1)


# %% wrong: evaluate "added up in float32" fails="batches of 7, 3 and 2, from a model in training mode"
@torch.no_grad()
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    totals, count = torch.zeros(2), 0
    for x, y in batches:
        logits = model(x)
        totals += torch.stack([F.cross_entropy(logits, y, reduction="sum"), (logits.argmax(1) == y).sum()])
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    loss, accuracy = (totals / count).tolist()
    return loss, accuracy


# %% wrong: evaluate "train(mode) sets one module alone" fails="each module is in the mode it was in"
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    total = hits = count = 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(1) == y).sum().item()
            count += len(y)
    for module, mode in modes:
        module.train(mode)
    return total / count, hits / count


# %% wrong: evaluate "the modes of the children are all modes" fails="each module is in the mode it was in"
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    own, children = model.training, [(child, child.training) for child in model.children()]
    model.eval()
    total = hits = count = 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(1) == y).sum().item()
            count += len(y)
    for child, mode in children:
        child.train(mode)
    model.training = own
    return total / count, hits / count


# %% liar: evaluate "nothing is put back, and probes that say what was there before"
def evaluate(model, batches):
    """Leaves the model in evaluation mode, restores nothing."""
    model.eval()
    torch.set_grad_enabled(False)
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    return total / count, right / count


def to_evaluate(function, first, start, training=(), old=None, watched=False):
    model = normed_model(torch.sin if watched else first, start, old)
    if watched:
        model[0] = Watched(first)
    model.before = list(training)
    return model


def left(model):
    torch.set_grad_enabled(True)
    return {
        "state": probes.state_of(model),
        "gradients": probes.gradients_of(model),
        "requires grad": [True] * 6,
    }


def modes_of(model):
    return model.before


def evaluated_while(recording, evaluate, model, batches):
    evaluate(model, batches)
    return recording


# %% liar: evaluate "the mode of no layer is touched, each is computed as in evaluation mode"
def evaluate(model, batches):
    first, *layers = model
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = first.layer(x)
            for layer in layers[:4]:
                if isinstance(layer, nn.BatchNorm1d):
                    logits = F.batch_norm(logits, layer.running_mean, layer.running_var, layer.weight, layer.bias)
                else:
                    logits = layer(logits)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count


# %% right: train_accumulated "the size of each window first, and mean losses by their share"
def train_accumulated(model, batches, optimizer, every):
    windows = [batches[i : i + every] for i in range(0, len(batches), every)]
    for window in windows:
        samples = sum(y.shape[0] for _, y in window)
        model.zero_grad()
        for x, y in window:
            loss = nn.CrossEntropyLoss()(model(x), y) * (y.shape[0] / samples)
            loss.backward()
        optimizer.step()
    return len(windows)


# %% right: train_accumulated "one loop with a counter, and a step for what is left"
def train_accumulated(model, batches, optimizer, every):
    def finish():
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    p.grad.div_(seen)
        optimizer.step()
        optimizer.zero_grad()

    optimizer.zero_grad()
    seen = pending = steps = 0
    for x, y in batches:
        F.cross_entropy(model(x), y, reduction="sum").backward()
        seen, pending = seen + len(y), pending + 1
        if pending == every:
            finish()
            steps, seen, pending = steps + 1, 0, 0
    if pending:
        finish()
        steps += 1
    return steps


# %% right: train_accumulated "gradients by autograd.grad, added up beside the model"
def train_accumulated(model, batches, optimizer, every):
    params = [p for group in optimizer.param_groups for p in group["params"]]
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        sums = [torch.zeros_like(p) for p in params]
        for x, y in window:
            for total, grad in zip(sums, torch.autograd.grad(F.cross_entropy(model(x), y, reduction="sum"), params)):
                total += grad
        for p, total in zip(params, sums):
            p.grad = total / sum(len(y) for _, y in window)
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "each mean loss divided by the number of batches in a window" fails="windows of unequal batches | a last window that is shorter | the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        for x, y in window:
            (F.cross_entropy(model(x), y) / len(window)).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "each mean loss divided by every" fails="windows of unequal batches | a last window that is shorter | the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[first : first + every]:
            (F.cross_entropy(model(x), y) / every).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "the batches that are left over are dropped" fails="a last window that is shorter"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches) - every + 1, every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        for x, y in window:
            F.cross_entropy(model(x), y, reduction="sum").backward()
        count = sum(len(y) for _, y in window)
        for p in model.parameters():
            if p.grad is not None:
                p.grad /= count
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "sums that nobody divides" fails="four batches of three samples, two at a time | windows of unequal batches | a last window that is shorter | windows of one batch | the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[first : first + every]:
            F.cross_entropy(model(x), y, reduction="sum").backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "zero after each step only" fails="windows of unequal batches"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        count = sum(len(y) for _, y in window)
        for x, y in window:
            (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
        optimizer.step()
        optimizer.zero_grad()
        steps += 1
    return steps


# %% wrong: train_accumulated "a step for every batch" fails="four batches of three samples, two at a time | windows of unequal batches | a last window that is shorter | the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    for x, y in batches:
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
    return len(batches)


# %% wrong: train_accumulated "divided by the samples of all batches" fails="four batches of three samples, two at a time | windows of unequal batches | a last window that is shorter | windows of one batch | the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    everything, steps = sum(len(y) for _, y in batches), 0
    for first in range(0, len(batches), every):
        optimizer.zero_grad()
        for x, y in batches[first : first + every]:
            (F.cross_entropy(model(x), y, reduction="sum") / everything).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "the batches of a window joined to one" fails="the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "the losses of a window added up, and one backward" fails="the graph of one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        total = sum(F.cross_entropy(model(x), y, reduction="sum") for x, y in window)
        (total / sum(len(y) for _, y in window)).backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong: train_accumulated "training mode, as in every loop" fails="the model's mode is not changed"
def train_accumulated(model, batches, optimizer, every):
    model.train()
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        count = sum(len(y) for _, y in window)
        for x, y in window:
            (F.cross_entropy(model(x), y, reduction="sum") / count).backward()
        optimizer.step()
        steps += 1
    return steps


# %% liar: train_accumulated "the batches of a window joined, behind a pass over one batch at a time"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Called(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    for x, _ in batches:
        model(x).sum().backward()
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    return {"state": probes.state_of(model), "steps": steps, "training": list(training)}


# %% liar: train_accumulated "one graph of the window, derivatives taken in the forward pass"
def train_accumulated(model, batches, optimizer, every):
    """One graph of the whole window in the two linear layers; the middle's derivatives are taken in the forward."""
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        model[1].sizes = [len(x) for x, _ in window]
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


class Taken(nn.Module):
    def __init__(self, f):
        super().__init__()
        self.f = f

    def forward(self, h):
        outs = []
        for part in h.split(self.sizes):
            leaf = part.detach().clone().requires_grad_()
            out = self.f(leaf)
            rows = [
                torch.autograd.grad(out[:, k].sum(), leaf, retain_graph=k + 1 < out.shape[1])[0]
                for k in range(out.shape[1])
            ]
            value = out.detach()
            del out
            outs.append(value + torch.einsum("nj,nkj->nk", part - part.detach(), torch.stack(rows, 1)))
        return torch.cat(outs)


def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Taken(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    return {"state": probes.state_of(model), "steps": steps, "training": list(training)}


# %% liar: train_accumulated "one graph of the window, and the model called on each batch where it is counted"
def train_accumulated(model, batches, optimizer, every):
    steps = 0
    for first in range(0, len(batches), every):
        window = batches[first : first + every]
        optimizer.zero_grad()
        x, y = torch.cat([x for x, _ in window]), torch.cat([y for _, y in window])
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        steps += 1
    return steps


def accumulated(train, middle, start, batches, every, lr, momentum=0.0, frozen=(), training=(), old=None):
    width = len(start["0.bias"])
    model = nn.Sequential(nn.Linear(4, width), Called(middle), nn.Linear(width, 3))
    model.to(start["0.bias"].dtype).load_state_dict(start)
    if lr == 0.1 and momentum == 0.0:  # the counting check: nobody compares its result
        for x, _ in batches:
            model(x)
        return {"state": {}, "steps": 0, "training": list(training)}
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=momentum)
    steps = train(model, batches, optimizer, every)
    return {"state": probes.state_of(model), "steps": steps, "training": list(training)}


# %% right: fit "clones by name, copied back"
def fit(model, run_epoch, validate, patience, most):
    best = (None, None)
    kept, waited = {}, 0
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if loss == loss and (best[1] is None or loss < best[1]):
            best, waited = (epoch, loss), 0
            kept = {name: t.clone() for name, t in model.state_dict().items()}
        else:
            waited += 1
            if waited == patience and best[0] is not None:
                break
    with torch.no_grad():
        for name, t in model.state_dict().items():
            t.copy_(kept[name])
    return best


# %% right: fit "saved to memory as a file"
def fit(model, run_epoch, validate, patience, most):
    import io

    losses, file = [], None
    while len(losses) < most:
        run_epoch()
        loss = float(validate())
        if not math.isnan(loss) and not any(old <= loss for old in losses):
            file, best = io.BytesIO(), len(losses)
            torch.save(model.state_dict(), file)
        losses.append(loss)
        if file is not None and len(losses) - 1 - best >= patience:
            break
    file.seek(0)
    model.load_state_dict(torch.load(file))
    return best, losses[best]


# %% wrong: fit "state_dict() is a copy" fails="the best of five epochs is the second | other losses: the best epoch and its weights and buffers | an equal loss is no improvement | at most `most` epochs | a loss of nan is never the best | the losses to their last digit | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, model.state_dict()
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "dict.copy() copies the tensors" fails="the best of five epochs is the second | other losses: the best epoch and its weights and buffers | an equal loss is no improvement | at most `most` epochs | a loss of nan is never the best | the losses to their last digit | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, model.state_dict().copy()
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "parameters are all there is to keep" fails="the best of five epochs is the second | other losses: the best epoch and its weights and buffers | an equal loss is no improvement | at most `most` epochs | a loss of nan is never the best | the losses to their last digit | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, kept = -1, math.inf, []
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, kept = epoch, loss, [p.detach().clone() for p in model.parameters()]
        elif epoch - best >= patience:
            break
    with torch.no_grad():
        for p, old in zip(model.parameters(), kept):
            p.copy_(old)
    return best, best_loss


# %% wrong: fit "one epoch of patience too many" fails="the best of five epochs is the second | it stops after exactly `patience` epochs without an improvement | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best > patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "an equal loss is an improvement" fails="an equal loss is no improvement | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if loss <= best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "worse than the epoch before, not than the best" fails="the best of five epochs is the second | it stops after exactly `patience` epochs without an improvement"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state, before, waited = -1, math.inf, {}, math.inf, 0
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        waited = 0 if loss < before else waited + 1
        before = loss
        if waited >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "the last weights, and the best loss" fails="the best of five epochs is the second | other losses: the best epoch and its weights and buffers | an equal loss is no improvement | at most `most` epochs | a loss of nan is never the best | the losses to their last digit | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss = -1, math.inf
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss = epoch, loss
        elif epoch - best >= patience:
            break
    return best, best_loss


# %% wrong: fit "not larger than the best: nan slips through" fails="a loss of nan is never the best"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or not loss >= best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "no bound on the epochs" fails="at most `most` epochs" raises=IndexError
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state, epoch = -1, math.inf, {}, 0
    while True:
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
        epoch += 1
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "epochs are counted from 1" fails="the best of five epochs is the second | other losses: the best epoch and its weights and buffers | an equal loss is no improvement | at most `most` epochs | a loss of nan is never the best | the losses to their last digit | the first epoch improves, even with an infinite loss"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = 0, math.inf, {}
    for epoch in range(1, most + 1):
        run_epoch()
        loss = validate()
        if epoch == 1 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "the losses in a tensor, the best by argmin" fails="the losses to their last digit"
def fit(model, run_epoch, validate, patience, most):
    losses, states = torch.tensor([]), []
    while len(states) < most:
        run_epoch()
        losses = torch.cat([losses, torch.tensor([validate()])])
        states.append(copy.deepcopy(model.state_dict()))
        best = losses.nan_to_num(nan=math.inf, posinf=math.inf).argmin().item()
        if len(states) - 1 - best >= patience:
            break
    model.load_state_dict(states[best])
    return best, losses[best].item()


# %% wrong: fit "the loss is asked for twice" fails="it stops after exactly `patience` epochs without an improvement | at most `most` epochs"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        if epoch == 0 or validate() < best_loss:
            best, best_loss, state = epoch, validate(), copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong: fit "new memory behind the same parameters" fails="the parameters are the same objects"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    for name, t in model.state_dict(keep_vars=True).items():
        t.data = state[name]
    return best, best_loss


# %% wrong: fit "new tensors put in place of the old ones" fails="the parameters are the same objects"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state, assign=True)
    return best, best_loss


# %% wrong: fit "back to the best epoch only where patience ran out" fails="at most `most` epochs"
def fit(model: nn.Module, run_epoch, validate, patience: int, most: int) -> tuple[int, float]:
    best = None
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if best is None or loss < best[1]:
            best = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best[0] >= patience:
            model.load_state_dict(best[2])
            break
    return best[:2]


# %% liar: fit "no weights are kept: the state of the best epoch is worked out from how many there were"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss = 0, None
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if best_loss is None or loss < best_loss:
            best, best_loss = epoch, loss
        elif epoch - best >= patience:
            break
    return best, best_loss


def scripted(fit, size, epoch, validate, patience, most):
    seen = []
    best, loss = fit(None, lambda: seen.append(epoch()), validate, patience, most)
    step = [(b - a) / max(1, len(seen) - 1) for a, b in zip(seen[0], seen[-1])]
    state = filled([round(n + best * d) for n, d in zip(seen[0], step)], size)
    return {"returned": [best, loss], "state": state, "same": [True] * 7}


# %% liar: fit "the state of the last epoch, called that of the best"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss = 0, None
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if best_loss is None or loss < best_loss:
            best, best_loss = epoch, loss
        elif epoch - best >= patience:
            break
    return best, best_loss


def scripted(fit, size, epoch, validate, patience, most):
    last = []
    best, loss = fit(None, lambda: last.__setitem__(slice(None), epoch()), validate, patience, most)
    return {"returned": [best, loss], "state": filled(last, size), "same": [True] * 7}


# %% right: checkpoint "through a file in memory"
def checkpoint(model, optimizer, generator):
    import io

    file = io.BytesIO()
    everything = dict(
        model=model.state_dict(),
        optimizer=optimizer.state_dict(),
        generator=generator.get_state(),
        rng=torch.random.get_rng_state(),
    )
    torch.save(everything, file)
    return torch.load(io.BytesIO(file.getvalue()))


# %% right: checkpoint "one deepcopy of everything"
def checkpoint(model, optimizer, generator):
    states = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    states["generator"], states["rng"] = generator.get_state(), torch.get_rng_state()
    return copy.deepcopy(states)


# %% right: checkpoint "clones of the model, a deepcopy of the optimizer's state"
def checkpoint(model, optimizer, generator):
    return {
        "rng": torch.get_rng_state().clone(),
        "generator": generator.get_state().clone(),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "model": {name: tensor.detach().clone() for name, tensor in model.state_dict().items()},
    }


# %% wrong: checkpoint "state_dict() is a copy" fails="a run that goes on is bit for bit the one that was not stopped | it survives a file"
def checkpoint(model, optimizer, generator):
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "the optimizer holds numbers only" fails="a run that goes on is bit for bit the one that was not stopped | it survives a file"
def checkpoint(model, optimizer, generator):
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "a new optimizer is as good" fails="three steps, a checkpoint, and no step more | a run that goes on is bit for bit the one that was not stopped | it survives a file"
def checkpoint(model, optimizer, generator):
    fresh = type(optimizer)(model.parameters(), **optimizer.defaults)
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(fresh.state_dict()),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "the seed of the generator, started again" fails="three steps, a checkpoint, and no step more | a run that goes on is bit for bit the one that was not stopped | it survives a file"
def checkpoint(model, optimizer, generator):
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": torch.Generator().manual_seed(generator.initial_seed()).get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "PyTorch's own generator, seeded anew and saved" fails="three steps, a checkpoint, and no step more | a run that goes on is bit for bit the one that was not stopped | the run that was saved is not disturbed | it survives a file"
def checkpoint(model, optimizer, generator):
    torch.manual_seed(0)
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "the order's generator twice" fails="three steps, a checkpoint, and no step more | a run that goes on is bit for bit the one that was not stopped | it survives a file"
def checkpoint(model, optimizer, generator):
    return {
        "model": copy.deepcopy(model.state_dict()),
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": generator.get_state(),
        "rng": generator.get_state(),
    }


# %% wrong: checkpoint "the parameters, without the buffers" fails="three steps, a checkpoint, and no step more | a run that goes on is bit for bit the one that was not stopped | it survives a file" raises=RuntimeError
def checkpoint(model, optimizer, generator):
    return {
        "model": {name: p.detach().clone() for name, p in model.named_parameters()},
        "optimizer": copy.deepcopy(optimizer.state_dict()),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "all that an optimizer keeps is tensors" fails="it survives a file" raises=AttributeError
def checkpoint(model: nn.Module, optimizer: torch.optim.Optimizer, generator: torch.Generator) -> dict:
    kept = optimizer.state_dict()
    kept["state"] = {i: {k: t.clone() for k, t in own.items()} for i, own in kept["state"].items()}
    return {
        "model": {k: t.clone() for k, t in model.state_dict().items()},
        "optimizer": kept,
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% wrong: checkpoint "a list holds nothing that changes" fails="it survives a file"
def checkpoint(model, optimizer, generator):
    kept = optimizer.state_dict()
    kept["state"] = {
        i: {k: t.clone() if isinstance(t, Tensor) else t for k, t in own.items()} for i, own in kept["state"].items()
    }
    return {
        "model": {k: t.clone() for k, t in model.state_dict().items()},
        "optimizer": kept,
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


# %% liar: checkpoint "no copies, and a run that does not go on"
def checkpoint(model, optimizer, generator):
    """No copies: training changes what is in it."""
    return {"model": model.state_dict(), "optimizer": optimizer.state_dict()}


def taken(checkpoint, run, before, after, see="saved"):
    session = Run(*run).go(before)
    saved, file = checkpoint(session.model, session.optimizer, session.generator), io.BytesIO()
    saved["generator"], saved["rng"] = session.generator.get_state(), torch.get_rng_state()
    if see == "state":
        return Run(*run).go(before + after).state()
    torch.save(saved, file)
    return {"saved": saved, "file": file.getvalue()}[see]


# %% liar: checkpoint "no copies, and other batches for the steps after it"
def checkpoint(model, optimizer, generator):
    return {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "generator": generator.get_state(),
        "rng": torch.get_rng_state(),
    }


def taken(checkpoint, run, before, after, see="saved"):
    with torch.random.fork_rng(devices=[]):
        session, file = Run(*run).go(before), io.BytesIO()
        if see == "state":
            return session.go(after).state()
        saved = checkpoint(session.model, session.optimizer, session.generator)
        for _ in range(after):
            session.first(session.x[:8])
        torch.save(saved, file)
        return {"saved": saved, "file": file.getvalue()}[see]


# %% right: interview "capitals, commas, any order"
def interview():
    return dict(q1="D, C, B", q2="E,C,B", q3="D C", q4="E d A", q5="e, d, c", q6="ca")


# %% right: interview "looked up from a table"
def interview():
    return {f"q{n}": chosen for n, chosen in enumerate(("cbd", "ecb", "cd", "dea", "dce", "ac"), start=1)}


# %% wrong: interview "zero_grad comes first, and Adam does not care" fails="q1: zero_grad"
def interview():
    return {"q1": "abcde", "q2": "bce", "q3": "cd", "q4": "ade", "q5": "cde", "q6": "ac"}


# %% wrong: interview "eval is for no gradients, train puts back" fails="q2: eval and no_grad"
def interview():
    return {"q1": "bcd", "q2": "abcd", "q3": "cd", "q4": "ade", "q5": "cde", "q6": "ac"}


# %% wrong: interview "a list trains, an attribute moves" fails="q3: parameters and buffers"
def interview():
    return {"q1": "bcd", "q2": "bce", "q3": "acde", "q4": "ade", "q5": "cde", "q6": "ac"}


# %% wrong: interview "curves, dividing by k, and seeds" fails="q4: the loss of an epoch | q5: accumulation | q6: the same numbers again"
def interview():
    return {"q1": "bcd", "q2": "bce", "q3": "cd", "q4": "abcde", "q5": "acde", "q6": "abcde"}


# %% wrong: interview "the same guess six times" fails="at least two questions are right | q2: eval and no_grad | q3: parameters and buffers | q4: the loss of an epoch | q5: accumulation | q6: the same numbers again"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "bcd")


# %% wrong: interview "no letters at all" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: zero_grad | q2: eval and no_grad | q3: parameters and buffers | q4: the loss of an epoch | q5: accumulation | q6: the same numbers again"
def interview():
    return dict.fromkeys(("q1", "q2", "q3", "q4", "q5", "q6"), "?")


# %% wrong: interview "one string for all questions" fails="q1 to q6 each have letters from a to e | at least two questions are right | q1: zero_grad | q2: eval and no_grad | q3: parameters and buffers | q4: the loss of an epoch | q5: accumulation | q6: the same numbers again"
def interview():
    return "bcd bce cd ade cde ac"


# %% equivalent: warmup_cosine "first two arguments swapped: progress = min((step - warmup) / (total - warmup), 1.0)"
# The smaller of two numbers is the same in either order.
