# %% exercise
def loss_at(loss, w: Tensor, shift: Tensor) -> float:
    """The value of loss() while the memory of w holds w + shift. Afterward, w is as before, to the last bit.

    w is a leaf. shift has w's shape and dtype. loss is a function without arguments that reads w, perhaps through
    another name for its memory. It returns a tensor with one element.
    Call loss once, with recording on or off as it is for the caller. Pass on any exception that it raises, even
    KeyboardInterrupt. w is as before then, too.

    Details:
    - loss may call torch.autograd.grad. It doesn't call backward(), and it changes no tensor.
    - The result of loss has w's dtype and may have any shape. It may be w or a view of it.
    - w: float32 or float64, of any shape and strides, with or without requires_grad, perhaps with NaN or infinity.
    - w may be a view without overlapping elements. The rest of the viewed memory isn't changed.
    - shift: any strides, without requires_grad. It may be infinite, and it may be w.grad.
    - w's requires_grad and .grad, shift, and the grad mode aren't changed.
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


# %% promises
# The value of loss() -> example, other_cases, aliases
# Afterward, w is -> keeps_input, after_error
# w is a leaf -> other_cases, keeps_input, aliases
# shift has w's -> keeps_input, keeps_grad, aliases
# loss is a function -> aliases
# It returns a tensor -> aliases
# Call loss once -> example, other_cases, loss_uses_autograd
# Pass on any exception -> after_error
# w is as before then -> after_error
# loss may call -> other_cases, loss_uses_autograd
# It doesn't call -> keeps_grad
# The result of loss -> aliases
# It may be w or -> aliases
# w: float32 or -> other_cases, keeps_input, aliases
# w may be a view -> aliases
# The rest of the viewed -> aliases
# shift: any strides -> keeps_input, keeps_grad, aliases
# It may be infinite -> keeps_input, keeps_grad
# w's requires_grad -> keeps_grad, loss_uses_autograd


# %% domain
@domain(
    reference,
    *("float32", "no axes", "one number", "no elements", "w is the loss", "another name", "a view", "without grad"),
    *("huge shift", "infinite shift", "shift 0", "NaN and infinity in w", "transposed", "every second one"),
    *("shift of stride 0", "holds .grad", "shift is .grad", "uses autograd"),
    *("recording off", "an error", "an error, without grad", "an error, recording off"),
    call=shifted_evaluation,
    contexts={"recording off": torch.no_grad, "an error, recording off": torch.no_grad},
)
def arguments(draw, edge):
    f = draw(st.sampled_from([bumpy, sum_of_squares]))
    functions = {"w is the loss": w_itself, "another name": by_another_name, "a view": first_number}
    functions |= {"uses autograd": steepness, "recording off": larger_if_recorded, "no elements": bumpy}
    f = undefined if "an error" in edge else functions.get(edge, f)
    if edge in ("infinite shift", "NaN and infinity in w"):
        f = sum_of_squares
    shape = {"no axes": (), "one number": (1,), "no elements": (0, 3), "w is the loss": (1, 1)}.get(
        edge, (draw(st.integers(2, 3)), draw(st.integers(2, 4)))
    )
    g = draw.make_generator(here)
    w, shift = (torch.randn(shape, dtype=torch.float64, generator=g) * 2 for _ in range(2))
    if edge == "huge shift":
        w, shift = w / 7, shift.sign() * 1e12 + shift
    if edge == "infinite shift":
        shift[0] = draw(st.sampled_from([math.inf, -math.inf]))
    if edge == "shift 0":
        shift = shift * 0
    if edge == "NaN and infinity in w":
        w[0, 0], w[1, 0] = math.nan, draw(st.sampled_from([math.inf, -math.inf]))
    w, shift = ((t.float() if edge == "float32" else t) for t in (w, shift))
    w, shift = draw.apply_layout(w, edge), shift[:1].expand(shape) if edge == "shift of stride 0" else shift
    w.requires_grad_("without grad" not in edge)
    if edge == "holds .grad":
        w.grad = torch.full_like(w, 1000.0)
    if edge == "shift is .grad":
        w.grad = shift
    return f, w, shift


# %% checks
with check(
    "example",
    "the loss at the shifted point, and w as before",
    weight=3,
    required=True,
    hint=(
        "Which numbers does the memory of w hold while loss() runs, and which ones afterward?",
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
    assert_close(got["after"], torch.tensor([1.0, -2.0]), name="w afterward")

# %% hidden checks


def noting(f, seen):
    """A loss that notes w's numbers and whether recording is on."""

    def loss(w, memory):
        seen.append([w.detach().clone(), torch.is_grad_enabled()])
        return f(w, memory)

    return loss


def bends(w, memory):
    return (w.sin() + w.square()).sum()


EXACT = {"rtol": 0, "atol": 0}
DIGITS = {"rtol": 1e-12, "atol": 1e-12}

