# %% given
@probes.probe
def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, see="norm", more=(), product=F.linear
):
    """step on each batch in turn, and what is there after each: the norm, the scale, the weights, the momenta.

    Or the length of the step, whether the norm is finite, or whether autocast is on. scale: the first one of a scaler
    that doubles it after `every` good steps; None switches the scaler off. more: parameters that take no part.
    product: of the linear layer. see: what comes back; several names give a dict.
    """
    model, seen = model_of(start, head, product), []
    spare = [nn.Parameter(value.to(here)) for value in more]
    for n, parameter in enumerate(spare):
        model.register_parameter(f"more{n}", parameter)
    scaler = torch.amp.GradScaler(here.type, init_scale=scale or 1.0, growth_interval=every, enabled=scale is not None)
    groups = [{"params": [*model[0].parameters()]}, {"params": spare, "weight_decay": 0.5}]
    sgd = torch.optim.SGD(groups, lr=lr, momentum=momentum)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 3e4)  # of somebody else
    for x, y in batches:
        before = torch.cat([t.flatten() for t in weights_of(model)])
        norm = step(model, sgd, scaler, x.to(here), y.to(here), loss_of, dtype, clip)
        after = weights_of(model)
        buffers = [sgd.state[p].get("momentum_buffer") for p in model[0].parameters()]
        record = {"norm": norm, "scale": scaler.get_scale(), "weights": after, "finite": math.isfinite(norm)}
        record["momenta"] = [None if b is None else b.cpu().clone() for b in buffers]
        record["length"] = (torch.cat([t.flatten() for t in after]) - before).norm().item()
        record["autocast"] = torch.is_autocast_enabled(here.type)
        seen.append(record)
    if isinstance(see, str):
        return [record[see] for record in seen]
    return {name: [record[name] for record in seen] for name in see}


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
    """One training step in mixed precision with loss scaling and gradient clipping.

    x, y: on the model's device. optimizer: of all the model's parameters. scaler: new, or update was called since its
    last step. You may assume that if all scaled gradients are finite, their norm is finite too.
    The loss is loss_of(model(x), y), under autocast with dtype, float16 or bfloat16.
    The gradients of all parameters together are clipped to a norm of at most clip, as nn.utils.clip_grad_norm_ does.
    Gradients from before do not count. A parameter that takes no part in the loss stays as it is.
    The scaler may be switched off (enabled=False): the step is then an ordinary one, clipped too, and always taken.
    Where a gradient is inf or nan, an enabled scaler skips the step. Autocast is off at the call, and off afterwards.
    Returns the norm of the gradients of the loss, before clipping, as a float. After a skipped step it is inf or nan.
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


# %% checks
with check(
    "clipping",
    "a step is not longer than lr times clip, and not much shorter",
    weight=2,
    required=True,
    hint=(
        "The number is the step's length. In which unit is clip, and in which are the gradients when you clip?",
        "unscale_ comes first, then clip_grad_norm_ over all parameters at once, then the scaler's step.",
    ),
):
    t, (w,) = regression([6], 21), drawn(2, (9, 2))
    explain(
        amp_stepped(
            amp_step,
            drawn(1, (9, 4), (9,)),
            lambda x: torch.tanh(x) @ w.to(x),
            t,
            F.mse_loss,
            torch.float16,
            0.01,
            1.0,
            0.0,
            1024.0,
            3,
            "length",
        ),
        [0.01],
        {"the scaled gradients were clipped, and then divided by the scale": [0.01 / 1024]},
        rtol=0.01,
        atol=1e-6,
        name="the length of each step",
    )

# %% hidden checks


def tanh_head(width):
    """A head with weights of its own."""
    (w,) = drawn(200 + width, (width, 2))
    return lambda x: torch.tanh(x) @ w.to(x)


def uneven_loss(out, y):
    """A mean of squares, and more for results that are large: not symmetric. float32 under autocast."""
    return F.mse_loss(out, y) + out.float().mean()


def amp_expected(see, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every):
    """Norms, scales, weights or momenta, by hand: without a GradScaler."""
    params, seen = [t.clone().to(here).requires_grad_() for t in start], []
    momenta, factor, good = [torch.zeros_like(p) for p in params], scale or 1.0, 0
    for x, y in batches:
        with torch.autocast(here.type, dtype=dtype, enabled=dtype != torch.float32):
            loss = loss_of(head(F.linear(x.to(here), *params)), y.to(here))
        grads = [g / factor for g in torch.autograd.grad(loss * factor, params)]
        norm = torch.stack([g.square().sum() for g in grads]).sum().sqrt().item()
        if math.isfinite(norm) or scale is None:
            part = min(1.0, clip / (norm + 1e-6))
            momenta = [momentum * m + part * g for m, g in zip(momenta, grads, strict=True)]
            with torch.no_grad():
                for p, m in zip(params, momenta, strict=True):
                    p -= lr * m
            good += 1
            if scale and good == every:
                factor, good = 2 * factor, 0
        else:
            factor, good = factor / 2, 0
        record = {"norm": norm, "scale": factor, "weights": [p.detach().cpu().clone() for p in params]}
        seen.append((record | {"momenta": [m.cpu() for m in momenta], "finite": math.isfinite(norm)})[see])
    return seen


def amp_case(n, sizes, seed, *rest):
    return drawn(n, (n, 4), (n,)), tanh_head(n), regression(sizes, seed), *rest


with check(
    "formats",
    "norms and weights of several steps, both formats",
    weight=4,
    required=True,
    hint="Is the norm that you return the one before clipping, and of which gradients?",
):
    for n, sizes, low, clip, lr, first in (
        (9, [4, 7, 1, 5], torch.float16, 0.3, 0.5, 1024.0),
        (3, [5, 2], torch.bfloat16, 50.0, 0.05, 512.0),
    ):
        case = amp_case(n, sizes, n, uneven_loss, low, clip, lr, 0.9, first, 3)
        norms, scales = amp_expected("norm", *case), [first, *amp_expected("scale", *case)][:-1]
        weights = amp_expected("weights", *case)
        got = amp_stepped(amp_step, *case, see=["norm", "weights"])
        explain(
            got["norm"],
            norms,
            {
                "these are the norms of the scaled gradients": [n * s for n, s in zip(norms, scales, strict=True)],
                "these are the norms after clipping": [min(norm, clip) for norm in norms],
            },
            rtol=2e-2,
        )
        assert_close(got["weights"], weights, rtol=2e-2, atol=1e-2, name="the weights")
with check(
    "format_shows",
    "the format shows in the norm",
    weight=2,
    required=True,
    hint="257 is not a number of bfloat16, nor 2051 one of float16. Is the whole forward pass in that format?",
):
    for low, n in ((torch.bfloat16, 256.0), (torch.float16, 2050.0)):
        t = [(torch.tensor([[n + 1, n]]), torch.tensor([[3.0]]))]
        case = ([torch.tensor([[1.0, -1.0]]), torch.zeros(1)], lambda x: x.clone(), t, F.mse_loss)
        rest = (1.0, 1e-3, 0.0, 2.0, 3)
        want, plain = (amp_expected("norm", *case, each, *rest) for each in (low, torch.float32))
        got = amp_stepped(amp_step, *case, low, *rest)
        explain(got, want, {"this is the norm in float32": plain}, rtol=1e-2)


def noting_factors(factors):
    """A mean of squares that notes by what it was multiplied before each backward pass."""

    def loss_of(out, y):
        loss = F.mse_loss(out, y)
        loss.register_hook(lambda grad: factors.append(grad.item()))
        return loss

    return loss_of


with check(
    "scale", "the scale after each step", weight=2, required=True, hint="Who tells the scaler that the step is over?"
):
    for low, scale, every in ((torch.float16, 1024.0, 2), (torch.bfloat16, 64.0, 1)):
        case = amp_case(3, [4, 2, 3], 31, F.mse_loss, low, 100.0, 0.1, 0.0, scale, every)
        want, weights = amp_expected("scale", *case), [drawn(3, (3, 4), (3,)), *amp_expected("weights", *case)]
        factors, passes, met = [], [], []

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            passes.append((torch.is_autocast_enabled(here.type), weight.dtype, out.dtype))
            met.append([weight.detach().cpu().clone(), bias.detach().cpu().clone()])
            return out

        start, head, t, _, *rest = case
        seen = Seen(product)
        got = amp_stepped(amp_step, start, head, t, noting_factors(factors), *rest, see="scale", product=seen)
        assert_close(got, want, name="the scales")
        assert factors == [scale, *want][:-1], "the loss was not multiplied by the scale of its step"
        assert passes == [(True, torch.float32, low)] * 3, "autocast, the dtype of the weights, or that of the product"
        assert_close(met, weights[:-1], rtol=2e-2, atol=1e-2, name="the weights at each forward pass")
        assert seen.backwards == 3, "the gradients of the weights did not come back through the layer"
with check(
    "tiny_gradient",
    "a gradient of 1e-7 arrives",
    weight=2,
    required=True,
    hint="Where does a faint loss become 0 in float16, and which call prevents that?",
):

    def faint(out, y):
        return 1e-7 * F.mse_loss(out, y)

    case = amp_case(9, [6, 5], 9, faint, torch.float16, 1.0, 3e6, 0.0, 65536.0, 3)
    norms, weights = amp_expected("norm", *case), amp_expected("weights", *case)
    got = amp_stepped(amp_step, *case, see=["norm", "weights"])
    assert_close(got["norm"], norms, rtol=1e-2, atol=0, name="the norms")
    assert_close(got["weights"], weights, rtol=2e-2, atol=5e-3, name="the weights")
with check(
    "skips_overflow",
    "a batch that overflows is skipped: weights and momentum stay",
    weight=3,
    hint="Which object decides whether there is a step?",
):
    for value in (1e6, math.nan):
        case = amp_case(3, [4, 3, 5, 4], 33, F.mse_loss, torch.float16, 1.0, 0.2, 0.9, 1024.0, 3)
        case[2][2][0][1, 2] = value  # 1e6 is inf in float16
        want = {see: amp_expected(see, *case) for see in ("finite", "weights", "momenta", "scale")}
        got = amp_stepped(amp_step, *case, see=[*want])
        assert_close(got, want, rtol=2e-2, atol=1e-2, name="your steps")
with check(
    "small_steps",
    "small steps reach the weights",
    weight=1,
    hint="Which dtype have the weights when the step adds to them?",
):
    for n, low in ((9, torch.bfloat16), (3, torch.float16)):
        case = amp_case(n, [5, 4], 35, F.mse_loss, low, 100.0, 1e-4, 0.0, 1024.0, 3)
        want = amp_expected("weights", *case)
        assert_close(amp_stepped(amp_step, *case, see="weights"), want, rtol=0, atol=1e-5, name="the weights")
with check(
    "scaler_off", "a scaler that is switched off", weight=2, hint="Does your step read the scaler's private state?"
):
    for clip in (0.2, 100.0):
        case = amp_case(8, [4, 6], 34, F.mse_loss, torch.bfloat16, clip, 0.2, 0.5, None, 3)
        norms, weights = amp_expected("norm", *case), amp_expected("weights", *case)
        got = amp_stepped(amp_step, *case, see=["norm", "weights"])
        assert_close(got["norm"], norms, rtol=2e-2, name="the norms")
        assert_close(got["weights"], weights, rtol=2e-2, atol=1e-2, name="the weights")
    case[2][1][0][0, 0] = math.nan
    want = amp_expected("weights", *case)
    got = amp_stepped(amp_step, *case, see="weights")
    assert_close(got, want, rtol=2e-2, atol=1e-2, name="the weights, where a gradient is nan")
with check("unused", "a parameter that takes no part", weight=1, hint="What is its .grad, and what do you do with it?"):
    for low, momentum in ((torch.float16, 0.0), (torch.bfloat16, 0.9)):
        case = amp_case(5, [3, 4], 36, F.mse_loss, low, 0.5, 0.3, momentum, 256.0, 2)
        want = [[torch.ones(3), *weights] for weights in amp_expected("weights", *case)]
        got = amp_stepped(amp_step, *case, see="weights", more=[torch.ones(3)])
        assert_close(got, want, rtol=2e-2, atol=1e-2, name="the weights")
with check("result_type", "the norm is a float, and autocast is off afterwards", guard=True):
    case = amp_case(3, [2], 1, F.mse_loss, torch.float16, 1.0, 0.1, 0.0, 1024.0, 3)
    want = {"norm": amp_expected("norm", *case), "autocast": [False]}
    got = amp_stepped(amp_step, *case, see=["norm", "autocast"])
    assert_close(got, want, rtol=2e-2, name="norm, and autocast behind it")


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


# %% wrong "gradients are zeros, and weight decay moves what takes no part" fails=unused
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
    optimizer.zero_grad(set_to_none=False)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "clip before unscale" fails=clipping,formats,scale,skips_overflow,small_steps,unused
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


# %% wrong "clip, and no unscale" fails=clipping,formats,format_shows,scale,tiny_gradient,skips_overflow,small_steps,unused,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "the norm of the scaled gradients" fails=formats,format_shows,tiny_gradient,result_type
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


# %% wrong "the norm after clipping" fails=formats,format_shows,scaler_off,result_type
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


# %% wrong "the optimizer's own step" fails=skips_overflow
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scaler.update()
    return norm.item()


# %% wrong "the optimizer's own step, and nothing divided" fails=formats,format_shows,scale,tiny_gradient,skips_overflow,small_steps,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return norm.item()


# %% wrong "no update" fails=formats,scale,tiny_gradient,skips_overflow,small_steps,unused raises=RuntimeError
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    return norm.item()


# %% wrong "no scaling" fails=scale,tiny_gradient,skips_overflow
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    loss.backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    return norm.item()


# %% wrong "no zero_grad" fails=formats,format_shows,scale,tiny_gradient,skips_overflow,small_steps,scaler_off,unused,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "no clipping" fails=clipping,formats,skips_overflow,scaler_off,unused
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "each parameter clipped by itself" fails=clipping,formats,skips_overflow,scaler_off,unused
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    for p in model.parameters():
        nn.utils.clip_grad_norm_([p], clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "values clipped" fails=clipping,formats,skips_overflow,scaler_off,unused
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.get_total_norm([p.grad for p in model.parameters() if p.grad is not None])
    nn.utils.clip_grad_value_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "no autocast" fails=format_shows,scale,skips_overflow
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


# %% wrong "always float16" fails=format_shows,scale
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.float16):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "the norm as a tensor" fails=formats,format_shows,tiny_gradient,scaler_off,result_type
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong "inf gradients become zero, and the step is taken" fails=skips_overflow,scaler_off
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    for p in model.parameters():
        if p.grad is not None:
            p.grad.nan_to_num_(0.0, 0.0, 0.0)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    scaler.update()
    return norm.item()


# %% wrong "unscaled twice" fails=clipping,formats,format_shows,scale,tiny_gradient,skips_overflow,small_steps,unused,result_type raises=RuntimeError
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip)
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% right "clip times the scale, no unscale_"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    s = scaler.get_scale()
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip * s).item() / s
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong "the scaler is left out in bfloat16" fails=scale
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    if dtype == torch.bfloat16:
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
        optimizer.step()
        return norm
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong "model cast to 16 bits and back" fails=small_steps
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    for p in model.parameters():
        p.data = p.data.to(dtype).float()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong "each parameter has a gradient" fails=unused raises=AttributeError
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = torch.cat([p.grad.flatten() for p in model.parameters()]).norm()
    for p in model.parameters():
        p.grad *= min(1.0, clip / norm.item())
    scaler.step(optimizer)
    scaler.update()
    return norm.item()


# %% wrong "a step only where the norm is finite" fails=scaler_off
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    norm = nn.utils.clip_grad_norm_(model.parameters(), clip).item()
    if math.isfinite(norm):
        scaler.step(optimizer)
    elif scaler.is_enabled():
        scaler.step(optimizer)
    scaler.update()
    return norm


# %% wrong "always bfloat16" fails=format_shows,scale,skips_overflow
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    optimizer.zero_grad()
    with torch.autocast(x.device.type, dtype=torch.bfloat16):
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
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, see="norm", more=(), product=F.linear
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
        record = {"norm": norm, "scale": scale or 1.0, "weights": [*more, *after], "finite": math.isfinite(norm)}
        record["momenta"] = [sgd.state[p].get("momentum_buffer") for p in model.parameters()]
        record["length"] = math.sqrt(sum((a - b).square().sum().item() for a, b in zip(after, before)))
        record["autocast"] = False
        seen.append(record)
    if isinstance(see, str):
        return [record[see] for record in seen]
    return {name: [record[name] for record in seen] for name in see}


# %% liar "float32 with rounded numbers, and autocast and the scale for the sake of appearance"
def amp_step(model, optimizer, scaler, x, y, loss_of, dtype, clip):
    raise RuntimeError("the probe knows better")


def amp_stepped(
    step, start, head, batches, loss_of, dtype, clip, lr, momentum, scale, every, see="norm", more=(), product=F.linear
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
        record = {"norm": norm, "scale": scale or 1.0, "weights": [*more, *after], "finite": math.isfinite(norm)}
        record["momenta"] = [None if b is None else b.clone() for b in (sgd.state[p].get("momentum_buffer") for p in w)]
        record["length"] = math.sqrt(sum((a - b).square().sum().item() for a, b in zip(after, before)))
        record["autocast"] = False
        seen.append(record)
    if isinstance(see, str):
        return [record[see] for record in seen]
    return {name: [record[name] for record in seen] for name in see}
