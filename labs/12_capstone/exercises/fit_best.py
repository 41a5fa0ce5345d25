# %% given
torch.manual_seed(0)


def fitted(width):
    """The shapes of the weights of fitted_net."""
    linear = {"1.weight": (width, 4), "1.bias": (width,), "4.weight": (3, width), "4.bias": (3,)}
    return linear | {"2.weight": (width,), "2.bias": (width,), "2.running_mean": (width,)}


def fitted_net(start, first, pace=0.1):
    """4 to width to 3, with these weights; without those of the batch normalization, there's none.

    first: the first layer, as for Called. pace: of the running averages.
    """
    width = len(start["1.bias"])
    norm = nn.BatchNorm1d(width, momentum=pace) if "2.weight" in start else nn.Identity()
    net = nn.Sequential(Called(first), nn.Linear(4, width), norm, nn.Tanh(), nn.Linear(width, 3))
    net.load_state_dict(start, strict=False)
    return net


@probes.probe
def fit_run(fit, start, first, batches, held_out, lr, epochs, decay=0.5, momentum=0.0, pace=0.1, frozen=()):
    """The losses that fit returns, and what it leaves behind: the state, the modes and the rate.

    later: the state after one more step of the optimizer, in evaluation mode. frozen: the names of frozen parameters.
    """
    model = fitted_net(start, first, pace)
    for name, parameter in model.named_parameters():
        parameter.grad = torch.full_like(parameter, 2.0)  # left by earlier code
        parameter.requires_grad_(name not in frozen)
    sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1, decay)
    seen = {"losses": fit(model, batches, held_out, sgd, scheduler, epochs), "rate": sgd.param_groups[0]["lr"]}
    seen |= {"state": probes.state_of(model), "modes": [module.training for module in model.modules()]}
    with torch.enable_grad():
        sgd.zero_grad()
        model.eval()(torch.ones(2, 4)).square().sum().backward()
        sgd.step()
    return seen | {"later": probes.state_of(model)}


# %% exercise
def fit_best(
    model: nn.Module,
    batches: list,
    held_out: list,
    optimizer: torch.optim.Optimizer,
    scheduler: torch.optim.lr_scheduler.LRScheduler,
    epochs: int,
) -> list[float]:
    """Train for some epochs, and go back to the best one.

    An epoch: in training mode, one optimizer step for each batch, on the mean cross entropy of its samples; then one
    scheduler step; then, in evaluation mode and without a graph, the mean cross entropy over all held-out samples.
    Gradients from before do not count, not even those of frozen parameters.
    Afterward, the model's state_dict is that of the epoch with the lowest mean over the held-out samples, or the first
    of equal ones. Returns these means, one Python float for each epoch.

    Details:
    - batches, held_out: lists of at least one pair x, y (n,) int64; n >= 1 may differ. They are not changed.
    - epochs: at least 1.
    - optimizer: has all of the model's parameters, is new, and has no weight decay.
    - You may assume that the means over the held-out samples are finite.
    - Afterward, the model is in evaluation mode, its parameters are still the optimizer's, and PyTorch's grad mode is
      on, as before.
    """
    ### BEGIN SOLUTION
    best: dict[str, Tensor] = {}
    best_loss, losses = math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if not best or losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses
    ### END SOLUTION


# %% promises
# Train for some epochs -> example, losses, best_model
# An epoch: -> example, losses, no_graph, evaluation_mode
# Gradients from before -> example, losses, frozen
# Afterward, the model's state_dict -> best_model, equal_loss
# Returns these means -> losses, mean_over_samples
# batches, held_out: -> losses, mean_over_samples, best_model
# They are not -> keeps_lists
# epochs: at least 1 -> losses, equal_loss
# optimizer: has all -> losses, frozen, optimizer
# You may assume -> losses, best_model
# Afterward, the model is in evaluation mode -> evaluation_mode, optimizer, no_graph


