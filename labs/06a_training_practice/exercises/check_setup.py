# %% given
torch.manual_seed(0)


class Suspect(nn.Module):
    """Two linear layers with middle between them, and with batch normalization if start has its averages.

    The buffer calls counts the forward passes, and isn't in the state_dict.

    Without "last.weight", the layers share one. A layer "spare" in start isn't used. after: a function of the logits,
    a factor and a summand.
    """

    def __init__(self, start, middle, after):
        super().__init__()
        width, inputs = start["first.weight"].shape
        self.first, self.last = nn.Linear(inputs, width), nn.Linear(width, len(start["last.bias"]))
        self.norm = nn.BatchNorm1d(width) if "norm.running_mean" in start else nn.Identity()
        if "spare.bias" in start:
            self.spare = nn.Linear(width, len(start["spare.bias"]))
        if "last.weight" not in start:
            self.last.weight = self.first.weight
        self.register_buffer("calls", torch.tensor(0), persistent=False)
        self.middle, self.after = middle, after
        self.to(start["last.bias"].dtype).load_state_dict(start, strict=False)

    def forward(self, x):
        self.calls.add_(1)
        function, factor, summand = self.after
        return function(self.last(self.norm(self.middle(self.first(x.flatten(1)))))) * factor + summand


def identity(logits):
    return logits


def probabilities(logits):
    return logits.softmax(1)


@probes.probe
def checked_setup(f, start, batch, middle, after, training, frozen, old, groups, copied):
    """What f(model, optimizer, x, y) returns, and the model and the optimizer afterward.

    training: the names of modules in training mode. frozen: names of parameters. old: .grad of some, by name. groups:
    the optimizer's groups, by name; a name that the model doesn't have is another parameter, and one in copied a copy
    in the same memory.
    """
    with torch.random.fork_rng(devices=[]):
        model = Suspect(start, middle, after)
    for name, module in model.named_modules():
        module.training = name in training
    own = dict(model.named_parameters())
    for name, p in own.items():
        p.requires_grad_(name not in frozen)
        p.grad = old[name].clone() if name in old else None
    others = {name: nn.Parameter(own.get(name, torch.ones(2)).detach()) for names in groups for name in names}
    held = [[others[name] if name in copied or name not in own else own[name] for name in names] for names in groups]
    optimizer = torch.optim.SGD([{"params": params} for params in held], lr=0.1, momentum=0.9)
    found = f(model, optimizer, *batch)
    return {
        "found": found,
        "state": probes.state_of(model) | {"calls": model.calls.clone()},
        "flags": [p.requires_grad for p in own.values()],
        "modes": [module.training for module in model.modules()],
        "gradients": probes.gradients_of(model),
        "optimizer": optimizer.state_dict(),
        "others": {name: p.detach() for name, p in others.items()},
    }


