# %% given
torch.manual_seed(0)


def normed(classes):
    """The shapes of the weights of a model from 4 numbers to logits, with batch normalization in a block."""
    block = {"1.0.weight": (7, 4), "1.0.bias": (7,), "1.1.weight": (7,), "1.1.bias": (7,), "1.1.running_mean": (7,)}
    return block | {"3.weight": (classes, 7), "3.bias": (classes,)}


def doubled(x, training):
    """A first layer. A number above 99 raises an error."""
    if x.numel() and x.max() > 99:
        raise ArithmeticError("a number above 99")
    return x * 2


def by_recording(x, training):
    return x * (2 if torch.is_grad_enabled() else -1)


@probes.probe
def measured(evaluate, start, first, batches, classes, training=(), old=None, frozen=()):
    """What evaluate returns for a model with these weights, and what it leaves behind.

    first: the first layer, as for Called. batches: several can be read once. training: the names of the modules in
    training mode. old: the number in each .grad. frozen: the names of frozen parameters.
    """
    block = nn.Sequential(nn.Linear(4, 7), nn.BatchNorm1d(7))
    model = nn.Sequential(Called(first), block, nn.Tanh(), nn.Linear(7, classes)).to(here)
    model[2].add_module("shared", block[1])  # which doesn't run there
    model.load_state_dict(start, strict=False)
    for name, module in model.named_modules():
        module.training = name in training
    for name, parameter in model.named_parameters():
        parameter.grad = None if old is None else torch.full_like(parameter, old)
        parameter.requires_grad_(name not in frozen)
    seen = {"returned": None, "raised": False}
    try:
        seen["returned"] = evaluate(model, iter(batches) if len(batches) > 1 else batches, classes)
    except ArithmeticError:
        seen["raised"] = True
    seen["state"] = on_cpu(probes.state_of(model))
    seen["modes"] = [module.training for module in model.modules()]
    seen["grads"] = [None if p.grad is None else p.grad.cpu() for p in model.parameters()]
    return seen | {"requires": [p.requires_grad for p in model.parameters()]}