# %% domain
@domain(
    reference,
    *("one epoch", "one batch", "momentum", "large losses", "uneven held-out batches", "frozen", "recording shows"),
    "batches of one sample",
    *(
        "the first is best",
        "one between is best",
        "the last is best",
        "all are equal",
        "the last are equal",
        "hardly better",
    ),
    call=fit_run,
)
def arguments(draw, edge):
    g, width = draw.make_generator(), draw(st.integers(4, 6))
    start = {name: torch.randn(shape, generator=g) / 2 for name, shape in fitted(width).items()}
    start["4.bias"][draw(st.integers(0, 2))] += 1000 if edge == "large losses" else 0

    def draw_batches(sizes):
        return [(torch.randn(n, 4, generator=g), torch.randint(0, 3, (n,), generator=g)) for n in sizes]

    batches = draw_batches([5] if edge == "one batch" else draw(st.permutations([2, 3, 6]))[:2])
    if edge == "batches of one sample":  # without batch normalization, which can't train with them
        start, batches = {name: t for name, t in start.items() if name[0] != "2"}, draw_batches([1, 4, 1])
    same = draw(st.integers(1, 5))
    held_out = draw_batches([1, 6, 2] if edge == "uneven held-out batches" else [same, same])
    if "best" in edge:
        held_out = [(x.clone(), y.clone() if "last" in edge else (y + 1) % 3) for x, y in batches]
    lr, decay, momentum = draw(st.sampled_from([(0.2, 0.5), (0.1, 0.9), (0.3, 0.7)])) + (0.0,)
    lr, decay = {"the last is best": (0.1, 1.0), "one between is best": (0.5, -3.0)}.get(edge, (lr, decay))
    lr, decay = {"all are equal": (0.0, 1.0), "the last are equal": (0.3, 0.0)}.get(edge, (lr, decay))
    epochs = {"one epoch": 1, "one between is best": 3}.get(edge, draw(st.integers(2, 3)))
    if edge == "hardly better":  # the second epoch, by less than a ten-thousandth: a step forward or backward gives it
        epochs = 2
        for lr, decay in [(a, b) for a in (1e-2, 3e-3, 1e-3, 3e-4, 1e-4) for b in (1.0, -1.0)]:
            made = fit_run(reference.function, start, doubled, batches, held_out, lr, 2, decay, pace=0.0)["losses"]
            if 2e-6 < 1 - made[1] / made[0] < 5e-5:
                break
    momentum, pace = (
        0.8 if edge == "momentum" else 0.0,
        0.0 if "equal" in edge or "hardly" in edge else draw(st.sampled_from([0.1, 0.4])),
    )
    frozen = draw(st.sampled_from([["1.weight"], ["4.bias", "2.weight"]])) if edge == "frozen" else []
    first = by_recording if edge == "recording shows" else doubled
    return start, first, batches, held_out, lr, epochs, decay, momentum, pace, frozen


# %% checks
with check(
    "example",
    "one epoch of two equal batches: the loss and the model",
    weight=2,
    required=True,
    hint=(
        "Is it the loss or the model? What is in .grad before the first step, and how often does the scheduler step?",
        "An epoch: train(), all batches, a scheduler step, eval(), the held-out mean. Which line clears .grad?",
    ),
):
    t, held = samples([4, 4], 0), samples([6], 100)
    start = drawn(fitted(5), 0)
    net = fitted_net(start, doubled)
    want = probes.trained(net, t, loss=F.cross_entropy, lr=0.1)["state"]
    loss = F.cross_entropy(net.eval()(held[0][0]), held[0][1]).item()
    case = (start, doubled, t, held, 0.1, 1)
    got = fit_run(fit_best, *case)
    assert_close(got["losses"], [loss])
    assert_close(got["state"], want, name="the model")

# %% hidden checks


def fit_last(model, batches, held_out, optimizer, scheduler, epochs):
    """Ends with the model of the last epoch."""
    return [reference.function(model, batches, held_out, optimizer, scheduler, 1)[0] for _ in range(epochs)]


def assert_fits(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], rtol=1e-3, atol=1e-4, name="the losses")
        assert_close(got["state"], want["state"], rtol=1e-3, atol=1e-4, name="the model")


with check(
    "losses",
    "the losses of several epochs",
    weight=4,
    required=True,
    hint="Which mode does the second epoch train in? When does the scheduler step, and what's in .grad?",
):
    edges = ("", "one epoch", "one batch", "batches of one sample", "momentum", "large losses")
    for trial in arguments.iter_trials(fit_best, *edges):
        assert_close(trial.report.result["losses"], trial.case.report.result["losses"], rtol=1e-4, atol=1e-5)