# %% exercise
def check_setup(model: nn.Module, optimizer: torch.optim.Optimizer, x: Tensor, y: Tensor) -> list[str]:
    """Return the names of the problems that one batch shows: each at most once, in the order below, or [] if none.

    The output is model(x), (n, c), with each module in its current mode. The loss is its mean cross entropy with y.
    Judge each problem by itself: one doesn't hide another.
    "loss": the loss isn't finite, or differs from log(c) by more than 1.
    "probabilities": the output has no negative number, and each of its rows sums to 1, within 1e-3.
    "optimizer": at least one parameter that requires grad isn't in any of the optimizer's groups.
    "graph": no recorded path leads from the loss to at least one parameter that requires grad: its gradient is None.
    "dead": at least one parameter that requires grad has a gradient from this loss, but it's all zeros.
    Afterward, the model, every .grad and the optimizer are as before.

    Details:
    - x (n, ...) is what the model takes, without requires_grad, and y (n,) int64, which needn't contain every class; n
      is at least 1, c at least 2. Neither is changed.
    - Don't worry about rounding: no loss or sum is that close to its limit. A sum may be nan, which isn't near 1.
    - All zeros means exactly 0, however small other gradients are. No parameter is empty.
    - A .grad from earlier work doesn't count, whatever it holds.
    - Frozen parameters are never a problem, whether the optimizer holds them or not.
    - A parameter that two modules share is one parameter. A copy of a parameter isn't that parameter, even if it's in
      the same memory.
    - The optimizer may have several groups, and may hold parameters of other models.
    - It may be that no path leads to any parameter ("graph"), or that none requires grad (no problem).
    - The model's buffers (persistent or not), modes and requires_grad are as before, too.
    """
    ### BEGIN SOLUTION
    trial = copy.deepcopy(model)  # a forward pass may change buffers
    logits = trial(x)
    loss = F.cross_entropy(logits, y)
    trained = [p for p in trial.parameters() if p.requires_grad]
    grads: tuple[Tensor | None, ...] = (None,) * len(trained)
    if loss.requires_grad:
        grads = torch.autograd.grad(loss, trained, allow_unused=True)
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    problems = {
        "loss": not abs(loss.item() - math.log(logits.shape[1])) <= 1,
        "probabilities": bool((logits >= 0).all() and ((logits.sum(1) - 1).abs() <= 1e-3).all()),
        "optimizer": any(p.requires_grad and id(p) not in held for p in model.parameters()),
        "graph": any(g is None for g in grads),
        "dead": any(g is not None and not g.any() for g in grads),
    }
    return [name for name, is_found in problems.items() if is_found]
    ### END SOLUTION


# %% promises
# Return the names -> example, alone, together
# The output is -> example, alone, loss, modes
# The loss is its -> example, alone, loss, modes
# Judge each -> example, alone, together
# "loss": the loss -> alone, loss
# "probabilities": the output -> example, alone, probabilities
# "optimizer": at least one -> example, alone, optimizer
# "graph": no recorded -> example, alone, graph
# "dead": at least one -> alone, dead
# Afterward, the model -> no_trace, keeps_model, keeps_grad, keeps_optimizer
# x (n, ...) is -> alone, loss
# Neither is changed -> keeps_batch
# Don't worry about -> loss, probabilities
# A sum may be nan -> probabilities
# All zeros means -> dead
# No parameter is empty -> dead
# A .grad from -> old_gradients
# Frozen parameters are -> frozen
# A parameter that two -> shared
# A copy of -> optimizer
# The optimizer may -> optimizer
# It may be -> graph, frozen
# The model's buffers -> keeps_model


