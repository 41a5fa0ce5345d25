"""A mark by hand belongs to the answer that was read, also if the gradebook couldn't be written in between."""

from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.base.errors import GradlabError
from autograder.classroom import class_grader
from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.workers.executors import LocalExecutor
from tests.classroom.graded_class import LAB, WRONG, hand_in

CHECK = "check-sum_of_squares"
OTHER = "def sum_of_squares(x):\n    return (x + x).sum()\n"


def submit(course: Path, minute: int, answer: str) -> None:
    hand_in(course, {"ada": answer})
    (course / "submitted" / "ada" / LAB / "timestamp.txt").write_text(f"2026-02-01 10:{minute:02}:00.000000 UTC")


def grade(course: Path, executor: LocalExecutor) -> None:
    assert [outcome.failure for outcome in grade_lab(open_course(course), LAB, executor)] == [""]


def fail_to_grade(course: Path, executor: LocalExecutor, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise GradlabError("the gradebook can't be written")

    with monkeypatch.context() as broken, pytest.raises(GradlabError, match="can't be written"):
        broken.setattr(class_grader, "write_marks", fail)
        list(grade_lab(open_course(course), LAB, executor))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answers", "waits"), [((WRONG,), False), ((OTHER,), True), ((OTHER, WRONG), False), ((WRONG, OTHER), True)]
)
def test_only_a_changed_answer_waits_again(
    small_course: Path,
    two_graders: LocalExecutor,
    monkeypatch: pytest.MonkeyPatch,
    answers: tuple[str, ...],
    waits: bool,
) -> None:
    """Slow: a submission is graded a few times. answers: what is submitted until the gradebook can be written."""
    submit(small_course, 0, WRONG)
    grade(small_course, two_graders)
    with Gradebook(f"sqlite:///{small_course}/gradebook.db") as gradebook:
        row = gradebook.find_grade(CHECK, LAB, LAB, "ada")
        row.manual_score, row.needs_manual_grade = 1.5, False
        gradebook.db.commit()
    for minute, answer in enumerate(answers, 1):
        submit(small_course, minute, answer)
        fail_to_grade(small_course, two_graders, monkeypatch)
    grade(small_course, two_graders)
    with Gradebook(f"sqlite:///{small_course}/gradebook.db") as gradebook:
        row = gradebook.find_grade(CHECK, LAB, LAB, "ada")
        assert (row.manual_score, row.needs_manual_grade) == (1.5, waits)
    assert not list((small_course / "results" / LAB / ".written").iterdir())