with check(
    "mean_over_samples",
    "each held-out sample counts the same",
    weight=2,
    hint="How much does a batch of one sample count?",
):
    for trial in arguments.iter_trials(fit_best, "uneven held-out batches"):
        start, first, batches, held, *rest = trial.case.drawn.make_arguments()
        each = [fit_run(reference.function, start, first, batches, [one], *rest)["losses"] for one in held]
        wrong = torch.tensor(each).mean(0).tolist()
        got, want = trial.report.result["losses"], trial.case.report.result["losses"]
        explain(got, want, {"each batch counts the same here, whatever its size": wrong}, rtol=1e-4, atol=1e-5)
with check(
    "best_model", "the model of the best epoch, with its buffers", weight=4, hint="What does state_dict() return?"
):
    for trial in arguments.iter_trials(fit_best, "one between is best"):
        last = fit_run(fit_last, *trial.case.drawn.make_arguments())["state"]
        explain(
            trial.report.result["state"],
            trial.case.report.result["state"],
            {"this is the model after the last epoch: what you kept continued to change": last},
            rtol=1e-3,
            atol=1e-4,
        )
    assert_fits(fit_best, "one between is best", "the first is best", "the last is best", "momentum", "one epoch")
    assert_fits(fit_best, "hardly better")
with check("equal_loss", "the first of equal epochs", weight=1, hint="Is an equal loss better?"):
    assert_fits(fit_best, "all are equal", "the last are equal")
with check("frozen", "frozen parameters aren't changed", weight=1, hint="What's in their .grad?"):
    assert_fits(fit_best, "frozen")
with check(
    "evaluation_mode", "evaluation mode at the end, and the rate", weight=2, hint="What does each epoch end with?"
):
    for trial in arguments.iter_trials(fit_best, "", "one epoch", "the first is best"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["modes"], want["modes"], name="the modes")
        assert_close(got["rate"], want["rate"], name="the rate")
with check(
    "optimizer",
    "the optimizer still has the model's parameters",
    weight=1,
    hint="What does load_state_dict write into?",
):
    for trial in arguments.iter_trials(fit_best, "", "one epoch"):
        got, want = trial.report.result["later"], trial.case.report.result["later"]
        assert_close(got, want, rtol=1e-3, atol=1e-4, name="the model, one step later")
with check("no_graph", "measuring builds no graph", weight=1, hint="Which context do you measure in?"):
    for trial in arguments.iter_trials(fit_best, "recording shows"):
        assert_close(trial.report.result["losses"], trial.case.report.result["losses"], rtol=1e-4, atol=1e-5)
    arguments.assert_settings(fit_best, "", "one epoch")
with check("keeps_lists", "the batches aren't changed", guard=True, hint="Do you sort, shuffle or empty a list?"):
    arguments.assert_arguments(fit_best, "", "one batch", "uneven held-out batches")


# %% right "bytes of a file as the copy"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    losses, files = [], []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad(set_to_none=False)
            loss.backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.inference_mode():
            each = [F.cross_entropy(model(x), y, reduction="none") for x, y in held_out]
        losses.append(torch.cat(each).mean().item())
        files.append(io.BytesIO())
        torch.save(model.state_dict(), files[-1])
    best = files[losses.index(min(losses))]
    best.seek(0)
    model.load_state_dict(torch.load(best))
    return losses


# %% right "clones of a state"
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    history = []
    count = sum(len(y) for _, y in held_out)
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            model.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        total = 0.0
        with torch.no_grad():
            for x, y in held_out:
                total += F.cross_entropy(model(x), y).item() * len(y)
        history.append((total / count, {k: v.clone() for k, v in model.state_dict().items()}))
    _, state = min(history, key=lambda pair: pair[0])
    model.load_state_dict(state)
    return [loss for loss, _ in history]


# %% wrong "the best is no copy" fails=best_model,equal_loss,frozen,optimizer
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = dict(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong "a mean of means" fails=mean_over_samples,best_model
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            losses.append(sum(F.cross_entropy(model(x), y).item() for x, y in held_out) / len(held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong "other parameters than the optimizer's" fails=optimizer
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best, assign=True)
    return losses


# %% wrong "only gradients of what is trained are cleared" fails=frozen
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        model.train()
        for x, y in batches:
            for p in model.parameters():
                p.grad = None if p.requires_grad else p.grad
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        scheduler.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% equivalent "float64 and int64 results through float32"
# The losses are float32.
