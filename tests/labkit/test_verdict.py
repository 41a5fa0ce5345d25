"""The verdict: a table where there is HTML, text where there is none, and a number for nbgrader."""

from labkit.outcome import Outcome, earned
from labkit.verdict import MIME, Verdict

GOOD = Outcome("rows sum to <one>", passed=True, notes=["UserWarning: careful"])
BAD = Outcome("finite", weight=3, hint="What is exp(1000)?", seen="your result is nan", expected="0.5")


def verdict(*outcomes: Outcome, hidden_present: bool = False, visible: float = 2.0) -> Verdict:
    return Verdict(list(outcomes), 4.0, visible, hidden_present, earned(outcomes, 4.0))


def test_the_plain_form_in_a_notebook_is_the_points() -> None:
    assert verdict(GOOD, BAD)._repr_mimebundle_()["text/plain"] == "1"
    assert verdict(GOOD)._repr_mimebundle_()["text/plain"] == "4"
    assert verdict(BAD)._repr_mimebundle_()["text/plain"] == "0"


def test_the_table_shows_labels_what_was_seen_and_the_hint_escaped() -> None:
    html = verdict(GOOD, BAD)._repr_mimebundle_()["text/html"]
    assert "rows sum to &lt;one&gt;" in html
    assert "your result is nan (expected: 0.5)" in html
    assert "hint: What is exp(1000)?" in html
    assert "note: UserWarning: careful" in html


def test_what_was_expected_is_not_told_where_hidden_checks_ran() -> None:
    shown = verdict(GOOD, BAD, hidden_present=True)
    assert "expected" not in shown._repr_mimebundle_()["text/html"]
    assert "expected" not in repr(shown)


def test_the_summary_says_what_is_seen_here_and_what_hidden_checks_decide() -> None:
    assert repr(verdict(GOOD, BAD)).endswith(
        "1 of 2 checks passed: 0.5 of the 2 points that can be seen here. Hidden checks decide the other 2."
    )
    assert repr(verdict(GOOD, BAD, hidden_present=True)).endswith("1 of 2 checks passed: 1 of 4 points.")
    assert repr(verdict(GOOD, visible=4.0)).endswith("1 of 1 checks passed: 4 of the 4 points that can be seen here.")


def test_a_misconception_stands_in_place_of_the_bare_difference() -> None:
    text = repr(verdict(Outcome("a", seen="your result is 2", misconception="exactly twice the right one")))
    assert "exactly twice the right one" in text
    assert "your result is 2" not in text


def test_a_check_that_passed_and_does_not_pay_says_so() -> None:
    text = repr(verdict(GOOD, Outcome("form", required=True)))
    assert "pays nothing yet" in text


def test_every_outcome_is_there_for_programs_too() -> None:
    data = verdict(GOOD, BAD)._repr_mimebundle_()[MIME]
    assert [c["label"] for c in data["checks"]] == ["rows sum to <one>", "finite"]
    assert data["earned"] == 1.0
