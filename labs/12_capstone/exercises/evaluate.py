# %% given
torch.manual_seed(0)


def normed(classes):
    """The shapes of the weights of a model from 4 numbers to logits, with a batch normalisation in a block."""
    block = {"1.0.weight": (7, 4), "1.0.bias": (7,), "1.1.weight": (7,), "1.1.bias": (7,), "1.1.running_mean": (7,)}
    return block | {"3.weight": (classes, 7), "3.bias": (classes,)}


@probes.probe
def measured(evaluate, start, first, batches, classes, see, training=(), old=None, later=None):
    """What evaluate returns for a model with these weights, or what it leaves there. Several names give a dict.

    first: the first layer, as for Called. training: the names of the modules in training mode. old: the number in each
    .grad. later: a batch for the model afterwards, in the modes that it is in then, forward and backward.
    """
    block = nn.Sequential(nn.Linear(4, 7), nn.BatchNorm1d(7))
    model = nn.Sequential(Called(first), block, nn.Tanh(), nn.Linear(7, classes)).to(here)
    model.load_state_dict(start, strict=False)
    for name, module in model.named_modules():
        module.training = name in training
    for parameter in model.parameters():
        parameter.grad = None if old is None else torch.full_like(parameter, old)
    raised = False
    try:
        returned = evaluate(model, batches, classes)
    except ArithmeticError:
        raised = True
    if see in ("loss and matrix", "loss", "matrix"):
        return {"loss and matrix": returned, "loss": returned[0], "matrix": returned[1]}[see]
    modes = [module.training for module in model.modules()]
    result = model(later.to(here))
    if result.requires_grad:
        result.square().sum().backward()
    left = {"result": result.detach().cpu(), "state": on_cpu(probes.state_of(model)), "modes": [raised, *modes]}
    left["grads"] = [None if p.grad is None else p.grad.cpu() for p in model.parameters()]
    return {name: left[name] for name in see} if isinstance(see, list) else left[see]


# %% exercise
def evaluate(model: nn.Module, batches, classes: int) -> tuple[float, Tensor]:
    """Mean cross entropy over all samples, and the confusion matrix, in evaluation mode and without a graph.

    model: gives logits (n, classes). batches: an iterable, which can be read once, of pairs x, y (n,) int64 in CPU
    memory, with one sample at least in all; n may differ, and be 0. They are moved to the device of the model's
    parameters. Returns (loss, matrix): a Python float, and an int64 tensor (classes, classes) in CPU memory that counts
    labels by row and predictions (the largest logit) by column. Afterwards parameters and what they require, buffers,
    every .grad and the grad mode are as before, and each module is in the mode it was in, also where the model raises
    an error, which is passed on.
    """
    ### BEGIN SOLUTION
    where = next(model.parameters()).device
    modes = {module: module.training for module in model.modules()}
    total = torch.zeros((), device=where)
    matrix = torch.zeros(classes * classes, dtype=torch.int64, device=where)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits, labels = model(x.to(where)), y.to(where)
                total += F.cross_entropy(logits, labels, reduction="sum")
                pairs = labels * classes + logits.argmax(1)
                matrix.index_add_(0, pairs, torch.ones_like(pairs))
    finally:
        for module, training in modes.items():
            module.training = training
    return total.item() / int(matrix.sum()), matrix.reshape(classes, classes).cpu()
    ### END SOLUTION


# %% checks
with check(
    "example",
    "one batch of nine: the loss and the matrix",
    weight=2,
    required=True,
    hint=(
        "Is it the loss or the matrix? In which mode is the batch normalisation while you measure?",
        "eval() first. A pair (label, prediction) is one number: which calls count how often each number occurs?",
    ),
):
    t = samples([9], 0)
    start = drawn(normed(3), 0)
    with torch.no_grad():
        h = F.linear(t[0][0] * 2, start["1.0.weight"], start["1.0.bias"]) - start["1.1.running_mean"]
        h = torch.tanh(h / math.sqrt(1 + 1e-5) * start["1.1.weight"] + start["1.1.bias"])
        logits = F.linear(h, start["3.weight"], start["3.bias"])
    matrix = [[((t[0][1] == a) & (logits.argmax(1) == b)).sum().item() for b in range(3)] for a in range(3)]
    loss, want = F.cross_entropy(logits, t[0][1]).item(), torch.tensor(matrix)
    explain(
        measured(evaluate, start, lambda x, _: x * 2, t, 3, "loss and matrix", ["", "1", "1.1"]),
        (loss, want),
        {
            "labels belong to rows, predictions to columns": (loss, want.T.contiguous()),
            "pairs that occur twice in a batch were counted once": (loss, want.clamp(max=1)),
        },
        name="(loss, matrix)",
    )

