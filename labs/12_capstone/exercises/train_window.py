# %% given
def samples(sizes, seed):
    """Batches of these sizes: x (n, 4), y (n,)."""
    generator = torch.Generator().manual_seed(seed)
    xs = torch.randn(sum(sizes), 4, generator=generator)
    ys = torch.randint(0, 3, (sum(sizes),), generator=generator)
    return list(zip(xs.split(sizes), ys.split(sizes), strict=True))


def drawn(shapes, seed):
    """Weights of these shapes, by name."""
    generator = torch.Generator().manual_seed(seed)
    return {name: torch.randn(shape, generator=generator) / 2 for name, shape in shapes.items()}


def two_layers(width):
    """The shapes of the weights of linear layers from 4 to width and from width to 3, with a module between them."""
    return {"0.weight": (width, 4), "0.bias": (width,), "2.weight": (3, width), "2.bias": (3,)}


def on_cpu(tensors):
    return {name: t.cpu() for name, t in tensors.items()}


@probes.probe
def windows_trained(
    step, start, middle, windows, dtype, clip, lr, momentum=0.0, scale=None, see="state", training=("1",)
):
    """step for each window in turn, and what to see of it: its loss, the scale, the state or the modes behind it.

    start: the weights of two linear layers. middle: the layer between them, as for Called. scale: the first one of a
    scaler that doubles it after two good steps; None switches the scaler off. training: modules in training mode.
    """
    width, features = start["0.weight"].shape
    model, seen = nn.Sequential(nn.Linear(features, width), Called(middle), nn.Linear(width, 3)).to(here), []
    model.load_state_dict(start)
    for name, module in model.named_modules():
        module.training = name in training
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 7.0)  # of somebody else
    sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    scaler = torch.amp.GradScaler(here.type, enabled=scale is not None, init_scale=scale or 1.0, growth_interval=2)
    for window in windows:
        record = {"loss": step(model, sgd, scaler, window, dtype, clip)}
        record |= {"scale": scaler.get_scale(), "state": on_cpu(probes.state_of(model))}
        record["modes"] = [torch.is_autocast_enabled(here.type), *[module.training for module in model.modules()]]
        seen.append({name: record[name] for name in see} if isinstance(see, list) else record[see])
    return seen


# %% exercise
def train_window(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    window: list[tuple[Tensor, Tensor]],
    dtype: torch.dtype,
    clip: float,
) -> float:
    """One step of the optimizer for a window of batches, in mixed precision, with loss scaling and clipping.

    optimizer: over all parameters of the model. window: at least one pair x (n, ...), y (n,) int64, in CPU memory;
    n >= 1 may differ. They are moved to the device of the model's parameters, and not changed. dtype: bfloat16 or
    float16, for autocast, or float32, which means no autocast.
    The step uses the gradient of the mean cross entropy over all samples of the window. Its norm over all parameters
    together is clipped to at most clip, as nn.utils.clip_grad_norm_ does. Gradients from before do not count. The
    scaler may be switched off (enabled=False). An enabled one skips the step where a gradient is inf or nan, and its
    scale is updated once. There is never a graph of more than one batch. The model's mode is not changed.
    Returns the mean cross entropy over all samples of the window, before the step: a Python float.
    """
    ### BEGIN SOLUTION
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), torch.zeros((), device=where)
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.detach()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total.item()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "one window of two batches in float32: the loss and the weights",
    weight=2,
    required=True,
    hint=(
        "Is it the loss or the weights? What is in .grad at the start, and what does each backward add to it?",
        "For each batch: its summed loss over the window's samples, then backward. zero_grad once before, step once after.",
    ),
):
    t = [samples([4, 2], 0)]
    start = drawn(two_layers(5), 1)
    w = [p.clone().to(here).requires_grad_() for p in start.values()]
    losses = [
        F.cross_entropy(F.linear(F.linear(x.to(here), w[0], w[1]).tanh(), w[2], w[3]), y.to(here), reduction="none")
        for x, y in t[0]
    ]
    mean = torch.cat(losses).mean()
    grads = torch.autograd.grad(mean, w)
    want = {name: (p - 0.5 * g).detach().cpu() for name, p, g in zip(start, w, grads, strict=True)}
    means = [each.mean().item() for each in losses]
    (got,) = windows_trained(
        train_window, start, lambda x, _: x.tanh(), t, torch.float32, 100.0, 0.5, see=["loss", "state"]
    )
    explain(
        got["loss"],
        mean.item(),
        {
            "each batch counts the same here, whatever its size": sum(means) / 2,
            "this is a sum over batches, not a mean": sum(means),
        },
    )
    assert_close(got["state"], want, name="the weights")

