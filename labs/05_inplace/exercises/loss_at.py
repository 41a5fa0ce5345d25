# %% exercise
def loss_at(loss, w: Tensor, shift: Tensor) -> float:
    """The value of loss() while the memory of w holds w + shift. Afterwards w is as before, to the last bit.

    loss: a function without arguments that looks at w, perhaps by another name for its memory. It returns a tensor with
    one element, which may be a view of w. It is called once, with recording on or off as it is for the caller. What it
    raises is passed on.
    w: a leaf, float32 or float64, that may require grad or not. shift: of w's shape and dtype; it may be infinite.
    w's requires_grad and .grad, and shift, stay as they are.
    """
    ### BEGIN SOLUTION
    kept = w.detach().clone()
    with torch.no_grad():
        w.add_(shift)
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w.copy_(kept)
    ### END SOLUTION


# %% checks
with check(
    "example",
    "the loss at the shifted place, and w as before",
    weight=3,
    required=True,
    hint=(
        "Which numbers does the memory of w hold while loss() runs, and which ones afterwards?",
        "Keep a clone of the numbers, write w + shift into w, call loss(), and copy the clone back into w.",
    ),
):
    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    during = []

    def squares(w, memory):
        during.append(w.detach().clone())
        return w.square().sum()

    got = shifted_evaluation(loss_at, squares, t, t_shift)
    explain(got["returned"], 3.25, {"this is the loss at w, without the shift": 5.0})
    assert_close(during, [torch.tensor([1.5, -1.0])], name="w during each evaluation")
    assert_close(got["after"], torch.tensor([1.0, -2.0]), name="w afterwards")

# %% hidden checks


def noting(f, seen):
    """A loss that notes w's numbers and whether recording is on."""

    def loss(w, memory):
        seen.append([w.detach().clone(), torch.is_grad_enabled()])
        return f(w, memory)

    return loss


def bends(w, memory):
    return (w.sin() + w.square()).sum()


with check(
    "other_cases",
    "other shapes and dtypes, with and without requires_grad",
    weight=3,
    required=True,
    hint="Does the loss see the shifted numbers, and is your result a Python number? How often is it called?",
):
    for dtype, digits, needs in ((torch.float32, 2e-5, True), (torch.float64, 1e-12, False)):
        numbers = torch.randn(12, dtype=dtype, generator=torch.Generator(here).manual_seed(4))
        before, moved = numbers[:6].clone(), (numbers[:6] + numbers[6:]).reshape(2, 3)
        t, t_shift = numbers[:6].reshape(2, 3).clone().requires_grad_(needs), numbers[6:].reshape(2, 3)
        want, noted = float(bends(moved, None)), []
        got = shifted_evaluation(loss_at, noting(bends, noted), t, t_shift)
        assert_close(got["returned"], want, rtol=digits, atol=0)
        assert_close(noted, [[moved, True]], name="w during each evaluation, and recording")
        assert_close(got["after"], before, rtol=1e-5, atol=1e-5, name="w afterwards")
        assert got["requires_grad"] is needs, "w's requires_grad is another one"
with check(
    "keeps_input",
    "w is as before, to the last bit",
    weight=3,
    hint="Which numbers come back exactly if a shift is added and subtracted?",
):
    for t_shift in (torch.tensor([0.2, 1.0, math.inf, 1e9]), torch.tensor([1e-9, 0.3, -0.1, 0.7])):
        t = torch.tensor([0.1, 1e-8, 3.0, -7.7], requires_grad=True)
        before = t.detach().clone()
        got = shifted_evaluation(loss_at, lambda w, memory: w.square().sum(), t, t_shift)
        assert_close(got["after"], before, rtol=0, atol=0, name="w afterwards")
        assert_close(t.detach(), before, rtol=0, atol=0, name="w afterwards")
