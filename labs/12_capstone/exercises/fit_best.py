# %% given
torch.manual_seed(0)


def fitted(width):
    """The shapes of the weights of fitted_net."""
    linear = {"1.weight": (width, 4), "1.bias": (width,), "4.weight": (3, width), "4.bias": (3,)}
    return linear | {"2.weight": (width,), "2.bias": (width,), "2.running_mean": (width,)}


def fitted_net(start, first, pace=0.1):
    """4 to width to 3, with these weights. first: the first layer, as for Called. pace: of the running averages."""
    width = len(start["1.bias"])
    norm = nn.BatchNorm1d(width, momentum=pace)
    net = nn.Sequential(Called(first), nn.Linear(4, width), norm, nn.Tanh(), nn.Linear(width, 3))
    net.load_state_dict(start, strict=False)
    return net


@probes.probe
def fit_run(fit, start, first, batches, held_out, lr, epochs, see, decay=0.5, momentum=0.0, pace=0.1, later=None):
    """The losses that fit returns, or what it leaves: the state, the modes or the rate. Several names give a dict.

    later: a batch for one more step of the optimizer, in evaluation mode, before the state is looked at.
    """
    model = fitted_net(start, first, pace)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 2.0)  # of somebody else
    sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    scheduler = torch.optim.lr_scheduler.StepLR(sgd, 1, decay)
    losses = fit(model, batches, held_out, sgd, scheduler, epochs)
    if later is not None:
        sgd.zero_grad()
        model.eval()(later).square().sum().backward()
        sgd.step()
    seen = {"losses": losses, "state": probes.state_of(model), "rate": sgd.param_groups[0]["lr"]}
    seen["modes"] = [module.training for module in model.modules()]
    return {name: seen[name] for name in see} if isinstance(see, list) else seen[see]


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

    batches, held_out: lists of at least one pair x, y (n,) int64; n may differ. epochs: at least 1.
    An epoch: in training mode, one step of the optimizer for each batch, on the mean cross entropy of its samples; then
    one step of the scheduler; then, in evaluation mode and without a graph, the mean cross entropy over all held-out
    samples. Gradients from before do not count. Returns these means, one Python float for each epoch.
    Afterwards the model's state_dict is that of the epoch with the lowest mean, the first of equal ones. The model is
    in evaluation mode, and its parameters are still those of the optimizer.
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


# %% checks
with check(
    "example",
    "one epoch of two equal batches: the loss and the model",
    weight=2,
    required=True,
    hint=(
        "Is it the loss or the model? What is in .grad before the first step, and how often does the scheduler step?",
        "An epoch: train(), all batches, one step of the scheduler, eval(), the held-out mean. Which line clears .grad?",
    ),
):
    t, held = samples([4, 4], 0), samples([6], 100)
    start = drawn(fitted(5), 0)
    net = fitted_net(start, lambda x, _: x * 2)
    want = probes.trained(net, t, loss=F.cross_entropy, lr=0.1)["state"]
    loss = F.cross_entropy(net.eval()(held[0][0]), held[0][1]).item()
    case = (start, lambda x, _: x * 2, t, held, 0.1, 1)
    got = fit_run(fit_best, *case, see=["losses", "state"])
    assert_close(got["losses"], [loss])
    assert_close(got["state"], want, name="the model")

# %% hidden checks


def turning(seed):
    """A first layer with weights of its own."""
    w = drawn({"w": (4, 4)}, seed)["w"]
    return lambda x, training: x @ w


def output_of(weights, first, x, training, pace=0.1):
    h = F.linear(first(x, training), weights["1.weight"], weights["1.bias"])
    running, scale = (weights["2.running_mean"], weights["2.running_var"]), (weights["2.weight"], weights["2.bias"])
    h = F.batch_norm(h, *running, *scale, training=training, momentum=pace)
    return F.linear(h.tanh(), weights["4.weight"], weights["4.bias"])


def stepped_by_hand(weights, loss, lr, momenta, momentum=0.0):
    """One step of SGD on these weights, in place."""
    params = {name: t for name, t in weights.items() if t.requires_grad}
    for (name, p), g in zip(params.items(), torch.autograd.grad(loss, list(params.values())), strict=True):
        momenta[name] = momentum * momenta.get(name, 0) + g
        p.data -= lr * momenta[name]