# %% domain
@domain(
    reference,
    *("float32", "one sample", "two classes", "two dimensions in x"),
    *("loss", "probabilities", "optimizer", "a layer isn't used", "a part is detached", "dead", "all zeros"),
    *("loss, optimizer", "probabilities, a part is detached", "optimizer, dead", "a layer isn't used, dead"),
    *("probabilities, optimizer, a layer isn't used",),
    *("too low a loss", "just near enough", "just too far", "few of the classes", "nan in x", "infinite loss"),
    *("sums of one, some numbers negative", "sums other than one", "all but one row", "sums almost one", "sigmoid"),
    *("two sums that are one on average", "probabilities, nan in x"),
    *("two groups", "missing from both groups", "others in the optimizer", "others, optimizer"),
    *("copies in the optimizer", "a copy of one"),
    *("all of it is detached", "some units dead", "tiny gradients", "tiny gradients, float32"),
    *("frozen", "frozen, optimizer", "frozen, none in the optimizer", "frozen, a part is detached"),
    *("frozen, a layer isn't used", "frozen, dead", "all frozen"),
    *("one shared weight", "one shared weight, optimizer", "one shared weight, its other use detached"),
    *("normalized, training mode", "normalized, evaluation mode", "normalized, only that layer in training mode"),
    *("holds .grad", "holds NaN in .grad", "holds zeros in .grad", "holds .grad, a layer isn't used"),
    *("holds .grad, dead", "holds .grad, frozen"),
    call=checked_setup,
)
def arguments(draw, edge):
    parts = edge.split(", ")
    dtype, g = torch.float32 if "float32" in parts else torch.float64, draw.make_generator(here)
    inputs, width = draw(st.permutations([3, 4]))
    classes = {"two classes": 2, "few of the classes": 40}.get(edge, draw(st.integers(5, 7)))
    if "one shared weight" in parts:
        inputs = width = classes = 5
    n = 1 if edge == "one sample" else draw(st.integers(3, 6))

    def numbers(*shape):
        return torch.randn(shape, dtype=torch.float64, generator=g)

    x = numbers(n, inputs)
    y = torch.randint(2 if edge == "few of the classes" else classes - 1, (n,), generator=g)  # the last has no sample
    start = {"first.weight": numbers(width, inputs) / 2, "first.bias": numbers(width) / 2}
    start |= {"last.weight": numbers(classes, width) / 8, "last.bias": numbers(classes) / 8}
    middle, after, copied = torch.tanh, (identity, 1.0, torch.zeros(classes, dtype=torch.float64)), []
    if "a layer isn't used" in parts:
        start |= {"spare.weight": numbers(2, width), "spare.bias": numbers(2)}
    if "a part is detached" in parts or "its other use detached" in parts:
        middle = torch.detach
    if "one shared weight" in parts:
        del start["last.weight"]
        start["first.weight"] /= 4
    names = list(start)
    dead = ["first.weight", "first.bias", "last.weight"]
    if "dead" in parts or edge == "some units dead":
        middle, start["first.bias"] = torch.relu, torch.full_like(start["first.bias"], -50.0)
        if edge == "some units dead":
            start["first.bias"][draw(st.integers(0, 2))] = 20.0
    if edge == "all zeros":
        start = {name: t * 0 for name, t in start.items()}
    if "tiny gradients" in parts:  # so small that their squares are 0
        start["last.weight"] *= 1e-30 if "float32" in parts else 1e-200
    if edge.startswith("normalized"):
        start |= {"norm.weight": 1 + numbers(width).abs() / 4, "norm.bias": numbers(width) / 8}
        start |= {"norm.running_mean": numbers(width), "norm.running_var": torch.full_like(numbers(width), 1e-4)}
        names += ["norm.weight", "norm.bias"]
        worst = Suspect(start, middle, after).eval()(x)
        y = worst.argmin(1)
    if "loss" in parts:
        start["last.bias"][-1] = draw(st.integers(6, 9))
    if edge == "too low a loss":
        start["last.bias"][-1], y = draw(st.integers(6, 9)), torch.full_like(y, classes - 1)
    if edge.startswith("just"):
        low, high, target = 0.0, 9.0, math.log(classes) + draw(st.sampled_from([0.75, 0.8])) + 0.4 * ("far" in edge)
        for _ in range(20):
            start["last.bias"][-1] = (low + high) / 2
            loss = F.cross_entropy(Suspect(start, middle, after)(x), y).item()
            low, high = (low, (low + high) / 2) if loss > target else ((low + high) / 2, high)
    if "nan in x" in parts:
        x[0, 0] = float("nan")
    summand = torch.zeros(n, classes, dtype=torch.float64)
    if edge == "infinite loss":
        summand[0, y[0]] = -math.inf
    if edge == "sums of one, some numbers negative":
        summand[:, 0], summand[:, 1] = 2.0, -2.0
    if edge == "sums other than one":
        summand += 0.02 / classes
    if edge == "sums almost one":
        summand += 1e-4 / classes
    if edge == "all but one row":
        summand[draw(st.integers(0, n - 1))] += 0.5
    is_distribution = "probabilities" in parts or "sums" in edge or edge == "all but one row"
    function = probabilities if is_distribution else torch.sigmoid if edge == "sigmoid" else identity
    factor = torch.ones(n, 1, dtype=torch.float64)
    if edge == "two sums that are one on average":
        factor[1], factor[2] = 0.5, 1.5
    after = function, factor, summand
    if "all of it is detached" in parts:
        after = torch.detach, factor, summand
    groups = [list(names)]
    if "groups" in edge or draw(st.booleans()):
        groups = [names[::2], names[1::2]]
    missing = [name for name in names if name.startswith(draw(st.sampled_from(["first", "last"])))]
    if "one shared weight" in parts:
        missing = ["first.weight"]
    frozen = []
    if "frozen" in parts:
        frozen = draw(st.sampled_from([["first.weight", "last.bias"], ["first.bias", "first.weight"]]))
        frozen = {
            "frozen, none in the optimizer": frozen,
            "frozen, a part is detached": ["first.weight", "first.bias"],
            "frozen, a layer isn't used": ["spare.weight", "spare.bias"],
            "frozen, dead": dead,
        }.get(edge, frozen)
    if edge == "all frozen":
        frozen = list(names)
    if edge == "one shared weight, its other use detached":
        frozen = ["first.bias"]
    if edge == "frozen, optimizer":
        frozen, missing = ["last.bias"], ["last.weight", "last.bias"]
    if edge == "frozen, none in the optimizer":
        missing = frozen
    if "optimizer" in parts or "missing" in edge or "none in the optimizer" in parts:
        groups = [[name for name in group if name not in missing] for group in groups]
    if "others" in edge:
        groups.append(["another", "one more"])
    if edge == "copies in the optimizer":
        copied = list(names)
    if edge == "a copy of one":
        copied = [draw(st.sampled_from(names))]
    training = draw(st.sampled_from([["", "first", "last", "norm", "spare"], ["", "last"], ["first"], []]))
    training = {
        "normalized, training mode": ["", "first", "last", "norm"],
        "normalized, evaluation mode": [],
        "normalized, only that layer in training mode": ["norm"],
    }.get(edge, training)
    number = {"holds NaN in .grad": float("nan"), "holds zeros in .grad": 0.0}.get(edge, 0.7)
    old = {name: torch.full_like(start[name], number).to(dtype) for name in names} if "holds" in edge else {}
    x, start = x.to(dtype), {name: t.to(dtype) for name, t in start.items()}
    after = after[0], after[1].to(dtype), after[2].to(dtype)
    x = x.unsqueeze(2) if edge == "two dimensions in x" else x
    return start, (x, y), middle, after, training, frozen, old, groups, copied