with check(
    "other_cases",
    "other shapes and dtypes, with and without requires_grad",
    weight=3,
    required=True,
    hint="Does the loss see the shifted numbers? How often do you call it? And is your result a Python number?",
):
    for dtype, digits, needs in ((torch.float32, 2e-5, True), (torch.float64, 1e-12, False)):
        numbers = torch.randn(12, dtype=dtype, generator=torch.Generator(here).manual_seed(4))
        before, moved = numbers[:6].clone().reshape(2, 3), (numbers[:6] + numbers[6:]).reshape(2, 3)
        t, t_shift = numbers[:6].reshape(2, 3).clone().requires_grad_(needs), numbers[6:].reshape(2, 3)
        want, noted = float(bends(moved, None)), []
        got = shifted_evaluation(loss_at, noting(bends, noted), t, t_shift)
        assert_close(got["returned"], want, rtol=digits, atol=0)
        assert_close(noted, [[moved, True]], name="w during each evaluation, and recording")
        assert_close(got["after"], before, rtol=1e-5, atol=1e-5, name="w afterward")
        assert got["requires_grad"] is needs, "w's requires_grad has changed"
    arguments.assert_results(loss_at, "", "no axes", "one number", "no elements", "without grad", **DIGITS)
    arguments.assert_results(loss_at, "float32")
with check(
    "keeps_input",
    "w is as before, to the last bit",
    weight=3,
    hint="Which numbers are restored exactly if a shift is added and subtracted?",
):
    arguments.assert_results(loss_at, "huge shift", "infinite shift", "shift 0", "NaN and infinity in w")
    arguments.assert_arguments(
        loss_at, *("", "huge shift", "infinite shift", "shift 0", "NaN and infinity in w"), ignore=("shift",), **EXACT
    )
    t, t_shift = torch.tensor([-0.0, 0.0, 1.5], requires_grad=True), torch.tensor([0.0, 0.0, 1.0])
    got = shifted_evaluation(loss_at, bends, t, t_shift)
    assert_close(got["after"], torch.tensor([0.0, 0.0, 1.5]), rtol=0, atol=0, name="w afterward")
    assert_close(got["after"].signbit(), torch.tensor([True, False, False]), name="the minus signs in w")
with check(
    "after_error",
    "after an exception too, and the exception is passed on",
    weight=3,
    hint="Which of your lines aren't reached if loss() raises?",
):
    arguments.assert_results(loss_at, "an error", "an error, without grad", "an error, recording off", **EXACT)
    arguments.assert_arguments(
        loss_at, *("an error", "an error, without grad", "an error, recording off"), ignore=("shift",), **EXACT
    )
    t, t_shift = torch.tensor([0.1, -7.0], requires_grad=True), torch.tensor([0.5, 1.0])
    got = left_by_interrupt(loss_at, t, t_shift)
    assert_close(got["after"], torch.tensor([0.1, -7.0]), rtol=0, atol=0, name="w after another exception")
    assert got["came_through"] is True, "another exception wasn't passed on"
with check(
    "loss_uses_autograd",
    "a loss that uses autograd itself",
    weight=2,
    hint="Which of your lines need no_grad, and which must not be inside it?",
):
    arguments.assert_results(loss_at, "uses autograd", **DIGITS)
    noted = []
    t, t_shift = torch.tensor([1.0, -2.0], requires_grad=True), torch.tensor([0.5, 1.0])
    with torch.no_grad():
        got = shifted_evaluation(loss_at, noting(bends, noted), t, t_shift)
    want = [[torch.tensor([1.5, -1.0]), False]]
    assert_close(noted, want, name="w during each evaluation, and recording")
    arguments.assert_results(loss_at, "recording off", **DIGITS)
    arguments.assert_settings(loss_at)
with check(
    "aliases",
    "a loss that reads w through another name, or returns a view of it",
    weight=2,
    hint="Is the shifted w written into the memory of w? And when is the number read out of the loss?",
):
    arguments.assert_results(loss_at, "another name", "a view", "w is the loss", **DIGITS)
    arguments.assert_results(loss_at, "transposed", "every second one", "shift of stride 0", **DIGITS)
    arguments.assert_arguments(loss_at, "transposed", "every second one", "w is the loss", ignore=("shift",))
with check(
    "keeps_grad", "w's .grad and the shift aren't changed", guard=True, hint="Which tensors do your writes go to?"
):
    arguments.assert_results(loss_at, "holds .grad", "shift is .grad", **DIGITS)
    arguments.assert_arguments(loss_at, "", "without grad", "holds .grad", "shift is .grad")
    arguments.assert_arguments(loss_at, ignore=("w",), **EXACT)


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
        returned = loss_at(lambda: f(w, w.detach()), w, shift)
    except ValueError:
        raised = "ValueError"
    return {"returned": returned, "raised": raised, "after": before, "requires_grad": needs}


# %% wrong "a loss does not raise" fails=after_error
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    with torch.no_grad():
        w += shift
    value = loss().item()
    with torch.no_grad():
        w.copy_(kept)
    return value


# %% wrong "w = w + shift moves w" fails=example,other_cases,keeps_input,loss_uses_autograd,aliases,keeps_grad
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


# %% wrong "recording is switched on for the loss" fails=loss_uses_autograd
def loss_at(loss, w, shift):
    kept = w.detach().clone()
    w.data += shift
    try:
        with torch.enable_grad():
            return loss().item()
    finally:
        w.data.copy_(kept)


# %% equivalent "call of detach left out: kept = w.clone()"
# Only the numbers in kept are used, by a copy that isn't recorded.


# %% right "undone by an exit stack"
def loss_at(loss, w, shift):
    from contextlib import ExitStack

    with ExitStack() as stack:
        stack.callback(w.data.copy_, w.data.clone())
        w.data.add_(shift)
        return float(loss())
