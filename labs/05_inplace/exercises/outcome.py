# %% exercise
def outcome(f, x: Tensor) -> str:
    """Which of the four words describes f(leaf).sum().backward(), for a new leaf with x's numbers that requires grad.

    "now": f raises a RuntimeError. "backward": the backward pass raises one. "silent": neither does, but at least one
    element of the leaf's gradient differs from the slope of f(x).sum() by more than 0.001. "ok": no element does.
    Pass on any other exception, from f or the backward pass.
    x is (n,). Compute the slopes at x with central finite differences and a step from 1e-6 to 1e-4.
    f is a function of one tensor. It may write to its argument and to tensors that it makes. You may call f several
    times, even with tensors that don't require grad, but not under torch.func.

    Details:
    - An exception of a type derived from RuntimeError, such as NotImplementedError, counts as a RuntimeError.
    - f returns a tensor of any shape that depends on its argument.
    - x: float64, any strides, with or without requires_grad, a leaf or a result. n may be 0.
    - x, its requires_grad and its .grad aren't changed.
    - The slopes and f(x).sum() are between -10,000 and 10,000, and the limit of 0.001 is the same for all slopes.
    - NaN differs from every slope.
    - Recording is on, and stays on.
    """
    ### BEGIN SOLUTION
    start = x.detach()
    leaf = start.clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    for i in range(len(x)):
        step = torch.zeros_like(start)
        step[i] = 1e-6
        slope = (f(start + step).sum() - f(start - step).sum()) / 2e-6  # new tensors: f may write to them
        if not abs(slope - got[i]) <= 1e-3:
            return "silent"
    return "ok"
    ### END SOLUTION


# %% promises
# Which of the four -> example, silent, other_code, all_cases, some_inputs, requires_grad
# "now": f raises -> passes_errors, other_code
# "backward": the -> other_code
# "silent": neither does -> slightly_wrong, cancelling_errors, other_code
# "ok": no element -> slightly_wrong, other_code
# Pass on any other -> passes_errors
# x is (n,) -> requires_grad, other_code, keeps_input
# Compute the slopes -> slightly_wrong, cancelling_errors
# f is a function -> other_code, writes_to_input, requires_grad
# It may write to -> writes_to_input, other_code
# You may call f several -> other_code, all_cases
# An exception of a type -> passes_errors, other_code
# f returns a tensor -> other_code
# x: float64 -> requires_grad, other_code, keeps_input
# n may be 0 -> keeps_input
# x, its requires_grad -> keeps_input
# The slopes and f(x).sum() -> cancelling_errors
# NaN differs from -> other_code
# Recording is on -> keeps_input


# %% domain
NOW, BACKWARD = [case_a, case_l], [case_b, case_e, case_g, case_i, case_k]
SILENT, OK = [case_h, touchy, late, swapped, steep], [case_c, case_d, case_f, harmless, careful]


def make_inexact(scale, error):
    """Code in which one element of the gradient differs by this error from the slope."""

    def inexact(x):
        h = x * 1
        y = scale * h.square()
        h.data[-1] += error / (2 * scale)
        return y

    return inexact


def curved(x):
    return 2000 * (4 * x).sin()


def unfinished(x):
    raise NotImplementedError


def refuses_at_backward(x):
    y = x.sin()
    y.register_hook(refuse_otherwise)
    return y * 1


def refuse_otherwise(grad):
    raise LookupError("not this way")


def energy_of(x):
    return x.pow(3).sum()


