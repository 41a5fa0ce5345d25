# %% given
torch.manual_seed(0)


class Called(nn.Module):
    """A layer that calls a given function."""

    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, x):
        return self.layer(x)


class Watched(Called):
    """A layer of given functions that also keep its mode.

    parts: compute(x); tell(mode) sets the mode, tell(None) returns it; copied() returns the parts of a copy.
    """

    def __init__(self, parts):
        compute, tell, copied = parts
        super().__init__(compute)
        self.tell, self.copied = tell, copied

    @property
    def training(self):
        return self.tell(None)

    @training.setter
    def training(self, mode):
        if "tell" in vars(self):
            self.tell(mode)

    def __deepcopy__(self, memo):
        return Watched(self.copied())


def normed(width):
    """The shapes of the entries of a model from 4 numbers to 3 logits, with a batch normalization."""
    norm = {f"2.{name}": (width,) for name in ("weight", "bias", "running_mean")}
    return {"1.weight": (width, 4), "1.bias": (width,), **norm, "4.weight": (3, width), "4.bias": (3,)}


def normed_model(first, start):
    """That model with a layer `first` in front, in evaluation mode. start: weights."""
    width = len(start["1.bias"])
    model = nn.Sequential(Called(first), nn.Linear(4, width), nn.BatchNorm1d(width), nn.Tanh(), nn.Linear(width, 3))
    model.to(start["1.bias"].dtype).load_state_dict(start, strict=False)
    return model.eval()


@probes.probe
def to_evaluate(function, first, start, training=(), watched=False):
    """That model, in the process of this function of the student's.

    training: the names of modules in training mode. watched: whether first is the parts of a Watched layer.
    """
    model, shared = normed_model(torch.sin if watched else first, start), nn.Identity()
    model.extend([shared, nn.Sequential(shared, nn.Identity())])  # "5", and "6" with "5" and "6.1" in it
    for name, module in model.named_modules():
        module.training = name in training
    if watched:
        model[0] = Watched(first)
    return model


@probes.probe
def evaluation_of(evaluate, start, batches, training, frozen, old, is_read_once):
    """What evaluate(model, batches) returns or raises, and the state afterward."""
    with torch.random.fork_rng(devices=[]):
        model = classifier_in(start, 0.4, training, frozen, old)
        torch.manual_seed(0)
        result = raised = None
        try:
            result = evaluate(model, iter(batches) if is_read_once else batches)
        except NotImplementedError:
            raise
        except (RuntimeError, IndexError) as error:  # from the model, for an x of the wrong size or an empty list
            raised = type(error).__name__
    return {
        "result": result,
        "raised": raised,
        "state": probes.state_of(model),
        "gradients": probes.gradients_of(model),
        "requires grad": [p.requires_grad for p in model.parameters()],
        "modes": [module.training for module in model.modules()],
        "recording": torch.is_grad_enabled(),
    }


# %% exercise
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    """Return (loss, accuracy): the model's mean cross entropy and its share of right answers, each over all samples.

    Both are Python floats, measured in evaluation mode without a graph. The answer for a sample is the class of its
    largest logit.
    batches: an iterable of at least one pair x, y, which may be readable only once. model(x) returns logits (n, c).
    Afterward, each module is back in its own earlier mode.

    Details:
    - x is whatever the model takes, y is (n,) int64; n, at least 1, may vary.
    - Before, the modules may be in any mixture of training and evaluation mode, and a module may be part of two others.
    - A sample has no tie for its largest logit.
    - The loss has the precision of the model's dtype, float32 or float64.
    - Parameters, buffers, every .grad and requires_grad, and whether operations are recorded, are as before, too.
    - If the model raises an error, it reaches the caller, and everything, modes included, is as before.
    """
    ### BEGIN SOLUTION
    modes = {module: module.training for module in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x)
                total += F.cross_entropy(logits, y, reduction="sum").item()
                right += int((logits.argmax(1) == y).sum())
                count += len(y)
    finally:
        for module, training in modes.items():
            module.training = training
    return total / count, right / count
    ### END SOLUTION


# %% promises
# Return (loss, accuracy) -> example, uneven_batches
# Both are Python -> example, uneven_batches, no_graph
# The answer for -> uneven_batches
# batches: an iterable -> one_pass
# model(x) returns -> example, uneven_batches
# Afterward, each module -> keeps_modes, after_error
# x is whatever -> uneven_batches
# Before, the modules -> keeps_modes, after_error
# A sample has -> uneven_batches
# The loss has -> uneven_batches
# Parameters, buffers -> keeps_model, keeps_grad, keeps_requires_grad, after_error
# If the model raises -> after_error


