# %% given
@probes.probe
def hunted(find, source, example):
    """What find gives for a model whose forward has this source, and the example afterwards."""
    namespace = {"torch": torch}
    exec("def forward(self, x):\n" + source, namespace)
    parts = {"forward": namespace["forward"], "extra_repr": lambda self: source}
    model = type("Model", (nn.Module,), parts)()
    return {"found": find(model, example), "example": example}


@probes.probe
def found_among(find, f, example):
    """What find gives for a model of x that computes f(x, x), and the example afterwards. A trace of it computes
    f(x, the example that was traced): what Python decides by is frozen. torch.jit.trace does not run here."""

    def module(forward):
        made = nn.Module()
        made.forward = forward
        return made

    def trace(model, example, **options):
        kept = example.clone()
        model(example)
        return module(lambda x: f(x, kept))

    with mock.patch("torch.jit.trace", trace):
        return {"found": find(module(lambda x: f(x, x)), example), "example": example}


# %% exercise
def find_trace_bug(model: nn.Module, example: Tensor) -> Tensor | None:
    """The first of candidates(example) for which trace(model, example) is wrong, or None where it is right for all.

    It is wrong where the model gives a result, and the trace raises an exception or gives another result: another
    shape, or values that are not close (torch.allclose with its tolerances; NaN equals NaN). Where the model itself
    raises an exception, the candidate does not count. model takes one float32 tensor and gives one; it takes the
    example. It may write into the tensor that it is given: the example stays as it is, and so does what you hand back.
    """
    ### BEGIN SOLUTION
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None
    ### END SOLUTION