# %% hidden checks
MODES = ["", "0", "1", "1.0", "1.1", "2", "3"]


def turned(seed):
    """A first layer with weights of its own. A number above 99 raises an error."""
    w = drawn({"w": (4, 4)}, seed)["w"].to(here)

    def first(x, training):
        if x.numel() and x.max() > 99:
            raise ArithmeticError("a number above 99")
        return x @ w

    return first


def labelled(sizes, classes, seed):
    """Batches of these sizes with this many classes."""
    ys = torch.randint(0, classes, (sum(sizes),), generator=torch.Generator().manual_seed(seed))
    return [(x, y) for (x, _), y in zip(samples(sizes, seed), ys.split(sizes), strict=True)]


def as_in_the_probe(start, first, training, old, later):
    """What the probe sees where nothing was done to the model: the result, the state, the gradients."""
    weights = {name: t.clone().to(here).requires_grad_("running" not in name) for name, t in start.items()}
    h = F.linear(first(later.to(here), None), weights["1.0.weight"], weights["1.0.bias"])
    running = [weights["1.1.running_mean"], torch.ones(7, device=here)]
    scale = (weights["1.1.weight"], weights["1.1.bias"])
    h = F.batch_norm(h, *running, *scale, training="1.1" in training)
    result = F.linear(h.tanh(), weights["3.weight"], weights["3.bias"])
    params = [t for t in weights.values() if t.requires_grad]
    grads = torch.autograd.grad(result.square().sum(), params)
    state = {name: t.detach().cpu() for name, t in weights.items()} | {"1.1.running_var": running[1].cpu()}
    state["1.1.num_batches_tracked"] = torch.tensor(int("1.1" in training))
    return {"result": result.detach().cpu(), "state": state, "grads": [(g + (old or 0)).cpu() for g in grads]}


def logits_of(start, first, x):
    """In evaluation mode."""
    return as_in_the_probe(start, first, [], None, x)["result"]


with check(
    "uneven_batches",
    "batches of different sizes, one of them empty: the loss",
    weight=3,
    required=True,
    hint="How much does a sample of the smallest batch count? And what is the mean of no numbers?",
):
    for seed, (sizes, n) in enumerate((([7, 3, 1], 4), ([7, 3, 1], 4), ([5, 0, 2, 8], 5), ([1], 2), ([0, 4, 3, 0], 3))):
        t, start, first = labelled(sizes, n, seed), drawn(normed(n), seed), turned(seed)
        xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
        losses = F.cross_entropy(logits_of(start, first, xs), ys, reduction="none")
        means = [part.mean().item() for part in losses.split(sizes) if len(part)]
        explain(
            measured(evaluate, start, first, t, n, "loss", MODES),
            losses.mean().item(),
            {"each batch counts the same here, whatever its size": sum(means) / len(means)},
        )
with check(
    "confusion_matrix",
    "the matrix of several batches",
    weight=3,
    hint="Does each batch add to what is there? Are classes without a sample in it?",
):
    for seed, (sizes, n) in enumerate((([6, 6, 3], 3), ([6, 6, 3], 3), ([4, 0, 9, 2], 5), ([1, 1], 6), ([0, 5], 1))):
        t, start, first = labelled(sizes, max(n - 1, 1), seed), drawn(normed(n), seed), turned(seed)
        start["3.bias"][-1] -= 9.0  # the last class does not occur
        xs, ys = torch.cat([x for x, _ in t]), torch.cat([y for _, y in t])
        want = torch.zeros(n, n, dtype=torch.int64)
        for a, b in zip(ys.tolist(), logits_of(start, first, xs).argmax(1).tolist(), strict=True):
            want[a, b] += 1
        batches = iter(t) if n == 6 else t
        assert_close(measured(evaluate, start, first, batches, n, "matrix", MODES), want, name="the matrix")
with check(
    "keeps_model",
    "parameters and running averages are as before",
    weight=2,
    hint="Which module counts the batches it sees?",
):
    for n, modes in ((3, MODES), (5, [])):
        case = (drawn(normed(n), n), turned(n))
        t, later = labelled([5, 4], n, 8), samples([6], n)[0][0]
        want = as_in_the_probe(*case, modes, None, later)["state"]
        got = measured(evaluate, *case, t, n, "state", modes, None, later)
        assert_close(got, want, name="the model, one batch later")