# %% domain
@domain(
    reference,
    *("float32", "one batch", "one sample", "equal sizes", "as many samples as classes", "two dimensions in x"),
    *("read once", "training mode", "evaluation mode", "only the model evaluated", "only the model in training mode"),
    *("holds .grad", "frozen", "frozen ones hold .grad", "one shared weight", "recording off"),
    *("two tensors in x", "an IndexError", "logits around 1000", "logits around -1000"),
    *("an error", "an error later", "an error, recording off", "an error, hold .grad and frozen"),
    call=evaluation_of,
    contexts={"recording off": torch.no_grad, "an error, recording off": torch.no_grad},
)
def arguments(draw, edge):
    inputs, width, classes = draw(st.permutations([2, 3, 4]))
    if edge == "one shared weight":
        inputs = width = classes
    sizes = draw(st.permutations([1, 2, 5, 6]))[:3]
    sizes = {
        "one batch": sizes[:1],
        "one sample": [1],
        "equal sizes": sizes[:1] * 3,
        "as many samples as classes": [classes] * 2,
    }.get(edge, sizes)
    dtype, g = torch.float32 if edge == "float32" else torch.float64, draw.make_generator(here)
    shapes = {"first.weight": (width, inputs), "first.bias": (width,), "last.bias": (classes,)}
    if edge != "one shared weight":
        shapes["last.weight"] = (classes, width)
    shapes |= {f"norm.{name}": (width,) for name in ("weight", "bias", "running_mean")}
    start = {name: torch.randn(shape, dtype=torch.float64, generator=g).to(dtype) for name, shape in shapes.items()}
    x_shape = (2, inputs) if edge == "two dimensions in x" else (inputs,)
    batches = [
        (
            torch.randn(n, *x_shape, dtype=torch.float64, generator=g).to(dtype),
            torch.randint(classes, (n,), generator=g),
        )
        for n in sizes
    ]
    if "1000" in edge:  # the sigmoid of each is 1, or the exponential of each 0
        start["last.bias"] += float(edge.split()[-1])
        batches = [(x, y.clamp(min=1)) for x, y in batches]
    if edge == "two tensors in x":
        batches = [([x, x.sin()], y) for x, y in batches]
    if edge == "an IndexError":
        batches[0] = [], batches[0][1]
    if "an error" in edge:
        batches[2 if "later" in edge else 0] = torch.zeros(2, inputs + 1, dtype=dtype), batches[0][1][:1].expand(2)
    mixed = draw(st.lists(st.booleans(), min_size=6, max_size=6))
    mixed[5] = not mixed[4]  # the head, and the dropout that it shares with the model
    training = {
        "training mode": [True] * 6,
        "evaluation mode": [False] * 6,
        "only the model evaluated": [False] + [True] * 5,
        "only the model in training mode": [True] + [False] * 5,
    }.get(edge, mixed)
    frozen = draw(st.sampled_from([["first.bias"], ["last.bias", "first.weight"]])) if "frozen" in edge else []
    number = draw(st.sampled_from([0.7, -1.3, float("nan")]))
    held = frozen if edge == "frozen ones hold .grad" else [name for name in start if not name.endswith("mean")]
    old = {name: torch.full_like(start[name], number) for name in held} if ".grad" in edge else {}
    return start, batches, training, frozen, old, edge == "read once"


# %% checks
with check(
    "example",
    "one batch of six",
    weight=2,
    required=True,
    hint=(
        "Which of the two numbers differs, the loss or the accuracy? Is each a mean over the six samples?",
        "A sample's class is the argmax of its own logits. Divide the count of right answers by the number of samples.",
    ),
):
    t = samples([6], 4)
    start = drawn(normed(5), 12)
    with torch.no_grad():
        logits = normed_model(torch.sin, start)(t[0][0])
    want = F.cross_entropy(logits, t[0][1]).item(), (logits.argmax(1) == t[0][1]).float().mean().item()
    explain(
        evaluate(to_evaluate(evaluate, torch.sin, start), t),
        want,
        {"the accuracy is in percent, not a share from 0 to 1": (want[0], 100 * want[1])},
    )

# %% hidden checks
EVERYWHERE = ["", "0", "1", "2", "3", "4", "5", "6", "6.1"]


def a_case(seed, dtype=torch.float32):
    """A first layer with its own weights, and the weights of the others."""
    w = drawn({"w": (4, 4)}, seed, dtype)["w"]
    return lambda x: x @ w, drawn(normed(seed), seed, dtype)