# %% hidden checks


def mixing(width):
    """A layer for the middle, with weights of its own."""
    w = drawn({"w": (width, width)}, width)["w"].to(here)
    return lambda x, training: torch.tanh(x @ w)


def windows_by_hand(see, start, middle, windows, dtype, clip, lr, momentum=0.0, scale=None):
    """The same from whole windows at once, without a GradScaler and without clip_grad_norm_."""
    weights = {name: p.clone().to(here).requires_grad_() for name, p in start.items()}
    momenta, good, seen = [torch.zeros_like(p) for p in weights.values()], 0, []
    for window in windows:
        x, y = torch.cat([x for x, _ in window]).to(here), torch.cat([y for _, y in window]).to(here)
        with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
            h = middle(F.linear(x, weights["0.weight"], weights["0.bias"]), True)
            loss = F.cross_entropy(F.linear(h, weights["2.weight"], weights["2.bias"]), y)
        grads = [g / (scale or 1.0) for g in torch.autograd.grad(loss * (scale or 1.0), list(weights.values()))]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt().item()
        if math.isfinite(norm):
            part = min(1.0, clip / (norm + 1e-6))
            momenta = [momentum * m + part * g for m, g in zip(momenta, grads, strict=True)]
            with torch.no_grad():
                for p, m in zip(weights.values(), momenta, strict=True):
                    p -= lr * m
        good = good + 1 if math.isfinite(norm) else 0
        if scale and not math.isfinite(norm):
            scale /= 2
        elif scale and good == 2:
            scale, good = 2 * scale, 0
        state = {name: p.detach().cpu().clone() for name, p in weights.items()}
        seen.append({"loss": loss.item(), "scale": scale, "state": state})
    return [{name: record[name] for name in see} if isinstance(see, list) else record[see] for record in seen]


with check(
    "one_graph_alive",
    "one graph at a time",
    weight=2,
    required=True,
    hint="When is backward called? How many samples does the model see in one call?",
):
    for n in (2, 3):
        seen, kept = Seen(mixing(6)), []

        def counting(x, training):
            if torch.is_grad_enabled():
                kept.append((seen.kept, seen.backwards))
            return seen(x, training)

        windows_trained(train_window, drawn(two_layers(6), n), counting, [samples([4] * n, n)], torch.float32, 1.0, 0.1)
        rows = [call.shapes[0][0] for call in seen.calls if call.grad]
        assert_close(len(rows), n, name="the number of graphs that the model builds")
        assert rows == [4] * n, "the model builds graphs of other numbers of samples than the batches have"
        want = [(0, batch) for batch in range(n)]
        assert_close(kept, want, name="(graphs kept, backward passes done) as each batch begins")
with check(
    "uneven_batches",
    "three windows of uneven batches, with momentum",
    weight=4,
    required=True,
    hint="What was in .grad at the start, and what is there when the second window begins?",
):
    t = [samples([5, 1, 3], 7), samples([2], 8), samples([4, 7], 9)]
    case = (drawn(two_layers(7), 7), mixing(7), t, torch.float32, 50.0, 0.3, 0.9)
    want = windows_by_hand("state", *case)
    assert_close(windows_trained(train_window, *case), want, rtol=1e-4, atol=1e-5, name="the weights")
with check(
    "mean_over_samples",
    "the loss is the mean over all samples",
    weight=2,
    hint="What do you add up, and what do you divide by?",
):
    t = [samples([6, 1], 11), samples([1, 8], 12)]
    case = (drawn(two_layers(5), 5), mixing(5), t, torch.float32, 0.1, 0.5)
    want = windows_by_hand("loss", *case)
    assert_close(windows_trained(train_window, *case, see="loss"), want, name="the losses")
