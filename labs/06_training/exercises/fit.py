# %% given
torch.manual_seed(0)


def filled(numbers, size=3):
    """The state of a linear layer and a batch normalisation when each entry is filled with its number."""
    model = nn.Sequential(nn.Linear(2, size), nn.BatchNorm1d(size))
    entries = model.state_dict().items()
    return {name: torch.full_like(t, number) for (name, t), number in zip(entries, numbers, strict=True)}


@probes.probe
def scripted(fit, size, epoch, validate, patience, most):
    """What fit returns for such a model, its state, and whether its tensors are the same, in the same memory.

    epoch(): the numbers that fill its entries after an epoch.
    """
    model = nn.Sequential(nn.Linear(2, size), nn.BatchNorm1d(size))
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


# %% exercise
def fit(model: nn.Module, run_epoch, validate, patience: int, most: int) -> tuple[int, float]:
    """Train until the validation loss has not improved for `patience` epochs in a row, and go back to the best epoch.

    run_epoch(): trains model for an epoch, in place. validate(): the validation loss, a float; call it once after each
    epoch. The first epoch improves; its loss is not nan. Another one improves if its loss is lower than that of every
    epoch before; nan is not lower. patience, most: at least 1. No more than `most` epochs are run.
    Afterwards all that model.state_dict() lists is as after the best epoch: the same objects, changed in place.
    Returns (number of the best epoch, counted from 0, and its loss).
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


# %% checks
class Script:
    """Validation losses, one for each epoch, what it makes of the state, and the calls in their order."""

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
        "Count from 0, compare with the best. Keep a copy of the whole state_dict that training cannot change.",
    ),
):
    script = Script([3.0, 2.0, 2.5, 2.25, 2.75, 1.0, 1.5, 1.25, 1.75, 2.0])
    got = scripted(fit, 3, script.epoch, script.validate, 3, 10)
    assert_close(got["returned"], [1, 2.0])
    last = filled(script.numbers[4])
    explain(
        got["state"],
        filled(script.numbers[1]),
        {"these are the weights of the last epoch: what you kept was changed by training": last},
    )

# %% hidden checks
with check(
    "other_cases",
    "other losses: the best epoch and its weights and buffers",
    weight=3,
    required=True,
    hint="Which epoch do your weights come from, and which one your buffers?",
):
    for losses, patience, best in (
        ([0.5, 1.0, 1.0], 2, 0),
        ([2.0, 3.0, 1.5, 4.0, 4.0], 2, 2),
        ([-1.0, -2.0, -1.5], 1, 1),
    ):
        script = Script([*losses, *[9.0] * 9], best + 1)
        got = scripted(fit, patience + 1, script.epoch, script.validate, patience, 12)
        assert_close(got["returned"], [best, losses[best]])
        assert_close(got["state"], filled(script.numbers[best], patience + 1), name="the model")
with check(
    "patience",
    "it stops after exactly `patience` epochs without an improvement",
    weight=3,
    hint="Count: which epoch is the first without an improvement, and after which one do you stop?",
):
    for losses, patience, epochs in (
        ([2.0, 3.0, 3.0], 1, 2),
        ([2.0, 1.0, 1.5, 1.25, 0.5], 2, 4),
    ):
        script = Script([*losses, *[9.0] * 9])
        scripted(fit, 3, script.epoch, script.validate, patience, 12)
        assert_close(script.calls, ["epoch", "loss"] * epochs, name="the calls")
with check(
    "equal_loss",
    "an equal loss is no improvement",
    weight=2,
    hint="Lower, or not higher?",
):
    script = Script([2.0, 2.0, 2.0, 3.0, 3.0, 3.0])
    got = scripted(fit, 3, script.epoch, script.validate, 3, 6)
    assert_close(got["returned"], [0, 2.0])
    assert_close(got["state"], filled(script.numbers[0]), name="the model")
with check(
    "most_epochs",
    "at most `most` epochs",
    weight=2,
    hint="What stops your loop if every epoch is better? What is left to do when it ends in this way?",
):
    for most in (1, 3):
        script = Script([9.0 - n for n in range(9)])
        got = scripted(fit, 3, script.epoch, script.validate, 2, most)
        assert_close(got["returned"], [most - 1, 10.0 - most])
        assert_close(script.calls, ["epoch", "loss"] * most, name="the calls")
    script = Script([3.0, 1.0, 2.0, 2.5], 9)  # patience is left at the end
    got = scripted(fit, 3, script.epoch, script.validate, 5, 4)
    assert_close(got["returned"], [1, 1.0])
    assert_close(got["state"], filled(script.numbers[1]), name="the model")
with check(
    "nan_loss", "a loss of nan is never the best", weight=2, hint="What does nan < 3 say, and what does 3 < nan?"
):
    script = Script([4.5, 4.0, math.nan, 3.0, math.nan, math.nan, 5.0])
    got = scripted(fit, 3, script.epoch, script.validate, 2, 7)
    assert_close(got["returned"], [3, 3.0])
    assert_close(got["state"], filled(script.numbers[3]), name="the model")
with check("exact_losses", "the losses to their last digit", weight=1, hint="Which of your lines rounds a loss?"):
    script = Script([0.1 + 1e-12, 0.1, 0.2])
    got = scripted(fit, 3, script.epoch, script.validate, 1, 3)
    assert_close(got["returned"], [1, 0.1], rtol=1e-13, atol=0)
    assert_close(got["state"], filled(script.numbers[1]), name="the model")
with check(
    "infinite_loss",
    "the first epoch improves, even with an infinite loss",
    weight=1,
    hint="What is lower than infinity?",
):
    script = Script([math.inf, math.inf, math.inf, 1.0])
    got = scripted(fit, 3, script.epoch, script.validate, 2, 4)
    assert_close(got["returned"], [0, math.inf])
    assert_close(got["state"], filled(script.numbers[0]), name="the model")
with check(
    "same_objects", "the parameters are the same objects", guard=True, hint="Does an optimizer know your new tensors?"
):
    script = Script([1.0, 2.0, 3.0])
    got = scripted(fit, 3, script.epoch, script.validate, 1, 5)
    assert got["same"] == [True] * 7, "a parameter or a buffer is another object now, or in other memory"


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


# %% wrong "state_dict() is a copy" fails=example,other_cases,equal_loss,most_epochs,nan_loss,exact_losses,infinite_loss
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


# %% wrong "parameters are all there is to keep" fails=example,other_cases,equal_loss,most_epochs,nan_loss,exact_losses,infinite_loss
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, kept = -1, math.inf, []
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, kept = epoch, loss, [p.detach().clone() for p in model.parameters()]
        elif epoch - best >= patience:
            break
    with torch.no_grad():
        for p, old in zip(model.parameters(), kept):
            p.copy_(old)
    return best, best_loss


# %% wrong "one epoch of patience too many" fails=example,patience,infinite_loss
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best > patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong "an equal loss is an improvement" fails=equal_loss,infinite_loss
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if loss <= best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong "worse than the epoch before, not than the best" fails=example,patience
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state, before, waited = -1, math.inf, {}, math.inf, 0
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        waited = 0 if loss < before else waited + 1
        before = loss
        if waited >= patience:
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


# %% wrong "no bound on the epochs" fails=most_epochs raises=IndexError
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state, epoch = -1, math.inf, {}, 0
    while True:
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
        epoch += 1
    model.load_state_dict(state)
    return best, best_loss


# %% wrong "epochs are counted from 1" fails=example,other_cases,equal_loss,most_epochs,nan_loss,exact_losses,infinite_loss
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = 0, math.inf, {}
    for epoch in range(1, most + 1):
        run_epoch()
        loss = validate()
        if epoch == 1 or loss < best_loss:
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


# %% wrong "the loss is asked for twice" fails=patience,most_epochs
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        if epoch == 0 or validate() < best_loss:
            best, best_loss, state = epoch, validate(), copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state)
    return best, best_loss


# %% wrong "new memory behind the same parameters" fails=same_objects
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    for name, t in model.state_dict(keep_vars=True).items():
        t.data = state[name]
    return best, best_loss


# %% wrong "new tensors put in place of the old ones" fails=same_objects
def fit(model, run_epoch, validate, patience, most):
    best, best_loss, state = -1, math.inf, {}
    for epoch in range(most):
        run_epoch()
        loss = validate()
        if epoch == 0 or loss < best_loss:
            best, best_loss, state = epoch, loss, copy.deepcopy(model.state_dict())
        elif epoch - best >= patience:
            break
    model.load_state_dict(state, assign=True)
    return best, best_loss


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


def scripted(fit, size, epoch, validate, patience, most):
    seen = []
    best, loss = fit(None, lambda: seen.append(epoch()), validate, patience, most)
    step = [(b - a) / max(1, len(seen) - 1) for a, b in zip(seen[0], seen[-1])]
    state = filled([round(n + best * d) for n, d in zip(seen[0], step)], size)
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


def scripted(fit, size, epoch, validate, patience, most):
    last = []
    best, loss = fit(None, lambda: last.__setitem__(slice(None), epoch()), validate, patience, most)
    return {"returned": [best, loss], "state": filled(last, size), "same": [True] * 7}