def fit_by_hand(start, first, batches, held_out, lr, epochs, decay=0.5, momentum=0.0, pace=0.1):
    """The losses of all epochs and the states after them."""
    weights = {name: t.clone().requires_grad_("running" not in name) for name, t in start.items()}
    weights |= {"2.running_var": torch.ones(len(start["1.bias"])), "2.num_batches_tracked": torch.tensor(0)}
    losses, states, momenta = [], [], {}
    xs, ys = torch.cat([x for x, _ in held_out]), torch.cat([y for _, y in held_out])
    for epoch in range(epochs):
        for x, y in batches:
            loss = F.cross_entropy(output_of(weights, first, x, True, pace), y)
            stepped_by_hand(weights, loss, lr * decay**epoch, momenta, momentum)
            weights["2.num_batches_tracked"] += 1
        losses.append(F.cross_entropy(output_of(weights, first, xs, False), ys).item())
        states.append({name: t.detach().clone() for name, t in weights.items()})
    return losses, states


with check(
    "losses",
    "the losses of several epochs",
    weight=4,
    required=True,
    hint="In which mode does the second epoch train? Where does the scheduler step, and what is in .grad?",
):
    for n, sizes, lr, epochs, *rest in ((5, [6, 3, 4], 0.2, 3, 0.5), (7, [5, 2], 0.05, 2, 0.9, 0.8)):
        t = (drawn(fitted(n), n), turning(n), samples(sizes, n), samples([n + 2], n + 100), lr, epochs)
        want, _ = fit_by_hand(*t, *rest)
        assert_close(fit_run(fit_best, *t, "losses", *rest), want, rtol=1e-4, atol=1e-5)
with check(
    "mean_over_samples",
    "each held-out sample counts the same",
    weight=2,
    hint="What does a batch of one sample count for?",
):
    held = samples([7, 1, 3], 103)
    t = (drawn(fitted(6), 6), turning(6), samples([8], 3), held, 0.1, 2)
    want, states = fit_by_hand(*t)
    wrong = [sum(F.cross_entropy(output_of(s, t[1], x, False), y).item() for x, y in held) / 3 for s in states]
    explain(fit_run(fit_best, *t, "losses"), want, {"each batch counts the same here, whatever its size": wrong})
with check(
    "best_model", "the model of the best epoch, with its buffers", weight=4, hint="What does state_dict() hand out?"
):
    for n, sizes, held, seed in ((5, [6, 4], [8], 36), (7, [5, 3, 2], [4, 4], 13)):
        t = (drawn(fitted(n), seed), turning(seed), samples(sizes, seed), samples(held, seed + 100), 1.0, 4)
        want, states = fit_by_hand(*t, 0.9)
        got = fit_run(fit_best, *t, ["losses", "state"], 0.9)
        assert_close(got["losses"], want, rtol=1e-3, atol=1e-4)
        explain(
            got["state"],
            states[want.index(min(want))],
            {"this is the model after the last epoch: what was kept has gone on changing": states[-1]},
            rtol=1e-3,
            atol=1e-4,
        )
with check("equal_loss", "of equal epochs, the first", weight=1, hint="Is an equal loss better?"):
    for sizes, epochs in (([5], 3), ([3, 4], 2)):
        t = (drawn(fitted(6), epochs), turning(epochs), samples(sizes, 5), samples([4], 105), 0.0, epochs)
        want, states = fit_by_hand(*t, 0.5, 0.0, 0.0)
        got = fit_run(fit_best, *t, ["losses", "state"], 0.5, 0.0, 0.0)
        assert_close(got["losses"], want)
        assert_close(got["state"], states[0], name="the model")
with check(
    "evaluation_mode", "evaluation mode at the end, and the rate", weight=2, hint="What does each epoch end with?"
):
    for n in (1, 2):
        t = (drawn(fitted(5), n), turning(n), samples([4], 6), samples([3], 106), 0.1, n)
        got = fit_run(fit_best, *t, ["modes", "rate"])
        assert_close(got["modes"], [False] * 6, name="the modes")
        assert_close(got["rate"], 0.1 * 0.5**n, name="the rate")
