"""A check records its outcome, whatever it raises, and the next one runs."""

import subprocess
import sys
import warnings

import pytest
import torch

from labkit import assert_close, check, explain
from labkit.check import record_outcomes
from labkit.outcome import Outcome, compute_earned, compute_share


def run_checks(source: str, **names: object) -> list[Outcome]:
    with record_outcomes() as outcomes:
        exec(compile(source, "<check cell>", "exec"), {"check": check, "assert_close": assert_close, **names})
    return outcomes


def run_student_cell(source: str) -> object:
    """The function f of a student's cell."""
    names: dict[str, object] = {"torch": torch}
    exec(compile(source, "<student's cell>", "exec"), names)
    return names["f"]


def test_every_check_of_a_cell_runs_whichever_fails() -> None:
    outcomes = run_checks("for i in range(3):\n  with check(str(i)):\n    assert i == 1, 'not one'")
    assert [(o.label, o.passed, o.seen) for o in outcomes] == [
        ("0", False, "not one"),
        ("1", True, ""),
        ("2", False, "not one"),
    ]


def test_an_exception_of_the_students_code_is_shown_with_its_line_of_text() -> None:
    f = run_student_cell("def f():\n    return {}['key']\n")
    (outcome,) = run_checks("with check('a'):\n  f()", f=f)
    assert (outcome.passed, outcome.error, outcome.blame) == (False, "KeyError", "student")
    assert "raised KeyError: 'key'" in outcome.seen


def test_an_exception_of_a_backward_pass_is_the_students() -> None:
    f = run_student_cell("def f(x):\n    y = x.exp()\n    y += 1\n    return y\n")
    source = (
        "with check('a'):\n  f(torch.ones(1, requires_grad=True)).backward()\n"
        "with check('b'):\n  torch.ones(2) + torch.ones(3)"
    )
    raised_through, own_error = run_checks(source, f=f, torch=torch)
    assert (raised_through.error, raised_through.blame) == ("RuntimeError", "student")
    assert (own_error.error, own_error.blame) == ("RuntimeError", "check")


def test_a_misspelt_name_is_shown_with_the_one_that_was_meant() -> None:
    f = run_student_cell("def f(lengths):\n    return lenghts\n")
    (outcome,) = run_checks("with check('a'):\n  f(1)", f=f)
    assert outcome.seen.endswith("\nDid you mean lengths?")


def test_an_unwritten_exercise_is_called_unwritten() -> None:
    f = run_student_cell("def f():\n    raise NotImplementedError()\n")
    (outcome,) = run_checks("with check('a'):\n  f()", f=f)
    assert outcome.seen == "This exercise is not written yet."


def test_an_error_of_the_check_itself_is_not_blamed_on_the_student() -> None:
    (outcome,) = run_checks("with check('a'):\n  nothing")
    assert (outcome.error, outcome.blame) == ("NameError", "check")


def test_a_system_exit_is_a_failed_check_and_an_interrupt_is_not_swallowed() -> None:
    f = run_student_cell("def f():\n    raise SystemExit(0)\n")
    assert [o.passed for o in run_checks("with check('a'):\n  f()\nwith check('b'): pass", f=f)] == [False, True]
    g = run_student_cell("def f():\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        run_checks("with check('a'):\n  f()", f=g)


def test_a_warning_and_stderr_become_notes_of_a_check_that_passes(capsys: pytest.CaptureFixture[str]) -> None:
    def f() -> None:
        warnings.warn("careful", UserWarning, stacklevel=1)
        print("more", file=sys.stderr)

    (outcome,) = run_checks("with check('a'):\n  f()", f=f)
    assert outcome.passed
    assert outcome.notes == ["UserWarning: careful", "more"]
    assert capsys.readouterr().err == ""


def test_the_score_of_a_cell_counts_each_label_once_after_a_second_run() -> None:
    names = {"check": check}
    code = compile("with check('a'): pass\nwith check('b'): assert False", "<cell>", "exec")
    exec(code, names)
    exec(code, names)
    verdict = eval(compile("check.score('f', points=4)", "<cell>", "eval"), names)
    assert [o.label for o in verdict.outcomes] == ["a", "b"]
    assert float(verdict) == 2


def test_without_a_notebook_each_check_prints_a_line() -> None:
    code = "from labkit import check\nwith check('holds'): pass\nwith check('fails'): assert 1 == 2, 'one is not two'"
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines() == ["pass  holds", "FAIL  fails", "      one is not two"]


@pytest.mark.parametrize(
    ("checks", "part"),
    [
        ([("plain", True), ("plain", False)], 0.5),
        ([("plain", True), ("guard", True)], 1.0),
        ([("plain", False), ("guard", True)], 0.0),
        ([("plain", False), ("plain", True), ("guard", True)], 2 / 3),
        ([("required", False), ("plain", True), ("guard", True)], 0.0),
        ([("required", True), ("plain", False)], 0.5),
        ([("guard", True)], 1.0),
        ([], 0.0),
    ],
)
def test_weights_guards_and_required_checks(checks: list[tuple[str, bool]], part: float) -> None:
    outcomes = [Outcome("x", guard=k == "guard", required=k == "required", passed=p) for k, p in checks]
    assert compute_share(outcomes) == pytest.approx(part)
    assert compute_earned(outcomes, 3) == round(3 * part, 4)


def test_a_weight_counts_relative_to_the_others() -> None:
    assert compute_share([Outcome("a", weight=3, passed=True), Outcome("b", weight=1)]) == 0.75


def test_explain_names_the_misconception_whose_value_was_given() -> None:
    with record_outcomes() as outcomes, check("a"):
        explain(torch.tensor(2.0), torch.tensor(4.0), {"half of it": torch.tensor(2.0), "another": None})
    assert outcomes[0].misconception == "half of it"
    with record_outcomes() as outcomes, check("a"):
        explain(torch.tensor(3.0), torch.tensor(4.0), {"half of it": torch.tensor(2.0)})
    assert outcomes[0].misconception == ""
    assert not outcomes[0].passed
