"""A new grading keeps or drops a mark that a person gave."""

from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.gradebook.writer import write_marks
from autograder.model.marks import MarkSheet
from tests.reports.written_class import CHECK, LAB, StudentWork, mark_by_hand, write_class


@pytest.mark.parametrize(
    ("marks", "expected_mark"),
    [
        (MarkSheet("ada", {CHECK: None}, unchanged_answers=frozenset({CHECK})), (1.5, False)),
        (MarkSheet("ada", {CHECK: None}), (1.5, True)),
        (MarkSheet("ada", {CHECK: 0.0}, {CHECK: True}), (None, False)),
        (MarkSheet("ada", {CHECK: 0.0}, {CHECK: True}, unchanged_answers=frozenset({CHECK})), (1.5, False)),
        (MarkSheet("ada", {CHECK: 0.5}, {f"exercise-{CHECK}": True}), (1.5, True)),
    ],
    ids=["the same answer", "another", "a question left blank now", "blank then and now", "an exercise left blank"],
)
def test_a_manual_mark_is_kept_only_for_the_same_answer(
    small_course: Path, marks: MarkSheet, expected_mark: tuple[float | None, bool]
) -> None:
    written_class = write_class(small_course, [StudentWork("ada")])
    mark_by_hand(written_class, "ada", manual_score=1.5, needs_manual_grade=False)
    with Gradebook(written_class.url) as gradebook:
        write_marks(gradebook, LAB, [marks], lambda *_: None, {})
        grade = gradebook.find_grade(CHECK, LAB, LAB, "ada")
        assert (grade.manual_score, grade.needs_manual_grade) == expected_mark
