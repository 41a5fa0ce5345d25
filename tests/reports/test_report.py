"""The report shows every mark, and no text of a student can become markup."""

from pathlib import Path

import pytest

from autograder.errors import GradlabError
from autograder.gradebook.schema import ExerciseResult, SubmissionResult
from autograder.reports.report import missed_checks, write_report
from labkit.outcome import Outcome

FAILED = Outcome("finite", "finite & <sound>", seen="nan")
PASSED = Outcome("finite", "finite & <sound>", passed=True)
WHY = ExerciseResult(name="why", points=None, worth=2, by_hand=True)
ADA = SubmissionResult(
    student="ada",
    lab="x",
    points=2.5,
    worth=6,
    penalty=1.5,
    exercises=(ExerciseResult(name="softmax", points=4, worth=4, checks=(PASSED,)), WHY),
)
BEN = SubmissionResult(
    student="<script>ben",
    lab="x",
    points=0,
    worth=6,
    exercises=(ExerciseResult(name="softmax", points=0, worth=4, checks=(FAILED,)), WHY),
    notes=("Your file could not be graded.",),
)


def test_marks_penalties_notes_and_manual_cells_are_shown(tmp_path: Path) -> None:
    write_report([ADA, BEN], "x", tmp_path / "new" / "x.html")
    page = (tmp_path / "new" / "x.html").read_text()
    for text in (
        "2.5</strong> (late: −1.5)",
        "by hand",
        "Your file could not be graded.",
        "finite &amp; &lt;sound&gt;",
    ):
        assert text in page
    assert "<script" not in page
    assert "&lt;script&gt;ben" in page


def test_missed_checks_are_counted_commonest_first() -> None:
    assert missed_checks([ADA, BEN, BEN]) == [("softmax", "finite & <sound>", 2)]
    assert missed_checks([ADA]) == []


def test_no_result_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(GradlabError, match="gradlab grade x"):
        write_report([], "x", tmp_path / "x.html")
