# %% given
def faint_loss(out, y):
    """Return a mean of squares times 1e-7: gradients as small as those of a large model."""
    return 1e-7 * F.mse_loss(out, y)


def mixed_loss(out, y):
    """Return a weighted mean of squares: each column counts a thousandth of the previous one."""
    weights = 10.0 ** -torch.arange(3.0, 3 * out.shape[1] + 1, 3, device=out.device)
    return (weights * F.mse_loss(out, y, reduction="none")).mean()


def product_loss(out, y):
    """Return the sum of a matrix product, which autocast computes in 16 bits."""
    return 1e-9 * (out @ (1e4 * torch.eye(out.shape[1], device=out.device))).sum()


def flat_loss(out, y):
    """Return a loss whose gradient is zero."""
    return 0 * out.sum()


@probes.probe
def underflow_of(function, start, trained, grads, x, y, loss_of, dtype, scale, product=F.linear):
    """Return what the function gives for two linear layers with a ReLU in between, and the model's state after it.

    start: their weights and biases (three if they share the weight); trained: whether each of these requires grad;
    grads: the .grad of each; product: that of both layers.
    """
    last = start[2:] if len(start) == 4 else (start[0], start[2])
    model = nn.Sequential(Multiplied(*start[:2], product), nn.ReLU(), Multiplied(*last, product))
    if len(start) == 3:
        model[2].weight = model[0].weight
    for parameter, grad, needed in zip(model.parameters(), grads, trained, strict=True):
        parameter.grad = None if grad is None else grad.to(here)
        parameter.requires_grad_(needed)
    return {
        "share": function(model, x.to(here), y.to(here), loss_of, dtype, scale),
        "grads": [None if parameter.grad is None else parameter.grad.cpu() for parameter in model.parameters()],
        "weights": weights_of(model),
        "modes": [torch.is_autocast_enabled(here.type), *[parameter.requires_grad for parameter in model.parameters()]],
    }


