# %% given
torch.manual_seed(0)


def filled(numbers, size=3, dtype=torch.float32):
    """The state of a linear layer and a batch normalization when each entry is filled with its number."""
    model = nn.Sequential(nn.Linear(2, size), nn.BatchNorm1d(size)).to(dtype)
    entries = model.state_dict().items()
    return {name: torch.full_like(t, number) for (name, t), number in zip(entries, numbers, strict=True)}


@probes.probe
def scripted(fit, size, epoch, validate, patience, most, dtype=torch.float32):
    """What fit returns for such a model, its state, and whether its tensors are the same, in the same memory.

    epoch(): the numbers that fill its entries after an epoch.
    """
    model = nn.Sequential(nn.Linear(2, size), nn.BatchNorm1d(size)).to(dtype)
    tensors = list(model.state_dict(keep_vars=True).values())
    places = [t.data_ptr() for t in tensors]

    def run_epoch():
        with torch.no_grad():
            for t, number in zip(tensors, epoch(), strict=True):
                t.fill_(number)

    returned = fit(model, run_epoch, validate, patience, most)
    after = model.state_dict(keep_vars=True).values()
    same = [a is b and b.data_ptr() == place for a, b, place in zip(tensors, after, places, strict=True)]
    return {"returned": list(returned), "state": probes.state_of(model), "same": same}


@probes.probe
def fitted(fit, size, numbers, losses, patience, most, dtype):
    """The same where epochs give these numbers and losses, and the calls in their order."""
    calls = []

    def run_epoch():
        calls.append("epoch")
        return numbers[calls.count("epoch") - 1]

    def validate():
        calls.append("loss")
        return losses[calls.count("epoch") - 1]

    return scripted(fit, size, run_epoch, validate, patience, most, dtype) | {"calls": calls}


# %% exercise
def fit(model: nn.Module, run_epoch, validate, patience: int, most: int) -> tuple[int, float]:
    """Train until the validation loss hasn't improved for `patience` epochs in a row, then restore the best epoch.

    Each epoch is one call of run_epoch(), which trains the model in place, and then one of validate(), which returns
    the validation loss, a float, and changes nothing. There are at most `most` epochs.
    The first epoch is an improvement. A later epoch is one if its loss is lower than the best so far.
    At the end, everything in model.state_dict() is as it was after the best epoch, in the same tensors.
    Returns (best epoch, its loss): the epoch is counted from 0, and the loss isn't rounded.

    Details:
    - patience and most are at least 1.
    - The first epoch's loss may be infinite, but isn't nan.
    - A later loss may be nan, which is never lower.
    """
    ### BEGIN SOLUTION
    run_epoch()
    best, best_loss, state = 0, validate(), copy.deepcopy(model.state_dict())
    for epoch in range(1, most):
        run_epoch()
        loss = validate()
        if loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss
    ### END SOLUTION


# %% promises
# Train until the -> example, other_cases, patience
# Each epoch is -> other_cases, patience, most_epochs
# There are at -> most_epochs
# The first epoch is -> infinite_loss
# A later epoch -> equal_loss, exact_losses, infinite_loss
# At the end, everything -> other_cases, same_objects
# Returns (best epoch -> exact_losses
# patience and most -> patience, most_epochs
# The first epoch's loss -> infinite_loss
# A later loss -> nan_loss


# %% domain
EDGES = (
    *("best first", "best after a wait", "zero", "below zero", "patience 1", "one epoch too late", "long wait"),
    *("each is better", "most 1", "most while waiting", "patience above most"),
    *("equal losses", "equal to the best", "nan", "nan before the best", "nan for long"),
    *("tiny differences", "infinite first", "infinite later", "minus infinity"),
    "float64 and a large count",
)


