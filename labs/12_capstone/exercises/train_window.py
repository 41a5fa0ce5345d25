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
    """The shapes of the weights of linear layers from 4 to width and from width to 3, with a module in between."""
    return {"0.weight": (width, 4), "0.bias": (width,), "2.weight": (3, width), "2.bias": (3,)}


def on_cpu(tensors):
    return {name: t.cpu() for name, t in tensors.items()}


def bent(x, training):
    """A middle layer that depends on the mode."""
    return torch.tanh(x) if training else x / 2


@probes.probe
def windows_trained(step, start, middle, windows, dtype, clip, lr, momentum=0.0, scale=None, every=2, training=("1",)):
    """Runs step on each window in turn, and returns lists of the state after each: loss, scale, weights and modes.

    start: the weights of two linear layers. middle: the layer between them, as for Called. scale: the initial scale of
    a scaler that doubles it after `every` good steps; None disables the scaler. training: modules in training mode.
    """
    width, features = start["0.weight"].shape
    model = nn.Sequential(nn.Linear(features, width), Called(middle), nn.Linear(width, 3)).to(here)
    model.load_state_dict(start)
    for name, module in model.named_modules():
        module.training = name in training
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 7.0)  # left by earlier code
    groups = [{"params": [parameter]} for parameter in model.parameters()]
    sgd = torch.optim.SGD(groups, lr=lr, momentum=momentum)
    scaler = torch.amp.GradScaler(here.type, enabled=scale is not None, init_scale=scale or 1.0, growth_interval=every)
    seen = {"loss": [], "scale": [], "weights": [], "modes": []}
    for window in windows:
        seen["loss"].append(step(model, sgd, scaler, window, dtype, clip))
        seen["scale"].append(scaler.get_scale())
        seen["weights"].append(on_cpu(probes.state_of(model)))
        seen["modes"].append([torch.is_autocast_enabled(here.type), *[module.training for module in model.modules()]])
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
    """One optimizer step for a window of batches, in mixed precision, with loss scaling and clipping.

    The batches are moved to the device of the model's parameters. dtype: bfloat16 or float16, for autocast, or float32,
    which means no autocast. The step uses the gradient of the mean cross entropy over all samples of the window.
    Gradients from before do not count. What a batch's graph keeps for its backward pass, except for autocast's casts of
    weights, is freed before the next forward pass. The gradient's norm over all parameters is clipped to at most clip,
    as nn.utils.clip_grad_norm_ does. An enabled scaler skips the step if a gradient is inf or nan. Its scale is updated once.
    Returns the mean cross entropy over all samples of the window, before the step: a Python float.

    Details:
    - window: at least one pair x (n, ...), y (n,) int64, in CPU memory; n >= 1 may differ. The list and its tensors are
      not changed.
    - clip: at least 1e-3.
    - You may assume that the optimizer has all of the model's parameters, that the loss depends on each, and that the
      model doesn't change its input.
    - The scaler may be disabled (enabled=False): the step is then always taken.
    - Autocast is off and the grad mode on, before the call and afterward. The modes of the model and of its modules are not changed.
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


# %% promises
# One optimizer step -> example, uneven_batches, mean_over_samples, clipping, formats
# The batches are moved -> example, uneven_batches, mean_over_samples
# dtype: bfloat16 or float16 -> formats, format_shows
# The step uses the gradient -> example, uneven_batches, mean_over_samples, clipping, formats
# Gradients from before -> example, uneven_batches, mean_over_samples, clipping, formats, skips_overflow
# What a batch's graph keeps -> one_graph_alive
# The gradient's norm over all -> clipping, formats, skips_overflow
# An enabled scaler skips -> skips_overflow
# Its scale is updated once -> scale, skips_overflow
# Returns the mean -> example, uneven_batches, mean_over_samples, formats, skips_overflow, scaler_off, keeps_modes
# window: at least one pair -> example, uneven_batches, mean_over_samples
# The list and its tensors -> keeps_window
# clip: at least 1e-3 -> clipping, formats
# You may assume -> example, uneven_batches, mean_over_samples, clipping
# The scaler may be -> scaler_off
# Autocast is off -> keeps_modes
# The modes of the model -> keeps_modes


# %% domain
@domain(
    reference,
    *("one batch", "one sample", "uneven", "one sample first", "no momentum", "clipped", "not clipped"),
    *("float16", "bfloat16", "float16, clipped", "every step grows", "scale below 1"),
    *("inf", "nan", "overflow in the first window", "two overflows in a row", "scale too large"),
    *("scaler off", "scaler off, clipped", "scaler off, nan"),
    *("all train", "none trains", "only the last trains"),
    call=windows_trained,
)
def arguments(draw, edge):
    g, width = draw.make_generator(), draw(st.integers(4, 6))
    start = {name: torch.randn(shape, generator=g) / 2 for name, shape in two_layers(width).items()}
    a, b, c = draw(st.permutations([2, 3, 4]))
    sizes = {"one batch": [[a], [b]], "one sample": [[1], [1]], "uneven": [[6, 1], [1, 7, 1]]}.get(edge, [[a, b], [c]])
    sizes = [[1, a], [1, b]] if edge == "one sample first" else sizes
    sizes = [[a, b], [c, a], [b]] if any(word in edge for word in ("inf", "nan", "overflow")) else sizes
    windows = [
        [(torch.randn(n, 4, generator=g), torch.randint(0, 3, (n,), generator=g)) for n in each] for each in sizes
    ]
    bad = [1] if edge in ("inf", "nan", "scaler off, nan") else []
    bad = {"overflow in the first window": [0], "two overflows in a row": [0, 1]}.get(edge, bad)
    for n in bad:  # with inf only the gradient is nan: the derivative of tanh, 0, times inf
        windows[n][-1][0][0, 1] = math.nan if "nan" in edge else math.inf
    dtype = torch.float16 if edge in ("float16", "float16, clipped", "scale too large") else torch.float32
    dtype = torch.bfloat16 if edge == "bfloat16" else dtype
    clip = 0.05 if "clipped" in edge and edge != "not clipped" else draw(st.sampled_from([0.5, 1.0]))
    clip = 100.0 if edge == "not clipped" else clip
    lr, momentum = draw(st.sampled_from([0.2, 0.4])), draw(st.sampled_from([0.5, 0.9]))
    scale, every = draw(st.sampled_from([2.0, 64.0, 1024.0])), 1 if edge == "every step grows" else 2
    scale = {"scale below 1": 0.25, "scale too large": 1e8}.get(edge, None if "scaler off" in edge else scale)
    training = draw(st.sampled_from([["1"], ["", "0", "1"]]))
    training = {"all train": ["", "0", "1", "2"], "none trains": [], "only the last trains": ["2"]}.get(edge, training)
    return start, bent, windows, dtype, clip, lr, 0.0 if edge == "no momentum" else momentum, scale, every, training


# %% checks
with check(
    "example",
    "one window of two batches in float32: the loss and the weights",
    weight=2,
    required=True,
    hint=(
        "Is it the loss or the weights? What is in .grad at the start, and what does each backward add to it?",
        "For each batch: its summed loss over the window's samples, then backward. zero_grad once before, step after.",
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
    got = windows_trained(train_window, start, bent, t, torch.float32, 100.0, 0.5)
    explain(
        got["loss"],
        [mean.item()],
        {
            "each batch counts the same here, whatever its size": [sum(means) / 2],
            "this is a sum over batches, not a mean": [sum(means)],
        },
    )
    assert_close(got["weights"], [want], name="the weights")

# %% hidden checks


def mixing(width):
    """A layer for the middle, with its own weights."""
    w = drawn({"w": (width, width)}, width)["w"].to(here)
    return lambda x, training: torch.tanh(x @ w)


def losses_by(function, n, dtype):
    """The loss of a sample from which n + 1 and n are subtracted."""
    windows = [[(torch.tensor([[n + 1, n, 0.0, 0.0]]), torch.tensor([1]))]]
    start = drawn(two_layers(6), 6) | {"0.weight": torch.tensor([[1.0, -1.0, 0.0, 0.0]]).repeat(6, 1)}
    return windows_trained(function, start, bent, windows, dtype, 1e-3, 1e-3, 0.0, 2.0)["loss"]


def assert_losses(function, *edges, rtol=1e-4, atol=1e-5):
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result["loss"], trial.case.report.result["loss"]
        assert_close(got, want, rtol=rtol, atol=atol, name="the losses")


def assert_weights(function, *edges, rtol=1e-4, atol=1e-5):
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result["weights"], trial.case.report.result["weights"]
        assert_close(got, want, rtol=rtol, atol=atol, name="the weights")


def assert_scales(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["scale"], trial.case.report.result["scale"], name="the scales")


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

        case = (drawn(two_layers(6), n), counting, [samples([4] * n, n)], torch.float32, 1.0, 0.1)
        windows_trained(train_window, *case)
        rows = [call.shapes[0][0] for call in seen.calls if call.grad]
        assert_close(len(rows), n, name="the number of graphs that the model builds")
        assert rows == [4] * n, "the model's graphs have different numbers of samples than the batches"
        want = [(0, batch) for batch in range(n)]
        assert_close(kept, want, name="(graphs kept, backward passes done) as each batch begins")
with check(
    "uneven_batches",
    "windows of unequal batches, with momentum",
    weight=4,
    required=True,
    hint="What was in .grad at the start, and what is there when the second window begins?",
):
    assert_weights(train_window, "", "one batch", "one sample", "uneven", "one sample first", "no momentum")
with check(
    "mean_over_samples",
    "the loss is the mean over all samples",
    weight=2,
    hint="What do you add up, and what do you divide by?",
):
    assert_losses(train_window, "", "one batch", "one sample", "uneven", "one sample first", "no momentum")
    assert_losses(train_window, "clipped", "not clipped", "every step grows", "scale below 1")
with check(
    "clipping",
    "clipping sees the gradient of the window, unscaled",
    weight=4,
    hint="Which unit are the gradients in when you clip? How often do you clip?",
):
    assert_weights(train_window, "clipped", "not clipped", "every step grows", "scale below 1")
with check(
    "formats",
    "float16 and bfloat16: losses and weights",
    weight=3,
    hint="Is each forward pass under autocast, and are the weights cast again after a step?",
):
    assert_weights(train_window, "float16", "bfloat16", "float16, clipped", rtol=3e-2, atol=2e-2)
    assert_losses(train_window, "float16", "bfloat16", "float16, clipped", rtol=2e-2, atol=1e-2)
with check(
    "format_shows",
    "the dtype shows in the loss",
    weight=2,
    hint="bfloat16 can't represent 257, and float16 can't represent 2049.",
):
    for dtype, n in ((torch.bfloat16, 256.0), (torch.float16, 2048.0)):
        want, plain = losses_by(reference.function, n, dtype), losses_by(reference.function, n, torch.float32)
        got = losses_by(train_window, n, dtype)
        explain(got, want, {"this is the loss in float32": plain}, rtol=1e-5, atol=1e-6)
with check(
    "scale", "the scale is updated once for each window", weight=1, hint="Which call informs the scaler about a step?"
):
    assert_scales(train_window, "", "every step grows", "scale below 1", "uneven")
with check(
    "skips_overflow",
    "a window that overflows is skipped, and the scale is halved once",
    weight=3,
    hint="Which object decides whether to step?",
):
    edges = ("inf", "nan", "overflow in the first window", "two overflows in a row", "scale too large")
    assert_weights(train_window, *edges)
    assert_losses(train_window, *edges)
    assert_scales(train_window, *edges)
with check("scaler_off", "a disabled scaler", weight=1, hint="Does your step read the scaler's private state?"):
    assert_weights(train_window, "scaler off", "scaler off, clipped", "scaler off, nan")
    assert_losses(train_window, "scaler off", "scaler off, clipped", "scaler off, nan")
with check(
    "keeps_modes",
    "the modes don't change, and autocast is off afterwards",
    guard=True,
    hint="Which of your calls sets a mode?",
):
    for trial in arguments.iter_trials(train_window, "all train", "none trains", "only the last trains", "bfloat16"):
        assert_close(trial.report.result["modes"], trial.case.report.result["modes"], name="autocast and the modes")
    assert_losses(train_window, "all train", "none trains", "only the last trains")
with check("keeps_window", "the batches aren't changed", guard=True, hint="Is the list yours to change?"):
    arguments.assert_arguments(train_window, "", "one batch", "inf", "none trains")


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


# %% wrong "each batch counts the same" fails=example,uneven_batches,mean_over_samples,clipping,formats,skips_overflow,scaler_off,keeps_modes
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


# %% wrong "the sum over batches" fails=example,uneven_batches,mean_over_samples,clipping,formats,skips_overflow,scaler_off,keeps_modes
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


# %% wrong "no autocast" fails=format_shows,skips_overflow
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
