"""A failed check names the call that failed, with its arguments as they were when the call was made."""

import inspect
import linecache
import textwrap
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from labkit import assert_close, check
from labkit.outcome import Outcome

DEFINITIONS = '''
def f(x, n=1):
    """A student's function."""
    return helper(x) * n
def helper(x):
    return x.sum()
def called(function, *numbers):
    for number in numbers:
        result = function(torch.tensor(number))
    return result
'''
SPOILS = "def f(x, n=1):\n    x += 1\n    raise ValueError('odd')\n"
FILLS = "def f(values, *more, key=None, **options):\n    values.append(3)\n    return None\n"
CLASS = (
    "class f:\n    def __init__(self, size):\n        self.size = size\n"
    "    def add(self, x):\n        return self.twice(x)\n    def twice(self, x):\n        return x\n"
)


def run_check(body: str, *definitions: str, exercise: str = "f") -> Outcome:
    """Run this body in a check, as a cell of a notebook, and return its outcome."""
    namespace: dict[str, Any] = {"__name__": "__main__", "check": check, "assert_close": assert_close}
    namespace |= {"torch": torch, "np": np}
    score = f"check.score({exercise!r}, points=1)\n"
    for source in (
        DEFINITIONS,
        *definitions,
        'with check("a") as test:\n' + textwrap.indent(body, "    ") + f"\n{score}",
    ):
        name = f"<cell {hash(source)}>"
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), namespace)
    outcome: Outcome = namespace["test"].outcome
    return outcome


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("assert_close(f(torch.ones(2)), 3.0)", "f(x=tensor([1., 1.]), n=1)"),
        ("t = torch.tensor([1, 2])\nassert_close(\n    f(t, n=2),\n    torch.tensor(7))", "f(x=tensor([1, 2]), n=2)"),
        ("for n in (1, 2):\n    assert_close(f(torch.ones(1), n), torch.tensor(1.0))", "f(x=tensor([1.]), n=2)"),
        ("got = f(torch.ones(1))\nother = 1\nassert got.shape == (2,), 'no'", "f(x=tensor([1.]), n=1)"),
        ("a = f(torch.ones(1))\nb = f(torch.zeros(1))\nassert a == 2, 'no'", "f(x=tensor([1.]), n=1)"),
        ("t = torch.ones(1)\nassert f(t) == 2\n", "f(x=tensor([1.]), n=1)"),
        ("assert f(torch.arange(4)[2:]) == 0", "f(x=<tensor([2, 3]) with offset 2>, n=1)"),
        (
            "assert f(torch.ones(9, 12)[1:].mT) == 0",
            "f(x=<a tensor of shape (12, 8), float32 with strides (1, 12) and offset 12>, n=1)",
        ),
        ("assert f(torch.ones(99)) == 0", "f(x=<a tensor of shape (99,), float32>, n=1)"),
        ("assert 1 == 2", ""),
        ("assert_close(f(torch.ones(2)), torch.tensor(2.0))", ""),  # it passes
        ("assert called(f, 3.0, 4.0) == 0", "f(x=tensor(4.), n=1)"),  # a student doesn't know the helper
        ("assert called(lambda x: x, 3.0) == 0", ""),
        ("assert len([f(torch.ones(1)) for _ in range(1_100)]) == 0", "f(torch.ones(1))"),
    ],
)
def test_the_call_is_written_with_its_arguments(body: str, call: str) -> None:
    assert run_check(body).call == call


@pytest.mark.parametrize(
    ("body", "definition", "call"),
    [
        ("t = torch.ones(2)\nf(t)", SPOILS, "f(x=tensor([1., 1.]), n=1); after the call, x is tensor([2., 2.])"),
        ("t = np.zeros(1)\nf(t)", SPOILS, "f(x=array([0.]), n=1); after the call, x is array([1.])"),
        (
            "t = torch.ones(65)\nf(t)",
            SPOILS,
            "f(x=<a tensor of shape (65,), float32>, n=1); after the call, x has changed",
        ),
        (
            "t = [1, 2]\nassert f(t, 4, key='k', n=1)",
            FILLS,
            "f(values=[1, 2], *more=(4,), key='k', **options={'n': 1}); after the call, values is [1, 2, 3]",
        ),
        ("t = [torch.ones(1)]\nf(t[0])", SPOILS, "f(x=tensor([1.]), n=1); after the call, x is tensor([2.])"),
    ],
)
def test_an_argument_that_the_call_changed_is_shown_before_and_after(body: str, definition: str, call: str) -> None:
    assert run_check(body, definition).call == call


@pytest.mark.parametrize(
    ("body", "call"),
    [
        ("assert f(3) is None", "f(size=3)"),
        ("made = f(3)\nassert made.add(torch.ones(1)) == 2", "f.add(x=tensor([1.]))"),
    ],
)
def test_a_class_is_shown_by_the_method_that_was_called(body: str, call: str) -> None:
    assert run_check(body, CLASS).call == call


def test_a_call_without_arguments_is_left_out() -> None:
    assert run_check("assert f() == 0", "def f():\n    return 1\n").call == ""


def test_a_call_that_is_not_recorded_is_quoted() -> None:
    assert run_check("assert f(1, 2) == 0", "f = max").call == "f(1, 2)"


def test_a_check_sees_the_function_as_it_is(recwarn: pytest.WarningsRecorder) -> None:
    seen = []

    class Counter(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func)
            return func(*args, **(kwargs or {}))

    source = "def f(x: 'Any', *, n: int = 1):\n    return x * n\n"
    body = "before = f\nwith Counter():\n    f(torch.ones(1, requires_grad=True))\nassert inspect.signature(f) == 0"
    name = "<cell of a counter>"
    namespace: dict[str, Any] = {"__name__": "__main__", "check": check, "torch": torch}
    namespace |= {"Counter": Counter, "inspect": inspect}
    check_source = 'with check("a") as test:\n' + textwrap.indent(body, "    ") + "\ncheck.score('f', points=1)\n"
    for file, text in ((name, source), (f"{name}s check", check_source)):
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    exec(compile(source, name, "exec"), namespace)
    code, names = namespace["f"].__code__, {*namespace, "before", "test"}
    exec(compile(check_source, f"{name}s check", "exec"), namespace)
    assert [str(each) for each in seen] == ["aten.ones.default", "aten.mul.Tensor"]
    assert namespace["f"].__code__ is code and set(namespace) == names
    assert namespace["test"].outcome.call == ""  # a signature comes from no call


def test_torch_compile_sees_nothing_of_the_record() -> None:
    source = "def f(x):\n    return x.sin() + 1\n"
    counted = "counts = torch._dynamo.explain(f)(torch.ones(2))\n"
    outcome = run_check(f"{counted}assert (counts.graph_count, counts.graph_break_count) == (1, 0)", source)
    assert outcome.passed, outcome.seen
