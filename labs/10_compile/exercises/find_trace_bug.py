# %% given
@probes.probe
def hunted(find, source, example):
    """What find returns for a model whose forward has this source, and the example afterwards."""
    namespace = {"torch": torch}
    exec("def forward(self, x):\n" + source, namespace)
    parts = {"forward": namespace["forward"], "extra_repr": lambda self: source}
    model = type("Model", (nn.Module,), parts)()
    return {"found": find(model, example), "example": example}


@probes.probe
def found_among(find, f, example):
    """What find returns for a model of x that computes f(x, x), and the example afterwards. A trace of it computes
    f(x, the traced example), because what Python decides is frozen. torch.jit.trace doesn't run here."""

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
    """The first of candidates(example) for which trace(model, example) is wrong, or None if it's right for all.

    It's wrong if the model returns a result, but the trace raises an exception or returns another result: one with
    another shape, or with values that aren't close (torch.allclose with its default tolerances; NaN equals NaN). If the
    model itself raises any kind of Exception, the candidate doesn't count.

    Details:
    - model takes a float32 tensor and returns a float32 tensor that depends on nothing else; it accepts the example.
    - The model may write into the tensor that it's given, but neither the example nor the candidate that you return is
      changed.
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


# %% promises
# The first of candidates -> sign_branch, other_models, traced_rightly
# It's wrong if -> sign_branch, other_models, close_results, other_shape, trace_refuses
# If the model itself -> model_refuses
# model takes a float32 -> sign_branch, other_models
# The model may write -> writes_to_input, keeps_input


# %% domain
def weighted(x, rows):
    return sum(x[row] * (row + 1) for row in range(rows))


@domain(
    reference,
    *("more rows", "small and large", "one column", "right", "NaN for both", "inf for both", "NaN for the trace"),
    *("NaN for the model", "close", "a column for a row", "another order", "the trace refuses", "the model refuses"),
    *("the model takes only the example", "tiny results", "large results"),
    call=found_among,
)
def arguments(draw, edge):
    rows, columns = draw(st.sampled_from([(2, 3), (4, 2), (2, 4)]))
    example = torch.rand(rows, 1 if edge == "one column" else columns, generator=draw.make_generator(here)) + 0.5
    kind, factor = draw(st.sampled_from(["negative", "small", "large"])), draw(st.sampled_from([-1.5, 1.001, 3.0]))
    error = KeyError if edge == "the model refuses" else draw(st.sampled_from([ZeroDivisionError, NameError]))

    def model(x, seen):  # computes with x, and branches on seen
        most = seen.abs().max().item()
        is_kind = {"negative": seen.sum().item() < 0, "small": most < 0.1, "large": most > 20}
        if edge in ("more rows", "the trace refuses"):
            return weighted(x, len(seen) if edge == "more rows" else min(len(seen), rows))
        if edge == "right":
            return x.log() * columns
        if edge == "another order":
            return x.flip(1) if is_kind["large"] else x
        if edge == "NaN for both":
            return x.sqrt() + is_kind["large"]
        if edge == "inf for both":
            return x * (-math.inf if is_kind["large"] else math.inf)
        if edge.startswith("NaN for the "):
            return (x.clamp(min=0) if is_kind["negative"] == edge.endswith("trace") else x).sqrt()
        if edge == "close":
            return x * (1.0000005 if is_kind["negative"] else 1.00005 if is_kind["large"] else 1)
        if edge in ("tiny results", "large results"):  # the tolerances are 1e-8 and, relative, 1e-5
            changes = {"tiny results": (3, 3), "large results": (1.000004, 1.00003)}[edge]
            return x * (1e-6 if "tiny" in edge else 1e3) * (changes[is_kind["large"]] if any(is_kind.values()) else 1)
        if edge == "a column for a row":
            return torch.full_like(x, 1.5).mean(1, keepdim=is_kind["negative"])
        if edge == "the model refuses" and is_kind["negative"] or "only" in edge and not torch.equal(seen, example):
            raise error
        changes = "small and large" == edge and is_kind["small"] or is_kind["large" if edge else kind]
        return x * factor if changes else x

    return model, example


# %% checks
with check(
    "sign_branch",
    "a branch on the sign, which the negative example reveals",
    weight=2,
    required=True,
    hint=(
        "For which candidate do the model and its trace differ first? How often do you trace, and with what?",
        "Trace once, with the example. Pass the same candidate to both, compare, and return the candidate.",
    ),
):
    t = torch.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 4.0]])
    want = -t
    assert_close(hunted(find_trace_bug, "    return x if x.sum() > 0 else -2 * x", t.clone())["found"], want)


# %% hidden checks
def source(*lines):
    return "\n".join("    " + line for line in lines)


with check(
    "other_models",
    "branches on the sign and the size, and a loop over rows",
    weight=4,
    required=True,
    hint="Do you try all candidates, even the one with more rows? Which one is the first?",
):
    arguments.assert_results(find_trace_bug, "", "more rows", "small and large", "one column", "another order")
with check(
    "model_refuses", "inputs that the model refuses", weight=2, hint="Which one raises: the model, or only the trace?"
):
    arguments.assert_results(find_trace_bug, "the model refuses", "the model takes only the example")
with check(
    "trace_refuses", "an input that only the trace refuses", hint="Which one raises: the model, or only the trace?"
):
    arguments.assert_results(find_trace_bug, "the trace refuses")
with check("other_shape", "a result of another shape", weight=2, hint="What does allclose do with (2,) and (2, 1)?"):
    arguments.assert_results(find_trace_bug, "a column for a row")
with check(
    "close_results",
    "close results, and NaN compared with a number or NaN",
    weight=3,
    hint="What is NaN == NaN? Is NaN close to 0? How close is close?",
):
    arguments.assert_results(find_trace_bug, "NaN for both", "inf for both", "close", "tiny results", "large results")
    arguments.assert_results(find_trace_bug, "NaN for the trace", "NaN for the model")
with check(
    "traced_rightly",
    "a model that is traced correctly",
    weight=2,
    required=True,
    hint="What do you return at the end?",
):
    t = torch.linspace(0.5, 1.5, 6).reshape(2, 3)
    assert_close(hunted(find_trace_bug, source("return x if x.abs().max() > 0 else -x"), t.clone())["found"], None)
    arguments.assert_results(find_trace_bug, "right")
with check(
    "writes_to_input",
    "a model that writes into its input",
    weight=1,
    hint="What does the model do to the tensor that it receives?",
):
    t = torch.linspace(0.5, 1.5, 6).reshape(2, 3)
    want = [{"found": 0.01 * t, "example": t.clone()}, {"found": None, "example": t.clone()}]
    assert_close(
        hunted(find_trace_bug, source("x.mul_(2)", "return x if x.abs().max() > 0.2 else -x"), t.clone()), want[0]
    )
    assert_close(hunted(find_trace_bug, source("x.add_(1)", "return 2 * x"), t.clone()), want[1])
    t_lines = ["x.mul_(2)", "if x.abs().max() <= 0.2:", "    x.neg_()", "return x"]  # the result is the input itself
    assert_close(hunted(find_trace_bug, source(*t_lines), t.clone()), want[0])
with check("keeps_input", "the example isn't changed", guard=True):
    t = torch.linspace(0.5, 1.5, 6).reshape(2, 3)
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


# %% right "assert_close with the tolerances of allclose"
def find_trace_bug(model, example):
    traced = trace(model, example.clone())
    for x in candidates(example):
        try:
            want = model(x.clone())
        except Exception:
            continue
        try:
            torch.testing.assert_close(traced(x.clone()), want, rtol=1e-5, atol=1e-8, equal_nan=True)
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


# %% equivalent "first two arguments swapped: if got.shape != want.shape or not torch.allclose(want, got, equal_nan=True):"
# The tolerance is then relative to the other result. No promise is about results that differ by about 1e-5.