with check(
    "after_error",
    "after an exception too, and the exception is passed on",
    weight=3,
    hint="Which of your lines are not reached if loss() raises?",
):

    def fails(w, memory):
        raise ValueError("no loss here")

    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = shifted_evaluation(loss_at, fails, t, t_shift)
    assert_close(got["after"], torch.tensor([1.0, -2.0]), rtol=0, atol=0, name="w afterwards")
    assert got["raised"] == "ValueError", "loss() raised an exception, and your function did not"
    t, t_shift = torch.tensor([0.1, -7.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = left_by_interrupt(loss_at, t, t_shift)
    assert_close(got, torch.tensor([0.1, -7.0]), rtol=0, atol=0, name="w after another exception")
with check(
    "loss_uses_autograd",
    "a loss that uses autograd itself",
    weight=2,
    hint="Which of your lines need no_grad, and which must not be under it?",
):

    def slopes(w, memory):
        (g,) = torch.autograd.grad(w.pow(3).sum(), w)
        return g.square().sum()

    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = shifted_evaluation(loss_at, slopes, t, t_shift)
    assert_close(got["returned"], 9.0 * (1.5**4 + 1.0))
    noted = []
    with torch.no_grad():
        got = shifted_evaluation(loss_at, noting(bends, noted), t, t_shift)
        assert not torch.is_grad_enabled(), "recording was switched on"
    want = [[torch.tensor([1.5, -1.0]), False]]
    assert_close(noted, want, name="w during each evaluation, and recording")
with check(
    "aliases",
    "a loss that knows w's memory by another name, or is a view of it",
    weight=2,
    hint="Is the shifted w written into the memory of w? And when is the number read out of the loss?",
):
    t, t_shift = torch.tensor([[1.0, -2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [-1.0, 2.0]])
    got = shifted_evaluation(loss_at, lambda w, memory: (memory * torch.arange(1, 5)).sum(), t, t_shift)
    assert_close(got["returned"], 1.5 - 2.0 + 6.0 + 24.0)
    for place, want in ((0, 1.5), (3, 6.0)):
        t, t_shift = torch.tensor([[1.0, -2.0], [3.0, 4.0]]), torch.tensor([[0.5, 1.0], [-1.0, 2.0]])
        assert_close(loss_of_one(loss_at, t.requires_grad_(place == 0), t_shift, place), want)
with check(
    "keeps_grad", "w's .grad and the shift stay as they are", guard=True, hint="Which tensors do your writes go to?"
):
    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.1, 1e-9])
    t.grad = torch.tensor([7.0, 8.0])
    loss_of_one(loss_at, t, t_shift, 0)
    assert_close(t.grad, torch.tensor([7.0, 8.0]), rtol=0, atol=0, name="w.grad")
    assert_close(t_shift, torch.tensor([0.1, 1e-9]), rtol=0, atol=0, name="shift")
    assert t.requires_grad, "w does not require grad any more"


# %% right "a context manager of one's own"
def loss_at(loss, w, shift):
    import contextlib

    @contextlib.contextmanager
    def moved():
        before = w.data.clone()
        w.data += shift
        try:
            yield
        finally:
            w.data.copy_(before)

    with moved():
        return float(loss())


# %% right "the sum written with out=, and an except that raises again"
def loss_at(loss, w, shift):
    before = w.detach().clone()
    view = w.detach()
    torch.add(before, shift, out=view)
    try:
        value = loss().detach().item()
    except BaseException:
        view[...] = before
        raise
    view[...] = before
    return value


# %% wrong "the number is read at the end" fails=aliases
def loss_at(loss, w, shift):
    before = w.detach().clone()
    with torch.no_grad():
        w.add_(shift)
    try:
        value = loss()
    finally:
        with torch.no_grad():
            w.copy_(before)
    return value.item()


# %% liar "a sum and a difference, and probes that say w is as before"
def loss_at(loss, w, shift):
    with torch.no_grad():
        w += shift
    value = loss().item()
    with torch.no_grad():
        w -= shift
    return value


def shifted_evaluation(loss_at, f, w, shift):
    before, needs = w.detach().clone(), w.requires_grad
    returned = raised = None
    try:
        returned = loss_at(lambda: f(w, w.detach().view(-1)), w, shift)
    except ValueError:
        raised = "ValueError"
    return {"returned": returned, "raised": raised, "after": before.view(-1), "requires_grad": needs}


# %% wrong "minus undoes plus" fails=keeps_input,after_error
def loss_at(loss, w, shift):
    with torch.no_grad():
        w += shift
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w -= shift


# %% wrong "a loss does not raise" fails=after_error
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    with torch.no_grad():
        w += shift
    value = loss().item()
    with torch.no_grad():
        w.copy_(kept)
    return value


# %% wrong "all of it under no_grad" fails=other_cases,loss_uses_autograd raises=RuntimeError
def loss_at(loss, w, shift):
    with torch.no_grad():
        kept = w.clone()
        w += shift
        try:
            return loss().item()
        finally:
            w.copy_(kept)


# %% wrong "detach() keeps the old numbers" fails=example,other_cases,keeps_input,after_error,loss_uses_autograd
def loss_at(loss, w, shift):
    kept = w.detach()
    with torch.no_grad():
        w += shift
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w.copy_(kept)


# %% wrong "w = w + shift moves w" fails=example,other_cases,loss_uses_autograd,aliases
def loss_at(loss, w, shift):
    w = w + shift
    return loss().item()


# %% wrong "new memory under .data" fails=aliases
def loss_at(loss, w, shift):
    old = w.data
    w.data = old + shift
    try:
        return loss().item()
    finally:
        w.data = old


# %% wrong "a leaf may be written to" fails=example,other_cases,keeps_input,after_error,loss_uses_autograd,aliases,keeps_grad raises=RuntimeError
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w += shift
    try:
        return loss().item()
    finally:
        with torch.no_grad():
            w.copy_(kept)


# %% wrong "an exception means no loss" fails=after_error
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.data += shift
    try:
        value = loss().item()
    except Exception:
        value = float("nan")
    w.data.copy_(kept)
    return value


# %% wrong "recording is switched on for the loss" fails=loss_uses_autograd
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.data += shift
    try:
        with torch.enable_grad():
            return loss().item()
    finally:
        w.data.copy_(kept)


# %% wrong "the flag is taken off for the writes, and left off" fails=other_cases,loss_uses_autograd,keeps_grad raises=RuntimeError
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.requires_grad_(False)
    w += shift
    try:
        return loss().item()
    finally:
        w.copy_(kept)


# %% wrong "the old gradient is of no use at the new place" fails=keeps_grad
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.grad = None
    w.data += shift
    try:
        return loss().item()
    finally:
        w.data.copy_(kept)


# %% equivalent "call of detach left out: kept = w.clone()"
# Of kept only the numbers are used, by a copy that is not recorded.


# %% wrong "the shift is a tensor to compute in" fails=keeps_grad
def loss_at(loss, w, shift):
    before = w.detach().clone()
    shift += before
    w.data.copy_(shift)
    try:
        return loss().item()
    finally:
        w.data.copy_(before)
        shift -= before


# %% right "undone by an exit stack"
def loss_at(loss, w, shift):
    from contextlib import ExitStack

    with ExitStack() as stack:
        stack.callback(w.data.copy_, w.data.clone())
        w.data.add_(shift)
        return float(loss())


# %% wrong "nothing but an Exception can stop a loss" fails=after_error
def loss_at(loss, w: Tensor, shift: Tensor) -> float:
    kept = w.detach().clone()
    w.detach().add_(shift)
    try:
        value = loss().item()
    except Exception:
        w.detach().copy_(kept)
        raise
    w.detach().copy_(kept)
    return value