# %% checks
with check(
    "example",
    "a sound network, and four with problems",
    weight=2,
    required=True,
    hint=(
        "Which of the five questions need a gradient, which the optimizer, and which only the output?",
        "torch.autograd.grad with allow_unused=True returns None for a parameter that no recorded path leads to. An "
        "optimizer's param_groups are dicts, and the key 'params' leads to the parameters themselves.",
    ),
):
    start = {"first.weight": (8, 4), "first.bias": (8,), "last.weight": (3, 8), "last.bias": (3,)}
    start = {name: t / 4 for name, t in drawn(start, 5).items()}
    (t,) = samples([6], 5)
    sound, tail = (identity, 1.0, torch.zeros(3)), (["first"], [], {})
    every, without_last = [list(start)], [["first.weight", "first.bias"]]
    zeros = {name: 0 * weight for name, weight in start.items()}
    got = {
        "sound": checked_setup(check_setup, start, t, torch.tanh, sound, *tail, every, []),
        "a softmax at the end": checked_setup(
            check_setup, start, t, torch.tanh, (probabilities, 1.0, torch.zeros(3)), *tail, every, []
        ),
        "last layer not in the optimizer": checked_setup(
            check_setup, start, t, torch.tanh, sound, *tail, without_last, []
        ),
        "all of this, and the first layer detached": checked_setup(
            check_setup, start, t, torch.detach, (probabilities, 1.0, torch.zeros(3)), *tail, without_last, []
        ),
        "weights of zero": checked_setup(check_setup, zeros, t, torch.tanh, sound, *tail, every, []),
    }
    want = {
        "sound": [],
        "a softmax at the end": ["probabilities"],
        "last layer not in the optimizer": ["optimizer"],
        "all of this, and the first layer detached": ["probabilities", "optimizer", "graph"],
        "weights of zero": ["dead"],
    }
    assert_close({text: report["found"] for text, report in got.items()}, want, name="the problems")
