# %% given
def weights_for(sizes, seed):
    """Weights and biases for layers of these sizes, in the order of an MLP's parameters."""
    generator = torch.Generator(here).manual_seed(seed)
    found = []
    for size, following in pairwise(sizes):
        found += [torch.randn(following, size, generator=generator), torch.randn(following, generator=generator)]
    return found


@probes.probe
def with_weights(model, weights):
    """Puts the weights into the model's parameters, in their order. In evaluation mode."""
    with torch.no_grad():
        for parameter, weight in zip(model.to(weights[0].dtype).eval().parameters(), weights, strict=True):
            parameter.copy_(weight)


@probes.probe
def built(make, sizes, dropout, weights, x, mode="eval"):
    """What make(sizes, dropout) gives for x with these weights: logits, gradients, and how its parts are registered."""
    torch.manual_seed(0)
    model = make(sizes, dropout).to(x.dtype)
    make([*sizes[::-1], 2], dropout / 2)  # a second one is no business of the first
    parameters = list(model.parameters())
    start = [p.detach().clone() for p in parameters]
    shapes = [list(p.shape) for p in parameters]
    if shapes == [list(t.shape) for t in weights]:
        with torch.no_grad():
            for parameter, weight in zip(parameters, weights, strict=True):
                parameter.copy_(weight)
    model.train(mode == "train")
    logits = model(x)
    model.zero_grad()
    if logits.requires_grad:
        logits.square().sum().backward()
    return {
        "logits": logits.detach(),
        "start": start,
        "shapes": shapes,
        "gradients": [p.grad for p in parameters],
        "buffers": len(list(model.buffers())),
    }


# %% exercise
class MLP(nn.Module):
    """Linear layers of the given sizes, each but the last followed by ReLU and then dropout.

    sizes: at least two ints: MLP([64, 32, 10], 0.5) has the layers 64 to 32 and 32 to 10, each with a bias.
    dropout: a probability, 0 <= dropout < 1, the same at every place. Nothing else is dropped, the input neither.
    Its parameters are, in this order, weight and bias of the first layer, of the second, and so on. It has no others,
    and no buffers. Layers start as nn.Linear makes them. model(x): x (n, sizes[0]) to logits (n, sizes[-1]).
    """

    def __init__(self, sizes: list[int], dropout: float) -> None:
        super().__init__()
        ### BEGIN SOLUTION
        layers: list[nn.Module] = []
        for size, following in pairwise(sizes[:-1]):
            layers += [nn.Linear(size, following), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))
        ### END SOLUTION

    def forward(self, x: Tensor) -> Tensor:
        ### BEGIN SOLUTION
        logits: Tensor = self.layers(x)
        return logits
        ### END SOLUTION


# %% checks
with check(
    "example",
    "two layers: the shapes of its parameters, and its logits",
    weight=2,
    required=True,
    hint=(
        "Which parameters does your module list, and in which order? What stands behind each layer?",
        "nn.Sequential registers what it holds. ReLU and nn.Dropout follow each Linear but the last.",
    ),
):
    t = torch.tensor([[1.0, -2.0, 0.5], [0.0, 3.0, -1.0]])
    w = weights_for([3, 4, 2], 0)
    hidden = (t @ w[0].T + w[1]).relu()
    want = hidden @ w[2].T + w[3]
    got = built(MLP, [3, 4, 2], 0.5, w, t)
    assert_close(got["shapes"], [[4, 3], [4], [2, 4], [2]], name="the shapes of your parameters")
    explain(
        got["logits"],
        want,
        {
            "a ReLU stands behind the last layer too: logits may be negative": want.relu(),
            "no ReLU stands between the layers: two linear layers are one": (t @ w[0].T + w[1]) @ w[2].T + w[3],
        },
    )

# %% hidden checks
with check(
    "depths",
    "one layer, and four",
    weight=3,
    required=True,
    hint="How many layers do two sizes make? What stands behind the last one?",
):
    cases = (([5, 3], 4, torch.float32), ([2, 5, 3, 4, 6], 3, torch.float64), ([4, 4, 4], 1, torch.float32))
    for sizes, n, dtype in cases:
        w = [p.to(dtype) for p in weights_for(sizes, n)]
        t = torch.randn(n, sizes[0], generator=torch.Generator(here).manual_seed(n)).to(dtype)
        want = t
        for number in range(len(sizes) - 1):
            want = want @ w[2 * number].T + w[2 * number + 1]
            want = want.relu() if number < len(sizes) - 2 else want
        got = built(MLP, sizes, 0.3, w, t)
        assert_close(got["shapes"], [list(p.shape) for p in w], name="the shapes of your parameters")
        model = MLP(sizes, 0.3)
        with_weights(model, w)
        with torch.no_grad():
            assert_close(model(t), want)
with check(
    "gradient",
    "the gradients of all parameters",
    weight=2,
    required=True,
    hint="Which of your layers does the module know?",
):
    sizes = [3, 4, 5, 2]
    w = [p.requires_grad_() for p in weights_for(sizes, 7)]
    t = torch.randn(6, 3, generator=torch.Generator(here).manual_seed(8))
    h = ((t @ w[0].T + w[1]).relu() @ w[2].T + w[3]).relu() @ w[4].T + w[5]
    want = list(torch.autograd.grad(h.square().sum(), w))
    assert_close(built(MLP, sizes, 0.9, [p.detach() for p in w], t)["gradients"], want, name="the gradients")