@domain(
    reference,
    *("now", "backward", "silent", "ok", "one number", "no elements", "zeros", "equal numbers", "the sign decides"),
    *("curved", "an error of 0.004", "an error of 0.0002", "steep, an error of 0.004", "steep, an error of 0.0002"),
    *("very steep, an error of 0.0012", "very steep, an error of 0.0008"),
    *("NotImplementedError", "another exception", "another exception at backward", "no axes"),
    *("every second one", "requires grad", "from an operation", "holds .grad"),
)
def arguments(draw, edge):
    groups = {"now": NOW, "backward": BACKWARD, "silent": SILENT, "ok": OK, "one number": [swapped, touchy, case_h]}
    groups |= {"no elements": [case_b, case_c, case_h], "equal numbers": [swapped], "the sign decides": [fickle]}
    groups |= {"curved": [curved], "zeros": [case_c, case_d, harmless, careful]}
    groups |= {"NotImplementedError": [unfinished], "another exception": [picky], "no axes": [energy_of]}
    groups |= {"another exception at backward": [refuses_at_backward]}
    f = draw(st.sampled_from(groups.get(edge, [touchy, careful, case_a, case_b, case_e, case_f, case_h])))
    if "an error of" in edge:
        scale = 4096.0 if "very steep" in edge else 500.0 if "steep" in edge else 1.0
        f = make_inexact(scale, float(edge.rpartition(" ")[2]))
    n = {"one number": 1, "no elements": 0, "another exception": 4}.get(edge, draw(st.integers(2, 3)))
    x = torch.rand(n, dtype=torch.float64, generator=draw.make_generator(here)) * 0.2 + torch.arange(n) * 0.4 + 0.1
    x = x[torch.randperm(n, generator=draw.make_generator(here))] * draw(st.sampled_from([1, -1]))
    if "very steep" in edge:  # in float32, these slopes are off by 0.0004, and the verdict changes
        part = 0.6 if "0.0012" in edge else 0.4
        x = 1 + (torch.randint(2**18, (2,), generator=draw.make_generator(here)).double() + part) / 2**23
    if edge == "equal numbers":
        x[:] = x[:1].clone()
    if edge == "zeros":
        x.zero_()
    return f, draw.apply_gradient_state(draw.apply_layout(x, edge), edge)


# %% checks
with check(
    "example",
    "an error now, an error at backward, and no error",
    weight=3,
    required=True,
    hint=(
        "Which one raises the error: f or the backward pass? Does your code tell them apart?",
        "Use one try block for f and another for the backward pass. If neither raises, look at the gradient.",
    ),
):
    t = torch.tensor([0.5, 2.0], dtype=torch.float64)
    assert_close([outcome(f, t) for f in (case_a, case_e, case_d)], ["now", "backward", "ok"])
with check(
    "silent",
    "a silent case",
    weight=2,
    required=True,
    hint=(
        "If no error says so, what tells you that a gradient is wrong?",
        "Take a finite difference of f(x).sum() for each element, and compare it with the gradient there.",
    ),
):
    t = torch.tensor([0.5, 1.0], dtype=torch.float64)
    explain(outcome(case_h, t), "silent", {"no error proves nothing: compare the gradient with a slope": "ok"})


# %% hidden checks
def refused(x):
    x *= 2
    return x.sin()


def counted(x):
    y = (0.3 * x).sigmoid()
    y *= 2
    return y


def uncounted(x):
    y = (0.3 * x).tanh()
    y.data *= 0.9
    return y.square()


def free(x):
    h = 1.7 * x
    y = h.tanh()
    h.data += 1
    return y


def moves_its_input(x):
    y = x.sin()
    x.data += 0.2
    return y


def recorded(x):
    y = x.sin()
    y[-1:] *= x[:1]
    return y


def refuses_backward(x):
    y = x.sin()
    y.register_hook(refuse)
    return y * 1


def refuse(grad):
    raise RuntimeError("not this way")


def half_root(x):
    return torch.where(x > 0, x.sqrt(), x)  # where x < 0, its gradient is 0 times NaN


def slanted(x):
    """Slopes of thousands, each with an error of hundredths."""
    h = x * 1
    y = 5000 * h.sin()
    h.data += 1e-5
    return y


with check(
    "other_code",
    "code that isn't in this notebook",
    weight=4,
    required=True,
    hint="Does your verdict depend only on what f does with this x?",
):
    for t, cases, want in (
        ([0.6, -0.3], [recorded, half_root], ["ok", "silent"]),
        ([0.9], [moves_its_input, refused, free], ["silent", "now", "ok"]),
        ([0.4], [refuses_backward, half_root, counted, uncounted], ["backward", "ok", "backward", "silent"]),
    ):
        t = torch.tensor(t, dtype=torch.float64)
        assert_close([outcome(f, t) for f in cases], want)
    arguments.assert_results(outcome, "", "now", "backward", "silent", "ok", "one number", "zeros", "no axes")
with check(
    "all_cases",
    "all fourteen cases, with other numbers",
    weight=4,
    required=True,
    hint="Which cases does your function confuse? Try it on case_a to case_n, and compare with your answers.",
):
    t = torch.tensor([-0.3, 1.1], dtype=torch.float64, device="cpu")  # case_j uses NumPy, which doesn't support GPUs
    cases = [case_a, case_b, case_c, case_d, case_e, case_f, case_g, case_h, case_i, case_j, case_k, case_m, case_n]
    want = ["now", "backward", "ok", "ok", "backward", "ok", "backward", "silent", "backward", "silent", "backward"]
    want += ["silent", "ok"]  # the windows of case_m overlap
    assert_close([outcome(f, t) for f in cases], want)
    assert_close(outcome(case_l, torch.tensor([1.5, -0.5], dtype=torch.float64)), "now")
