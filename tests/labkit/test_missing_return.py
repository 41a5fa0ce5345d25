"""A function that returns nothing gets one message, whichever line of a check uses its result first."""

import linecache

import pytest
import torch

from labkit import assert_close, check
from labkit.cause import Cause
from labkit.check import record_outcomes
from labkit.outcome import Outcome
from labkit.verdict import NO_RETURN, SAME_NOTHING, Verdict, render_text

ANSWER = "def f(x):\n    return None if isinstance(x, int) and x == 1 else x\n"
HELPERS = "def used(f, x):\n    result = f(x)\n    return result.sum()\ndef shape_of(x):\n    return x.shape\n"


def run_check(body: str, answer: str = ANSWER) -> Outcome:
    """Run this body in a check of f, and return its outcome."""
    names: dict[str, object] = {"check": check, "assert_close": assert_close, "torch": torch}
    source = f"with check('a'):\n  {body}\ncheck.score('f', points=1)\n"
    with record_outcomes() as outcomes:
        for text in (answer, HELPERS, source):
            file = f"<cell {hash(text)}>"
            linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
            exec(compile(text, file, "exec"), names)
    return outcomes[0]


@pytest.mark.parametrize(
    "body",
    [
        "f(1).sum()",
        "got = f(1)\n  got.sum()",
        "got = f(1)\n  got[0]",
        "a, b = f(1)",
        "for each in f(1): pass",
        "len(f(1))",
        "f(1) - 1",
        "assert used(f, 1) == 0",
        "assert_close(f(1), 2)",
    ],
)
def test_a_missing_return_is_one_message(body: str) -> None:
    outcome = run_check(body)
    assert (outcome.seen, outcome.cause) == ("your result is None", Cause.NOTHING)


@pytest.mark.parametrize(
    ("body", "seen"),
    [
        ("f([None])[0].sum()", "the result, or a part of it, is None: AttributeError"),
        ("got = f([None])\n  got[0].sum()", "the result, or a part of it, is None: AttributeError"),
        ("f(torch.ones(1)).grad.sum()", "the result, or a part of it, is None: AttributeError"),
        ("shape_of(f([None])[0])", "your result could not be used: AttributeError"),
    ],
)
def test_a_missing_part_of_a_result_is_described(body: str, seen: str) -> None:
    outcome = run_check(body)
    assert outcome.seen.startswith(seen) and outcome.cause is None


def test_none_inside_the_students_own_code_is_an_exception_at_their_line() -> None:
    outcome = run_check("f(2)", "def helper(x):\n    pass\ndef f(x):\n    return helper(x) + 1\n")
    assert outcome.seen.startswith("raised TypeError") and "at your line: return helper(x) + 1" in outcome.seen


def test_an_exception_of_a_given_function_is_at_the_students_line_that_called_it() -> None:
    outcome = run_check("f(lambda x: used(abs, torch.ones))", "def f(run):\n    return run(3)\n")
    assert outcome.seen.endswith("at your line: return run(3)")


def test_the_line_of_a_helper_is_not_called_the_students() -> None:
    assert "line" not in run_check("used(f, [3])").seen


def test_the_cause_is_named_once_on_a_card() -> None:
    outcomes = [run_check(body) for body in ("f(1).sum()", "assert_close(f(1), 2)", "used(f, 1)")]
    text = render_text(Verdict("f", outcomes, 1, 0, hidden_present=False))
    assert (text.count(NO_RETURN), text.count(SAME_NOTHING)) == (1, 2)
    assert "AttributeError" not in text and "your result is None" not in text
