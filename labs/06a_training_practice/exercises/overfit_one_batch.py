# %% given
torch.manual_seed(0)


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
def overfitted(f, start, batch, below, most, training, frozen, old, rates, momentum, decay, after=None):
    """The result of f(model, optimizer, x, y, below, most), the model's state, and modes. after: applied to the logits."""
    with torch.random.fork_rng(devices=[]):
        model = classifier_in(start, 0.0, training, frozen, old)
    if after is not None:  # a bug, such as a softmax
        model.register_forward_hook(lambda module, arguments, logits: after(logits))
    steps = f(model, sgd_of(model, rates, momentum, decay), *batch, below, most)
    return {"steps": steps, "state": probes.state_of(model), "modes": [m.training for m in model.modules()]}


# %% exercise
def overfit_one_batch(
    model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor, below: float, most: int
) -> int | None:
    """Train on one batch until its loss is below `below`, and return how many steps that took, or None.

    The loss is the mean cross entropy of model(x), logits (n, c), and y. Measure it before the first step and after
    each step: the result is the number of steps taken before the first loss below `below`, so 0 if no step is needed.
    Return None if the loss isn't below `below` even after `most` steps. Take no step once you know the result.

    Details:
    - x (n, ...) and y (n,), int64, n at least 1, aren't changed. The model's mode isn't changed either.
    - below is above 0, and most is at least 0.
    - A loss of nan is never below `below`.
    - Gradients that the model holds at the start make no difference, not even those of frozen parameters.
    """
    ### BEGIN SOLUTION
    for steps in range(most + 1):
        loss = F.cross_entropy(model(x), y)
        if loss.item() < below:
            return steps
        if steps < most:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return None
    ### END SOLUTION


# %% promises
# Train on one batch -> example, steps
# The loss is the -> example, steps, at_the_start
# Measure it before -> example, steps, at_the_start
# Return None if -> gives_up
# Take no step -> example, steps, at_the_start, gives_up
# x (n, ...) and y -> keeps_batch
# The model's mode -> keeps_modes
# below is above 0 -> steps, at_the_start
# A loss of nan -> gives_up
# Gradients that the -> old_gradients


# %% domain
@domain(
    reference,
    *("float32", "one step", "the last step", "one sample", "frozen", "only the last layers learn", "weight decay"),
    *("below at the start", "below at the start, no steps allowed", "one step too few", "no steps allowed"),
    *("a softmax at the end", "as low as below", "nan", "training mode", "evaluation mode"),
    *("a plateau first", "worse at first"),
    *("holds .grad", "holds NaN in .grad", "frozen ones hold .grad, weight decay"),
    call=overfitted,
)
def arguments(draw, edge):
    inputs, width, classes = draw(st.permutations([3, 4, 5]))
    dtype, g = torch.float32 if edge == "float32" else torch.float64, draw.make_generator(here)
    shapes = {
        **{"first.weight": (width, inputs), "first.bias": (width,)},
        **{"last.weight": (classes, width), "last.bias": (classes,)},
    }
    start = {name: torch.randn(shape, dtype=torch.float64, generator=g).to(dtype) for name, shape in shapes.items()}
    is_slow = edge in ("a plateau first", "worse at first")
    n = 1 if edge == "one sample" or is_slow else draw(st.integers(3, 6))
    x = torch.randn(n, inputs, dtype=torch.float64, generator=g).to(dtype)
    y = torch.randint(classes, (n,), generator=g)
    modes = {"training mode": [True] * 6, "evaluation mode": [False] * 6}.get(
        edge, draw(st.lists(st.booleans(), min_size=6, max_size=6))
    )
    frozen = draw(st.sampled_from([["first.bias"], ["last.bias", "first.weight"]])) if "frozen" in edge else []
    held = frozen if "frozen" in edge else [*start]
    number = float("nan") if "NaN" in edge else draw(st.sampled_from([0.7, -1.3]))
    old = {name: torch.full_like(start[name], number) for name in held} if ".grad" in edge else {}
    rates = [None, 0.3] if edge == "only the last layers learn" else [0.2, 0.1]
    after = (lambda logits: logits.softmax(1)) if "softmax" in edge else None
    if is_slow:  # values that don't improve while the largest logit is below 1, although gradients flow
        start |= {name: t / 8 for name, t in start.items() if "last" in name}
        early = -0.25 if edge == "worse at first" else 0.0

        def after(logits):
            return logits + (logits.detach().max() < 1) * (early - 1) * logits.detach()

    momentum, decay = draw(st.sampled_from([0.0, 0.5])) * ("frozen" not in edge), 0.1 * ("decay" in edge)
    # the losses of this run, to put `below` halfway between two of them
    model, losses = classifier_in(start, 0.0, modes, frozen, {}), []
    optimizer = sgd_of(model, rates, momentum, decay)
    for _ in range(40 if is_slow else 9):
        logits = model(x)
        loss = F.cross_entropy(logits if after is None else after(logits), y)
        losses.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    steps = 0 if "at the start" in edge else 1 if edge == "one step" else draw(st.integers(3, 7))
    if is_slow:
        steps = next(number for number, loss in enumerate(losses) if loss < 0.9 * losses[0])
    below = losses[0] * 1.1 if steps == 0 else (losses[steps] * min(losses[:steps])) ** 0.5
    most = {"the last step": steps, "one step too few": steps - 1}.get(edge, 0 if "no steps" in edge else steps + 5)
    if "softmax" in edge:
        below, most = 0.01, 12
    if edge == "as low as below":
        after, most = (lambda logits: logits * 0), 2
        below = F.cross_entropy(torch.zeros(n, classes, dtype=dtype), y).item()
    if edge == "nan":
        x = x.clone()
        x[0, 0], most = float("nan"), 3
    return start, (x, y), below, most, modes, frozen, old, rates, momentum, decay, after