with check(
    "no_trace",
    "a model without gradients still has none afterward",
    guard=True,
    hint="Where does backward put the gradients? Is there a function that returns them instead?",
):
    t, start = samples([6], 6)[0], drawn({"first.weight": (5, 4), "first.bias": (5,)}, 6)
    start |= drawn({"last.weight": (3, 5), "last.bias": (3,)}, 7)
    got = checked_setup(
        check_setup, start, t, torch.tanh, (identity, 1.0, torch.zeros(3)), ["first"], [], {}, [list(start)], []
    )
    assert_close(got["gradients"], dict.fromkeys(start), name=".grad of each parameter")

# %% hidden checks


def assert_found(f, *edges):
    """The list of problems is that of the reference."""
    for trial in arguments.iter_trials(f, *edges):
        assert_close(trial.report.result["found"], trial.case.report.result["found"], name="the problems")


def assert_kept(f, part, *edges):
    """This part is, afterward, as after the reference."""
    for trial in arguments.iter_trials(f, *edges):
        got, want = trial.report.result[part], trial.case.report.result[part]
        assert_close(got, want, rtol=0, atol=0, name="what is there afterward")


with check(
    "alone",
    "each problem alone, and none",
    weight=4,
    required=True,
    hint="Which of the problems is missing, or found where there is none?",
):
    assert_found(check_setup, "", "float32", "one sample", "two dimensions in x", "loss", "probabilities", "optimizer")
    assert_found(check_setup, "a layer isn't used", "a part is detached", "dead", "all zeros")
with check("together", "several problems, in order", weight=2, hint="Does one problem keep you from finding another?"):
    assert_found(check_setup, "loss, optimizer", "probabilities, a part is detached", "optimizer, dead")
    assert_found(check_setup, "a layer isn't used, dead", "probabilities, optimizer, a layer isn't used")
with check(
    "loss",
    "losses that are too high, too low, or not finite",
    weight=3,
    hint=(
        "What is abs(nan - 2) > 1? Where does the number of classes come from?",
        "The number of classes is the number of columns of the output. Ask whether the loss is near, and negate that.",
    ),
):
    assert_found(check_setup, "too low a loss", "just near enough", "just too far", "nan in x", "infinite loss")
    assert_found(check_setup, "few of the classes", "two classes")
with check("modes", "each module in its current mode", weight=2, hint="Do you switch modes before you measure?"):
    assert_found(check_setup, "normalized, training mode", "normalized, evaluation mode")
    assert_found(check_setup, "normalized, only that layer in training mode")
with check(
    "probabilities",
    "outputs that only look like probabilities",
    weight=2,
    hint="Must all rows have both properties, or does one row with one of them do?",
):
    assert_found(check_setup, "sums of one, some numbers negative", "sums other than one", "all but one row")
    assert_found(check_setup, "sums almost one", "sigmoid", "two sums that are one on average")
    assert_found(check_setup, "probabilities, nan in x")
with check(
    "optimizer",
    "several groups, copies, and parameters of other models",
    weight=3,
    hint="Do you look into every group? How do you tell a parameter from a copy with the same numbers?",
):
    assert_found(check_setup, "two groups", "missing from both groups", "others in the optimizer")
    assert_found(check_setup, "others, optimizer", "copies in the optimizer", "a copy of one")
with check(
    "graph",
    "a loss with no recorded path to any parameter",
    weight=2,
    hint="What does backward do with a loss that doesn't require grad?",
):
    assert_found(check_setup, "all of it is detached")
with check(
    "dead",
    "gradients that are small, or partly zero",
    weight=2,
    hint="Is a gradient of 1e-30 zero, or is its square? Is one whose numbers add up to zero?",
):
    assert_found(check_setup, "some units dead", "tiny gradients", "tiny gradients, float32")
with check(
    "old_gradients", "gradients from earlier work", weight=2, hint="What was in .grad before your own backward pass?"
):
    assert_found(check_setup, "holds .grad", "holds NaN in .grad", "holds zeros in .grad", "holds .grad, dead")
    assert_found(check_setup, "holds .grad, a layer isn't used", "holds .grad, frozen")
