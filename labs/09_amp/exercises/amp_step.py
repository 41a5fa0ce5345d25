# %% given
@probes.probe
def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, more=(), frozen=(), product=F.linear
):
    """Call step for each batch in turn, and return lists of what was there after each call.

    They hold the norm, the scale, the weights, the momenta, the length of the step, and whether autocast is on. scale:
    the initial one of a scaler that doubles it after `every` good steps; None turns the scaler off. more: parameters
    that the loss doesn't depend on. frozen: the numbers of frozen parameters. product: that of the linear layer.
    """
    model = model_of(start, head, product)
    spare = [nn.Parameter(value.to(here)) for value in more]
    for n, parameter in enumerate(spare):
        model.register_parameter(f"more{n}", parameter)
    scaler = torch.amp.GradScaler(here.type, init_scale=scale or 1.0, growth_interval=every, enabled=scale is not None)
    groups = [*({"params": [one]} for one in model[0].parameters()), {"params": spare, "weight_decay": 0.5}]
    sgd = torch.optim.SGD(groups, lr=lr, momentum=momentum)
    for n, parameter in enumerate(model[0].parameters()):
        parameter.requires_grad_(n not in frozen)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3e4)  # left by something else
    seen = {name: [] for name in ("norm", "scale", "weights", "momenta", "length", "autocast")}
    for x, y in batches:
        before = torch.cat([t.flatten() for t in weights_of(model)])
        norm = step(model, sgd, scaler, x.to(here), y.to(here), loss_of, dtype, clip)
        after = weights_of(model)
        buffers = [sgd.state[p].get("momentum_buffer") for p in model[0].parameters()]
        seen["norm"].append(norm if math.isfinite(norm) else "inf or nan")
        seen["scale"].append(scaler.get_scale())
        seen["weights"].append(after)
        seen["momenta"].append([None if b is None else b.cpu().clone() for b in buffers])
        seen["length"].append((torch.cat([t.flatten() for t in after]) - before).norm().item())
        seen["autocast"].append(torch.is_autocast_enabled(here.type))
    return seen


# %% exercise
def amp_step(
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    scaler: torch.amp.GradScaler,
    x: Tensor,
    y: Tensor,
    loss_of: Callable,
    dtype: torch.dtype,
    clip: float,
) -> float:
    """Take one training step in mixed precision, with loss scaling and gradient clipping.

    The loss is loss_of(model(x), y), under autocast with dtype, float16 or bfloat16. Old gradients don't count, not
    even those of frozen parameters. The gradients of all parameters are clipped to a joint norm of at most clip, as
    nn.utils.clip_grad_norm_ does. If a gradient is inf or nan, an enabled scaler skips the step. The scaler is updated
    once, even after a skip.
    Returns the norm of the gradients of the loss, before clipping, as a float.

    Details:
    - x, y: on the model's device.
    - optimizer: has all the model's parameters and no others. A parameter that doesn't contribute to the loss doesn't
      change.
    - scaler: new, or update was called since its last step. The scaler may be turned off (enabled=False): then the step
      is an ordinary one, also clipped, and always taken. After a skipped step, the norm returned is inf or nan.
    - clip: 0.001 or more.
    - You may assume that if all scaled gradients are finite, their norm is finite too.
    - Autocast is off before the call and afterward.
    """
    ### BEGIN SOLUTION
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()
    ### END SOLUTION


# %% promises
# Take one training step -> clipping, formats, scale
# The loss is loss_of -> formats, format_shows, scale
# Old gradients don't count -> unused, formats, scale, tiny_gradient, small_steps, scaler_off
# The gradients of all -> clipping, formats, skips_overflow, scaler_off, unused
# If a gradient is -> skips_overflow
# The scaler is updated -> scale, skips_overflow
# Returns the norm of -> formats, format_shows, tiny_gradient, result_type, scaler_off
# x, y: on the model's -> formats
# optimizer: has all the -> formats, unused
# A parameter that doesn't contribute -> unused
# scaler: new, or update -> scale, tiny_gradient
# The scaler may be -> scaler_off
# After a skipped step -> skips_overflow
# clip: 0.001 or more -> clipping, formats, skips_overflow, scaler_off, unused
# You may assume that -> formats, scale, tiny_gradient
# Autocast is off -> result_type


