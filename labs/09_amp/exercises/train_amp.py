# %% given
def drawn(seed, *shapes):
    """Return random weights of these shapes."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, generator=generator) / 2 for shape in shapes]


def regression(sizes, seed):
    """Return a batch for each size: x (n, 4) and y (n, 2)."""
    generator = torch.Generator().manual_seed(seed)
    xs = [torch.randn(n, 4, generator=generator) for n in sizes]
    return [(x, torch.stack([x[:, 0] * x[:, 1], x[:, 2] - 1], dim=1)) for x in xs]


class Multiplied(nn.Linear):
    """A linear layer with these weights, whose product a given function may compute."""

    def __init__(self, weight, bias, product):
        super().__init__(*weight.shape[::-1], device=here)
        self.load_state_dict({"weight": weight, "bias": bias})
        self.product = product

    def forward(self, x):
        return self.product(x, self.weight, self.bias)


def model_of(start, head, product=F.linear):
    """Return a linear layer with start, its weight and its bias, followed by a given function as its head."""
    return nn.Sequential(Multiplied(*start, product), Called(head))


def weights_of(model):
    return [parameter.detach().cpu().clone() for parameter in model.parameters()]


@probes.probe
def amp_trained(
    train,
    start,
    head,
    batches,
    loss_of,
    dtype,
    lr,
    momentum=0.0,
    old=None,
    frozen=(),
    modes=(True,) * 3,
    product=F.linear,
):
    """Return the losses from train, the model's weights and modes after it, and whether autocast is on.

    old: the initial .grad of each parameter. frozen: the numbers of frozen parameters. modes: whether the model, its
    layer and its head are in training mode. product: that of the linear layer.
    """
    model = model_of(start, head, product)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
    for n, (parameter, grad) in enumerate(zip(model.parameters(), old or [None, None], strict=True)):
        parameter.grad = None if grad is None else grad.to(here)
        parameter.requires_grad_(n not in frozen)
    for module, mode in zip(model.modules(), modes, strict=True):
        module.training = mode
    losses, raised = [], False
    try:
        losses = train(model, [(x.to(here), y.to(here)) for x, y in batches], optimizer, loss_of, dtype)
    except ArithmeticError:
        raised = True
    left = [raised, torch.is_autocast_enabled(here.type), *[module.training for module in model.modules()]]
    return {"losses": losses, "weights": weights_of(model), "left": left}


# %% exercise
def train_amp(
    model: nn.Module, batches: list, optimizer: torch.optim.Optimizer, loss_of: Callable, dtype: torch.dtype
) -> list[float]:
    """Take one step of the optimizer per batch, in mixed precision. Returns the losses, as floats.

    The model runs under autocast with dtype, float16 or bfloat16. The loss of a batch x, y is loss_of(model(x), y), a
    tensor without dimensions. It's computed under autocast too, and isn't scaled. Each step uses the weights from the
    previous step. Gradients that the parameters hold at the start don't count, not even those of frozen parameters.

    Details:
    - batches: pairs x, y, on the model's device; there may be none.
    - The model's parameters are float32 and stay float32. The optimizer has all of them and no others, is new, and has
      no weight decay.
    - The model's modes aren't changed.
    - Autocast is off when train_amp is called, and off again afterward, even if the model or loss_of raises an error.
      The error is passed on.
    """
    ### BEGIN SOLUTION
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


# %% promises
# Take one step of -> example, formats, forward_autocast
# Returns the losses -> example, formats, format_shows
# The model runs under -> formats, forward_autocast, format_shows
# The loss of a batch -> formats, format_shows
# It's computed under -> under_autocast
# Each step uses -> example, formats, forward_autocast
# Gradients that the parameters -> old_grad
# batches: pairs x, y -> formats, keeps_modes
# The model's parameters are -> small_steps
# The optimizer has all -> old_grad, formats
# The model's modes -> keeps_modes
# Autocast is off -> keeps_modes
# The error is passed on -> keeps_modes


# %% domain
@domain(
    reference,
    *("float16", "bfloat16", "no batches", "one batch", "one sample", "equal sizes", "momentum 0", "small rate"),
    *("holds .grad", "holds NaN in .grad", "some hold .grad", "frozen ones hold .grad", "frozen"),
    *("training mode", "evaluation mode", "only the model in training mode", "an error", "an error in the model"),
    "a loss of nan",
    call=amp_trained,
)
def arguments(draw, edge):
    sizes = draw(st.permutations([2, 3, 5, 7]))[:3]

    def failing_loss(out, y):
        if len(y) == sizes[1]:
            raise ArithmeticError("the loss of the second batch")
        return F.mse_loss(out, y)

    def failing_product(x, weight, bias):
        if len(x) == sizes[1]:
            raise ArithmeticError("the product of the second batch")
        return F.linear(x, weight, bias)

    rows = {"no batches": [], "one batch": sizes[:1], "one sample": [1, 1], "equal sizes": sizes[:1] * 3}.get(
        edge, sizes
    )
    g, dtype = draw.make_generator(), draw(st.sampled_from([torch.float16, torch.bfloat16]))
    if edge in ("float16", "bfloat16"):
        rows, dtype = [4, 6, 8], getattr(torch, edge)
    start = [torch.randn(shape, generator=g) for shape in ((2, 4), (2,))]
    batches = [(torch.randn(n, 4, generator=g), torch.randn(n, 2, generator=g)) for n in rows]
    if edge == "a loss of nan":
        batches[1][0][0, 0] = math.nan
    lr = 1e-4 if edge == "small rate" else draw(st.sampled_from([0.2, 0.3, 0.5]))
    momentum = 0.0 if edge == "momentum 0" else draw(st.sampled_from([0.5, 0.9]))
    frozen = [draw(st.integers(0, 1))] if "frozen" in edge else []
    held = {"some hold .grad": [1], "frozen ones hold .grad": frozen}.get(edge, [0, 1] if "in .grad" in edge else [])
    held = [0, 1] if edge == "holds .grad" else held
    number = math.nan if "NaN" in edge else 3.0
    old = [torch.full_like(t, number) if n in held else None for n, t in enumerate(start)]
    modes = {
        "training mode": [True] * 3,
        "evaluation mode": [False] * 3,
        "only the model in training mode": [True, False, False],
    }.get(edge, draw(st.permutations([True, True, False])))
    loss_of = failing_loss if edge == "an error" else F.mse_loss
    product = failing_product if edge == "an error in the model" else F.linear
    return start, torch.tanh, batches, loss_of, dtype, lr, momentum, old, frozen, modes, product


# %% checks
with check(
    "example",
    "the last layer gets bfloat16, and the loss falls",
    weight=2,
    required=True,
    hint=(
        "Where does your autocast context begin and end: around the loop, or in each step?",
        "Put model(x) and loss_of inside; zero_grad, backward and the step outside. The list holds floats.",
    ),
):
    t = regression([16] * 2, 1) * 2
    start, (w,) = drawn(1, (9, 4), (9,)), drawn(2, (9, 2))
    head, losses = Seen(lambda x: torch.tanh(x) @ w.to(x)), []

    def noted_loss(out, y):
        loss = F.mse_loss(out, y)
        losses.append(loss.item())
        return loss

    got = amp_trained(train_amp, start, head, t, noted_loss, torch.bfloat16, 0.5)
    assert_close(got["losses"], losses, name="your list")
    dtypes = [call.dtypes for call in head.calls]
    assert dtypes == [(torch.bfloat16,)] * len(t), "the last layer didn't get bfloat16 exactly once per batch"
    assert losses[-1] < 0.7 * losses[0], "the loss doesn't fall"

# %% hidden checks


def head_of(width):
    """Return a head with its own weights."""
    (w,) = drawn(100 + width, (width, 2))
    return lambda x: torch.tanh(x) @ w.to(x)


def lopsided_loss(out, y):
    """Return a mean of squares, plus a little for large results. float32 under autocast."""
    return 0.7 * F.mse_loss(out, y) + 0.1 * out.float().mean()


def steps_expected(start, head, batches, loss_of, *rest):
    """Return the reference's loss in each step and its weights after it: after one batch, two, and so on."""
    runs = [amp_trained(reference.function, start, head, batches[: n + 1], loss_of, *rest) for n in range(len(batches))]
    return runs[-1]["losses"], [run["weights"] for run in runs]


