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
    """Copies the weights into the model's parameters, in order. Sets evaluation mode."""
    with torch.no_grad():
        for parameter, weight in zip(model.to(weights[0].dtype).eval().parameters(), weights, strict=True):
            parameter.copy_(weight)


@probes.probe
def built(make, sizes, dropout, weights, x, mode="eval"):
    """What make(sizes, dropout) computes from x with these weights: logits, gradients, and its registered parts."""
    torch.manual_seed(0)
    own = list(sizes)
    model = make(own, dropout).to(x.dtype)
    is_kept = own == list(sizes)
    own[:] = [7, 7]  # the caller may change the list afterward
    make([*sizes[::-1], 2], dropout / 2)  # a second model must not affect the first
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
        "sizes kept": is_kept,
    }


# %% exercise
class MLP(nn.Module):
    """Linear layers of the given sizes, all but the last followed by ReLU and then dropout.

    MLP([64, 32, 10], 0.5) has the layers 64 to 32 and 32 to 10, each with a bias. dropout is a probability, the same
    everywhere. Nothing else is dropped, not even the input.
    model(x) takes x (n, sizes[0]) and returns logits (n, sizes[-1]).

    Details:
    - sizes: at least two ints. The list isn't changed, and the caller may change it later.
    - dropout: 0 <= dropout < 1.
    - The model's parameters are, in this order, the weight and bias of the first layer, then those of the second, and
      so on; it has no others, and no buffers.
    - Each layer starts with random numbers, as nn.Linear draws them; a given seed doesn't have to produce particular
      numbers.
    - x may have any strides, and n may be 0; the logits are in the dtype of x and the parameters.
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


# %% promises
# Linear layers of the given -> example, depths, gradient, modes_agree
# MLP([64, 32, 10] -> example, depths, gradient, dropout, modes_agree, initialization
# dropout is a probability -> dropout, modes_agree
# Nothing else is dropped -> dropout
# model(x) takes x -> depths, empty
# sizes: at least two -> example, depths, gradient, dropout, modes_agree, initialization
# The list isn't changed -> keeps_sizes
# dropout: 0 <= dropout -> dropout, modes_agree
# The model's parameters are -> example, depths, gradient, dropout, modes_agree, initialization
# Each layer starts -> initialization
# x may have any -> depths, dropout, modes_agree, empty


# %% domain
@domain(
    reference,
    *(
        "two sizes",
        "six sizes",
        "twelve sizes",
        "equal sizes",
        "layers of one",
        "one logit",
        "one sample",
        "no samples",
        "float64",
    ),
    *("transposed", "every second one", "expanded", "training mode", "two sizes in training mode"),
    "bfloat16 in training mode",
    call=built,
)
def arguments(draw, edge):
    count = 2 if "two sizes" in edge else 6 if edge in ("six sizes", "twelve sizes") else draw(st.integers(3, 4))
    sizes = draw(st.permutations([2, 3, 4, 5, 6, 7]))[:count]
    if edge == "twelve sizes":
        sizes = [*sizes, *sizes]
    if edge == "equal sizes":
        sizes = sizes[:1] * count
    if edge == "layers of one":
        sizes = [sizes[0], *[1] * (count - 2), sizes[-1]]
    if edge == "one logit":
        sizes = [*sizes[:-1], 1]
    n = {"one sample": 1, "no samples": 0}.get(edge, draw(st.integers(2, 5)))
    dtype = {"float64": torch.float64, "bfloat16 in training mode": torch.bfloat16}.get(edge, torch.float32)
    g = draw.make_generator(here)
    weights = []
    for size, following in pairwise(sizes):
        weights += [torch.randn(shape, dtype=dtype, generator=g) / 2 for shape in ((following, size), (following,))]
    x = draw.apply_layout(torch.randn(n, sizes[0], dtype=dtype, generator=g), edge)
    dropout = draw(st.sampled_from([0.1, 0.5, 0.9]))
    dropout = 0.0 if edge in ("training mode", "bfloat16 in training mode") else dropout
    return sizes, dropout, weights, x, "train" if "training" in edge else "eval"


# %% checks
with check(
    "example",
    "two layers: the shapes of the parameters, and the logits",
    weight=2,
    required=True,
    hint=(
        "Which parameters does your module list, and in which order? What follows each layer?",
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
            "a ReLU follows the last layer too: logits may be negative": want.relu(),
            "there's no ReLU between the layers: two linear layers amount to one": (t @ w[0].T + w[1]) @ w[2].T + w[3],
        },
    )

# %% hidden checks


def assert_part(make, part, *edges):
    """This part of the result matches the reference."""
    for trial in arguments.iter_trials(make, *edges):
        assert_close(trial.report.result[part], trial.case.report.result[part], name="what your module returns")


with check(
    "depths",
    "one layer, and five",
    weight=3,
    required=True,
    hint="How many layers do two sizes make? What follows the last one?",
):
    assert_part(MLP, "shapes", "", "two sizes", "six sizes", "equal sizes", "layers of one", "one logit")
    w = [p.double() for p in weights_for([2, 5, 3, 4, 6], 3)]
    t = torch.randn(3, 2, generator=torch.Generator(here).manual_seed(3)).double()
    want = t
    for number in range(4):
        want = want @ w[2 * number].T + w[2 * number + 1]
        want = want.relu() if number < 3 else want
    model = MLP([2, 5, 3, 4, 6], 0.3)
    with_weights(model, w)
    with torch.no_grad():
        assert_close(model(t), want)
    assert_part(MLP, "logits", "", "two sizes", "six sizes", "equal sizes", "layers of one", "one logit")
    assert_part(MLP, "logits", "one sample", "twelve sizes", "float64", "transposed", "every second one", "expanded")
with check(
    "gradient",
    "the gradients of all parameters",
    weight=2,
    required=True,
    hint="Which of your layers does the module know about?",
):
    assert_part(MLP, "gradients", "", "two sizes", "six sizes", "equal sizes", "layers of one", "one logit")
with check(
    "dropout",
    "in training mode, numbers are dropped after each layer but the last",
    weight=3,
    hint="Does each hidden layer have its dropout, with the probability you were given? Is anything else dropped?",
):
    for dropout, dtype in ((0.25, torch.float32), (0.75, torch.float32), (0.5, torch.bfloat16)):
        w = [torch.eye(50), torch.zeros(50), torch.eye(50), torch.zeros(50), torch.eye(50), torch.full((50,), -9.0)]
        w = [t.to(dtype) for t in w]
        got = built(MLP, [50, 50, 50, 50], dropout, w, torch.ones(400, 50, dtype=dtype), "train")["logits"] + 9
        want = torch.full((400, 50), (1 - dropout) ** -2, dtype=dtype) * (got != 0)
        assert_close(got, want, name="the kept numbers, and zeros")
        kept = (got != 0).float().mean().item()
        assert_close(kept, (1 - dropout) ** 2, rtol=0, atol=0.02, name="the share of numbers that were kept")
with check(
    "modes_agree", "without dropout, both modes agree, and there are no buffers", hint="What do you do for dropout=0?"
):
    assert_part(MLP, "logits", "training mode", "two sizes in training mode", "bfloat16 in training mode")
    assert_part(MLP, "buffers", "", "two sizes")
with check(
    "initialization",
    "the layers start as nn.Linear initializes them",
    hint="Do any of your lines write to a weight or a bias?",
):
    w = weights_for([100, 400, 50], 6)
    got = built(MLP, [100, 400, 50], 0.5, w, torch.zeros(1, 100))
    assert_close(got["shapes"], [list(p.shape) for p in w], name="the shapes of your parameters")
    for p, inputs in zip(got["start"], (100, 100, 400, 400), strict=True):
        largest = p.abs().max().item() * math.sqrt(inputs)
        assert 0.5 < largest < 1.001, "a weight or a bias is initialized differently"
with check("empty", "no samples give no logits", guard=True):
    assert_part(MLP, "logits", "no samples")
with check(
    "keeps_sizes",
    "the caller's list of sizes isn't changed",
    guard=True,
    hint="Do any of your calls remove something from the list?",
):
    assert_part(MLP, "sizes kept", "", "two sizes", "six sizes")


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


# %% wrong "the sizes are used up" fails=keeps_sizes
class MLP(nn.Module):
    def __init__(self, sizes, dropout):
        super().__init__()
        parts, size = [], sizes.pop(0)
        while sizes:
            parts += [nn.Linear(size, sizes[0]), nn.ReLU(), nn.Dropout(dropout)]
            size = sizes.pop(0)
        self.layers = nn.Sequential(*parts[:-2])

    def forward(self, x):
        return self.layers(x)


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
        "sizes kept": True,
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
        "sizes kept": True,
    }