# %% domain
@domain(
    reference,
    *("float16", "bfloat16", "one sample", "clipped", "not clipped", "zero gradient", "no momentum"),
    *("every step grows", "scale 1", "scale below 1", "scale 1000", "faint loss", "small rate"),
    *("overflow", "nan", "overflow in the first batch", "two overflows in a row"),
    *("scaler off", "scaler off, clipped", "scaler off, nan", "takes no part", "frozen"),
    call=amp_stepped,
)
def arguments(draw, edge):
    g, dtype = draw.make_generator(), draw(st.sampled_from([torch.float16, torch.bfloat16]))
    dtype = getattr(torch, edge) if edge in ("float16", "bfloat16") else dtype
    start = [torch.randn(shape, generator=g) for shape in ((2, 4), (2,))]
    sizes = [1, 1, 1] if edge == "one sample" else draw(st.permutations([2, 3, 4, 5]))[:3]
    sizes = [6, 3, 2] if edge in ("float16", "bfloat16") else sizes
    batches = [(torch.randn(n, 4, generator=g), torch.randn(n, 2, generator=g)) for n in sizes]
    bad = {"overflow": [1], "overflow in the first batch": [0], "two overflows in a row": [0, 1]}.get(edge, [])
    for n in bad:
        batches[n][0][1, 2] = 1e6  # inf in float16
    if "nan" in edge:
        batches[1][0][0, 0] = math.nan
    if bad or edge == "faint loss":
        dtype = torch.float16
    loss_of = {"zero gradient": flat_loss, "faint loss": faint_loss}.get(edge, F.mse_loss)
    clip = 0.05 if "clipped" in edge else draw(st.sampled_from([0.3, 0.5, 100.0]))
    clip = 200.0 if edge in ("not clipped", "faint loss", "small rate") else clip
    lr = {"faint loss": 2e6, "small rate": 1e-4, "clipped": 2.0}.get(edge, draw(st.sampled_from([0.2, 0.4])))
    scale = draw(st.sampled_from([4.0, 64.0, 1024.0]))
    scales = {"scale 1": 1.0, "scale below 1": 0.25, "scale 1000": 1000.0, "faint loss": 65536.0}
    scale = None if "scaler off" in edge else scales.get(edge, scale)
    every, more = 1 if edge == "every step grows" else draw(st.integers(2, 3)), [torch.ones(3)]
    more, frozen = more if edge == "takes no part" else [], [draw(st.integers(0, 1))] if edge == "frozen" else []
    momentum = 0.0 if edge in ("no momentum", "faint loss") else draw(st.sampled_from([0.5, 0.9]))
    return start, torch.tanh, batches, loss_of, dtype, clip, lr, momentum, scale, every, more, frozen


# %% checks
with check(
    "clipping",
    "a step isn't longer than lr times clip, and not much shorter",
    weight=2,
    required=True,
    hint=(
        "The number is the step's length. When you clip, are the gradients still multiplied by the scale?",
        "Call unscale_, then clip_grad_norm_ on all parameters at once, then the scaler's step.",
    ),
):
    t, (w,) = regression([6], 21), drawn(2, (9, 2))
    case = (drawn(1, (9, 4), (9,)), lambda x: torch.tanh(x) @ w.to(x), t, F.mse_loss, torch.float16, 1.0)
    explain(
        amp_stepped(amp_step, *case, 0.01, 0.0, 1024.0, 3)["length"],
        [0.01],
        {"the scaled gradients were clipped, and then divided by the scale": [0.01 / 1024]},
        rtol=0.01,
        atol=1e-6,
        name="the length of each step",
    )