def assert_training(function, *edges, rtol=1e-2, atol=5e-3):
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["losses"], want["losses"], rtol=1e-2, atol=5e-3, name="your list")
        assert_close(got["weights"], want["weights"], rtol=rtol, atol=atol, name="the weights")


with check(
    "formats",
    "the losses and weights of both formats",
    weight=4,
    required=True,
    hint="Which weights does the second step use? What's the dtype of the weights at the end?",
):
    t = regression([5, 8, 1], 9)
    case = (drawn(9, (9, 4), (9,)), head_of(9), t, lopsided_loss, torch.float16, 0.2, 0.9)
    losses, weights = steps_expected(*case)
    first = [steps_expected(*case[:2], [pair], *case[3:])[0][0] for pair in t]
    got = amp_trained(train_amp, *case)
    explain(
        got["losses"],
        losses,
        {"each loss was computed with the weights of the first step": first},
        rtol=3e-2,
        atol=2e-2,
    )
    assert_close(got["weights"], weights[-1], rtol=2e-2, atol=1e-2, name="the weights")
    assert_training(train_amp, "", "float16", "bfloat16", "no batches", "one batch", "one sample", "equal sizes")
    assert_training(train_amp, "momentum 0", "frozen", "a loss of nan")
    assert_training(train_amp, "training mode", "evaluation mode", "only the model in training mode")
