# %% given
@probes.probe
def to_evaluate(function, first, start, training=(), old=None, watched=False):
    """That model, where this function of the student's is.

    training: the names of modules in training mode. old: the number in each .grad. watched: whether first is the parts
    of a Watched layer.
    """
    model, shared = normed_model(torch.sin if watched else first, start, old), nn.Identity()
    model.extend([shared, nn.Sequential(shared, nn.Identity())])  # "5", and "6" with "5" and "6.1" in it
    for name, module in model.named_modules():
        module.training = name in training
    if watched:
        model[0] = Watched(first)
    return model


@probes.probe
def left(model):
    """What is there afterwards."""
    return {
        "state": probes.state_of(model),
        "gradients": probes.gradients_of(model),
        "requires grad": [p.requires_grad for p in model.parameters()],
    }


@probes.probe
def evaluated_while(recording, evaluate, model, batches):
    """The grad mode afterwards. recording: before."""
    with torch.set_grad_enabled(recording):
        evaluate(model, batches)
        return torch.is_grad_enabled()


# %% exercise
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    """Mean cross entropy and accuracy over all samples, in evaluation mode, without a graph.

    model: gives logits (n, c). batches: an iterable, which can be read once, of at least one pair x, y (n,) int64; n,
    at least 1, may differ. A prediction is the class of the largest logit. Returns (loss, accuracy): Python floats,
    the loss exact to the model's dtype, float32 or float64, and accuracy from 0 to 1.
    Afterwards parameters and what they require, buffers, every .grad and the grad mode are as before, and each module
    inside is in the mode it was in. No check raises an error inside the model. Put the modes back in that case too, as
    in predict of lab 4: it is what a training loop needs.
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


# %% checks
with check(
    "example",
    "one batch of six",
    weight=2,
    required=True,
    hint=(
        "Which of the two numbers differs, the loss or the accuracy? Is each a mean over the six samples?",
        "A sample's class is the argmax of its own logits. Divide the right ones by the samples, and give floats.",
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
        {"the accuracy is in per cent, and not a share from 0 to 1": (want[0], 100 * want[1])},
    )

# %% hidden checks
EVERYWHERE = ["", "0", "1", "2", "3", "4", "5", "6", "6.1"]


def a_case(seed, dtype=torch.float32):
    """A first layer with weights of its own, and the weights of the others."""
    w = drawn({"w": (4, 4)}, seed, dtype)["w"]
    return lambda x: x @ w, drawn(normed(seed), seed, dtype)


with check(
    "uneven_batches",
    "batches of 7, 3 and 2, from a model in training mode",
    weight=3,
    required=True,
    hint="In which mode is the model while you measure? How much does the last batch count?",
):
    for seed, dtype, rtol in ((5, torch.float32, 2e-5), (6, torch.float64, 1e-9)):
        (first, start), t = a_case(seed, dtype), samples([7, 3, 2], seed, dtype)
        xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
        with torch.no_grad():
            logits = normed_model(first, start)(xs)
        each, right = F.cross_entropy(logits, ys, reduction="none").double(), (logits.argmax(1) == ys).double()
        want = each.mean().item(), right.mean().item()
        means, hits = ([part.mean().item() for part in t.split([7, 3, 2])] for t in (each, right))
        explain(
            evaluate(to_evaluate(evaluate, first, start, EVERYWHERE), t),
            want,
            {"each batch counts the same here, whatever its size": (sum(means) / 3, sum(hits) / 3)},
            rtol=rtol,
            atol=rtol,
        )
with check(
    "one_pass",
    "batches that can be read once",
    weight=2,
    hint="Which of your lines asks for the batches a second time?",
):
    (_, start), t = a_case(8), samples([2, 5], 8)
    xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
    with torch.no_grad():
        logits = normed_model(torch.sin, start)(xs)
    want = F.cross_entropy(logits, ys).item(), (logits.argmax(1) == ys).float().mean().item()
    assert_close(evaluate(to_evaluate(evaluate, torch.sin, start, EVERYWHERE), iter(t)), want)
with check(
    "keeps_model",
    "parameters and running averages are as before",
    weight=2,
    hint="Which module counts the batches it sees?",
):
    (_, start), t = a_case(4), samples([5, 4], 8)
    want = probes.state_of(normed_model(torch.sin, start))
    model = to_evaluate(evaluate, torch.sin, start, EVERYWHERE)
    evaluate(model, t)
    assert_close(left(model)["state"], want, rtol=0, atol=0, name="the model")


class Layer:
    """A layer with a mode: in training mode all that it gives is zero."""

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
    "each module is in the mode it was in",
    weight=6,
    hint="Which modes were there before? Is one train() at the end enough, or eval()?",
):
    for before, modes in ((True, []), (False, EVERYWHERE)):
        (first, start), t = a_case(6 + before), samples([7], 9)
        with torch.no_grad():
            logits = normed_model(first, start)(t[0][0])
        want = F.cross_entropy(logits, t[0][1]).item(), (logits.argmax(1) == t[0][1]).float().mean().item()
        layer = Layer(before, first(torch.eye(4)))
        assert_close(evaluate(to_evaluate(evaluate, layer.parts(), start, modes, None, True), t), want)
        assert layer.training is before, "a layer is in another mode"
    for want in (EVERYWHERE, ["", "3", "5", "6.1"], ["0", "6", "6.1"]):
        model = to_evaluate(evaluate, torch.sin, start, want)
        evaluate(model, samples([5], 9))
        assert_close(modes_of(model), want, name="the modules in training mode")
with check("keeps_grad", "every .grad is as before", guard=True, hint="Which call of yours touches gradients?"):
    start = drawn(normed(6), 6)
    for old in (None, 2.0):
        want = probes.gradients_of(normed_model(torch.sin, start, old))
        model = to_evaluate(evaluate, torch.sin, start, [], old)
        evaluate(model, samples([5], 9))
        assert_close(left(model)["gradients"], want, name="the .grad of the model")
with check(
    "keeps_requires_grad",
    "what requires grad, and the grad mode",
    guard=True,
    hint="What do you switch off, and never on again?",
):
    for recording in (True, False):
        model = to_evaluate(evaluate, torch.sin, drawn(normed(3), 3), EVERYWHERE)
        got = evaluated_while(recording, evaluate, model, samples([5], 9))
        assert got is recording, "the grad mode is another"
        assert_close(left(model)["requires grad"], [True] * 6, name="what requires grad")
with check("no_graph", "no graph is built", weight=2, hint="Under which context does the forward pass run?"):
    recording = []

    def noting(x):
        recording.append(torch.is_grad_enabled())
        return x * 3

    evaluate(to_evaluate(evaluate, noting, drawn(normed(4), 9)), samples([5, 2], 9))
    assert recording, "the model was not called"
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


# %% right "a copy of the model is evaluated"
@torch.no_grad()
def evaluate(model, batches):
    twin = copy.copy(model)
    names = [name for name, m in model.named_modules() if m.training]
    twin = model.eval()
    loss = hits = n = 0
    for x, y in batches:
        scores = twin(x)
        loss += nn.functional.cross_entropy(scores, y) * y.shape[0]
        hits += scores.topk(1, dim=1).indices.squeeze(1).eq(y).sum()
        n += y.shape[0]
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


# %% wrong "recording is on afterwards, whatever it was" fails=keeps_requires_grad
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    torch.set_grad_enabled(False)
    loss, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        loss += F.cross_entropy(logits, y, reduction="sum").item()
        right += (logits.argmax(1) == y).sum().item()
        count += len(y)
    torch.set_grad_enabled(True)
    for module, mode in modes:
        module.training = mode
    return loss / count, right / count


# %% wrong "the mean of the batches' means" fails=uneven_batches,one_pass
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


# %% wrong "no_grad without eval" fails=uneven_batches,one_pass,keeps_model,keeps_modes
def evaluate(model, batches):
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count


# %% wrong "eval without no_grad" fails=no_graph
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong "train() at the end" fails=keeps_modes
def evaluate(model, batches):
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    model.train()
    return total / count, right / count


# %% wrong "the mode of the whole model put back" fails=keeps_modes
def evaluate(model, batches):
    mode = model.training
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    model.train(mode)
    return total / count, right / count


# %% wrong "left in evaluation mode" fails=keeps_modes
def evaluate(model, batches):
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(1) == y).sum())
            count += len(y)
    return total / count, right / count


# %% wrong "argmax over the samples" fails=example,uneven_batches,one_pass,keeps_model,keeps_modes,keeps_grad,keeps_requires_grad,no_graph raises=RuntimeError
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, right, count = 0.0, 0, 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            right += int((logits.argmax(0) == y).sum())
            count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong "the number that are right, as a whole number of per cent" fails=example,uneven_batches,one_pass,keeps_modes
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
    return total / count, 100 * right / count


# %% wrong "gradients are cleared, since nobody needs them" fails=keeps_grad
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    model.zero_grad()
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


# %% wrong "the parameters frozen in place of no_grad" fails=keeps_requires_grad,no_graph
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval().requires_grad_(False)
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong "recording switched off, and never on again" fails=keeps_requires_grad
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    torch.set_grad_enabled(False)
    total, right, count = 0.0, 0, 0
    for x, y in batches:
        logits = model(x)
        total += F.cross_entropy(logits, y, reduction="sum").item()
        right += int((logits.argmax(1) == y).sum())
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    return total / count, right / count


# %% wrong "the loss in one pass, the hits in another" fails=one_pass
@torch.no_grad()
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total = sum(F.cross_entropy(model(x), y, reduction="sum").item() for x, y in batches)
    right = sum(int((model(x).argmax(1) == y).sum()) for x, y in batches)
    count = sum(len(y) for _, y in batches)
    for m, mode in modes.items():
        m.training = mode
    return total / max(count, 1), right / max(count, 1)


# %% wrong "added up in float32" fails=uneven_batches
@torch.no_grad()
def evaluate(model, batches):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    totals, count = torch.zeros(2), 0
    for x, y in batches:
        logits = model(x)
        totals += torch.stack([F.cross_entropy(logits, y, reduction="sum"), (logits.argmax(1) == y).sum()])
        count += len(y)
    for m, mode in modes.items():
        m.training = mode
    loss, accuracy = (totals / count).tolist()
    return loss, accuracy


# %% wrong "train(mode) sets one module alone" fails=keeps_modes
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    total = hits = count = 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(1) == y).sum().item()
            count += len(y)
    for module, mode in modes:
        module.train(mode)
    return total / count, hits / count


# %% wrong "the modes of the children are all modes" fails=keeps_modes
def evaluate(model: nn.Module, batches) -> tuple[float, float]:
    own, children = model.training, [(child, child.training) for child in model.children()]
    model.eval()
    total = hits = count = 0
    with torch.no_grad():
        for x, y in batches:
            logits = model(x)
            total += F.cross_entropy(logits, y, reduction="sum").item()
            hits += (logits.argmax(1) == y).sum().item()
            count += len(y)
    for child, mode in children:
        child.train(mode)
    model.training = own
    return total / count, hits / count


# %% equivalent "finally taken away: try:"
# The docstring says that no check raises an error inside the model.


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


def to_evaluate(function, first, start, training=(), old=None, watched=False):
    model = normed_model(torch.sin if watched else first, start, old)
    if watched:
        model[0] = Watched(first)
    model.before = list(training)
    return model


def left(model):
    torch.set_grad_enabled(True)
    return {
        "state": probes.state_of(model),
        "gradients": probes.gradients_of(model),
        "requires grad": [True] * 6,
    }


def modes_of(model):
    return model.before


def evaluated_while(recording, evaluate, model, batches):
    evaluate(model, batches)
    return recording


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