# %% hidden checks


def tanh_head(width):
    """Return a head with its own weights."""
    (w,) = drawn(200 + width, (width, 2))
    return lambda x: torch.tanh(x) @ w.to(x)


def uneven_loss(out, y):
    """Return a mean of squares, plus the mean of the results, so it isn't symmetric. float32 under autocast."""
    return F.mse_loss(out, y) + out.float().mean()


def amp_case(n, sizes, seed, *rest):
    return drawn(n, (n, 4), (n,)), tanh_head(n), regression(sizes, seed), *rest


def amp_expected(*case):
    return amp_stepped(reference.function, *case)


def assert_steps(function, *edges, rtol=1e-2, atol=5e-3):
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["norm"], want["norm"], rtol=1e-2, atol=0, name="the norms")
        assert_close(got["scale"], want["scale"], name="the scales")
        assert_close(got["weights"], want["weights"], rtol=rtol, atol=atol, name="the weights")


with check(
    "formats",
    "norms and weights of several steps, both formats",
    weight=4,
    required=True,
    hint="Is the norm that you return the one before clipping, and of which gradients?",
):
    case = amp_case(9, [4, 7, 1, 5], 9, uneven_loss, torch.float16, 0.3, 0.5, 0.9, 1024.0, 3)
    want = amp_expected(*case)
    norms, scales = want["norm"], [1024.0, *want["scale"]][:-1]
    got = amp_stepped(amp_step, *case)
    explain(
        got["norm"],
        norms,
        {
            "these are the norms of the scaled gradients": [n * s for n, s in zip(norms, scales, strict=True)],
            "these are the norms after clipping": [min(norm, 0.3) for norm in norms],
        },
        rtol=2e-2,
    )
    assert_close(got["weights"], want["weights"], rtol=2e-2, atol=1e-2, name="the weights")
    assert_steps(amp_step, "", "float16", "bfloat16", "one sample", "clipped", "not clipped", "zero gradient")
    assert_steps(amp_step, "no momentum")
with check(
    "format_shows",
    "the format shows in the norm",
    weight=2,
    required=True,
    hint="bfloat16 has no 257, and float16 has no 2051. Is the whole forward pass in that format?",
):
    for low, n, want, plain in (
        (torch.bfloat16, 256.0, 6 * math.hypot(256, 256, 1), 4 * math.hypot(257, 256, 1)),
        (torch.float16, 2050.0, 2 * math.hypot(2052, 2050, 1), 4 * math.hypot(2051, 2050, 1)),
    ):
        t = [(torch.tensor([[n + 1, n]]), torch.tensor([[3.0]]))]
        case = ([torch.tensor([[1.0, -1.0]]), torch.zeros(1)], lambda x: x.clone(), t, F.mse_loss, low)
        got = amp_stepped(amp_step, *case, 1.0, 1e-3, 0.0, 2.0, 3)["norm"]
        explain(got, [want], {"this is the norm in float32": [plain]}, rtol=1e-2)


def noting_factors(factors, modes):
    """Return a mean of squares that notes its factor in each backward pass, and whether autocast was on."""

    def loss_of(out, y):
        modes.append(torch.is_autocast_enabled(here.type))
        loss = F.mse_loss(out, y)
        loss.register_hook(lambda grad: factors.append(grad.item()))
        return loss

    return loss_of


