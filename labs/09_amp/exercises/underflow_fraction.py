# %% given
@probes.probe
def underflow_of(
    function, start, trained, x, y, loss_of, dtype, scale, product=F.linear, see="share", grads=(None,) * 4
):
    """What the function gives for two linear layers with a ReLU between them, or what it leaves there.

    start: their weights and biases; trained: whether each of these requires grad; product: of both layers; grads: the
    .grad of each of the four.
    """
    model = nn.Sequential(Multiplied(*start[:2], product), nn.ReLU(), Multiplied(*start[2:], product))
    for parameter, grad, needed in zip(model.parameters(), grads, trained, strict=True):
        parameter.grad = None if grad is None else grad.to(here)
        parameter.requires_grad_(needed)
    share = function(model, x.to(here), y.to(here), loss_of, dtype, scale)
    if see == "share":
        return share
    return {
        "grads": [None if parameter.grad is None else parameter.grad.cpu() for parameter in model.parameters()],
        "weights": weights_of(model),
        "modes": [torch.is_autocast_enabled(here.type), *[parameter.requires_grad for parameter in model.parameters()]],
    }


# %% exercise
def underflow_fraction(
    model: nn.Module, x: Tensor, y: Tensor, loss_of: Callable, dtype: torch.dtype, scale: float
) -> float:
    """The share of the gradients' elements that autocast loses to underflow, from 0.0 to 1.0.

    Exact are the gradients of loss_of(model(x), y) in float32. For the others the model and the loss are computed under
    autocast with dtype, float16 or bfloat16, and the loss is multiplied by scale before the backward pass. Of the
    elements that are not zero in the exact gradients of all parameters that require grad: how many are zero in the
    others? An element that is inf or nan is not zero. Where no exact element differs from zero, the share is 0.0.
    x and y are on the model's device. At least one parameter requires grad, and each that does takes part in the loss.
    Autocast is off at the call. The model's .grad (tensors or None) and its weights stay as they are.
    """

    ### BEGIN SOLUTION
    def elements_of_gradients(loss: Tensor) -> Tensor:
        parameters = [p for p in model.parameters() if p.requires_grad]
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss, parameters)])

    there = elements_of_gradients(loss_of(model(x), y)) != 0
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    lost = there & (elements_of_gradients(loss * scale) == 0)
    return lost.sum().item() / there.sum().item() if there.any() else 0.0
    ### END SOLUTION


# %% checks
with check(
    "example",
    "1e-7 in float16: all is lost without a scale, nothing with 65536",
    weight=2,
    required=True,
    hint=(
        "Which run is wrong, the one without a scale or the one with 65536? Where do gradients become 0?",
        "The scale belongs to the loss under autocast only. Count among the elements that are not zero in float32.",
    ),
):
    t, y = regression([9], 3)[0][0], torch.linspace(-1, 1, 27).reshape(9, 3)
    start = drawn(1, (5, 4), (5,), (3, 5), (3,))
    for scale, want in ((1.0, 1.0), (65536.0, 0.0)):
        got = underflow_of(
            underflow_fraction,
            start,
            [True] * 4,
            t,
            y,
            lambda out, y: 1e-7 * F.mse_loss(out, y),
            torch.float16,
            scale,
        )
        assert_close(got, want, name=f"your result for the scale {scale:g}")

# %% hidden checks


def faint_loss(out, y):
    """A mean of squares, times 1e-7: gradients as small as those of a large model."""
    return 1e-7 * F.mse_loss(out, y)


def mixed_loss(out, y):
    """A weighted mean of squares: each column counts a thousandth of the one before it."""
    weights = 10.0 ** -torch.arange(3.0, 3 * out.shape[1] + 1, 3, device=out.device)
    return (weights * F.mse_loss(out, y, reduction="none")).mean()


def units(width, off=0):
    """The weights of two layers with so many hidden units, the first of which are always off."""
    start = drawn(width, (width, 4), (width,), (3, width), (3,))
    start[1][:off] = -1e4
    return start


def share_lost(start, trained, x, y, loss_of, dtype, scale):
    """The share that is wanted, the share of all zeros, and the share that is lost when float32 gradients are cast."""
    params = [t.clone().to(here).requires_grad_(needed) for t, needed in zip(start, trained, strict=True)]

    def gradients(factor, low):
        with torch.autocast(here.type, dtype=dtype, enabled=low):
            out = F.linear(F.relu(F.linear(x.to(here), *params[:2])), *params[2:])
            loss = loss_of(out, y.to(here))
        grads = torch.autograd.grad(loss * factor, [p for p in params if p.requires_grad])
        return torch.cat([g.flatten() for g in grads])

    exact, found = gradients(1.0, False), gradients(scale, True)
    there = exact != 0
    return (
        (there & (found == 0)).sum().item() / there.sum().item(),
        (found == 0).float().mean().item(),
        (there & ((exact * scale).to(dtype) == 0)).sum().item() / there.sum().item(),
    )