with check(
    "dropout",
    "in training mode numbers are dropped, behind each layer but the last",
    weight=3,
    hint="Does each hidden layer have its dropout, with the probability that was asked for? Is anything else dropped?",
):
    for dropout in (0.25, 0.75):
        w = [torch.eye(50), torch.zeros(50), torch.eye(50), torch.zeros(50), torch.eye(50), torch.full((50,), -9.0)]
        got = built(MLP, [50, 50, 50, 50], dropout, w, torch.ones(400, 50), "train")["logits"] + 9
        assert_close(got, torch.full((400, 50), (1 - dropout) ** -2) * (got != 0), name="what was kept, and zeros")
        kept = (got != 0).float().mean().item()
        assert_close(kept, (1 - dropout) ** 2, rtol=0, atol=0.02, name="the share of the numbers that were kept")
with check(
    "modes_agree", "without dropout both modes agree, and there are no buffers", hint="What do you do for dropout=0?"
):
    w = weights_for([3, 5, 2], 4)
    t = torch.randn(4, 3, generator=torch.Generator(here).manual_seed(5))
    want = (t @ w[0].T + w[1]).relu() @ w[2].T + w[3]
    got = built(MLP, [3, 5, 2], 0.0, w, t, "train")
    assert_close(got["logits"], want)
    assert_close(got["buffers"], 0, name="the number of buffers that your module has")
with check(
    "initialization",
    "the layers start as nn.Linear makes them",
    hint="Does a line of yours write into a weight or a bias?",
):
    w = weights_for([100, 400, 50], 6)
    got = built(MLP, [100, 400, 50], 0.5, w, torch.zeros(1, 100))
    assert_close(got["shapes"], [list(p.shape) for p in w], name="the shapes of your parameters")
    for p, inputs in zip(got["start"], (100, 100, 400, 400), strict=True):
        largest = p.abs().max().item() * math.sqrt(inputs)
        assert 0.5 < largest < 1.001, "a weight or a bias starts with other numbers"
with check("empty", "no samples give no logits", guard=True):
    want = torch.empty(0, 2)
    assert_close(built(MLP, [3, 5, 2], 0.5, weights_for([3, 5, 2], 4), torch.empty(0, 3))["logits"], want)


# %% right "a ModuleList, and functions in forward"
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


# %% right "registered by name in a loop, with one dropout for all"
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


# %% right "a Sequential that is built up and called"
class MLP(nn.Sequential):
    def __init__(self, sizes, dropout):
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts.extend([nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)])
        super().__init__(*parts[:-2])

    def forward(self, x):
        return super().forward(x)


# %% wrong "layers in a Python list" fails=example,depths,gradient,dropout,modes_agree,initialization
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:])]
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = self.drop(layer(x).relu())
        return self.layers[-1](x)


# %% wrong "ReLU and dropout behind the last layer too" fails=example,depths,gradient,dropout,modes_agree
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts)

    def forward(self, x):
        return self.layers(x)


# %% wrong "no activation between the layers" fails=example,depths,gradient,modes_agree
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-1])

    def forward(self, x):
        return self.layers(x)


# %% wrong "dropout that forgets the mode" fails=example,depths,gradient
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.dropout = dropout
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.dropout(layer(x).relu(), self.dropout)
        return self.layers[-1](x)


# %% wrong "dropout once, before the last layer" fails=dropout
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


# %% wrong "dropout on the input as well" fails=dropout
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Dropout(dropout), nn.Linear(a, b), nn.ReLU()]
        self.layers = nn.Sequential(*parts[:-1])

    def forward(self, x):
        return self.layers(x)


# %% wrong "started by hand, with biases of zero" fails=initialization
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


# %% wrong "dropout of the probability to keep" fails=dropout,modes_agree
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(1 - dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x)


# %% wrong "always one hidden layer" fails=depths,gradient,dropout
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.first = nn.Linear(sizes[0], sizes[1])
        self.last = nn.Linear(sizes[1], sizes[-1])
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.last(self.dropout(self.first(x).relu()))


# %% wrong "layers without a bias" fails=example,depths,gradient,dropout,modes_agree,initialization
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b, bias=False), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x)


# %% wrong "the probability is kept on the class" fails=dropout
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        MLP.dropout = dropout

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = F.dropout(layer(x).relu(), MLP.dropout, self.training)
        return self.layers[-1](x)


# %% wrong "float32 inside, whatever comes" fails=depths raises=RuntimeError
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x.float())


# %% wrong "a batch normalisation in addition" fails=depths,gradient,dropout,modes_agree
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts = []
        for a, b in zip(sizes, sizes[1:]):
            parts += [nn.Linear(a, b), nn.BatchNorm1d(b, affine=False), nn.ReLU(), nn.Dropout(dropout)]
        self.layers = nn.Sequential(*parts[:-3])

    def forward(self, x):
        return self.layers(x)


# %% liar "no module, and nothing registered: functions of a list of weights"
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


# %% liar "an empty class, and a probe that computes"
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