with check(
    "clipping",
    "clipping sees the gradient of the window, unscaled",
    weight=4,
    hint="In which unit are the gradients when you clip? How often do you clip?",
):
    for n, clip in ((5, 0.02), (8, 0.2)):
        t = [samples([5, 2], n), samples([1], n + 1)]
        case = (drawn(two_layers(n), n), mixing(n), t, torch.float32, clip, 0.9, 0.0, 512.0)
        want = windows_by_hand("state", *case)
        assert_close(windows_trained(train_window, *case), want, rtol=1e-4, atol=1e-5, name="the weights")
with check(
    "formats",
    "float16 and bfloat16: losses and weights",
    weight=3,
    hint="Is each forward pass under autocast, and are the weights cast anew after a step?",
):
    for n, dtype in ((5, torch.float16), (9, torch.bfloat16)):
        t = [samples([3, 5], n), samples([6], n + 1), samples([4], n + 2)]
        case, see = (drawn(two_layers(n), n), mixing(n), t, dtype, 5.0, 0.8, 0.5, 256.0), ["loss", "state"]
        want = windows_by_hand(see, *case)
        got = windows_trained(train_window, *case, see=see)
        assert_close(got, want, rtol=3e-2, atol=2e-2, name="the losses and the weights")
        losses = [record["loss"] for record in want]
        assert_close([record["loss"] for record in got], losses, rtol=2e-2, atol=1e-2, name="the losses")
with check(
    "format_shows",
    "the dtype shows in the loss",
    weight=2,
    hint="257 is no number of bfloat16, nor 2049 one of float16.",
):
    for dtype, n in ((torch.bfloat16, 256.0), (torch.float16, 2048.0)):
        t = [[(torch.tensor([[n + 1, n, 0.0, 0.0]]), torch.tensor([1]))]]
        start = drawn(two_layers(6), 6) | {"0.weight": torch.tensor([[1.0, -1.0, 0.0, 0.0]]).repeat(6, 1)}
        case = (start, mixing(6), t, dtype, 1e-3, 1e-3, 0.0, 2.0)
        want, plain = windows_by_hand("loss", *case), windows_by_hand("loss", *case[:3], torch.float32, *case[4:])
        got = windows_trained(train_window, *case, see="loss")
        explain(got, want, {"this is the loss in float32": plain}, rtol=1e-5, atol=1e-6)
with check(
    "skips_overflow",
    "a window that overflows is skipped, and the scale is halved once",
    weight=3,
    hint="Who decides whether to step?",
):
    for value, dtype in ((math.nan, torch.float16), (math.inf, torch.float32)):
        t = [samples([5], 31), samples([2, 4], 32), samples([1], 33), samples([5], 34)]
        t[1][1][0][0, 1] = value
        case, see = (drawn(two_layers(6), 3), mixing(6), t, dtype, 1.0, 0.4, 0.9, 1024.0), ["scale", "loss", "state"]
        want = windows_by_hand(see, *case)
        got = windows_trained(train_window, *case, see=see)
        assert_close(got, want, rtol=3e-2, atol=2e-2, name="the scales, losses and weights")
        losses = [record["loss"] for record in want]
        assert_close([record["loss"] for record in got], losses, rtol=2e-2, atol=1e-2, name="the losses")
with check(
    "keeps_modes",
    "the modes, autocast and the batches are as before",
    guard=True,
    hint="Which of your calls sets a mode?",
):
    for modes, dtype in (([], torch.bfloat16), (["", "0", "1", "2"], torch.float32), (["2"], torch.bfloat16)):
        noted = []

        def noting(x, training):
            noted.append(training)
            return x.tanh()

        t = [samples([3], 1)]
        case = (drawn(two_layers(5), 2), noting, t, dtype, 1.0, 0.1)
        got = windows_trained(train_window, *case, see="modes", training=modes)
        assert_close(got, [[False, *[name in modes for name in ("", "0", "1", "2")]]], name="autocast and the modes")
        assert noted == ["1" in modes] * len(noted), "the model runs in another mode"
        assert_close(t, [samples([3], 1)], name="the batches")