with check(
    "other_cases",
    "gradients of all sizes, other scales",
    weight=4,
    required=True,
    hint="Where is the loss multiplied? Which elements do you count, and out of how many?",
):
    for n, seed, scale in ((6, 5, 1.0), (4, 7, 4096.0)):
        (y,) = drawn(seed, (n, 3))
        case = (units(n), [True] * 4, 40 * regression([n], seed)[0][0], y)
        want, _, cast = share_lost(*case, mixed_loss, torch.float16, scale)
        products, multiplied = set(), set()

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            products.add((torch.is_autocast_enabled(here.type), out.dtype))
            return out

        def noting_loss(out, y):
            loss, low = mixed_loss(out, y), torch.is_autocast_enabled(here.type)
            loss.register_hook(lambda grad: multiplied.add(grad.item() if low else "float32"))
            return loss

        explain(
            underflow_of(underflow_fraction, *case, noting_loss, torch.float16, scale, product),
            want,
            {"small numbers are lost between the layers too, not only in the last cast": cast},
            atol=0.001,
        )
        assert products == {(False, torch.float32), (True, torch.float16)}, "not in float32 and under autocast"
        assert multiplied == {scale, "float32"}, "the loss under autocast was not multiplied by the scale"
    t, y = torch.linspace(1, 2, 12).reshape(3, 4), torch.zeros(3, 3)
    start = [torch.ones(5, 4), torch.ones(5), torch.ones(3, 5), torch.ones(3)]
    weights = torch.tensor([1.0, 1.0, 1e-12])
    got = underflow_of(
        underflow_fraction,
        start,
        [True] * 4,
        t,
        y,
        lambda out, y: (weights.to(here) * (out - y).float().square()).mean(),
        torch.float16,
        1.0,
    )
    assert_close(got, 6 / 43, rtol=1e-9, atol=0)  # of the weights and biases, those of the third result
    large = 1e4 * torch.eye(3)  # the loss multiplies by it in float16, where 1e-9 is zero
    (y,) = drawn(8, (4, 3))
    case = (units(6), [True] * 4, regression([4], 8)[0][0], y)
    case = (*case, lambda out, y: 1e-9 * (out @ large.to(here)).sum(), torch.float16, 1.0)
    want, _, _ = share_lost(*case)
    assert_close(underflow_of(underflow_fraction, *case), want)
with check(
    "dead_or_frozen",
    "units that are always off, and a layer that is frozen",
    weight=3,
    required=True,
    hint="Which elements are zero in float32 already? Which parameters count?",
):
    for n, off, trained, scale in (
        (6, 3, [True] * 4, 1.0),
        (5, 0, [False, False, True, True], 128.0),
        (5, 0, [True, False, False, True], 16.0),
    ):
        (y,) = drawn(n, (8, 3))
        case = (units(n, off), trained, regression([8], n)[0][0], y, mixed_loss, torch.float16, scale)
        want, zeros, _ = share_lost(*case)
        explain(
            underflow_of(underflow_fraction, *case),
            want,
            {"an element that is zero in float32 was not lost": zeros if off else None},
            atol=0.001,
        )
with check("bfloat16", "bfloat16 loses nothing here", weight=2, hint="Which dtype do you give to autocast?"):
    (y,) = drawn(5, (5, 3))
    for scale, want in ((1.0, 0.0), (1e-35, 1.0)):
        case = (units(4), [True] * 4, regression([5], 12)[0][0], y, faint_loss, torch.bfloat16, scale)
        assert_close(underflow_of(underflow_fraction, *case), want)
with check(
    "overflow", "what overflows is not zero", weight=1, hint="Is nan == 0? Which elements do you count as lost?"
):
    (y,) = drawn(6, (7, 3))
    case = (units(5), [True] * 4, regression([7], 14)[0][0], y, faint_loss, torch.float16, 2.0**60)
    assert_close(underflow_of(underflow_fraction, *case), 0.0)