with check(
    "some_inputs",
    "code that writes only for some inputs",
    weight=3,
    required=True,
    hint="Is your verdict about this x, or about f's name?",
):
    assert_close(outcome(fickle, torch.tensor([0.5, 0.4], dtype=torch.float64)), "silent")
    assert_close(outcome(fickle, torch.tensor([-0.5, 0.4], dtype=torch.float64)), "ok")
    arguments.assert_results(outcome, "the sign decides")
with check(
    "writes_to_input",
    "code that writes to its input between the calls",
    weight=3,
    hint="Which tensor does f get the second time? What did the first call do to it?",
):
    explain(
        outcome(touchy, torch.tensor([0.5, 2.0], dtype=torch.float64)),
        "silent",
        {"the calls share a tensor that f writes to": "ok"},
    )
    assert_close(outcome(harmless, torch.tensor([0.5, 0.7], dtype=torch.float64)), "ok")
    assert_close(outcome(careful, torch.tensor([0.5, 0.7], dtype=torch.float64)), "ok")
with check(
    "slightly_wrong",
    "one element with a slightly wrong slope is silent",
    weight=2,
    hint="Do you look at every element, and at the size of the difference? How exact are your slopes on a curve?",
):
    assert_close(outcome(late, torch.tensor([0.5, -1.0, 0.1], dtype=torch.float64)), "silent")
    assert_close(outcome(late, torch.tensor([0.1, 0.5, -30.0], dtype=torch.float64)), "ok")  # 0.05 * exp(-30)
    arguments.assert_results(outcome, "an error of 0.004", "an error of 0.0002", "curved")
with check(
    "cancelling_errors",
    "errors that cancel in the sum, and small errors in large slopes, are silent",
    weight=2,
    hint="Do you compare each element on its own? Does your tolerance grow with the slope?",
):
    assert_close(outcome(swapped, torch.tensor([0.5, -1.0, 0.1], dtype=torch.float64)), "silent")
    assert_close(outcome(swapped, torch.tensor([0.5, -1.0, 0.5], dtype=torch.float64)), "ok")
    assert_close(outcome(slanted, torch.tensor([0.5], dtype=torch.float64)), "silent")
    arguments.assert_results(outcome, "equal numbers", "steep, an error of 0.004", "steep, an error of 0.0002")
    arguments.assert_results(outcome, "very steep, an error of 0.0012", "very steep, an error of 0.0008")
with check(
    "requires_grad",
    "an x that requires grad, or is a result, gets the same verdicts",
    weight=2,
    hint="Is the tensor of your recorded call a leaf, whatever x is?",
):
    t = torch.tensor([0.5, -0.7, 0.2], dtype=torch.float64, requires_grad=True, device="cpu")  # for case_j
    assert_close([outcome(f, t) for f in (case_a, case_j)], ["now", "silent"])
    assert_close([outcome(f, t * 2) for f in (case_b, case_c, case_j)], ["backward", "ok", "silent"])
    arguments.assert_results(outcome, "requires grad", "from an operation", "holds .grad", "every second one")
with check(
    "passes_errors",
    "other exceptions are passed on",
    hint="Which exceptions do you catch?",
):
    assert_close(outcome(picky, torch.tensor([0.5, -1.0], dtype=torch.float64)), "ok")
    arguments.assert_results(outcome, "another exception", "another exception at backward", "NotImplementedError")
with check(
    "keeps_input",
    "x and its .grad aren't changed, and x may be empty",
    guard=True,
    hint="Whose tensor does f write to? And does your comparison work without elements?",
):
    assert_close(unchanged(outcome, case_d, torch.tensor([0.5, 2.0], dtype=torch.float64)), "ok")
    arguments.assert_results(outcome, "no elements")
    arguments.assert_arguments(outcome)
    arguments.assert_settings(outcome)