with check("frozen", "frozen parameters", weight=2, hint="Which parameters do you ask about at all?"):
    assert_found(check_setup, "frozen", "frozen, optimizer", "frozen, none in the optimizer")
    assert_found(check_setup, "frozen, a part is detached", "frozen, a layer isn't used", "frozen, dead", "all frozen")
with check("shared", "a weight that two layers share", hint="Through how many layers does the loss depend on it?"):
    assert_found(check_setup, "one shared weight", "one shared weight, optimizer")
    assert_found(check_setup, "one shared weight, its other use detached")
with check(
    "keeps_model",
    "parameters, buffers, modes and requires_grad are as before",
    weight=2,
    guard=True,
    hint="Which layer changes a buffer in its forward pass?",
):
    edges = (
        "",
        "frozen",
        "one shared weight",
        "normalized, training mode",
        "normalized, only that layer in training mode",
    )
    for part in ("state", "flags", "modes"):
        assert_kept(check_setup, part, *edges)
with check("keeps_grad", "every .grad is as before", guard=True, hint="What did .grad hold, and is it there again?"):
    assert_kept(check_setup, "gradients", "", "holds .grad", "holds NaN in .grad", "holds .grad, frozen", "frozen")
with check("keeps_optimizer", "the optimizer is as before", guard=True, hint="Did you take a step?"):
    assert_kept(check_setup, "optimizer", "", "holds .grad", "two groups", "others in the optimizer")
    assert_kept(check_setup, "others", "", "others in the optimizer", "copies in the optimizer")
with check("keeps_batch", "the batch isn't changed", guard=True):
    arguments.assert_arguments(check_setup)


# %% right "backward, with .grad and the buffers put back"
def check_setup(model, optimizer, x, y):
    params = [p for p in model.parameters()]
    old = [p.grad for p in params]
    buffers = [b.clone() for b in model.buffers()]
    for p in params:
        p.grad = None
    out = model(x)
    loss = nn.CrossEntropyLoss()(out, y)
    if loss.requires_grad:
        loss.backward()
    found = []
    if not torch.isfinite(loss) or abs(loss.item() - math.log(out.size(1))) > 1:
        found.append("loss")
    if out.min() >= 0 and (out.sum(dim=-1) - 1).abs().max() < 1e-3:
        found.append("probabilities")
    known = set()
    for group in optimizer.param_groups:
        known.update(group["params"])
    trained = [p for p in params if p.requires_grad]
    if not known.issuperset(trained):
        found.append("optimizer")
    if any(p.grad is None for p in trained):
        found.append("graph")
    if any(p.grad is not None and torch.count_nonzero(p.grad) == 0 for p in trained):
        found.append("dead")
    for p, grad in zip(params, old):
        p.grad = grad
    with torch.no_grad():
        for b, earlier in zip(model.buffers(), buffers):
            b.copy_(earlier)
    return found


# %% right "functional_call with copies of all parameters and buffers"
def check_setup(model, optimizer, x, y):
    named = {name: p.detach().clone().requires_grad_(p.requires_grad) for name, p in model.named_parameters()}
    buffers = {name: b.clone() for name, b in model.named_buffers()}
    out = torch.func.functional_call(model, (named, buffers), (x,))
    loss = F.nll_loss(out.log_softmax(1), y)
    grads = {}
    leaves = {name: p for name, p in named.items() if p.requires_grad}
    if loss.grad_fn is not None:
        grads = dict(zip(leaves, torch.autograd.grad(loss, list(leaves.values()), allow_unused=True)))
    in_groups = [p for group in optimizer.param_groups for p in group["params"]]
    is_near = math.log(out.shape[-1]) - 1 <= loss.item() <= math.log(out.shape[-1]) + 1
    sums = out.double().sum(1)
    tests = [
        ("loss", not is_near),
        ("probabilities", bool((out >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), rtol=0, atol=1e-3)),
        ("optimizer", any(all(p is not q for q in in_groups) for p in model.parameters() if p.requires_grad)),
        ("graph", any(grads.get(name) is None for name in leaves)),
        ("dead", any(g is not None and bool((g == 0).all()) for g in grads.values())),
    ]
    return [text for text, is_so in tests if is_so]