# %% exercise
def evaluate(model: nn.Module, batches, classes: int) -> tuple[float, Tensor]:
    """Mean cross entropy over all samples, and the confusion matrix, in evaluation mode and without a graph.

    batches: pairs x, y (n,) int64 in CPU memory. They are moved to the device of the model's parameters. The model
    gives logits (n, classes). Returns (loss, matrix): a Python float, and an int64 tensor (classes, classes) in CPU
    memory that counts labels by row and predictions (the largest logit, or the first of equal ones) by column.

    Details:
    - batches: an iterable, which can be read once, with one to ten million samples in all; n may differ, and be 0.
    - Logits that aren't equal differ by more than 1e-4.
    - You may assume that the model doesn't change its input, nor its buffers in evaluation mode.
    - Afterward, parameters, whether they require grad, buffers and every .grad are as before, and each module is in the
      mode it was in. The grad mode is as before. All this also holds if the model raises an error, which is passed on.
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


# %% promises
# Mean cross entropy over -> example, uneven_batches, confusion_matrix, no_graph
# batches: pairs x, y -> example, uneven_batches, confusion_matrix
# They are moved -> example, uneven_batches, confusion_matrix
# The model gives logits -> uneven_batches, confusion_matrix
# Returns (loss, matrix) -> example, uneven_batches, confusion_matrix
# batches: an iterable -> example, uneven_batches, confusion_matrix
# Logits that aren't -> uneven_batches, confusion_matrix
# You may assume -> uneven_batches, confusion_matrix, keeps_model, keeps_grad
# Afterward, parameters -> keeps_model, keeps_grad, keeps_modes
# The grad mode -> grad_mode
# All this also holds -> after_error, grad_mode


# %% domain
@domain(
    reference,
    *("one sample", "one batch", "an empty batch first", "an empty batch between", "an empty batch last"),
    *("one class", "a class does not occur", "a class is not predicted", "equal logits", "recording shows"),
    *("all train", "only the model trains", "only the inner module trains", "holds .grad", "frozen", "recording off"),
    *("raises at once", "raises later", "large logits"),
    call=measured,
    contexts={"recording off": torch.no_grad},
)
def arguments(draw, edge):
    g, classes = draw.make_generator(), 1 if edge == "one class" else draw(st.integers(2, 5))
    start = {name: torch.randn(shape, generator=g) / 2 for name, shape in normed(classes).items()}
    start["3.bias"][-1] -= 9 if edge == "a class is not predicted" else 0
    if edge == "equal logits":
        start |= {"3.weight": torch.zeros(classes, 7), "3.bias": torch.ones(classes)}
    a, b, c = draw(st.permutations([1, 3, 6]))
    sizes = {"one sample": [1], "one batch": [a], "an empty batch first": [0, a, b]}.get(edge, [a, b, c])
    sizes = {"an empty batch between": [a, 0, b], "an empty batch last": [a, b, 0]}.get(edge, sizes)
    labels = max(classes - (edge == "a class does not occur"), 1)
    batches = [(torch.randn(n, 4, generator=g), torch.randint(0, labels, (n,), generator=g)) for n in sizes]
    if "raises" in edge:
        batches[0 if edge == "raises at once" else -1][0][0, 0] = 1e6
    if edge == "large logits":  # of the first class, and some other class occurs
        start["3.bias"][0] += 200
        batches[0][1][0] = classes - 1
    training = draw(st.sampled_from([["", "1", "3"], ["1", "1.1"], ["", "0", "1.0", "2"]]))
    training = {"all train": ["", "0", "1", "1.0", "1.1", "2", "3"], "only the model trains": [""]}.get(edge, training)
    training = ["1.1"] if edge == "only the inner module trains" else training
    old = draw(st.sampled_from([2.0, -1.0])) if edge == "holds .grad" or "raises" in edge else None
    frozen = ["1.0.weight", "3.bias"] if edge == "frozen" else []
    return start, by_recording if edge == "recording shows" else doubled, batches, classes, training, old, frozen


# %% checks
with check(
    "example",
    "one batch of nine: the loss and the matrix",
    weight=2,
    required=True,
    hint=(
        "Is it the loss or the matrix? Which mode is batch normalization in while you measure?",
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
        measured(evaluate, start, doubled, t, 3, ["", "1", "1.1"])["returned"],
        (loss, want),
        {
            "labels belong to rows, predictions to columns": (loss, want.T.contiguous()),
            "pairs that occur twice in a batch were counted once": (loss, want.clamp(max=1)),
        },
        name="(loss, matrix)",
    )

# %% hidden checks


def assert_returned(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["returned"], trial.case.report.result["returned"], name="(loss, matrix)")


def assert_left(function, *edges):
    """Everything but the result and the modes."""
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["raised"], want["raised"], name="whether the error was passed on")
        assert_close(got["state"], want["state"], name="the model")
        assert_close(got["grads"], want["grads"], name="the gradients")
        assert_close(got["requires"], want["requires"], name="requires_grad")


def assert_modes(function, *edges):
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["modes"], trial.case.report.result["modes"], name="the modes")


def mean_of_means(trial):
    start, first, batches, *rest = trial.case.drawn.make_arguments()
    means = [measured(reference.function, start, first, [one], *rest)["returned"][0] for one in batches]
    return sum(means) / len(means)


with check(
    "uneven_batches",
    "batches of different sizes, one of them empty: the loss",
    weight=3,
    required=True,
    hint="How much does a sample of the smallest batch count? And what's the mean of no numbers?",
):
    for trial in arguments.iter_trials(evaluate, ""):
        loss, matrix = trial.case.report.result["returned"]
        explain(
            trial.report.result["returned"],
            (loss, matrix),
            {"each batch counts the same here, whatever its size": (mean_of_means(trial), matrix)},
        )
    assert_returned(evaluate, "one sample", "one batch")
    assert_returned(evaluate, "an empty batch first", "an empty batch between", "an empty batch last")
with check(
    "confusion_matrix",
    "the matrix of several batches, and the loss of large logits",
    weight=3,
    hint="Does each batch add to the matrix, and classes without samples? What is the logarithm of softmax's 0?",
):
    assert_returned(evaluate, "", "one class", "a class does not occur", "a class is not predicted", "equal logits")
    assert_returned(evaluate, "all train", "only the model trains", "only the inner module trains")
    assert_returned(evaluate, "holds .grad", "frozen", "large logits")
with check(
    "keeps_model",
    "parameters and running averages are as before",
    weight=2,
    hint="Which module counts the batches that it sees?",
):
    assert_left(evaluate, "", "all train", "only the inner module trains")
with check(
    "keeps_modes",
    "each module is in the mode it was in, even a shared one",
    weight=2,
    hint="Is one train() or eval() at the end enough?",
):
    assert_modes(evaluate, "", "all train", "only the model trains", "only the inner module trains")
with check("after_error", "all is restored if the model raises an error", weight=2, hint="What does finally do?"):
    assert_left(evaluate, "raises at once", "raises later")
    assert_modes(evaluate, "raises at once", "raises later")
with check("keeps_grad", "every .grad is as before", guard=True, hint="Which of your calls touches gradients?"):
    assert_left(evaluate, "", "holds .grad", "frozen")
with check("no_graph", "no graph is built", weight=1, hint="Which context does the forward pass run in?"):
    assert_returned(evaluate, "recording shows")
with check("grad_mode", "the grad mode is as before", guard=True, hint="Which mode was it before?"):
    arguments.assert_settings(evaluate, "", "recording off", "raises at once", "raises later")
    assert_returned(evaluate, "recording off")


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


# %% wrong "means of means" fails=uneven_batches,confusion_matrix,no_graph,grad_mode
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


# %% wrong "an index that adds once" fails=example,uneven_batches,confusion_matrix,no_graph,grad_mode
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


# %% wrong "predictions by row" fails=example,uneven_batches,confusion_matrix,no_graph,grad_mode
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


# %% wrong "back to training mode, all of it" fails=keeps_modes,after_error
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


# %% wrong "gradients are cleared too" fails=after_error,keeps_grad
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


# %% wrong "all parameters require grad afterwards" fails=keeps_grad
def evaluate(model, batches, classes):
    where = next(model.parameters()).device
    modes = {m: m.training for m in model.modules()}
    total, matrix = 0.0, torch.zeros(classes * classes, dtype=torch.int64)
    model.eval().requires_grad_(False)
    try:
        with torch.no_grad():
            for x, y in batches:
                logits = model(x.to(where)).cpu()
                total += F.cross_entropy(logits, y, reduction="sum").item()
                matrix += torch.bincount(y * classes + logits.argmax(1), minlength=classes * classes)
    finally:
        model.requires_grad_(True)
        for m, was in modes.items():
            m.training = was
    return total / int(matrix.sum()), matrix.reshape(classes, classes)


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