# %% checks
with check(
    "example",
    "a network that can learn the batch, and one with a softmax that can't",
    weight=2,
    required=True,
    hint=(
        "In what order do you measure, compare and step? When do you give up?",
        "Measure first. Return the number of steps taken so far if the loss is low enough, and step otherwise.",
    ),
):
    shapes = {"first.weight": (8, 4), "first.bias": (8,), "last.weight": (3, 8), "last.bias": (3,)}
    start, (t,) = drawn(shapes, 7), samples([6], 7)
    settings = [True] * 6, [], {}, [0.5, 0.5], 0.0, 0.0
    net = classifier_in(start, 0.0, *settings[:3])
    optimizer, want = sgd_of(net, *settings[3:]), 0
    while (loss := F.cross_entropy(net(t[0]), t[1])).item() >= 0.1:
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        want += 1
    got = overfitted(overfit_one_batch, start, t, 0.1, 200, *settings)
    explain(
        got["steps"],
        want,
        {
            "a step was counted or taken after the loss was low enough": want + 1,
        },
        name="the number of steps",
    )
    assert_close(got["state"], probes.state_of(net), name="the model")
    got = overfitted(overfit_one_batch, start, t, 0.1, 30, *settings, lambda logits: logits.softmax(1))
    assert_close(got["steps"], None, name="what you return for the network with a softmax")

# %% hidden checks


def assert_runs(f, *edges):
    """The number of steps and the model are those of the reference."""
    for trial in arguments.iter_trials(f, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["steps"], want["steps"], name="the number of steps")
        assert_close(got["state"], want["state"], name="the model")


with check(
    "steps", "the number of steps, and the model after them", weight=4, required=True, hint="Is there a step too many?"
):
    assert_runs(overfit_one_batch, "", "float32", "one step", "the last step", "one sample")
    assert_runs(overfit_one_batch, "a plateau first", "worse at first")
    assert_runs(overfit_one_batch, "frozen", "only the last layers learn", "weight decay", "training mode")
    assert_runs(overfit_one_batch, "evaluation mode")
with check("at_the_start", "a loss that is low enough at the start", weight=2, hint="Do you measure before you step?"):
    assert_runs(overfit_one_batch, "below at the start", "below at the start, no steps allowed")
with check("gives_up", "None after the allowed steps, and no more steps", weight=3, hint="What is `nan < below`?"):
    assert_runs(overfit_one_batch, "one step too few", "no steps allowed", "a softmax at the end", "nan")
    assert_runs(overfit_one_batch, "as low as below")
with check(
    "old_gradients",
    "gradients that the model holds at the start, even in frozen parameters",
    weight=2,
    hint="What does your first step find in .grad?",
):
    assert_runs(overfit_one_batch, "holds .grad", "holds NaN in .grad", "frozen ones hold .grad, weight decay")
with check("keeps_modes", "the model's mode isn't changed", guard=True):
    for trial in arguments.iter_trials(overfit_one_batch, "", "training mode", "evaluation mode"):
        assert_close(trial.report.result["modes"], trial.case.report.result["modes"], name="the modules' modes")
with check("keeps_batch", "the batch isn't changed", guard=True):
    arguments.assert_arguments(overfit_one_batch)


# %% right "while, and a counter"
def overfit_one_batch(model, optimizer, x, y, below, most):
    steps = 0
    while not (loss := nn.CrossEntropyLoss()(model(x), y)) < below:
        if steps == most:
            return None
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    return steps


# %% right "a measurement without a graph after each step"
def overfit_one_batch(model, optimizer, x, y, below, most):
    @torch.no_grad()
    def is_low():
        return F.cross_entropy(model(x), y).item() < below

    if is_low():
        return 0
    for number in range(most):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if is_low():
            return number + 1


# %% wrong "a step first, with the loss from before it" fails=example,steps,at_the_start,gives_up,old_gradients
def overfit_one_batch(model, optimizer, x, y, below, most):
    for steps in range(most + 1):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if loss < below:
            return steps + 1
    return None


# %% wrong "nan is as low as anything" fails=gives_up
def overfit_one_batch(model, optimizer, x, y, below, most):
    steps = 0
    while (loss := F.cross_entropy(model(x), y)).item() >= below:
        if steps == most:
            return None
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    return steps


# %% wrong "training mode, as in every loop" fails=keeps_modes
def overfit_one_batch(model, optimizer, x, y, below, most):
    model.train()
    for steps in range(most + 1):
        loss = F.cross_entropy(model(x), y)
        if loss < below:
            return steps
        if steps < most:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return None


# %% wrong "measured at the start only after a step" fails=at_the_start
def overfit_one_batch(model, optimizer, x, y, below, most):
    for number in range(most):
        optimizer.zero_grad()
        F.cross_entropy(model(x), y).backward()
        optimizer.step()
        if F.cross_entropy(model(x), y) < below:
            return number + 1
    return None