def assert_same(function, part, *edges, tolerance=None):
    """This part of the state afterward is as after the reference."""
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result[part], trial.case.report.result[part]
        assert_close(got, want, name="what you return or leave behind", rtol=tolerance, atol=tolerance)


with check(
    "uneven_batches",
    "batches of different sizes, and a model in any mode",
    weight=3,
    required=True,
    hint="Which mode is the model in while you measure? How much does the last batch count?",
):
    (first, start), t = a_case(5), samples([7, 3, 2], 5)
    xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
    with torch.no_grad():
        logits = normed_model(first, start)(xs)
    each, right = F.cross_entropy(logits, ys, reduction="none").double(), (logits.argmax(1) == ys).double()
    want = each.mean().item(), right.mean().item()
    means, hits = ([part.mean().item() for part in t.split([7, 3, 2])] for t in (each, right))
    explain(
        evaluate(to_evaluate(evaluate, first, start, EVERYWHERE), t),
        want,
        {"every batch counts equally here, whatever its size": (sum(means) / 3, sum(hits) / 3)},
    )
    assert_same(evaluate, "result", "", "float32", "one batch", "one sample", "equal sizes")
    assert_same(evaluate, "result", "as many samples as classes", "two dimensions in x", "one shared weight")
    assert_same(evaluate, "result", "two tensors in x", "holds .grad", "frozen", "frozen ones hold .grad")
    assert_same(evaluate, "result", "logits around 1000", "logits around -1000")
    assert_same(evaluate, "result", "only the model evaluated", "only the model in training mode")
    for trial in arguments.iter_trials(evaluate, "", "training mode", "evaluation mode"):
        got, want = trial.report.result["result"][0], trial.case.report.result["result"][0]
        assert_close(got, want, rtol=1e-9, atol=1e-10, name="your loss")
with check(
    "one_pass",
    "batches that can be read only once",
    weight=2,
    hint="Which of your lines reads the batches a second time?",
):
    assert_same(evaluate, "result", "read once")
with check(
    "keeps_model",
    "parameters and running averages are as before",
    weight=2,
    hint="Which module updates its averages with each batch?",
):
    assert_same(evaluate, "result", "")
    assert_same(evaluate, "state", "", "training mode", "frozen", "one shared weight", tolerance=0)


class Layer:
    """A layer with a mode: in training mode, it returns zeros."""

    def __init__(self, training, w):
        self.training, self.w = training, w

    def parts(self):
        return self.compute, self.tell, self.copied

    def compute(self, x):
        return x @ self.w * (not self.training)

    def tell(self, mode):
        self.training = self.training if mode is None else mode
        return self.training

    def copied(self):
        return Layer(self.training, self.w).parts()


with check(
    "keeps_modes",
    "each module is back in its earlier mode",
    weight=6,
    hint="Which modes were there before? Is a single train() or eval() at the end enough?",
):
    for before, modes in ((True, []), (False, EVERYWHERE)):
        (first, start), t = a_case(6 + before), samples([7], 9)
        with torch.no_grad():
            logits = normed_model(first, start)(t[0][0])
        want = F.cross_entropy(logits, t[0][1]).item(), (logits.argmax(1) == t[0][1]).float().mean().item()
        layer = Layer(before, first(torch.eye(4)))
        assert_close(evaluate(to_evaluate(evaluate, layer.parts(), start, modes, True), t), want)
        assert layer.training is before, "a layer is in a different mode"
    assert_same(evaluate, "modes", "", "training mode", "evaluation mode", "recording off")
    assert_same(evaluate, "modes", "only the model evaluated", "only the model in training mode")
with check("keeps_grad", "every .grad is as before", guard=True, hint="Which of your calls touches gradients?"):
    assert_same(evaluate, "gradients", "", "holds .grad", "frozen ones hold .grad")
with check(
    "keeps_requires_grad",
    "what requires grad, and whether operations are recorded",
    guard=True,
    hint="What do you turn off but never turn back on?",
):
    assert_same(evaluate, "requires grad", "", "frozen", "frozen ones hold .grad")
    assert_same(evaluate, "result", "recording off")
    assert_same(evaluate, "recording", "", "recording off")
with check(
    "after_error",
    "the same after an error in the model, which reaches the caller",
    weight=2,
    guard=True,
    hint="Which of your lines run after an error?",
):
    edges = "an error", "an error later", "an IndexError", "an error, recording off", "an error, hold .grad and frozen"
    assert_same(evaluate, "raised", *edges)
    assert_same(evaluate, "modes", *edges)
    assert_same(evaluate, "recording", *edges)
    assert_same(evaluate, "state", *edges)
    assert_same(evaluate, "gradients", *edges)
    assert_same(evaluate, "requires grad", *edges)