with check(
    "keeps_modes", "each module is in the mode it was in", weight=2, hint="Is one train() at the end enough, or eval()?"
):
    for n, modes in enumerate((MODES, [], ["", "0", "1", "1.0", "2", "3"], ["1.1"], ["1"]), 2):
        case, later = (drawn(normed(n), n), turned(n)), samples([5], n)[0][0]
        want = as_in_the_probe(*case, modes, None, later)["result"]
        t = labelled([5], n, 9)
        got = measured(evaluate, *case, t, n, ["modes", "result"], modes, None, later)
        assert_close(got["modes"], [False, *[name in modes for name in MODES]], name="an error, and the modes")
        assert_close(got["result"], want, name="what the model gives for one batch more")
with check("after_error", "where the model raises an error, too", weight=2, hint="What does finally do?"):
    for n, modes in ((3, MODES), (4, ["1.0"])):
        case, later = (drawn(normed(n), n), turned(n)), samples([5], n)[0][0]
        want = as_in_the_probe(*case, modes, None, later)
        t = labelled([5, 3], n, 10)
        t[1][0][1] = 1e6
        got = measured(evaluate, *case, t, n, ["modes", "result", "grads"], modes, None, later)
        assert_close(got["modes"], [True, *[name in modes for name in MODES]], name="an error, and the modes")
        assert_close(got["result"], want["result"], name="what the model gives for one batch more")
        assert_close(got["grads"], want["grads"], rtol=1e-4, atol=1e-4, name="the gradients, one batch later")
with check("keeps_grad", "every .grad is as before", guard=True, hint="Which call of yours touches gradients?"):
    for n, old in ((3, None), (4, 2.0)):
        case, later = (drawn(normed(n), n), turned(n)), samples([5], n)[0][0]
        want = as_in_the_probe(*case, MODES, old, later)["grads"]
        got = measured(evaluate, *case, labelled([5], n, 11), n, "grads", MODES, old, later)
        assert_close(got, want, rtol=1e-4, atol=1e-4, name="the gradients, one batch later")
with check("no_graph", "no graph is built", weight=1, hint="Under which context does the forward pass run?"):
    for n in (2, 4):
        recording = []

        def noting(x, training):
            recording.append(torch.is_grad_enabled())
            return x * 3

        measured(evaluate, drawn(normed(n), n), noting, labelled([5, n], n, 9), n, "loss")
        assert recording == [False] * len(recording), "recording was on"
    with torch.no_grad():
        measured(evaluate, drawn(normed(2), 2), noting, labelled([5, 2], 2, 9), 2, "loss")
        assert not torch.is_grad_enabled(), "recording was off before the call, and is on now"


# %% right "index_put_ that accumulates, under inference_mode"
def evaluate(model, batches, classes):
    device = next(model.parameters()).device
    training = [(m, m.training) for m in model.modules()]
    matrix = torch.zeros(classes, classes, dtype=torch.long)
    losses = []
    try:
        model.eval()
        with torch.inference_mode():
            for x, y in batches:
                out = model(x.to(device)).cpu()
                losses += F.cross_entropy(out, y, reduction="none").tolist()
                one = torch.ones(len(y), dtype=torch.long)
                matrix.index_put_((y, out.max(dim=1).indices), one, accumulate=True)
    finally:
        for m, was in training:
            m.training = was
    return sum(losses) / len(losses), matrix


# %% right "one-hot vectors, multiplied"
def evaluate(model, batches, classes):
    device = next(model.parameters()).device
    modes = {name: m.training for name, m in model.named_modules()}
    for m in model.modules():
        m.training = False
    logits, labels = [], []
    try:
        with torch.no_grad():
            for x, y in batches:
                logits.append(model(x.to(device)).cpu())
                labels.append(y)
    finally:
        for name, m in model.named_modules():
            m.training = modes[name]
    logits, labels = torch.cat(logits), torch.cat(labels)
    a, b = F.one_hot(labels, classes), F.one_hot(logits.argmax(1), classes)
    return F.cross_entropy(logits, labels).item(), a.T @ b


# %% wrong "means of means" fails=uneven_batches
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, n, matrix = 0.0, 0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                if not len(y):
                    continue
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device)).item()
                n += 1
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / n, matrix.reshape(classes, classes)