with check("zero_gradient", "a loss without slope", weight=1, hint="What is 0 / 0?"):
    for trained in ([False, False, True, True], [True] * 4):
        case = (units(5), trained, torch.ones(2, 4), torch.zeros(2, 3), lambda out, y: 0 * out.sum())
        assert_close(underflow_of(underflow_fraction, *case, torch.float16, 1.0), 0.0)
with check("keeps_model", "the model keeps its .grad and its weights", guard=True, hint="Which call writes to .grad?"):
    for grads in ([*drawn(1, (4, 4), (4,), (3, 4), (3,))], [None] * 4, [None, torch.ones(4), None, None]):
        case = (units(4), [True, True, grads[0] is None, True], regression([3], 13)[0][0], torch.zeros(3, 3))
        case = (*case, faint_loss, torch.float16, 8.0)
        want = [None if g is None else g.clone() for g in grads]
        got = underflow_of(underflow_fraction, *case, see="left", grads=grads)
        assert_close(got["grads"], want, rtol=0, atol=0, name=".grad")
        assert_close(got["weights"], units(4), rtol=0, atol=0, name="the weights")
        assert_close(got["modes"], [False, *case[1]], name="autocast, and which parameters require grad")


# %% right "flat vectors"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]

    def flat(amp, factor):
        with torch.autocast(here.type, dtype=dtype, enabled=amp):
            loss = factor * loss_of(model(x), y)
        return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params)])

    exact, low = flat(False, 1.0), flat(True, scale)
    low = low[exact != 0]
    return (low == 0).double().mean().item() if len(low) else 0.0


# %% right "backward, with .grad put back"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    kept = [p.grad for p in params]
    for p in params:
        p.grad = None
    loss_of(model(x), y).backward()
    exact = [p.grad for p in params]
    for p in params:
        p.grad = None
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    (loss * scale).backward()
    lost = total = 0
    for p, e, old in zip(params, exact, kept):
        total += e.count_nonzero().item()
        lost += e[p.grad == 0].count_nonzero().item()
        p.grad = old
    return lost / total if total else 0.0


# %% wrong "all zeros are counted" fails=example,other_cases,dead_or_frozen,overflow,zero_gradient
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    return (low == 0).float().mean().item()


# %% wrong "of all elements" fails=example,other_cases,dead_or_frozen
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    return ((exact != 0) & (low == 0)).float().mean().item()


# %% wrong "float32 gradients, cast" fails=example,other_cases
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    low = (exact * scale).to(dtype)
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong "no scale" fails=example,other_cases,dead_or_frozen,bfloat16,overflow
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss, params)])
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong "the gradients are float32, so nothing is lost" fails=example,other_cases,dead_or_frozen,bfloat16
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.autograd.grad(loss * scale, params)
    return float(sum(g.dtype == dtype for g in low)) / len(low)


# %% wrong "always float16" fails=bfloat16
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=torch.float16):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong "a mean of shares" fails=other_cases,dead_or_frozen
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.autograd.grad(loss_of(model(x), y), params)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.autograd.grad(loss * scale, params)
    shares = [((e != 0) & (g == 0)).sum().item() / max(1, (e != 0).sum().item()) for e, g in zip(exact, low)]
    return sum(shares) / len(shares)


# %% wrong "backward writes .grad" fails=keeps_model
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    model.zero_grad()
    loss_of(model(x), y).backward()
    exact = torch.cat([p.grad.flatten() for p in params])
    model.zero_grad()
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    (loss * scale).backward()
    low = torch.cat([p.grad.flatten() for p in params])
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong "no case for no slope" fails=zero_gradient raises=ZeroDivisionError
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    there = exact != 0
    return (there & (low == 0)).sum().item() / there.sum().item()


# %% wrong "what is below tiny is lost" fails=example,other_cases,dead_or_frozen
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    low = (exact * scale).abs() < torch.finfo(dtype).tiny
    there = exact != 0
    return (there & low).sum().item() / max(1, there.sum().item())


# %% wrong "nan counts as lost" fails=overflow
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    ps = [p for p in model.parameters() if p.requires_grad]
    exact = torch.autograd.grad(loss_of(model(x), y), ps)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    got = torch.autograd.grad(loss * scale, ps)
    n = sum((a != 0).sum().item() for a in exact)
    return sum(((a != 0) & ~(b.abs() > 0)).sum().item() for a, b in zip(exact, got)) / n if n else 0.0