# %% exercise
def underflow_fraction(
    model: nn.Module, x: Tensor, y: Tensor, loss_of: Callable, dtype: torch.dtype, scale: float
) -> float:
    """Return the share of the gradients' elements that autocast loses to underflow, from 0.0 to 1.0.

    The exact gradients are those of loss_of(model(x), y), computed in float32. For the others, the model and the loss
    are computed under autocast with dtype, float16 or bfloat16, and the loss is multiplied by scale before the backward
    pass. Of the elements that aren't zero in the exact gradients of all parameters that require grad, the result is the
    share that's zero in the others.

    Details:
    - An element that's inf or nan isn't zero.
    - If all exact elements are zero, the share is 0.0.
    - x and y are on the model's device.
    - At least one parameter requires grad, and each that does contributes to the loss. The model has no dropout, and
      calling it changes nothing.
    - Autocast is off before the call and afterward. x, y, the model's weights, their .grad (tensors or None) and their
      requires_grad don't change.
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


# %% promises
# Return the share of -> example, other_cases, dead_or_frozen
# The exact gradients are -> other_cases, dead_or_frozen
# For the others, the -> example, other_cases, dead_or_frozen, bfloat16
# Of the elements that -> example, other_cases, dead_or_frozen
# An element that's inf -> overflow
# If all exact elements -> zero_gradient
# x and y are on -> other_cases
# At least one parameter -> dead_or_frozen
# The model has no -> other_cases
# Autocast is off -> keeps_model
# x, y, the model's -> keeps_model


# %% domain
@domain(
    reference,
    *("faint", "scale 1", "scale below 1", "scale 65536", "large inputs", "one sample", "a product in the loss"),
    *("bfloat16", "bfloat16, most is lost", "overflow"),
    *("zero gradient", "zero gradient of one layer"),
    *("dead units", "frozen layer", "only one bias", "shared weight"),
    *("holds .grad", "some hold .grad", "frozen ones hold .grad"),
    call=underflow_of,
)
def arguments(draw, edge):
    width, n, g = draw(st.integers(3, 6)), 1 if edge == "one sample" else draw(st.integers(2, 6)), draw.make_generator()
    columns = 5 if edge == "scale 65536" else 3  # of which some are lost even then
    width, columns = (4, 4) if edge == "shared weight" else (width, columns)
    shapes = [(width, 4), (width,), (columns, width), (columns,)]
    start = [torch.randn(shape, generator=g) / 2 for shape in shapes]
    x, y = torch.randn(n, 4, generator=g), torch.randn(n, columns, generator=g)
    if edge == "shared weight":
        start.pop(2)
    if edge == "large inputs":
        x = 40 * x
    if edge == "dead units":
        start[1][:2] = -1e4
    trained = {
        "frozen layer": [False, False, True, True],
        "zero gradient of one layer": [False, False, True, True],
        "frozen ones hold .grad": [True, False, False, True],
        "only one bias": [False, False, False, True],
    }.get(edge, [True] * len(start))
    held = {"holds .grad": [0, 1, 2, 3], "some hold .grad": [1, 2], "frozen ones hold .grad": [1, 2]}.get(edge, [])
    grads = [torch.randn(t.shape, generator=g) if k in held else None for k, t in enumerate(start)]
    losses = {"faint": faint_loss, "a product in the loss": product_loss}
    loss_of = flat_loss if "zero gradient" in edge else losses.get(edge, mixed_loss)
    scale = draw(st.sampled_from([16.0, 300.0, 4096.0]))
    scale = {
        "scale 1": 1.0,
        "scale below 1": 0.01,
        "scale 65536": 65536.0,
        "shared weight": 1.0,
        "bfloat16, most is lost": 1e-35,
        "overflow": 2.0**60,
    }.get(edge, scale)
    dtype = torch.bfloat16 if "bfloat16" in edge else torch.float16
    return start, trained, grads, x, y, loss_of, dtype, scale


# %% checks
with check(
    "example",
    "1e-7 in float16: everything is lost without a scale, nothing with 65536",
    weight=2,
    required=True,
    hint=(
        "Which run is wrong, the one without a scale or the one with 65536? Where do gradients become 0?",
        "Only the loss under autocast is scaled. Count among the elements that aren't zero in float32.",
    ),
):
    t, y = regression([9], 3)[0][0], torch.linspace(-1, 1, 27).reshape(9, 3)
    case = (drawn(1, (5, 4), (5,), (3, 5), (3,)), [True] * 4, [None] * 4, t, y, faint_loss, torch.float16)
    for scale, want in ((1.0, 1.0), (65536.0, 0.0)):
        got = underflow_of(underflow_fraction, *case, scale)
        assert_close(got["share"], want, name=f"your result for the scale {scale:g}")

# %% hidden checks


def units(width, off=0):
    """Return weights of two layers with this many hidden units. The first `off` of them are always off."""
    start = drawn(width, (width, 4), (width,), (3, width), (3,))
    start[1][:off] = -1e4
    return start


def share_lost(start, x, y, loss_of, dtype, scale):
    """Return the right share, the share of all zeros, and the share that casting float32 gradients would lose."""
    params = [t.clone().to(here).requires_grad_() for t in start]

    def gradients(factor, low):
        with torch.autocast(here.type, dtype=dtype, enabled=low):
            out = F.linear(F.relu(F.linear(x.to(here), *params[:2])), *params[2:])
            loss = loss_of(out, y.to(here))
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss * factor, params)])

    exact, found = gradients(1.0, False), gradients(scale, True)
    there = exact != 0
    return (
        (there & (found == 0)).sum().item() / there.sum().item(),
        (found == 0).float().mean().item(),
        (there & ((exact * scale).to(dtype) == 0)).sum().item() / there.sum().item(),
    )


def assert_shares(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["share"], trial.case.report.result["share"], name="your result")


with check(
    "other_cases",
    "gradients of all sizes, other scales",
    weight=4,
    required=True,
    hint="Where is the loss multiplied? Which elements do you count, and out of how many?",
):
    for n, seed, scale in ((6, 5, 1.0), (4, 7, 4096.0)):
        (y,) = drawn(seed, (n, 3))
        t = 40 * regression([n], seed)[0][0]
        want, _, cast = share_lost(units(n), t, y, mixed_loss, torch.float16, scale)
        products, multiplied = set(), set()

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            products.add((torch.is_autocast_enabled(here.type), out.dtype))
            return out

        def noting_loss(out, y):
            loss, low = mixed_loss(out, y), torch.is_autocast_enabled(here.type)
            loss.register_hook(lambda grad: multiplied.add(grad.item() if low else "float32"))
            return loss

        case = (units(n), [True] * 4, [None] * 4, t, y, noting_loss, torch.float16, scale, product)
        explain(
            underflow_of(underflow_fraction, *case)["share"],
            want,
            {"small numbers are lost between the layers too, not only in the last cast": cast},
        )
        assert products == {(False, torch.float32), (True, torch.float16)}, (
            "the model didn't run in float32 and under autocast"
        )
        assert multiplied == {scale, "float32"}, "the loss under autocast wasn't multiplied by the scale"
    assert_shares(underflow_fraction, "", "faint", "scale 1", "scale below 1", "scale 65536", "large inputs")
    assert_shares(underflow_fraction, "one sample", "a product in the loss", "holds .grad", "some hold .grad")
with check(
    "dead_or_frozen",
    "units that are always off, and a frozen layer",
    weight=3,
    required=True,
    hint="Which elements are already zero in float32? Which parameters count?",
):
    (y,) = drawn(6, (8, 3))
    case = (regression([8], 6)[0][0], y, mixed_loss, torch.float16, 1.0)
    want, zeros, _ = share_lost(units(6, 3), *case)
    explain(
        underflow_of(underflow_fraction, units(6, 3), [True] * 4, [None] * 4, *case)["share"],
        want,
        {"an element that is zero in float32 wasn't lost": zeros},
    )
    assert_shares(underflow_fraction, "dead units", "frozen layer", "only one bias", "shared weight")
    assert_shares(underflow_fraction, "frozen ones hold .grad")
with check("bfloat16", "bfloat16 loses less", weight=2, hint="Which dtype do you pass to autocast?"):
    assert_shares(underflow_fraction, "bfloat16", "bfloat16, most is lost")
with check(
    "overflow", "elements that overflow aren't zero", weight=1, hint="Is nan == 0? Which elements do you count as lost?"
):
    assert_shares(underflow_fraction, "overflow")
with check("zero_gradient", "a loss whose gradient is zero", weight=1, hint="What is 0 / 0?"):
    assert_shares(underflow_fraction, "zero gradient", "zero gradient of one layer")
with check("keeps_model", "the model keeps its .grad and its weights", guard=True, hint="Which call writes to .grad?"):
    edges = ("", "holds .grad", "some hold .grad", "frozen ones hold .grad")
    for trial in arguments.iter_trials(underflow_fraction, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["grads"], want["grads"], rtol=0, atol=0, name=".grad")
        assert_close(got["weights"], want["weights"], rtol=0, atol=0, name="the weights")
        assert_close(got["modes"], want["modes"], name="autocast, and which parameters require grad")
    arguments.assert_arguments(underflow_fraction, *edges, rtol=0, atol=0)


# %% right "flat vectors"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]

    def flat(amp, factor):
        with torch.autocast(here.type, dtype=dtype, enabled=amp):
            loss = factor * loss_of(model(x), y)
        return torch.cat([g.reshape(-1) for g in torch.autograd.grad(loss, params)])

    exact, low = flat(False, 1.0), flat(True, scale)
    low = low[exact != 0]
    return (low == 0).float().mean().item() if len(low) else 0.0


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


# %% wrong "all zeros are counted" fails=example,other_cases,dead_or_frozen,bfloat16,overflow,zero_gradient
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    with torch.autocast(x.device.type, dtype=dtype):
        loss = loss_of(model(x), y)
    low = torch.cat([g.flatten() for g in torch.autograd.grad(loss * scale, params)])
    return (low == 0).float().mean().item()


# %% wrong "float32 gradients, cast" fails=example,other_cases,dead_or_frozen,bfloat16
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    params = [p for p in model.parameters() if p.requires_grad]
    exact = torch.cat([g.flatten() for g in torch.autograd.grad(loss_of(model(x), y), params)])
    low = (exact * scale).to(dtype)
    there = exact != 0
    return (there & (low == 0)).sum().item() / max(1, there.sum().item())


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


def underflow_of(function, start, trained, grads, x, y, loss_of, dtype, scale, product=F.linear):
    w = [t.clone().requires_grad_(needed) for t, needed in zip(start, trained)]

    def gradients(factor, low):
        def cast(t):
            return t.to(dtype) if low else t

        out = product(F.relu(product(cast(x), cast(w[0]), cast(w[1]))), cast(w[2]), cast(w[3]))
        with torch.autocast("cpu", dtype=dtype, enabled=low):
            loss = loss_of(out, y)
        return torch.cat([g.flatten() for g in torch.autograd.grad(loss * factor, [p for p in w if p.requires_grad])])

    there, found = gradients(1.0, False) != 0, gradients(scale, True)
    share = (there & (found == 0)).sum().item() / there.sum().item() if there.any() else 0.0
    return {"share": share, "grads": list(grads), "weights": list(start), "modes": [False, *trained]}


# %% liar "float32 gradients without a scale, multiplied and cast, and autocast without a purpose"
def underflow_fraction(model, x, y, loss_of, dtype, scale):
    raise RuntimeError("the probe knows better")


def underflow_of(function, start, trained, grads, x, y, loss_of, dtype, scale, product=F.linear):
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
    share = (there & (found == 0)).sum().item() / there.sum().item() if there.any() else 0.0
    return {"share": share, "grads": list(grads), "weights": list(start), "modes": [False, *trained]}


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


# %% equivalent "float64 and int64 results through float32"
# A share of a few hundred elements: float32 tells any two of them apart, and no one asks for more digits.