# %% wrong "the mean of an empty batch" fails=uneven_batches
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device)).item() * len(y)
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "an index that adds once" fails=example,confusion_matrix
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, count, matrix = 0.0, 0, torch.zeros(classes, classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                count += len(y)
                matrix[y, logits.argmax(1).cpu()] += 1
    finally:
        for m, was in modes.items():
            m.training = was
    return total / count, matrix


# %% wrong "predictions by row" fails=example,confusion_matrix
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(logits.argmax(1).cpu() * classes + y, minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "no_grad is enough" fails=example,uneven_batches,confusion_matrix,keeps_model raises=ValueError
def evaluate(model, batches, classes):
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    with torch.no_grad():
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "eval is enough" fails=no_graph
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "back to training mode, all of it" fails=keeps_model,keeps_modes,after_error
def evaluate(model, batches, classes):
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        model.train()
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "no finally" fails=after_error
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    with torch.no_grad():
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    for m, was in modes.items():
        m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "gradients are cleared too" fails=keeps_grad
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    model.zero_grad()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "as many classes as there are in the batch" fails=confusion_matrix
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    model.eval()
    total, pairs = 0.0, []
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                pairs += list(zip(y.tolist(), logits.argmax(1).tolist(), strict=True))
    finally:
        for m, was in modes.items():
            m.training = was
    size = max(max(pair) for pair in pairs) + 1
    matrix = torch.zeros(size, size, dtype=torch.int64)
    for a, b in pairs:
        matrix[a, b] += 1
    return total / len(pairs), matrix


# %% right "under inference_mode, sums read at the end"
@torch.inference_mode()
def evaluate(model, batches, classes):
    device = next(model.parameters()).device
    was = [(m, m.training) for m in model.modules()]
    losses, counts, count = [], torch.zeros(classes, classes, dtype=torch.int64, device=device), 0
    try:
        model.eval()
        for x, y in batches:
            if len(y) == 0:
                continue
            out, y = model(x.to(device)), y.to(device)
            losses.append(F.cross_entropy(out, y) * len(y))
            counts.index_put_((y, out.argmax(-1)), torch.ones_like(y), accumulate=True)
            count += len(y)
    finally:
        for m, training in was:
            m.training = training
    return torch.stack(losses).sum().item() / count, counts.cpu().clone()


# %% wrong "the children's modes, and not what is in them" fails=keeps_modes,after_error
def evaluate(model, batches, classes):
    modes, was = {m: m.training for m in model.children()}, model.training
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        model.train(was)
        for m, training in modes.items():
            m.train(training)
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "parameters that require no grad from here on" fails=after_error,keeps_grad
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval().requires_grad_(False)
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "grad mode is switched on again at the end only" fails=after_error,no_graph
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    torch.set_grad_enabled(False)
    try:
        for x, y in batches:
            logits = model(x.to(next(model.parameters()).device))
            total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    torch.set_grad_enabled(True)
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


# %% wrong "an empty batch is the end" fails=uneven_batches,confusion_matrix
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            for x, y in batches:
                if len(y) == 0:
                    break
                logits = model(x.to(next(model.parameters()).device))
                total += F.cross_entropy(logits, y.to(next(model.parameters()).device), reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return total / max(int(matrix.sum()), 1), matrix.reshape(classes, classes)


# %% wrong "the batches are read twice" fails=confusion_matrix
def evaluate(model, batches, classes):
    modes = {m: m.training for m in model.modules()}
    where = next(model.parameters()).device
    matrix = torch.zeros(classes * classes, dtype=torch.int64)
    model.eval()
    try:
        with torch.no_grad():
            losses = [F.cross_entropy(model(x.to(where)), y.to(where), reduction="sum").item() for x, y in batches]
            for x, y in batches:
                matrix += torch.bincount(y * classes + model(x.to(where)).argmax(1).cpu(), minlength=classes * classes)
    finally:
        for m, was in modes.items():
            m.training = was
    return sum(losses) / max(int(matrix.sum()), 1), matrix.reshape(classes, classes)


# %% wrong "recording is on afterwards" fails=no_graph
def evaluate(model: nn.Module, batches, classes: int) -> tuple[float, Tensor]:
    where, modes = next(model.parameters()).device, [(m, m.training) for m in model.modules()]
    matrix, total = torch.zeros(classes * classes, dtype=torch.int64), 0.0
    model.eval()
    torch.set_grad_enabled(False)
    try:
        for x, y in batches:
            logits = model(x.to(where)).cpu()
            total += F.cross_entropy(logits, y, reduction="sum").item()
            matrix += torch.bincount(y * classes + logits.argmax(1), minlength=classes * classes)
    finally:
        torch.set_grad_enabled(True)
        for module, mode in modes:
            module.training = mode
    return total / matrix.sum().item(), matrix.view(classes, classes)


# %% equivalent "argument device dropped: total = torch.zeros(())"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "argument device dropped: matrix = torch.zeros(classes * classes, dtype=torch.int64)"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "call of cpu left out: return (total.item() / int(matrix.sum()), matrix.reshape(classes, classes))"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "call of to left out: logits, labels = (model(x.to(where)), y)"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "call of to left out: logits, labels = (model(x), y.to(where))"
# On a CPU nothing has to move. On a CUDA runner this raises an error in every check.

# %% equivalent "float64 and int64 results through float32"
# The losses are float32, and the counts are small numbers.

# %% equivalent "empty tensors of a list left out"
# A batch without samples adds nothing.