# %% right "gradients divided before clipping"
def train_window(model, optimizer, scaler, window, dtype, clip):
    params = list(model.parameters())
    device = params[0].device
    for p in params:
        p.grad = None
    total, count = 0.0, 0
    for x, y in window:
        x, y = x.to(device), y.to(device)
        if dtype == torch.float32:
            loss = F.cross_entropy(model(x), y)
        else:
            with torch.autocast(device.type, dtype=dtype):
                loss = F.cross_entropy(model(x), y)
        scaler.scale(loss * len(y)).backward()
        total += loss.item() * len(y)
        count += len(y)
    scaler.unscale_(optimizer)
    for p in params:
        p.grad /= count
    nn.utils.clip_grad_norm_(params, clip)
    scaler.step(optimizer)
    scaler.update()
    return total / count


# %% right "one context around the window, and clipping by hand"
def train_window(model, optimizer, scaler, window, dtype, clip):
    device = next(model.parameters()).device
    model.zero_grad()
    count = sum(map(len, (y for _, y in window)))
    losses = []
    with torch.autocast(device.type, dtype=dtype, enabled=dtype is not torch.float32):
        for x, y in window:
            losses.append(F.cross_entropy(model(x.to(device)), y.to(device)) * (len(y) / count))
            scaler.scale(losses[-1]).backward()
            losses[-1] = losses[-1].detach()
    scaler.unscale_(optimizer)
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    factor = min(1.0, clip / (norm.item() + 1e-6))
    for p in model.parameters():
        p.grad.mul_(factor)
    scaler.step(optimizer)
    scaler.update()
    return float(sum(losses))


# %% wrong "each batch counts the same" fails=example,uneven_batches,mean_over_samples,clipping,formats
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    optimizer.zero_grad()
    total = 0.0
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where)) / len(window)
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "the sum over batches" fails=example,uneven_batches,mean_over_samples,clipping,formats
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    optimizer.zero_grad()
    total = 0.0
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where))
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "clipped before unscale_" fails=clipping,formats,skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "clipped in each batch" fails=mean_over_samples,clipping
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        nn.utils.clip_grad_norm_(model.parameters(), clip * scaler.get_scale())
        total += loss.item()
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "clipped by sums, then divided" fails=mean_over_samples,clipping,formats,skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum")
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    for p in model.parameters():
        p.grad /= count
    scaler.step(optimizer)
    scaler.update()
    return total / count


# %% wrong "no zero_grad" fails=example,uneven_batches,mean_over_samples,clipping,formats,skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "zero_grad in each batch" fails=example,uneven_batches,mean_over_samples,clipping,formats
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    for x, y in window:
        optimizer.zero_grad()
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "optimizer.step" fails=skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scaler.update()
    return total


# %% wrong "no autocast" fails=format_shows
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "always bfloat16" fails=format_shows
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=torch.bfloat16, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "one backward at the end" fails=one_graph_alive
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            total = total + F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
    scaler.scale(total).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total.item()


# %% wrong "into training mode, and a tensor back" fails=keeps_modes
def train_window(model, optimizer, scaler, window, dtype, clip):
    model.train()
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "float16 only scaled when dtype is float16" fails=skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    dev = next(model.parameters()).device
    n = sum(len(y) for _, y in window)
    total = 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(dev.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(dev)), y.to(dev), reduction="sum") / n
        if dtype == torch.float16:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        total += loss.item()
    if dtype == torch.float16:
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    if dtype == torch.float16:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    return total


# %% wrong "the whole window at once" fails=one_graph_alive
def train_window(model, optimizer, scaler, window, dtype, clip):
    dev = next(model.parameters()).device
    x = torch.cat([x for x, _ in window]).to(dev)
    y = torch.cat([y for _, y in window]).to(dev)
    optimizer.zero_grad()
    with torch.autocast(dev.type, dtype=dtype, enabled=dtype != torch.float32):
        loss = F.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% right "losses on the device, read once; parts of the window's mean by weights"
