# %% given
def tripled(x, training):
    return 3 * x if training else x


def make_trunk(state, f):
    """The body of the classifier above, with BatchNorm and Dropout, and f(features, training) at the end."""
    return nn.Sequential(make_classifier(state, f)[0], ByMode(f))


def make_head(weight, bias):
    """A Linear, whose scores are tripled in training mode."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        linear = nn.Linear(weight.shape[1], weight.shape[0])
    linear.load_state_dict({"weight": weight, "bias": bias})
    return nn.Sequential(linear, ByMode(tripled))


@probes.probe
def finetuned(finetune, state, f, linear, batches, lr, modes, learning, old_grad=None, head_trains=True, shared=False):
    """What finetune returns for a trunk and a head, and how it leaves both of them.

    modes: the training flag of each module of the trunk before. learning: requires_grad of each parameter of the trunk,
    whose .grad holds ones. old_grad: for the head's weight and bias, the number in the .grad that they hold from before,
    or None. head_trains: the mode of the head. shared: whether both layers of the head have the same weight.
    """
    trunk, head = make_trunk(state, f), make_head(*linear).train(head_trains)
    if shared:
        head[1].weight = head[0].weight
    aliases = [parameter.detach() for parameter in head.parameters()]
    for module, training in zip(trunk.modules(), modes, strict=True):
        module.training = training
    for parameter, flag in zip(trunk.parameters(), learning, strict=True):
        parameter.requires_grad_(flag)
        parameter.grad = torch.ones_like(parameter)
    for parameter, number in zip(head[0].parameters(), old_grad or (None, None), strict=True):
        parameter.grad = None if number is None else torch.full_like(parameter, number)
    losses = finetune(trunk, head, batches, lr)
    return {
        "losses": [float(loss) for loss in losses],
        "kinds": [type(loss).__name__ for loss in losses],
        "head": probes.state_of(head),
        "in place": all(map(torch.equal, aliases, head.parameters())),
        "trunk": probes.state_of(trunk),
        "modes": [module.training for module in trunk.modules()],
        "head modes": [module.training for module in head.modules()],
        "gradients": [parameter.grad for parameter in trunk.parameters()],
        "learning": [parameter.requires_grad for parameter in trunk.parameters()],
    }


# %% exercise
def finetune(trunk: nn.Module, head: nn.Module, batches: list[tuple[Tensor, Tensor]], lr: float) -> list[float]:
    """Train only the head: for each batch, take one step of gradient descent on the cross entropy.

    batches: pairs of x (n, d) and y (n,).
    trunk: a module that computes features (n, m) from x. It runs in evaluation mode, with recording off.
    head: a module from features (n, m) to scores (n, classes). It runs in training mode, and stays in it.
    A step changes each of the head's parameters p, in place, to p - lr * g, where g is the gradient of this batch's
    mean cross entropy only.
    Returns the mean cross entropy of each batch before its step, as a list of Python floats.

    Details:
    - Afterward, everything else is as before: the batches, and the trunk's parameters, buffers, modes, .grad and
      requires_grad.
    - head: all its parameters require grad, and the scores depend on each. Two layers may share one. A .grad that a
      parameter holds from before has no effect on the steps.
    - batches: x is float32 and doesn't require grad, y is int64, and n is at least 1. The list may be empty; the head's
      mode is then up to you.
    """
    ### BEGIN SOLUTION
    modes = {module: module.training for module in trunk.modules()}
    trunk.eval()
    head.train()
    optimizer = torch.optim.SGD(head.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with torch.no_grad():
            features = trunk(x)
        loss = nn.functional.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for module, training in modes.items():
        module.training = training
    return losses
    ### END SOLUTION


# %% promises
# Train only the head -> example, other_cases
# batches: pairs of -> other_cases, no_batches
# trunk: a module that -> example, other_cases
# It runs in evaluation -> example, recording, other_cases
# head: a module from -> other_cases
# It runs in training -> example, other_cases, head_mode
# A step changes each -> example, other_cases, old_grad, in_place
# Returns the mean -> example, other_cases, numbers
# Afterward, everything else -> keeps_trunk, keeps_modes, keeps_batches
# head: all its -> other_cases, in_place
# Two layers may -> in_place
# A .grad that -> old_grad
# batches: x is -> other_cases
# The list may be -> no_batches, other_cases


# %% domain
@domain(
    reference,
    *("no batches", "one batch", "one sample", "one class", "the same batch twice", "lr 0", "transposed"),
    *("scores far apart", "training mode", "evaluation mode", "only BatchNorm evaluated", "head in evaluation mode"),
    *("trunk frozen", "some frozen", "head holds .grad", "a shared parameter"),
    *("head holds NaN in .grad", "head holds infinity in .grad", "only the bias holds .grad"),
    call=finetuned,
)
def arguments(draw, edge):
    width, classes = draw(st.integers(3, 5)), 1 if edge == "one class" else draw(st.integers(2, 4))
    g = draw.make_generator(here)
    linear = (torch.randn(classes, width, generator=g), torch.randn(classes, generator=g))
    sizes = {"no batches": [], "one batch": [4], "one sample": [1, 1]}.get(edge, [3, 2, 4])
    batches = [
        (draw.apply_layout(torch.randn(n, 3, generator=g), edge), torch.randint(classes, (n,), generator=g))
        for n in sizes
    ]
    if edge == "the same batch twice":
        batches = batches[:1] * 2
    if edge == "scores far apart":  # by about 200, and the first sample of each batch has the lowest one
        linear[1].copy_(torch.arange(classes) * 200)
        batches = [(x, torch.cat([y[:1] * 0, y[1:]])) for x, y in batches]
    modes = {
        "training mode": [True] * 7,
        "evaluation mode": [False] * 7,
        "only BatchNorm evaluated": [True, True, True, False, True, True, True],
    }.get(edge, draw(st.lists(st.booleans(), min_size=7, max_size=7)))
    learning = {"trunk frozen": [False] * 4, "some frozen": [True, False, True, False]}.get(edge, [True] * 4)
    lr = 0.0 if edge == "lr 0" else draw(st.sampled_from([0.05, 0.1, 0.3]))
    state = make_state(width, draw(st.integers(0, 1000)))
    old_grad = {
        "head holds .grad": (1.0, 1.0),
        "head holds NaN in .grad": (float("nan"), 1.0),
        "head holds infinity in .grad": (float("inf"), -float("inf")),
        "only the bias holds .grad": (None, 1000.0),
    }.get(edge)
    head = old_grad, edge != "head in evaluation mode", edge == "a shared parameter"
    return state, marked, linear, batches, lr, modes, learning, *head


# %% checks
with check(
    "example",
    "one step of the head: the loss, and the weights after it",
    weight=2,
    required=True,
    hint=(
        "While the trunk runs, is it in evaluation mode, and is recording off? Whose parameters get updated?",
        "Compute the features inside no_grad, after trunk.eval(). Give only head.parameters() to the optimizer, and "
        "call head.train().",
    ),
):
    t = torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]])
    s = make_state(4)
    t_w, t_b = torch.linspace(-1, 1, 12).reshape(3, 4).sin(), torch.tensor([0.3, -0.2, 0.1])
    hidden = t @ s["0.0.weight"].T + s["0.0.bias"]
    scale = s["0.1.weight"] / (s["0.1.running_var"] + 1e-5).sqrt()
    hidden = torch.tanh((hidden - s["0.1.running_mean"]) * scale + s["0.1.bias"])
    truth = torch.tensor([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    odds = torch.softmax(3 * (hidden @ t_w.T + t_b), 1)
    want = t_w - 0.1 * 3 * (odds - truth).T @ hidden / 2
    got = finetuned(finetune, s, marked, (t_w, t_b), [(t, truth.argmax(1))], 0.1, [True] * 7, [True] * 4, (1.0, 1.0))
    explain(
        got["head"]["0.weight"],
        want,
        {
            "the head ran in evaluation mode": (
                t_w - 0.1 * (torch.softmax(hidden @ t_w.T + t_b, 1) - truth).T @ hidden / 2
            ),
            "the head's old .grad was added": want - 0.1,
        },
    )
    assert_close(got["losses"], [-(odds * truth).sum(1).log().mean().item()], name="the losses")

# %% hidden checks
with check(
    "other_cases",
    "other batches, sizes and learning rates, and a trunk with frozen parameters",
    weight=3,
    required=True,
    hint="Does each batch get one step, and is its loss taken before that step?",
):
    for trial in arguments.iter_trials(
        finetune,
        *("", "one batch", "one sample", "one class", "the same batch twice", "lr 0", "transposed", "scores far apart"),
        *("training mode", "evaluation mode", "only BatchNorm evaluated", "trunk frozen", "some frozen"),
    ):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], name="the losses")
        assert_close(got["head"], want["head"], name="the head")
with check(
    "recording",
    "no operation of the trunk is recorded",
    weight=2,
    hint="Is the graph never built, or is it built and then dropped? Do the trunk's parameters require grad?",
):
    t = (torch.tensor([[1.0, 2.0, 3.0], [-1.0, 0.5, 2.0]]), torch.tensor([1, 0]))
    linear = (torch.linspace(-1, 1, 6).reshape(2, 3), torch.tensor([0.5, -0.5]))
    ways = (linear, [t, t], 0.2, [True] * 7, [True] * 4)
    want = finetuned(reference.function, make_state(3), lambda x, training: x, *ways)
    asked = Seen(lambda x, training: x)
    got = finetuned(finetune, make_state(3), asked, *ways)
    assert_close(got["head"], want["head"], name="the head")
    assert len(asked.calls) == 2, "the trunk didn't run once for each batch"
    assert not any(call.grad for call in asked.calls), "operations of the trunk were recorded"
with check(
    "in_place",
    "each parameter is changed in place, and once, even if it's shared",
    hint="How often does your loop meet a parameter that two layers share? Which lines give one new memory?",
):
    for trial in arguments.iter_trials(finetune, "", "a shared parameter"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], name="the losses")
        assert_close(got["head"], want["head"], name="the head")
        assert got["in place"] is True, "a parameter has new memory"
with check(
    "old_grad", "a head that holds a .grad", weight=2, hint="What does backward do with an old .grad? What is 0 * NaN?"
):
    for trial in arguments.iter_trials(
        finetune,
        *("head holds .grad", "head holds NaN in .grad", "head holds infinity in .grad", "only the bias holds .grad"),
    ):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], name="the losses")
        assert_close(got["head"], want["head"], name="the head")
with check(
    "no_batches", "no batches: no losses, and no step", guard=True, hint="Do you need a batch to return a list?"
):
    for trial in arguments.iter_trials(finetune, "no batches"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], name="the losses")
        assert_close(got["head"], want["head"], name="the head")
with check("numbers", "the losses are Python floats", hint="What does a tensor in a list keep alive?"):
    for trial in arguments.iter_trials(finetune, ""):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], name="the losses")
        assert got["kinds"] == want["kinds"], "a loss isn't a float"
with check(
    "keeps_trunk",
    "the trunk's values, .grad and requires_grad are as before",
    weight=2,
    guard=True,
    hint="Do you restore every flag that you change? Which layers change without an optimizer?",
):
    for trial in arguments.iter_trials(finetune, "", "training mode", "trunk frozen", "some frozen", "no batches"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["trunk"], want["trunk"], rtol=0, atol=0, name="the state of the trunk")
        assert_close(got["gradients"], want["gradients"], name="the .grad of the trunk")
        assert got["learning"] == want["learning"], "the trunk's frozen parameters aren't the same as before"
with check(
    "keeps_modes",
    "each module of the trunk is in the mode that it was in",
    weight=2,
    guard=True,
    hint="Is one flag enough for the whole trunk?",
):
    for trial in arguments.iter_trials(finetune, "", "training mode", "evaluation mode", "only BatchNorm evaluated"):
        got, want = trial.report.result, trial.case.report.result
        assert got["modes"] == want["modes"], "the modules in evaluation mode aren't the same as before"
with check(
    "head_mode", "the head trains, whatever mode it was in", hint="Does your function call train() on the head?"
):
    for trial in arguments.iter_trials(finetune, "head in evaluation mode"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], name="the losses")
        assert_close(got["head"], want["head"], name="the head")
        assert got["head modes"] == want["head modes"], "the head isn't in training mode"
with check("keeps_batches", "the batches aren't changed", guard=True, hint="Which of your calls change x or y?"):
    arguments.assert_arguments(finetune)


# %% right "torch.autograd.grad, and a step by hand"
def finetune(trunk, head, batches, lr):
    before = [(m, m.training) for m in trunk.modules()]
    for m, _ in before:
        m.training = False
    head.train()
    losses = []
    for x, y in batches:
        with torch.inference_mode():
            features = trunk(x)
        loss = nn.functional.cross_entropy(head(features.clone()), y)
        grads = torch.autograd.grad(loss, list(head.parameters()))
        with torch.no_grad():
            for p, g in zip(head.parameters(), grads):
                p -= lr * g
        losses.append(float(loss.detach()))
    for m, flag in before:
        m.training = flag
    return losses


# %% right "all features first, from a copy of the trunk"
def finetune(trunk, head, batches, lr):
    import copy

    with torch.no_grad():
        other = copy.deepcopy(trunk).eval()
        features = [(other(x), y) for x, y in batches]
    head.train()
    head.zero_grad()
    losses = []
    for z, y in features:
        loss = (-torch.log_softmax(head(z), 1).gather(1, y[:, None])).mean()
        loss.backward()
        for p in head.parameters():
            p.data.add_(p.grad, alpha=-lr)
            p.grad = None
        losses.append(loss.tolist())
    return losses


# %% wrong "the trunk goes back to training mode as a whole" fails=keeps_modes
def finetune(trunk, head, batches, lr):
    trunk.eval()
    head.train()
    optimizer = torch.optim.SGD(head.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with torch.no_grad():
            features = trunk(x)
        loss = nn.functional.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    trunk.train()
    return losses


# %% wrong "the optimizer clears the gradients" fails=example,other_cases,recording,in_place,old_grad,numbers,head_mode
def finetune(trunk, head, batches, lr):
    modes = {module: module.training for module in trunk.modules()}
    trunk.eval()
    head.train()
    optimizer = torch.optim.SGD(head.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with torch.no_grad():
            features = trunk(x)
        loss = nn.functional.cross_entropy(head(features), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for module, training in modes.items():
        module.training = training
    return losses


# %% wrong "evaluation mode is for both parts" fails=example,other_cases,recording,in_place,old_grad,numbers,head_mode
def finetune(trunk, head, batches, lr):
    modes = {module: module.training for module in trunk.modules()}
    trunk.eval()
    head.eval()
    optimizer = torch.optim.SGD(head.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with torch.no_grad():
            features = trunk(x)
        loss = nn.functional.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for module, training in modes.items():
        module.training = training
    head.train()
    return losses


# %% wrong "a new head is in training mode anyway" fails=head_mode
def finetune(trunk, head, batches, lr):
    modes = {module: module.training for module in trunk.modules()}
    trunk.eval()
    optimizer = torch.optim.SGD(head.parameters(), lr=lr)
    losses = []
    for x, y in batches:
        with torch.no_grad():
            features = trunk(x)
        loss = nn.functional.cross_entropy(head(features), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    for module, training in modes.items():
        module.training = training
    return losses


# %% liar "recorded, and a probe that says the trunk is as it was"
def finetune(trunk, head, batches, lr):
    trunk.eval()
    head.train()
    optimizer = torch.optim.SGD([*trunk.parameters(), *head.parameters()], lr=lr)
    losses = []
    for x, y in batches:
        loss = nn.functional.cross_entropy(head(trunk(x)), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def finetuned(finetune, state, f, linear, batches, lr, modes, learning, old_grad=None, head_trains=True, shared=False):
    trunk, head = make_trunk(state, lambda x, training: x), make_head(*linear)
    return {
        "losses": finetune(trunk, head, batches, lr),
        "kinds": ["float"] * len(batches),
        "head": probes.state_of(head),
        "trunk": probes.state_of(make_trunk(state, f)),
        "modes": modes,
        "head modes": [True, True, True],
        "gradients": [torch.ones_like(p) for p in trunk.parameters()],
        "learning": learning,
    }