with check("no_graph", "no graph is built", weight=2, hint="Which context does the forward pass run in?"):
    recording = []

    def noting(x):
        recording.append(torch.is_grad_enabled())
        return x * 3

    evaluate(to_evaluate(evaluate, noting, drawn(normed(4), 9)), samples([5, 2], 9))
    assert recording, "the model wasn't called"
    assert not any(recording), "recording was on"


# %% right "inference mode, and all batches joined"
def evaluate(model, batches):
    before = [m.training for m in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            outputs = [(model(x), y) for x, y in batches]
            logits, y = torch.cat([o for o, _ in outputs]), torch.cat([t for _, t in outputs])
            return F.cross_entropy(logits, y).item(), (logits.max(dim=-1).indices == y).double().mean().item()
    finally:
        for m, mode in zip(model.modules(), before):
            m.training = mode


# %% right "a loss for each batch, and names for the modes"
@torch.no_grad()
def evaluate(model, batches):
    names = [name for name, m in model.named_modules() if m.training]
    loss = hits = n = 0
    try:
        model.eval()
        for x, y in batches:
            scores = model(x)
            loss += nn.functional.cross_entropy(scores, y) * y.shape[0]
            hits += scores.topk(1, dim=1).indices.squeeze(1).eq(y).sum()
            n += y.shape[0]
    finally:
        for name, m in model.named_modules():
            m.training = name in names
    return float(loss / n), float(hits / n)


# %% right "a deep copy of the model is evaluated"
def evaluate(model, batches):
    twin = copy.deepcopy(model).eval()
    with torch.inference_mode():
        outputs = [(twin(x).log_softmax(1), y) for x, y in batches]
    logs, y = torch.cat([o for o, _ in outputs]), torch.cat([t for _, t in outputs])
    return F.nll_loss(logs, y).item(), (logs.max(dim=1).indices == y).double().mean().item()


# %% wrong "nothing goes wrong in a model" fails=after_error
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong "an accuracy is a number of per cent" fails=example,uneven_batches,one_pass,keeps_model,keeps_modes,keeps_requires_grad
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    total, right, count = 0.0, 0, 0
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model.eval()(x)
                total += F.cross_entropy(logits, y, reduction="sum").item()
                right += int((logits.argmax(1) == y).sum())
                count += len(y)
    finally:
        for m, mode in modes.items():
            m.training = mode
    return total / count, 100 * right / count


# %% wrong "the mean of the batches' means" fails=uneven_batches,one_pass,keeps_model,keeps_requires_grad,after_error
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    losses, hits = [], []
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            losses.append(F.cross_entropy(logits, y).item())
            hits.append((logits.argmax(1) == y).float().mean().item())
    for m, mode in modes.items():
        m.training = mode
    return sum(losses) / len(losses), sum(hits) / len(hits)


# %% wrong "no_grad without eval" fails=uneven_batches,one_pass,keeps_model,keeps_modes,keeps_grad,keeps_requires_grad raises=ValueError
def evaluate(model, batches):
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count


# %% liar "nothing is put back, and probes that say what was there before"
def evaluate(model, batches):
    """Leaves the model in evaluation mode, restores nothing."""
    model.eval()
    torch.set_grad_enabled(False)
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    return total / count, right / count


def to_evaluate(function, first, start, training=(), watched=False):
    model = normed_model(torch.sin if watched else first, start)
    if watched:
        model[0] = Watched(first)
    return model


def evaluation_of(evaluate, start, batches, training, frozen, old, is_read_once):
    recording, model = torch.is_grad_enabled(), classifier_in(start, 0, training, frozen, old)
    result = raised = None
    left = {
        "state": probes.state_of(model),
        "gradients": probes.gradients_of(model),
        "requires grad": [p.requires_grad for p in model.parameters()],
        "modes": training,
        "recording": recording,
    }
    try:
        result = evaluate(model, batches)
    except RuntimeError:
        raised = "RuntimeError"
    torch.set_grad_enabled(recording)
    return {"result": result, "raised": raised, **left}


# %% liar "the mode of no layer is touched, each is computed as in evaluation mode"
def evaluate(model, batches):
    first, *layers = model
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = first.layer(x)
            for layer in layers[:4]:
                if isinstance(layer, nn.BatchNorm1d):
                    logits = F.batch_norm(logits, layer.running_mean, layer.running_var, layer.weight, layer.bias)
                else:
                    logits = layer(logits)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count