# %% wrong "backward, which leaves its gradients behind" fails=no_trace,keeps_grad
def check_setup(model, optimizer, x, y):
    for p in model.parameters():
        p.grad = None
    buffers = copy.deepcopy(list(model.buffers()))
    logits = model(x)
    loss = F.cross_entropy(logits, y)
    if loss.requires_grad:
        loss.backward()
    with torch.no_grad():
        for b, earlier in zip(model.buffers(), buffers):
            b.copy_(earlier)
    trained = [p for p in model.parameters() if p.requires_grad]
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    found = [] if abs(loss.item() - math.log(logits.shape[1])) <= 1 else ["loss"]
    if (logits >= 0).all() and ((logits.sum(1) - 1).abs() <= 1e-3).all():
        found.append("probabilities")
    if any(id(p) not in held for p in trained):
        found.append("optimizer")
    if any(p.grad is None for p in trained):
        found.append("graph")
    if any(p.grad is not None and not p.grad.any() for p in trained):
        found.append("dead")
    return found


# %% wrong "sums of one are enough" fails=probabilities
def check_setup(model, optimizer, x, y):
    trial = copy.deepcopy(model)
    logits = trial(x)
    loss = F.cross_entropy(logits, y)
    trained = [p for p in trial.parameters() if p.requires_grad]
    grads = (None,) * len(trained)
    if loss.requires_grad:
        grads = torch.autograd.grad(loss, trained, allow_unused=True)
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    problems = {
        "loss": not abs(loss.item() - math.log(logits.shape[1])) <= 1,
        "probabilities": bool(((logits.sum(1) - 1).abs() <= 1e-3).all()),
        "optimizer": any(p.requires_grad and id(p) not in held for p in model.parameters()),
        "graph": any(g is None for g in grads),
        "dead": any(g is not None and not g.any() for g in grads),
    }
    return [name for name, is_found in problems.items() if is_found]


# %% wrong "on the model itself, whose averages move" fails=keeps_model
def check_setup(model, optimizer, x, y):
    trial = model
    logits = trial(x)
    loss = F.cross_entropy(logits, y)
    trained = [p for p in trial.parameters() if p.requires_grad]
    grads = (None,) * len(trained)
    if loss.requires_grad:
        grads = torch.autograd.grad(loss, trained, allow_unused=True)
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    problems = {
        "loss": not abs(loss.item() - math.log(logits.shape[1])) <= 1,
        "probabilities": bool((logits >= 0).all() and ((logits.sum(1) - 1).abs() <= 1e-3).all()),
        "optimizer": any(p.requires_grad and id(p) not in held for p in model.parameters()),
        "graph": any(g is None for g in grads),
        "dead": any(g is not None and not g.any() for g in grads),
    }
    return [name for name, is_found in problems.items() if is_found]


# %% wrong "the batch normalized in place" fails=keeps_batch
def check_setup(model, optimizer, x, y):
    trial = copy.deepcopy(model)
    logits = trial(x)
    loss = F.cross_entropy(logits, y)
    trained = [p for p in trial.parameters() if p.requires_grad]
    grads = (None,) * len(trained)
    if loss.requires_grad:
        grads = torch.autograd.grad(loss, trained, allow_unused=True)
    held = {id(p) for group in optimizer.param_groups for p in group["params"]}
    problems = {
        "loss": not abs(loss.item() - math.log(logits.shape[1])) <= 1,
        "probabilities": bool((logits >= 0).all() and ((logits.sum(1) - 1).abs() <= 1e-3).all()),
        "optimizer": any(p.requires_grad and id(p) not in held for p in model.parameters()),
        "graph": any(g is None for g in grads),
        "dead": any(g is not None and not g.any() for g in grads),
    }
    x /= 2
    return [name for name, is_found in problems.items() if is_found]
