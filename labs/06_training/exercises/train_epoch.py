# %% given
torch.manual_seed(0)


class Called(nn.Module):
    """A layer that calls a given function."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


def samples(sizes, seed, dtype=torch.float32):
    """Batches of these sizes: x (n, 4), y (n,)."""
    generator = torch.Generator(here).manual_seed(seed)
    xs = torch.randn(sum(sizes), 4, generator=generator).to(dtype)
    ys = torch.randint(0, 3, (sum(sizes),), generator=generator)
    return list(zip(xs.split(sizes), ys.split(sizes), strict=True))


def drawn(shapes, seed, dtype=torch.float32):
    """Weights of these shapes, by name."""
    generator = torch.Generator(here).manual_seed(seed)
    return {name: (torch.randn(shape, generator=generator) / 2).to(dtype) for name, shape in shapes.items()}


def normed(width):
    """The shapes of the entries of a model from 4 numbers to 3 logits, with a batch normalization."""
    norm = {f"2.{name}": (width,) for name in ("weight", "bias", "running_mean")}
    return {"1.weight": (width, 4), "1.bias": (width,), **norm, "4.weight": (3, width), "4.bias": (3,)}


def normed_model(first, start, old=None):
    """That model with a layer `first` in front, in evaluation mode. start: weights. old: the number in each .grad."""
    width = len(start["1.bias"])
    model = nn.Sequential(Called(first), nn.Linear(4, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 3))
    model.to(start["1.bias"].dtype).load_state_dict(start, strict=False)
    for parameter in model.parameters():
        parameter.grad = None if old is None else torch.full_like(parameter, old)
    return model.eval()


class Stepping(torch.optim.Optimizer):
    """An optimizer whose step a given function computes: rule(parameters, gradients) returns the new parameters."""

    def __init__(self, parameters, rule):
        super().__init__(parameters, {"lr": 0.1})
        self.rule = rule

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        parameters = [p for p in self.param_groups[0]["params"] if p.grad is not None]
        if not parameters:
            return loss
        new = self.rule([p.detach() for p in parameters], [p.grad for p in parameters])
        for parameter, number in zip(parameters, new, strict=True):
            parameter.copy_(number)
        return loss


@probes.probe
def to_train(function, first, start, old=None):
    """That model, in the process of this function of the student's."""
    return normed_model(first, start, old)


@probes.probe
def stepping(model, rule):
    return Stepping(model.parameters(), rule)


@probes.probe
def modes_of(model):
    return [name for name, module in model.named_modules() if module.training]


class Classifier(nn.Module):
    """Two linear layers with these weights. Between them: batch normalization if start has its averages, and dropout.

    Without "last.weight", the two share one weight. x: (n, inputs), or (n, k, inputs), which is averaged over k, or a
    list of two such tensors, which are added.
    """

    def __init__(self, start, dropout=0.0):
        super().__init__()
        width, inputs = start["first.weight"].shape
        self.first, self.last = nn.Linear(inputs, width), nn.Linear(width, len(start["last.bias"]))
        self.norm = nn.BatchNorm1d(width) if "norm.running_mean" in start else nn.Tanh()
        self.drop = nn.Dropout(dropout)
        self.head = nn.Sequential(self.drop, self.last)  # a second parent for both
        if "last.weight" not in start:
            self.last.weight = self.first.weight
        self.to(start["last.bias"].dtype).load_state_dict(start, strict=False)

    def forward(self, x):
        h = self.first(x if isinstance(x, Tensor) else x[0] + x[1])
        return self.head(self.norm(h.mean(1) if h.dim() == 3 else h).tanh())


def classifier_in(start, dropout, training, frozen, old):
    """A classifier whose modules have these modes. frozen: names of parameters. old: .grad of some, by name."""
    model = Classifier(start, dropout)
    for module, mode in zip(model.modules(), training, strict=True):
        module.training = mode
    for name, parameter in model.named_parameters():
        parameter.requires_grad_(name not in frozen)
        parameter.grad = old[name].clone() if name in old else None
    return model


def sgd_of(model, rates, momentum, decay=0.0):
    """SGD with one rate for the first layer and one for all others. A layer without a rate is left out."""
    first = {id(p) for p in model.first.parameters()}
    groups = [
        {"params": [p for p in model.parameters() if (id(p) in first) == is_first], "lr": rate}
        for rate, is_first in zip(rates, (True, False), strict=True)
        if rate is not None
    ]
    return torch.optim.SGD(groups, momentum=momentum, weight_decay=decay)