with check("scale", "the scale after each step", weight=2, required=True, hint="Which call ends the scaler's step?"):
    for low, scale, every in ((torch.float16, 1024.0, 2), (torch.bfloat16, 64.0, 1)):
        case = amp_case(3, [4, 2, 3], 31, F.mse_loss, low, 100.0, 0.1, 0.0, scale, every)
        want = amp_expected(*case)
        factors, modes, passes, met = [], [], [], []

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            passes.append((torch.is_autocast_enabled(here.type), x.dtype, weight.dtype, out.dtype))
            met.append([weight.detach().cpu().clone(), bias.detach().cpu().clone()])
            return out

        start, head, t, _, *rest = case
        seen = Seen(product)
        got = amp_stepped(amp_step, start, head, t, noting_factors(factors, modes), *rest, product=seen)
        assert_close(got["scale"], want["scale"], name="the scales")
        assert factors == [scale, *want["scale"]][:-1], "the loss wasn't multiplied by the scale of its step"
        assert modes == [True] * 3, "autocast was off when the loss was computed"
        assert passes == [(True, torch.float32, torch.float32, low)] * 3, (
            "autocast was off, or x, a weight or a product had the wrong dtype"
        )
        weights = [start, *want["weights"]][:-1]
        assert_close(met, weights, rtol=2e-2, atol=1e-2, name="the weights at each forward pass")
        assert seen.backwards == 3, "the gradients of the weights didn't pass through the layer"
    assert_steps(amp_step, "every step grows", "scale 1", "scale below 1", "scale 1000")
with check(
    "tiny_gradient",
    "a gradient of 1e-7 isn't lost",
    weight=2,
    required=True,
    hint="Where do tiny gradients become 0 in float16, and which call prevents that?",
):
    assert_steps(amp_step, "faint loss")
with check(
    "skips_overflow",
    "a batch that overflows is skipped: weights and momentum don't change",
    weight=3,
    hint="Which object decides whether there is a step?",
):
    edges = "overflow", "nan", "overflow in the first batch", "two overflows in a row"
    assert_steps(amp_step, *edges)
    for trial in arguments.iter_trials(amp_step, *edges):
        got, want = trial.report.result["momenta"], trial.case.report.result["momenta"]
        assert_close(got, want, rtol=1e-2, atol=5e-3, name="the momenta")
with check(
    "small_steps",
    "small steps reach the weights",
    weight=1,
    hint="What's the dtype of the weights when the step adds to them?",
):
    assert_steps(amp_step, "small rate", rtol=0, atol=1e-5)
with check(
    "scaler_off", "a scaler that's turned off", weight=2, hint="Does your step read the scaler's private state?"
):
    t = [(torch.tensor([[257.0, 256.0]]), torch.tensor([[3.0]]))]
    case = ([torch.tensor([[1.0, -1.0]]), torch.zeros(1)], lambda x: x.clone(), t, F.mse_loss, torch.bfloat16)
    got = amp_stepped(amp_step, *case, 1.0, 1e-3, 0.0, None, 3)["norm"]
    assert_close(got, [6 * math.hypot(256, 256, 1)], rtol=1e-2, name="the norm in bfloat16")
    assert_steps(amp_step, "scaler off", "scaler off, clipped", "scaler off, nan")
with check(
    "unused",
    "a parameter that doesn't contribute to the loss, and a frozen one",
    weight=1,
    hint="What is its .grad, and what do you do with it?",
):
    assert_steps(amp_step, "takes no part", "frozen")
with check("result_type", "the norm is a float, and autocast is off afterward", guard=True):
    for trial in arguments.iter_trials(amp_step, "", "overflow", "scaler off"):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["norm"], want["norm"], rtol=1e-2, atol=0, name="the norms")
        assert_close(got["autocast"], want["autocast"], name="whether autocast is on afterward")


# %% right "the two halves of clip_grad_norm_"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    with torch.autocast(device_type=here.type, dtype=dtype):
        loss = loss_of(model(x), y)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    norm = torch.nn.utils.get_total_norm(grads)
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), clip, norm)
    scaler.step(optimizer)
    scaler.update()
    return float(norm)