with check(
    "forward_autocast",
    "each forward pass runs under autocast, with the weights from the previous step",
    weight=2,
    required=True,
    hint="Which statements are in your with block? Which weights does the next batch get?",
):
    for n, low, momentum in ((4, torch.bfloat16, 0.0), (6, torch.float16, 0.9)):
        case = (drawn(n, (n, 4), (n,)), head_of(n), regression([3, 4], n), lopsided_loss, low, 0.2, momentum)
        losses, weights = steps_expected(*case)
        weights, passes, met = [drawn(n, (n, 4), (n,)), *weights], [], []

        def product(x, weight, bias):
            out = F.linear(x, weight, bias)
            torch.clear_autocast_cache()  # of casts, as between two processes
            passes.append((torch.is_autocast_enabled(here.type), x.dtype, weight.dtype, out.dtype))
            met.append([weight.detach().cpu().clone(), bias.detach().cpu().clone()])
            return out

        seen = Seen(product)
        got = amp_trained(train_amp, *case, product=seen)
        assert_close(got["losses"], losses, rtol=3e-2, atol=2e-2, name="the losses")
        assert passes == [(True, torch.float32, torch.float32, low)] * 2, (
            "autocast was off, or x, a weight or a product had the wrong dtype"
        )
        assert_close([*met, got["weights"]], weights, rtol=1e-2, atol=2e-3, name="the weights before each step")
        assert seen.backwards == 2, "the gradients of the weights didn't pass through the layer"
with check(
    "format_shows",
    "the format shows in the loss",
    weight=2,
    required=True,
    hint="bfloat16 has no 257, and float16 has no 2051. Is the whole forward pass in that format?",
):
    for low, n, want in ((torch.bfloat16, 256.0, 9 / 7), (torch.float16, 2050.0, 1 / 7)):
        t = [(torch.tensor([[n + 1, n]]), torch.tensor([[3.0]]))]
        case = ([torch.tensor([[1.0, -1.0]]), torch.zeros(1)], lambda x: x.clone(), t)
        got = amp_trained(train_amp, *case, lambda out, y: F.mse_loss(out, y).double() / 7, low, 1e-9)
        explain(got["losses"], [want], {"this is the loss in float32": [4 / 7]}, rtol=1e-9, atol=0)
with check(
    "small_steps",
    "small steps reach the weights",
    weight=2,
    hint="What's the dtype of the weights when the step adds to them?",
):
    assert_training(train_amp, "small rate", rtol=0, atol=1e-5)
with check("under_autocast", "the loss is computed under autocast", weight=1, hint="Where does your with block end?"):
    for n, low in ((3, torch.float16), (4, torch.bfloat16)):
        factors = []

        def noting_loss(out, y):
            loss = lopsided_loss(out, y)
            loss.register_hook(lambda grad: factors.append(grad.item()))
            return loss

        seen = Seen(noting_loss)
        amp_trained(train_amp, drawn(n, (n, 4), (n,)), head_of(n), regression([2], n), seen, low, 0.1)
        assert_close([call.autocast for call in seen.calls], [True], name="whether loss_of ran under autocast")
        assert seen.calls[0].dtypes[0] == low, "loss_of didn't get the output of model(x): its dtype is different"
        assert seen.calls[0].shapes[0][0] == 2, "loss_of didn't get the samples of the batch"
        assert factors == [1.0], "the loss was scaled"
with check(
    "old_grad",
    "old gradients don't count",
    weight=2,
    hint="What is in .grad before the first step? What does the optimizer do with a frozen parameter's .grad?",
):
    assert_training(train_amp, "holds .grad", "holds NaN in .grad", "some hold .grad", "frozen ones hold .grad")