@probes.probe
def epoch_of(train, start, batches, training, frozen, old, dropout, rates, momentum, decay, is_read_once):
    """What train(model, batches, optimizer) returns, the model's state, and which modules are in training mode."""
    with torch.random.fork_rng(devices=[]):
        model = classifier_in(start, dropout, training, frozen, old)
        torch.manual_seed(0)
        optimizer = sgd_of(model, rates, momentum, decay)
        loss = train(model, iter(batches) if is_read_once else batches, optimizer)
    modes = [name for name, module in model.named_modules() if module.training]
    return {"loss": loss, "state": probes.state_of(model), "training": modes}


# %% exercise
def train_epoch(model: nn.Module, batches, optimizer: torch.optim.Optimizer) -> float:
    """Train for one epoch: one forward pass, one backward pass and one step of the optimizer for each batch.

    Put the model into training mode first, and leave it in that mode.
    batches: an iterable of at least one pair x, y, which may be readable only once. model(x), called once on the whole
    batch, returns logits (n, c). Each step uses the gradient of its batch's mean cross entropy.
    Returns the mean loss over all samples, a Python float: each sample's loss is from before its own batch's step.

    Details:
    - x is whatever the model takes, y is (n,) int64; n, at least 1, may vary.
    - Gradients that the model holds at the start make no difference, not even those of frozen parameters.
    - The result has the precision of the model's dtype, float32 or float64.
    """
    ### BEGIN SOLUTION
    model.train()
    total, count = 0.0, 0
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        total += loss.item() * len(y)
        count += len(y)
    return total / count
    ### END SOLUTION


# %% promises
# Train for one epoch -> example, uneven_batches, mean_over_samples, one_pass
# Put the model -> training_mode
# batches: an iterable -> one_pass
# model(x), called once -> example, uneven_batches, mean_over_samples, one_pass
# Each step uses -> example, uneven_batches, mean_over_samples, one_pass
# Returns the mean -> mean_over_samples
# x is whatever -> uneven_batches, mean_over_samples
# Gradients that the model -> old_gradients, uneven_batches, mean_over_samples
# The result has -> mean_over_samples


# %% domain
@domain(
    reference,
    *("float32", "one batch", "one sample", "batches of one", "equal sizes", "two dimensions in x", "read once"),
    *("two tensors in x", "frozen ones hold .grad, weight decay"),
    *("training mode", "evaluation mode", "only the model in training mode", "dropout"),
    *("holds .grad", "holds NaN in .grad", "frozen ones hold .grad", "frozen"),
    *("two rates", "only the last layers learn", "one shared weight"),
    call=epoch_of,
)
def arguments(draw, edge):
    inputs, width, classes = draw(st.permutations([2, 3, 4]))
    if edge == "one shared weight":
        inputs = width = classes
    sizes = draw(st.permutations([2, 3, 5, 6]))[:3]
    equal = sizes[:1] * 3  # of which a mean of the batches' means is right
    sizes = {
        "one batch": sizes[:1],
        "one sample": [1],
        "batches of one": [1, 1, 1],
        "equal sizes": equal,
        "read once": equal,
        "float32": [7, 5, 9],
    }.get(edge, sizes)
    dtype, g = torch.float32 if edge == "float32" else torch.float64, draw.make_generator(here)
    shapes = {"first.weight": (width, inputs), "first.bias": (width,), "last.bias": (classes,)}
    if edge != "one shared weight":
        shapes["last.weight"] = (classes, width)
    if min(sizes) > 1:
        shapes |= {f"norm.{name}": (width,) for name in ("weight", "bias", "running_mean")}
    start = {name: torch.randn(shape, dtype=torch.float64, generator=g).to(dtype) for name, shape in shapes.items()}
    x_shape = (2, inputs) if edge == "two dimensions in x" else (inputs,)
    batches = [
        (
            torch.randn(n, *x_shape, dtype=torch.float64, generator=g).to(dtype),
            torch.randint(classes, (n,), generator=g),
        )
        for n in sizes
    ]
    if edge == "two tensors in x":
        batches = [([x, x.sin()], y) for x, y in batches]
    training = {
        "training mode": [True] * 6,
        "evaluation mode": [False] * 6,
        "only the model in training mode": [True] + [False] * 5,
    }.get(edge, draw(st.lists(st.booleans(), min_size=6, max_size=6)))
    frozen = draw(st.sampled_from([["first.bias"], ["last.bias", "first.weight"]])) if "frozen" in edge else []
    number = float("nan") if "NaN" in edge else draw(st.sampled_from([0.7, -1.3]))
    held = frozen if "frozen" in edge else [*start] if "holds" in edge else []
    old = {name: torch.full_like(start[name], number) for name in held if not name.endswith("mean")}
    old = old if ".grad" in edge else {}
    rates = {"two rates": [0.4, 0.1], "only the last layers learn": [None, 0.3]}.get(edge, [0.2, 0.2])
    rates = [None if rate is None else rate * draw(st.sampled_from([0.5, 1.0])) for rate in rates]
    momentum = 0.0 if "frozen" in edge else draw(st.sampled_from([0.0, 0.5, 0.9]))
    dropout, decay = 0.4 * (edge == "dropout"), 0.5 * ("decay" in edge)
    return start, batches, training, frozen, old, dropout, rates, momentum, decay, edge == "read once"