with check(
    "optimizer",
    "the optimizer still has the model's parameters",
    weight=1,
    hint="What does load_state_dict write into?",
):
    t = (drawn(fitted(5), 5), turning(5), samples([6, 4], 5), samples([8], 105), 0.2, 1)
    later = samples([5], 3)[0][0]
    _, (want,) = fit_by_hand(*t)
    want = {name: p.requires_grad_(p.is_floating_point() and "running" not in name) for name, p in want.items()}
    stepped_by_hand(want, output_of(want, t[1], later, False).square().sum(), 0.2, {})
    got = fit_run(fit_best, *t, "state", decay=1.0, later=later)
    assert_close(got, want, name="the model, one step later")
with check("no_graph", "measuring builds no graph", weight=1, hint="Under which context do you measure?"):
    noted = []

    def noting(x, training):
        noted.append(torch.is_grad_enabled())
        return x * 3

    fit_run(fit_best, drawn(fitted(5), 2), noting, samples([4, 4], 7), samples([3, 2], 107), 0.1, 2, "losses")
    assert_close(noted.count(True), 4, name="the number of calls that were recorded")


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


# %% wrong "the function as it was" fails=example,losses,mean_over_samples,best_model,equal_loss,optimizer,no_graph
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, float("inf"), []
    model.train()
    for _ in range(epochs):
        for x, y in batches:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            optimizer.step()
            scheduler.step()
        total = 0.0
        for x, y in held_out:
            model.eval()
            total += F.cross_entropy(model(x), y)
        losses.append(total / len(held_out))
        if losses[-1] <= best_loss:
            best, best_loss = model.state_dict(), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong "the best is no copy" fails=best_model,equal_loss
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


# %% wrong "parameters without buffers" fails=best_model,equal_loss
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
            best, best_loss = [p.detach().clone() for p in model.parameters()], losses[-1]
    with torch.no_grad():
        for p, kept in zip(model.parameters(), best):
            p.copy_(kept)
    return losses


# %% wrong "a mean of means" fails=mean_over_samples
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


# %% wrong "the last of equal epochs" fails=equal_loss
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
        if losses[-1] <= best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
    model.load_state_dict(best)
    return losses


# %% wrong "a schedule for batches" fails=example,losses,best_model
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
    model.load_state_dict(best)
    return losses


# %% wrong "the second epoch in evaluation mode" fails=losses,mean_over_samples,best_model
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    model.train()
    for _ in range(epochs):
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
    model.load_state_dict(best)
    return losses


# %% wrong "measured with a graph, left in training mode" fails=evaluation_mode,no_graph
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
        total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
        if losses[-1] < best_loss:
            best, best_loss = copy.deepcopy(model.state_dict()), losses[-1]
        model.train()
    model.load_state_dict(best)
    return losses


# %% wrong "the scheduler first" fails=example,losses,mean_over_samples,best_model
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, best_loss, losses = None, math.inf, []
    for _ in range(epochs):
        scheduler.step()
        model.train()
        for x, y in batches:
            optimizer.zero_grad()
            F.cross_entropy(model(x), y).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in held_out)
        losses.append(total / sum(len(y) for _, y in held_out))
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


# %% wrong "stops where the loss grows" fails=losses,best_model,equal_loss
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    best, losses = None, []
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
        if len(losses) > 1 and losses[-1] >= losses[-2]:
            break
        best = copy.deepcopy(model.state_dict())
    model.load_state_dict(best)
    return losses


# %% wrong "the best is looked for from the second epoch on" fails=equal_loss
def fit_best(model, batches, held_out, optimizer, scheduler, epochs):
    losses, states = [], []
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
        states.append(copy.deepcopy(model.state_dict()))
    later = losses[1:] or losses
    model.load_state_dict(states[len(losses) - len(later) + later.index(min(later))])
    return losses


# %% equivalent "float64 and int64 results through float32"
# The losses are float32.