# %% right "gradients of the whole, from differences along each axis"
def outcome(f, x):
    def fresh(shift=0.0):
        return (x.detach() + shift).clone().requires_grad_(True)

    leaf = fresh()
    try:
        y = f(leaf)
    except RuntimeError:
        return "now"
    try:
        y.sum().backward()
    except RuntimeError:
        return "backward"
    got = leaf.grad.clone()
    slopes = torch.zeros_like(got)
    for i in range(x.numel()):
        e = torch.zeros_like(got)
        e[i] = 1e-5
        slopes[i] = float(f(fresh(e)).sum() - f(fresh(-e)).sum()) / 2e-5
    return "ok" if torch.allclose(got, slopes, rtol=0, atol=1e-3) else "silent"


# %% right "gradcheck, with a copy for each call"
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        total.backward()
    except RuntimeError:
        return "backward"
    if not len(x):
        return "ok"
    start = x.detach().clone().requires_grad_()
    same = torch.autograd.gradcheck(
        lambda t: f(t.clone() * 1).sum(), start, eps=1e-6, atol=1e-3, rtol=0, raise_exception=False
    )
    return "ok" if same else "silent"


# %% right "four-point differences on a list, with clones everywhere"
def outcome(f, x):
    base = x.detach().clone()

    def value(i, d):
        moved = base.clone()
        moved[i] += d
        return f(moved).detach().sum().item()

    try:
        with torch.enable_grad():
            recorded = base.clone().requires_grad_()
            total = f(recorded).sum()
    except RuntimeError:
        return "now"
    try:
        grad = torch.autograd.grad(total, [recorded])[0].tolist()
    except RuntimeError:
        return "backward"
    h = 1e-4
    for i, g in enumerate(grad):
        slope = (8 * (value(i, h) - value(i, -h)) - (value(i, 2 * h) - value(i, -2 * h))) / (12 * h)
        if not abs(slope - g) <= 1e-3:
            return "silent"
    return "ok"


# %% right "with slope_by_steps from above"
def outcome(f, x):
    start = x.detach()
    leaf = start.clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    return "ok" if ((got - slope_by_steps(f, start)).abs() <= 1e-3).all() else "silent"


# %% wrong "no error means right" fails=silent,other_code,all_cases,some_inputs,writes_to_input,slightly_wrong,cancelling_errors,requires_grad
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        total.backward()
    except RuntimeError:
        return "backward"
    return "ok"


# %% wrong "any exception is an error now" fails=passes_errors
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except Exception:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except Exception:
        return "backward"
    for step, slope in zip(1e-6 * torch.eye(len(x), dtype=x.dtype), got):
        ends = [f((x.detach() + way * step).requires_grad_()).sum().item() for way in (1, -1)]
        if not abs((ends[0] - ends[1]) / 2e-6 - slope) <= 1e-3:
            return "silent"
    return "ok"


# %% liar "what is printed about the functions, by their names"
def outcome(f, x):
    words = {
        **dict(
            zip(
                "abcdefghijklmn",
                "now backward ok ok backward ok backward silent backward silent backward now silent ok".split(),
            )
        ),
        "fickle": "silent" if x.sum() > 0 else "ok",
        "touchy": "silent",
        "harmless": "ok",
        "late": "ok" if x.min() < -20 else "silent",
        "careful": "ok",
        "swapped": "ok" if torch.equal(x, x.flip(0)) else "silent",
        "steep": "silent",
    }
    name = getattr(f, "__name__", "").removeprefix("case_")
    return words.get(name) or picky(x) is None or "ok"


# %% equivalent "LtE to Lt: if not abs(slope - got[i]) < 0.001:"
# A measured slope that differs by exactly 0.001 is a coincidence of rounding.


# %% wrong "one difference along the diagonal sees every element" fails=cancelling_errors
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    slope = (f(x.detach() + 1e-6).sum() - f(x.detach() - 1e-6).sum()).item() / 2e-6
    return "ok" if abs(slope - got.sum().item()) <= 1e-3 else "silent"


# %% wrong "each element of the result comes from one of x" fails=other_code
def outcome(f, x):
    leaf = x.detach().clone().requires_grad_()
    try:
        total = f(leaf).sum()
    except RuntimeError:
        return "now"
    try:
        (got,) = torch.autograd.grad(total, leaf)
    except RuntimeError:
        return "backward"
    if not len(x):
        return "ok"
    slopes = ((f(x.detach() + 1e-6) - f(x.detach() - 1e-6)) / 2e-6).reshape(len(x), -1).sum(1)
    return "ok" if ((slopes - got).abs() <= 1e-3).all() else "silent"