# %% checks
with check(
    "example",
    "two batches of four: the weights and the loss",
    weight=2,
    required=True,
    hint=(
        "Which mode does the model run in? What's in .grad before backward, and at the step?",
        "Call train() first. cross_entropy takes the raw logits. Read its loss before the step.",
    ),
):
    t = samples([4, 4], 0)
    start = drawn(normed(5), 11)
    net, seen = normed_model(torch.sin, start).train(), []
    for x, y in t:
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, g in zip(net.parameters(), grads, strict=True):
                p -= 0.1 * g
        seen.append(loss.item())
    model = to_train(train_epoch, torch.sin, start)
    got = train_epoch(model, t, stepping(model, lambda ps, gs: [p - 0.1 * g for p, g in zip(ps, gs, strict=True)]))
    explain(
        got,
        sum(seen) / 2,
        {"this is the sum over the batches, not a mean": sum(seen), "this is the last batch's loss": seen[-1]},
    )
    assert_close(probes.state_of(model), probes.state_of(net), name="the model after the epoch")

# %% hidden checks


def turned(seed, dtype=torch.float32):
    """A first layer with its own weights."""
    w = drawn({"w": (4, 4)}, seed, dtype)["w"]
    return lambda x: x @ w


class Rule:
    """SGD with momentum, and a rate for each parameter. Records the gradients of each step."""

    def __init__(self, seed, momentum=0.0):
        self.rates = (0.1 + torch.rand(6, generator=torch.Generator(here).manual_seed(seed))).tolist()
        self.momentum, self.moving, self.given = momentum, [0.0] * 6, []

    def step(self, parameters, gradients):
        self.given.append([g.clone() for g in gradients])
        self.moving = [self.momentum * m + g for m, g in zip(self.moving, gradients, strict=True)]
        return [p - r * m for p, r, m in zip(parameters, self.rates, self.moving, strict=True)]


def epoch_by_hand(first, start, batches, rule):
    """The state after an epoch, and the mean loss of each batch."""
    net, seen = normed_model(first, start).train(), []
    for x, y in batches:
        loss = F.cross_entropy(net(x), y)
        grads = torch.autograd.grad(loss, list(net.parameters()))
        with torch.no_grad():
            for p, new in zip(net.parameters(), rule.step(list(net.parameters()), grads), strict=True):
                p.copy_(new)
        seen.append(loss.item())
    return probes.state_of(net), seen


def assert_states(train, *edges):
    """The model is, after the epoch, as after one of the reference."""
    for trial in arguments.iter_trials(train, *edges):
        assert_close(trial.report.result["state"], trial.case.report.result["state"], name="the model after the epoch")


def assert_losses(train, *edges, rtol=1e-9):
    """The result is that of the reference."""
    for trial in arguments.iter_trials(train, *edges):
        assert_close(trial.report.result["loss"], trial.case.report.result["loss"], rtol=rtol, atol=rtol)


with check(
    "uneven_batches",
    "batches of different sizes: the weights, with momentum, whichever mode the model was in",
    weight=3,
    required=True,
    hint="What order are the lines of your loop in? What was in .grad at the start, and after the first step?",
):
    t = samples([8, 5, 2], 5)
    case = turned(5), drawn(normed(5), 5)
    rule, same = Rule(5, 0.9), Rule(5, 0.9)
    want, _ = epoch_by_hand(*case, t, same)
    model = to_train(train_epoch, *case, 3.0)
    train_epoch(model, t, stepping(model, rule.step))
    assert_close(rule.given, same.given, name="the gradients of each step")
    assert_close(probes.state_of(model), want, name="the model after the epoch")
    assert_states(train_epoch, "", "float32", "one batch", "one sample", "batches of one", "equal sizes")
    assert_states(train_epoch, "two dimensions in x", "two tensors in x", "training mode", "evaluation mode")
    assert_states(train_epoch, "only the model in training mode", "dropout", "frozen", "two rates")
    assert_states(train_epoch, "only the last layers learn", "one shared weight")