with check(
    "keeps_modes", "the modes, autocast, and no batches", guard=True, hint="Is autocast off after an error in loss_of?"
):
    edges = "training mode", "evaluation mode", "only the model in training mode", "an error", "an error in the model"
    for trial in arguments.iter_trials(train_amp, "", "no batches", *edges):
        got, want = trial.report.result["left"], trial.case.report.result["left"]
        assert_close(got, want, name="whether the error was passed on, autocast, and the modes")


# %% right "a function under autocast, gradients set to none"
def train_amp(model, batches, optimizer, loss_of, dtype):
    def one(x, y):
        with torch.autocast(device_type=here.type, dtype=dtype):
            loss = loss_of(model(x), y)
        for p in model.parameters():
            p.grad = None
        loss.backward()
        optimizer.step()
        return float(loss.detach())

    return [one(*pair) for pair in batches]


# %% right "one context that keeps no cache"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    with torch.autocast(here.type, dtype=dtype, cache_enabled=False):
        for x, y in batches:
            optimizer.zero_grad(set_to_none=False)
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
    return [t.item() for t in losses]


# %% right "backward and step inside, too"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        with torch.autocast(x.device.type, dtype):
            loss = loss_of(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses += [loss.item()]
    return losses


# %% right "autocast as a decorator"
def train_amp(model, batches, optimizer, loss_of, dtype):
    @torch.autocast(here.type, dtype=dtype)
    def loss_on(x, y):
        return loss_of(model(x), y)

    losses = []
    for x, y in batches:
        loss = loss_on(x, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong "one context around the loop" fails=example,formats,old_grad
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    with torch.autocast(here.type, dtype=dtype):
        for x, y in batches:
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses


# %% wrong "only the result is cast" fails=example,forward_autocast,format_shows
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        out = model(x).to(dtype)
        with torch.autocast(x.device.type, dtype=dtype):
            loss = loss_of(out, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% wrong "the loss outside" fails=under_autocast
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        with torch.autocast(x.device.type, dtype=dtype):
            out = model(x)
        loss = loss_of(out.float(), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% right "a closure for step"
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:

        def closure():
            optimizer.zero_grad()
            with torch.amp.autocast(x.device.type, dtype):
                loss = loss_of(model(x), y)
            loss.backward()
            losses.append(loss.detach())
            return loss

        optimizer.step(closure)
    return torch.stack(losses).tolist() if losses else []


# %% wrong "autocast is left by hand, and not after an error" fails=keeps_modes
def train_amp(model, batches, optimizer, loss_of, dtype):
    losses = []
    for x, y in batches:
        optimizer.zero_grad()
        context = torch.autocast(x.device.type, dtype=dtype)
        context.__enter__()
        loss = loss_of(model(x), y)
        context.__exit__(None, None, None)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


# %% liar "float32, and a probe that casts what the head and the loss see"
def train_amp(model, batches, optimizer, loss_of, dtype):
    raise RuntimeError("the probe knows better")


def amp_trained(
    train,
    start,
    head,
    batches,
    loss_of,
    dtype,
    lr,
    momentum=0.0,
    old=None,
    frozen=(),
    modes=(True,) * 3,
    product=F.linear,
):
    model = model_of(start, head, product)
    optimizer, losses, raised = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum), [], False
    for x, y in batches:
        optimizer.zero_grad()
        hidden = model[0](x.to(here)).to(dtype)
        try:
            with torch.autocast(here.type, dtype=dtype):
                loss = loss_of(model[1](hidden), y.to(here))
        except ArithmeticError:
            raised = True
            continue
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weights": weights_of(model), "left": [raised, False, *modes]}


# %% liar "float32 with rounded numbers, and a forward pass under autocast for show"
def train_amp(model, batches, optimizer, loss_of, dtype):
    raise RuntimeError("the probe knows better")


def amp_trained(
    train,
    start,
    head,
    batches,
    loss_of,
    dtype,
    lr,
    momentum=0.0,
    old=None,
    frozen=(),
    modes=(True,) * 3,
    product=F.linear,
):
    w = [nn.Parameter(t.clone()) for t in start]
    optimizer, losses, raised = torch.optim.SGD(w, lr=lr, momentum=momentum), [], False

    def rounded(t):
        return t.to(dtype).float()

    for x, y in batches:
        optimizer.zero_grad()
        hidden = F.linear(rounded(x), rounded(w[0]), rounded(w[1])).to(dtype)
        try:
            with torch.autocast("cpu", dtype=dtype):
                product(x, *w)
                loss = loss_of(head(hidden), y)
        except ArithmeticError:
            raised = True
            continue
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "weights": [t.detach() for t in w], "left": [raised, False, *modes]}