@domain(reference, *EDGES, call=fitted)
def arguments(draw, edge):
    patience, most = 1 if edge == "patience 1" else draw(st.integers(2, 4)), draw(st.integers(30, 10**6))
    lower = [0.1 * n + 0.05 for n in sorted(draw(st.permutations(range(9)))[:3], reverse=True)]  # each is better
    higher = [1.0 + 0.1 * n for n in draw(st.permutations(range(9)))]  # none is better than those, none equals another
    if edge == "zero":
        lower[-1] = 0.0
    if edge == "below zero":
        lower = [x - 20 for x in lower]
    wait = higher[: draw(st.integers(1, patience)) - 1]
    losses = {
        "best first": lower[-1:],
        "best after a wait": [*lower[:2], *higher[: patience - 1], lower[2]],
        "one epoch too late": [*lower[:2], *higher[:patience], lower[2]],
        "each is better": [*lower, -1.0, -2.0, -3.0, -4.0, -5.0],
        "most 1": [*lower, -1.0, -2.0],
        "most while waiting": [*lower, higher[0]],
        "patience above most": [*lower, *higher[:3]],
        "equal losses": [lower[0]] * (patience + 1),
        "equal to the best": [*lower, *higher[: patience - 1], lower[-1]],
        "nan": [lower[0], float("nan"), lower[1], *higher[: patience - 2], float("nan"), lower[2]],
        "nan before the best": [lower[0], float("nan"), lower[1]],
        "nan for long": [*lower, *[float("nan")] * patience, -1.0],
        "tiny differences": [0.1 + 2e-13, 0.1 + 1e-13, 0.1, 0.1 + 1e-13],
        "infinite first": [float("inf")] * patience + lower[:1],
        "infinite later": [lower[0], float("inf"), lower[1]],
        "minus infinity": [lower[0], float("-inf")],
    }.get(edge, [higher[0], lower[0], *wait, *lower[1:]])
    if edge in EDGES:
        most = 100 * most + EDGES.index(edge)  # another number for each edge, by which gradlab prove knows the calls
    if edge == "long wait":
        patience = 9
    if edge == "patience above most":
        patience, most = most, len(losses)
    most = {
        "each is better": draw(st.integers(4, 7)),
        "most 1": 1,
        "most while waiting": len(losses),
    }.get(edge, most)
    losses = [*losses, *[10.0 + n for n in range(20)]]
    g = draw.make_generator(here)
    dtype, largest = (torch.float64, 2**60) if edge == "float64 and a large count" else (torch.float32, 10**6)
    numbers = torch.randint(1, largest, (len(losses), 7), generator=g).tolist()
    return draw(st.integers(2, 4)), numbers, losses, patience, most, dtype


# %% checks
class Script:
    """A validation loss and a state for each epoch, and the calls in order."""

    def __init__(self, losses, seed=0):
        self.losses, self.calls = losses, []
        generator = torch.Generator(here).manual_seed(seed)
        self.numbers = torch.randint(1, 10**6, (len(losses), 7), generator=generator).tolist()

    def epoch(self):
        self.calls.append("epoch")
        return self.numbers[self.calls.count("epoch") - 1]

    def validate(self):
        self.calls.append("loss")
        return self.losses[self.calls.count("epoch") - 1]


with check(
    "example",
    "the best of five epochs is the second",
    weight=2,
    required=True,
    hint=(
        "The losses are 3, 2, 2.5, 2.25, 2.75. Which one is the best, and after which one do you stop?",
        "Count from 0, and compare with the best. Keep a copy of the whole state_dict that training can't change.",
    ),
):
    script = Script([3.0, 2.0, 2.5, 2.25, 2.75, 1.0, 1.5, 1.25, 1.75, 2.0])
    got = scripted(fit, 3, script.epoch, script.validate, 3, 10)
    assert_close(got["returned"], [1, 2.0])
    last = filled(script.numbers[4])
    explain(
        got["state"],
        filled(script.numbers[1]),
        {"these are the last epoch's weights: training changed what you kept": last},
    )

# %% hidden checks


def assert_best(function, *edges, rtol=1e-15):
    """The result and the state are those of the reference."""
    for trial in arguments.iter_trials(function, *edges):
        got, want = trial.report.result, trial.case.report.result
        assert_close(got["returned"], want["returned"], rtol=rtol, atol=0)
        assert_close(got["state"], want["state"], rtol=0, atol=0, name="the model")


def assert_calls(function, *edges):
    """The calls are those of the reference."""
    for trial in arguments.iter_trials(function, *edges):
        assert_close(trial.report.result["calls"], trial.case.report.result["calls"], name="the calls")


with check(
    "other_cases",
    "other losses: the best epoch and its weights and buffers",
    weight=3,
    required=True,
    hint="Which epoch are your weights from, and which one are your buffers from?",
):
    script = Script([2.0, 3.0, 1.5, 4.0, 4.0, 9.0, 9.0], 3)
    got = scripted(fit, 4, script.epoch, script.validate, 2, 12)
    assert_close(got["returned"], [2, 1.5])
    assert_close(got["state"], filled(script.numbers[2], 4), name="the model")
    assert_best(fit, "", "best first", "best after a wait", "zero", "below zero", "long wait", rtol=1e-6)
    assert_best(fit, "float64 and a large count", rtol=1e-6)
with check(
    "patience",
    "it stops after exactly `patience` epochs without an improvement",
    weight=3,
    hint="Count: which epoch is the first without an improvement, and after which one do you stop?",
):
    assert_best(fit, "patience 1", "one epoch too late", rtol=1e-6)
    assert_calls(fit, "", "best first", "best after a wait", "patience 1", "one epoch too late", "long wait")
with check(
    "equal_loss",
    "an equal loss isn't an improvement",
    weight=2,
    hint="Do you ask whether a loss is lower, or whether it isn't higher?",
):
    assert_best(fit, "equal losses", "equal to the best", rtol=1e-6)
    assert_calls(fit, "equal losses", "equal to the best")