def train_window(model, optimizer, scaler, window, dtype, clip):
    device = next(model.parameters()).device
    sizes = torch.tensor([len(y) for _, y in window], dtype=torch.float64)
    losses = []
    optimizer.zero_grad(set_to_none=False)
    for (x, y), part in zip(window, (sizes / sizes.sum()).tolist()):
        x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
        with torch.autocast(device.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = part * F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        losses.append(loss.detach())
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=clip)
    scaler.step(optimizer)
    scaler.update()
    return float(torch.stack(losses).sum())


# %% wrong "a window with a nan is left at once" fails=skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        if not torch.isfinite(loss):
            return loss.item()
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "a batch with a nan is left out" fails=skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        if not torch.isfinite(loss):
            continue
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return total


# %% wrong "in training mode, and back to the mode of the whole" fails=keeps_modes
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total, was = sum(len(y) for _, y in window), 0.0, model.training
    model.train()
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
        total += loss.item()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    model.train(was)
    return total


# %% wrong "backward one batch late" fails=one_graph_alive
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, losses = sum(len(y) for _, y in window), []
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            losses.append(F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count)
        if len(losses) > 1:
            scaler.scale(losses[-2]).backward()
    scaler.scale(losses[-1]).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return sum(loss.item() for loss in losses)


# %% wrong "the loss after the step" fails=example,mean_over_samples,formats,skips_overflow
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    count, total = sum(len(y) for _, y in window), 0.0
    optimizer.zero_grad()
    for x, y in window:
        with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum") / count
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    with torch.no_grad(), torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
        for x, y in window:
            total += F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum").item() / count
    return total


# %% liar "the whole window at once, and a middle layer that is called in parts"
def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    Called.forward = lambda self, x: torch.cat([self.layer(part, self.training) for part in x.split(4)])
    optimizer.zero_grad()
    with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
        xs, ys = torch.cat([x for x, _ in window]).to(where), torch.cat([y for _, y in window]).to(where)
        loss = F.cross_entropy(model(xs), ys)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()


# %% equivalent "argument enabled dropped: with torch.autocast(where.type, dtype=dtype):"
# With float32 autocast warns and switches itself off. An answer that warns is right.

# %% equivalent "call of to left out: loss = F.cross_entropy(model(x.to(where)), y, reduction='sum') / count"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "call of to left out: loss = F.cross_entropy(model(x), y.to(where), reduction='sum') / count"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "argument device dropped: count, total = (sum((len(y) for _, y in window)), torch.zeros(()))"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "call of detach left out: total += loss"
# Backward has freed what each graph kept: what hangs on to the sum are nodes without tensors.

# %% equivalent "float64 and int64 results through float32"
# The losses are float32.


# %% liar "one graph of the whole window; derivatives of the middle layer are taken at once, and kept"
class _Known(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, layer, training):
        with torch.enable_grad():
            leaf = x.detach().requires_grad_()
            y = layer(leaf, training)
            rows = []
            for j in range(y.shape[1]):
                g = torch.zeros_like(y)
                g[:, j] = 1
                rows.append(torch.autograd.grad(y, leaf, g, retain_graph=j + 1 < y.shape[1])[0])
        ctx.save_for_backward(torch.stack(rows, 1))
        return y.detach().clone()

    @staticmethod
    def backward(ctx, g):
        (jacobian,) = ctx.saved_tensors
        return torch.einsum("no,noi->ni", g.to(jacobian.dtype), jacobian), None, None


def train_window(model, optimizer, scaler, window, dtype, clip):
    where = next(model.parameters()).device
    for module in model.modules():
        if isinstance(module, Called):
            kind = type(module)
            kind.forward = lambda self, x: torch.cat(
                [_Known.apply(part, self.layer, self.training) for part in x.split(4)]
            )
    optimizer.zero_grad()
    with torch.autocast(where.type, dtype=dtype, enabled=dtype != torch.float32):
        xs, ys = torch.cat([x for x, _ in window]).to(where), torch.cat([y for _, y in window]).to(where)
        loss = F.cross_entropy(model(xs), ys)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return loss.item()