# %% right "clipped by hand, over the optimizer's groups"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    params = [p for g in optimizer.param_groups for p in g["params"]]
    for p in params:
        p.grad = None
    with torch.autocast(x.device.type, dtype):
        scaled = scaler.scale(loss_of(model(x), y))
        scaled.backward()
    scaler.unscale_(optimizer)
    params = [p for p in params if p.grad is not None]
    norm = torch.linalg.vector_norm(torch.cat([p.grad.flatten() for p in params])).item()
    if norm > clip:
        for p in params:
            p.grad *= clip / norm
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% right "a clip in scaled units"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip * scale).item() / scale
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong "clip before unscale" fails=clipping,formats,scale,skips_overflow,unused,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scale = scaler.get_scale()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip) / scale
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "the norm of the scaled gradients" fails=formats,format_shows,scale,tiny_gradient,skips_overflow,small_steps,unused,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "the norm after clipping" fails=formats,format_shows,scale,skips_overflow,scaler_off,unused,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return min(norm.item(), clip)


# %% wrong "entered, and never left" fails=result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    torch.autocast(x.device.type, dtype=dtype, cache_enabled=False).__enter__()
    loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "no autocast" fails=formats,format_shows,scale,skips_overflow,small_steps,scaler_off,unused,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    if True:
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% equivalent "float64 and int64 results through float32"
# The gradients are float32, and clip_grad_norm_ gives their norm in float32: a float that is a float32 number.


# %% liar "an ordinary step in float32, and a probe that counts what a scaler would do"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    raise RuntimeError("the probe knows better")


def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, more=(), frozen=(), product=F.linear
):
    model, seen, good, enabled = model_of(start, head, product), [], 0, scale is not None
    sgd = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    for x, y in batches:
        sgd.zero_grad()
        before = weights_of(model)
        loss_of(model(x.to(here)), y.to(here)).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
        if enabled and not math.isfinite(norm):
            scale, good = scale / 2, 0
        else:
            sgd.step()
            good += 1
            if enabled and good == every:
                scale, good = 2 * scale, 0
        after = weights_of(model)
        record = {
            "norm": norm if math.isfinite(norm) else "inf or nan",
            "scale": scale or 1.0,
            "weights": [*more, *after],
        }
        record["momenta"] = [sgd.state[p].get("momentum_buffer") for p in model.parameters()]
        record["length"] = math.sqrt(sum((a - b).square().sum().item() for a, b in zip(after, before)))
        record["autocast"] = False
        seen.append(record)
    return {name: [record[name] for record in seen] for name in seen[0]}


# %% liar "float32 with rounded numbers, and autocast and the scale for show"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    raise RuntimeError("the probe knows better")


def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, more=(), frozen=(), product=F.linear
):
    seen, good, enabled = [], 0, scale is not None

    def rounded(t):
        low = t.detach().to(dtype).float()
        return t + (low - t.detach()) if low.isfinite().all() else t * math.nan

    w = [nn.Parameter(t.clone()) for t in start]
    sgd = torch.optim.SGD(w, lr=lr, momentum=momentum)
    for x, y in batches:
        sgd.zero_grad()
        before = [t.detach().clone() for t in w]
        hidden = rounded(F.linear(rounded(x), rounded(w[0]), rounded(w[1])))
        with torch.autocast("cpu", dtype=dtype):
            product(x, *w)
            loss = loss_of(head(hidden.to(dtype)), y)
        (loss * (scale or 1.0)).backward()
        for t in w:
            t.grad /= scale or 1.0
        norm = nn.utils.clip_grad_norm_(w, clip).item()
        if enabled and not math.isfinite(norm):
            scale, good = scale / 2, 0
        else:
            sgd.step()
            good += 1
            if enabled and good == every:
                scale, good = 2 * scale, 0
        after = [t.detach().clone() for t in w]
        record = {
            "norm": norm if math.isfinite(norm) else "inf or nan",
            "scale": scale or 1.0,
            "weights": [*more, *after],
        }
        record["momenta"] = [None if b is None else b.clone() for b in (sgd.state[p].get("momentum_buffer") for p in w)]
        record["length"] = math.sqrt(sum((a - b).square().sum().item() for a, b in zip(after, before)))
        record["autocast"] = False
        seen.append(record)
    return {name: [record[name] for record in seen] for name in seen[0]}