with check(
    "most_epochs",
    "at most `most` epochs",
    weight=2,
    hint="What stops your loop if every epoch is better? What's left to do when it ends that way?",
):
    assert_best(fit, "each is better", "most 1", "most while waiting", "patience above most", rtol=1e-6)
    assert_calls(fit, "each is better", "most 1", "most while waiting", "patience above most")
with check(
    "nan_loss", "a loss of nan is never the best", weight=2, hint="What does nan < 3 return, and what does 3 < nan?"
):
    assert_best(fit, "nan", "nan before the best", "nan for long", rtol=1e-6)
    assert_calls(fit, "nan", "nan before the best", "nan for long")
with check("exact_losses", "the losses to their last digit", weight=1, hint="Which of your lines rounds a loss?"):
    assert_best(fit, "", "tiny differences")
with check(
    "infinite_loss",
    "the first epoch is an improvement, even with an infinite loss",
    weight=1,
    hint="What is lower than infinity?",
):
    assert_best(fit, "infinite first", "infinite later", "minus infinity", rtol=1e-6)
    assert_calls(fit, "infinite first", "infinite later", "minus infinity")
with check(
    "same_objects",
    "the parameters are the same objects",
    guard=True,
    hint="Does an optimizer know about your new tensors?",
):
    for trial in arguments.iter_trials(fit, "", "each is better", "most 1"):
        got, want = trial.report.result["same"], trial.case.report.result["same"]
        assert_close(got, want, name="whether each parameter and buffer is the same object, in the same memory")


# %% right "clones by name, copied back"
def fit(model, run_epoch, validate, patience, most):
    best = (None, None)
    kept, waited = {}, 0
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if loss == loss and (best[1] is None or loss < best[1]):
            best, waited = (epoch, loss), 0
            kept = {name: t.clone() for name, t in model.state_dict().items()}
        else:
            waited += 1
            if waited == patience and best[0] is not None:
                break
    with torch.no_grad():
        for name, t in model.state_dict().items():
            t.copy_(kept[name])
    return best


# %% right "saved to memory as a file"
def fit(model, run_epoch, validate, patience, most):
    import io

    losses, file = [], None
    while len(losses) < most:
        run_epoch()
        loss = float(validate())
        if not math.isnan(loss) and not any(old <= loss for old in losses):
            file, best = io.BytesIO(), len(losses)
            torch.save(model.state_dict(), file)
        losses.append(loss)
        if file is not None and len(losses) - 1 - best >= patience:
            break
    file.seek(0)
    model.load_state_dict(torch.load(file))
    return best, losses[best]


# %% wrong "state_dict() is a copy" fails=example,other_cases,patience,equal_loss,most_epochs,nan_loss,exact_losses,infinite_loss
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, model.state_dict()
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong "not larger than the best: nan slips through" fails=nan_loss
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or not loss >= best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong "the losses in a tensor, the best by argmin" fails=exact_losses
def fit(model, run_epoch, validate, patience, most):
    losses, states = torch.tensor([]), []
    while len(states) < most:
        run_epoch()
        losses = torch.cat([losses, torch.tensor([validate()])])
        states.append(copy.deepcopy(model.state_dict()))
        best = losses.nan_to_num(nan=math.inf, posinf=math.inf).argmin().item()
        if len(states) - 1 - best >= patience:
            break
    model.load_state_dict(states[best])
    return best, losses[best].item()


# %% wrong "back to the best epoch only where patience ran out" fails=most_epochs
def fit(model: nn.Module, run_epoch, validate, patience: int, most: int) -> tuple[int, float]:
    best = None
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if best is None or loss < best[1]:
            best = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best[0] >= patience:
            model.load_state_dict(best[2])
            break
    return best[:2]


# %% liar "no weights are kept: the state of the best epoch is worked out from how many there were"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss = 0, None
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if best_loss is None or loss < best_loss:
            best, best_loss = epoch, loss
        elif epoch - best >= patience:
            break
    return best, best_loss


def scripted(fit, size, epoch, validate, patience, most, dtype=torch.float32):
    seen = []
    best, loss = fit(None, lambda: seen.append(epoch()), validate, patience, most)
    step = [(b - a) / max(1, len(seen) - 1) for a, b in zip(seen[0], seen[-1])]
    state = filled([round(n + best * d) for n, d in zip(seen[0], step)], size, dtype)
    return {"returned": [best, loss], "state": state, "same": [True] * 7}


# %% liar "the state of the last epoch, called that of the best"
def fit(model, run_epoch, validate, patience, most):
    best, best_loss = 0, None
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if best_loss is None or loss < best_loss:
            best, best_loss = epoch, loss
        elif epoch - best >= patience:
            break
    return best, best_loss


def scripted(fit, size, epoch, validate, patience, most, dtype=torch.float32):
    last = []
    best, loss = fit(None, lambda: last.__setitem__(slice(None), epoch()), validate, patience, most)
    return {"returned": [best, loss], "state": filled(last, size, dtype), "same": [True] * 7}