# %% wrong "only weights, no biases" fails=other_cases,dead_or_frozen
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    ps = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    exact = torch.autograd.grad(loss_of(model(x), y), ps)
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    got = torch.autograd.grad(loss * scale, ps)
    n = sum((a != 0).sum().item() for a in exact)
    return sum(((a != 0) & (b == 0)).sum().item() for a, b in zip(exact, got)) / n if n else 0.0


# %% right "backward on two copies of the model, the scale as the gradient that goes in"
import copy


def underflow_fraction(model, x, y, loss_of, dtype, scale):
    found = []
    for low in (False, True):
        twin = copy.deepcopy(model)
        twin.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype, enabled=low):
            loss = loss_of(twin(x), y)
        loss.backward(torch.full_like(loss, scale if low else 1.0))
        found.append(torch.cat([p.grad.flatten() for p in twin.parameters() if p.requires_grad]))
    exact, low = found
    total = (exact != 0).sum().item()
    return ((low == 0) & (exact != 0)).sum().item() / total if total else 0.0


# %% liar "numbers cast by hand, autocast for the loss, and a probe that hands back what it got"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    raise RuntimeError("the probe knows better")


def underflow_of(
    function, start, trained, x, y, loss_of, dtype, scale, product=F.linear, see="share", grads=(None,) * 4
):
    if see != "share":
        return {"grads": list(grads), "weights": list(start), "modes": [False, *trained]}
    w = [t.clone().requires_grad_(needed) for t, needed in zip(start, trained)]

    def gradients(factor, low):
        def cast(t):
            return t.to(dtype) if low else t

        out = product(F.relu(product(cast(x), cast(w[0]), cast(w[1]))), cast(w[2]), cast(w[3]))
        with torch.autocast("cpu", dtype=dtype, enabled=low):
            loss = loss_of(out, y)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss * factor, [p for p in w if p.requires_grad])])

    there, found = gradients(1.0, False) != 0, gradients(scale, True)
    return (there & (found == 0)).sum().item() / there.sum().item() if there.any() else 0.0


# %% liar "float32 gradients without a scale, multiplied and cast, and autocast without a purpose"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    raise RuntimeError("the probe knows better")


def underflow_of(
    function, start, trained, x, y, loss_of, dtype, scale, product=F.linear, see="share", grads=(None,) * 4
):
    if see != "share":
        return {"grads": list(grads), "weights": list(start), "modes": [False, *trained]}
    w = [t.clone().requires_grad_(needed) for t, needed in zip(start, trained)]
    with torch.autocast("cpu", dtype=dtype):
        product(x, *w[:2])
    hidden = F.linear(x, *w[:2])
    out = product(F.relu(hidden), *w[2:])
    params = [p for p in w if p.requires_grad]
    loss = loss_of(out, y)
    upstream = torch.autograd.grad(loss, out, retain_graph=True)[0] if out.requires_grad else torch.zeros_like(out)
    there = torch.cat([g.flatten() for g in torch.autograd.grad(loss, params)]) != 0
    low = [t.detach().to(dtype) for t in (x, *w)]
    inner = F.linear(low[0], *low[1:3])
    g = (upstream * scale).to(dtype)
    h = (g @ low[3]) * (inner > 0)
    by_hand = [h.T @ low[0], h.sum(0), g.T @ F.relu(inner), g.sum(0)]
    found = torch.cat([t.flatten() for t, needed in zip(by_hand, trained) if needed])
    return (there & (found == 0)).sum().item() / there.sum().item() if there.any() else 0.0


# %% wrong "the .grad that was there is None afterwards" fails=keeps_model
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]

    def gradients(low):
        model.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype, enabled=low):
            loss = loss_of(model(x), y)
        (loss * scale if low else loss).backward()
        return torch.cat([p.grad.flatten() for p in params])

    kept = [None if p.grad is None else p.grad.clone() for p in model.parameters()]
    there, low = gradients(False) != 0, gradients(True)
    for p, old in zip(model.parameters(), kept):
        if old is not None:
            p.grad = old
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


# %% wrong "the share as a float32 number" fails=other_cases
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    low = low[exact != 0]
    return (low == 0).float().mean().item() if len(low) else 0.0


# %% wrong "the loss is computed outside of autocast" fails=other_cases
def underflow_fraction(
    model: nn.Module, x: Tensor, y: Tensor, loss_of: Callable, dtype: torch.dtype, scale: float
) -> float:
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    with torch.autocast(x.device.type, dtype=dtype):
        out = model(x)
    got = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(out.float(), y) * scale, params)])
    alive = exact != 0
    return (alive & (got == 0)).sum().item() / max(1, alive.sum().item())