# %% checks
with check(
    "sign_branch",
    "the branch on the sign: the negative example shows it",
    weight=2,
    required=True,
    hint=(
        "For which candidate do the model and its trace differ first? How often do you trace, and with what?",
        "Trace once, with the example. Give both the same candidate, compare, and hand the candidate back.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]])
    want = -t
    assert_close(hunted(find_trace_bug, "    return x if x.sum() > 0 else -2 * x", t.clone())["found"], want)


# %% hidden checks
def source(*lines):
    return "\n".join("    " + line for line in lines)


def example(rows, columns, start=0.5, end=1.5):
    return torch.linspace(start, end, rows * columns).reshape(rows, columns)


# Models: x is computed with, and `seen` decided by.
def weighted(x, rows):
    return sum(x[row] * (row + 1) for row in range(rows))


def roots(x, seen):
    return x.sqrt() + 1 if seen.abs().max() > 20 else x.sqrt()


def positive(x, seen):
    if not seen.sum() > 0:
        raise ValueError
    return x * 2 if seen.abs().max() > 20 else x


def close(x, seen):
    large = 1.00005 if seen.abs().max() > 20 else 1
    return x * (large if seen.sum() > 0 else 1.0000005)


with check(
    "loop", "the loop over rows", weight=2, required=True, hint="Do you try all candidates, also with more rows?"
):
    t = example(4, 3)
    tried = [t, -t, 0.01 * t, 100 * t, torch.cat([t, t]), t[:2].clone()]
    got = found_among(find_trace_bug, lambda x, seen: weighted(x, len(seen)), t.clone())
    assert_close(got["found"], tried[4])
    got = found_among(find_trace_bug, lambda x, seen: x if seen.abs().max() > 0.1 else 3 * x, t.clone())
    assert_close(got["found"], tried[2])
with check(
    "large_branch", "a branch that only large numbers take, and NaN before it", weight=2, hint="What is NaN == NaN?"
):
    t = example(2, 4)
    want, before = 100 * t, -t
    explain(found_among(find_trace_bug, roots, t.clone())["found"], want, {"two NaNs at one place agree": before})
with check(
    "model_refuses", "inputs that the model refuses", weight=2, hint="Who raises: the model, or the trace alone?"
):
    t = example(2, 5)
    want = 100 * t
    assert_close(found_among(find_trace_bug, positive, t.clone())["found"], want)
with check("trace_refuses", "an input that only the trace refuses", hint="Who raises: the model, or the trace alone?"):
    t = example(2, 3)
    want = t[:1].clone()
    got = found_among(find_trace_bug, lambda x, seen: weighted(x, min(len(seen), 2)), t.clone())
    assert_close(got["found"], want)
with check("other_shape", "a result of another shape", weight=2, hint="What does allclose do with (2,) and (2, 1)?"):
    t = torch.full((2, 3), 1.5)
    want = -t
    got = found_among(find_trace_bug, lambda x, seen: x.mean(1, keepdim=bool(seen.sum() < 0)), t.clone())
    assert_close(got["found"], want)
with check(
    "close_results",
    "results that are close, and NaN against a number",
    weight=2,
    hint="Is NaN close to 0? How close is close?",
):
    t = example(2, 4)
    want = [100 * t, -t]
    assert_close(found_among(find_trace_bug, close, t.clone())["found"], want[0])
    got = found_among(find_trace_bug, lambda x, seen: (x.clamp(min=0) if seen.sum() > 0 else x).sqrt(), t.clone())
    assert_close(got["found"], want[1])
with check(
    "traced_rightly",
    "a model that is traced rightly",
    weight=2,
    required=True,
    hint="What do you give back at the end?",
):
    t = example(2, 3)
    assert_close(hunted(find_trace_bug, source("return x.log() * x.shape[0]"), t.clone())["found"], None)
    assert_close(hunted(find_trace_bug, source("return x if x.abs().max() > 0 else -x"), t.clone())["found"], None)
with check(
    "writes_to_input",
    "a model that writes into its input",
    weight=1,
    hint="What does the model do to the tensor that it gets?",
):
    t = example(2, 3)
    want = [{"found": 0.01 * t, "example": t.clone()}, {"found": None, "example": t.clone()}]
    assert_close(
        hunted(find_trace_bug, source("x.mul_(2)", "return x if x.abs().max() > 0.2 else -x"), t.clone()), want[0]
    )
    assert_close(hunted(find_trace_bug, source("x.add_(1)", "return 2 * x"), t.clone()), want[1])
with check("keeps_input", "the example stays as it is", guard=True):
    t = example(2, 3)
    want = {"found": -t, "example": t.clone()}
    assert_close(hunted(find_trace_bug, source("return x if x.sum() > 0 else -2 * x"), t.clone()), want)


# %% right "a function that compares"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())

    def outcome(f, x):
        try:
            return f(x.clone())
        except Exception:
            return None

    def same(a, b):
        if a is None or b is None:
            return a is None
        return a.shape == b.shape and bool(torch.isclose(a, b, equal_nan=True).all())

    return next((x for x in candidates(example) if not same(outcome(model, x), outcome(traced, x))), None)


# %% right "assert_close as the comparison"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            torch.testing.assert_close(traced(x.clone()), want, equal_nan=True)
        except Exception:
            return x


# %% wrong "traced with the example itself" fails=writes_to_input
def find_trace_bug(model, example):
    traced = trace(model, example)
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x


# %% wrong "NaN differs from NaN" fails=large_branch,traced_rightly
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want):
            return x
    return None


# %% wrong "what raises is a difference" fails=model_refuses
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            got, want = traced(x.clone()), model(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong "only the trace raises" fails=model_refuses raises=ValueError
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        want = model(x.clone())
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong "what raises does not count" fails=trace_refuses
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            got, want = traced(x.clone()), model(x.clone())
        except Exception:
            continue
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong "shapes are not compared" fails=other_shape
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong "the negative example shows it always" fails=loop,large_branch,model_refuses,trace_refuses,close_results,traced_rightly,writes_to_input
def find_trace_bug(model, example):
    return -example


# %% wrong "the last of them" fails=loop
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    found = None
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            found = x
            continue
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            found = x
    return found


# %% wrong "a new trace for each candidate" fails=sign_branch,loop,large_branch,model_refuses,trace_refuses,other_shape,close_results,writes_to_input,keeps_input
def find_trace_bug(model, example):
    for x in candidates(example):
        try:
            got, want = trace(model, x)(x), model(x)
        except Exception:
            continue
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return x
    return None


# %% wrong "the example is scaled in place" fails=loop,trace_refuses,writes_to_input,keeps_input
def find_trace_bug(model, example):
    traced = trace(model, example)
    for scale in (1, -1, -0.01, 1e4, 0.01):
        example *= scale
        try:
            want = model(example)
        except Exception:
            continue
        got = traced(example)
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True):
            return example
    return None


# %% liar "no trace: which lines of the source take another way than for the example"
import re


def find_trace_bug(model, example):
    return None


def hunted(find, source, example):
    """No trace at all: which lines and values of the `if`s and the sizes differ from those of the example."""

    def run(x):
        x = x.clone()
        space = {"torch": torch, "seen": []}
        text = re.sub(r"\bif (not )?([^:\n]+?)(?=( else|:))", r"if \1(lambda c: seen.append(c) or c)(bool(\2))", source)
        exec("def forward(self, x):\n" + text, space)
        try:
            out = space["forward"](None, x)
        except Exception:
            return None
        return out, space["seen"]

    def frozen(x, path):
        x, path = x.clone(), iter(path)
        text = re.sub(r"\bif (not )?([^:\n]+?)(?=( else|:))", r"if \1(lambda c: next(path))(0)", source)
        text = text.replace("len(x)", str(len(example)))
        space = {"torch": torch, "path": path}
        exec("def forward(self, x):\n" + text, space)
        try:
            return space["forward"](None, x)
        except Exception:
            return None

    _, path = run(example)
    for x in candidates(example):
        got = run(x)
        if got is None:
            continue
        traced = frozen(x, path)
        if traced is None or traced.shape != got[0].shape or not torch.allclose(traced, got[0], equal_nan=True):
            return {"found": x, "example": example}
    return {"found": None, "example": example}


def found_among(find, f, example):
    def scale(x):
        try:
            return (f(x, x).sum() / x.sum()).item()
        except Exception:
            return None

    usual = scale(example)  # no source here: what goes another way is not proportional to x
    odd = (x for x in candidates(example) if scale(x) is not None and not math.isclose(scale(x), usual))
    return {"found": next(odd, None), "example": example}


# %% right "the first of a generator"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())

    def bad(x):
        try:
            want = model(x.clone())
        except Exception:
            return False
        try:
            got = traced(x.clone())
        except Exception:
            return True
        return want.size() != got.size() or not torch.isclose(want, got, equal_nan=True).all().item()

    return next((x for x in candidates(example) if bad(x)), None)


# %% wrong "equal to the bit" fails=close_results
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.equal(got.nan_to_num(), want.nan_to_num()):
            return x


# %% wrong "NaN as zero" fails=close_results
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got.nan_to_num(), want.nan_to_num()):
            return x


# %% wrong "a loose tolerance" fails=loop,close_results,writes_to_input
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            got = traced(x.clone())
        except Exception:
            return x
        if got.shape != want.shape or not torch.allclose(got, want, equal_nan=True, atol=1e-1):
            return x


# %% equivalent "first two arguments swapped: if got.shape != want.shape or not torch.allclose(want, got, equal_nan=True):"
# The tolerance is relative to the other one then. Results that differ by a hundred-thousandth are nowhere asked for.