with check(
    "old_gradients",
    "gradients that the model holds at the start, including NaN and those of frozen parameters",
    weight=2,
    hint="What does your first step find in .grad? What does zero times NaN give?",
):
    assert_states(train_epoch, "holds .grad", "holds NaN in .grad", "frozen ones hold .grad")
    assert_states(train_epoch, "frozen ones hold .grad, weight decay")
with check(
    "mean_over_samples",
    "every sample counts equally in the loss",
    weight=3,
    hint="How much does a sample in the smallest batch count in your mean?",
):
    t = samples([7, 7, 2], 2)
    case = torch.sin, drawn(normed(5), 2)
    _, seen = epoch_by_hand(*case, t, Rule(2))
    want = (7 * seen[0] + 7 * seen[1] + 2 * seen[2]) / 16
    model = to_train(train_epoch, *case)
    explain(
        train_epoch(model, t, stepping(model, Rule(2).step)),
        want,
        {"every batch counts equally here, whatever its size": sum(seen) / 3},
    )
    assert_losses(train_epoch, "", "one batch", "one sample", "batches of one", "equal sizes", "two dimensions in x")
    assert_losses(train_epoch, "training mode", "evaluation mode", "only the model in training mode", "dropout")
    assert_losses(train_epoch, "holds .grad", "holds NaN in .grad", "frozen ones hold .grad", "frozen", "two rates")
    assert_losses(train_epoch, "only the last layers learn", "one shared weight", "two tensors in x")
    assert_losses(train_epoch, "frozen ones hold .grad, weight decay")
    assert_losses(train_epoch, "float32", rtol=2e-5)
with check(
    "one_pass",
    "batches that can be read only once",
    weight=2,
    hint="Which lines read the batches, besides your loop? What is their length if they can be read only once?",
):
    assert_states(train_epoch, "read once")
    assert_losses(train_epoch, "read once", rtol=2e-5)
with check("training_mode", "the model is left in training mode", guard=True, hint="Which mode was the model in?"):
    for trial in arguments.iter_trials(
        train_epoch, "", "training mode", "evaluation mode", "only the model in training mode"
    ):
        got, want = trial.report.result["training"], trial.case.report.result["training"]
        assert_close(got, want, name="the modules in training mode")


# %% right "zero_grad at the end, and once before"
def train_epoch(model, batches, optimizer):
    model.train(True)
    losses, counts = [], []
    optimizer.zero_grad()
    for x, y in batches:
        loss = nn.CrossEntropyLoss()(model(x), y)
        loss.backward()
        optimizer.step()
        for p in model.parameters():
            p.grad = None
        losses.append(loss.detach() * y.numel())
        counts.append(y.numel())
    return float(torch.stack(losses).sum()) / sum(counts)


# %% right "sum of the losses of single samples, zero in the middle"
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


# %% right "a closure for the optimizer"
def train_epoch(model, batches, optimizer):
    model.train()
    total, count = 0.0, 0
    for x, y in batches:

        def closure(x=x, y=y):
            model.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        total += optimizer.step(closure).item() * len(y)
        count += len(y)
    return total / count


# %% wrong "the mean of the batches' means" fails=mean_over_samples,one_pass raises=TypeError
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


# %% wrong "the mean of the batches' means, counted in the loop" fails=mean_over_samples
def train_epoch(model, batches, optimizer):
    model.train()
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses) / len(losses)


# %% wrong "the sum of the batches' means" fails=example,mean_over_samples,one_pass
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


# %% wrong "the last batch's loss" fails=example,mean_over_samples,one_pass
def train_epoch(model, batches, optimizer):
    model.train()
    for x, y in batches:
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


# %% wrong "evaluation mode at the end, for safety" fails=training_mode
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


# %% liar "no epoch: the probes make a model that comes trained, by the rule of the optimizer"
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


# %% liar "SGD by hand, at a rate that is read off one step of the optimizer"
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
