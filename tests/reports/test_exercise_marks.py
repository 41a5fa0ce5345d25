"""The marks on a feedback page, from which the student's server has them."""

import json

import nbformat
import pytest

from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.model.term import Tell
from autograder.reports.exercise_marks import format_page_marks
from autograder.reports.feedback import PageOptions, render_feedback_page
from autograder.reports.student_view import build_student_view
from labext.class_submission import find_page_marks
from labkit.cell_digests import digest_source
from labkit.outcome import Outcome

CODE, ANSWER = "def total(x):\n    return 1", "Two numbers of one sign."
VISIBLE = Outcome("example", "3 and 4 give 25", passed=True)
HIDDEN = Outcome("empty", "an empty tensor", passed=False, hidden=True, seen='your result is "1"')


@pytest.fixture
def notebook() -> nbformat.NotebookNode:
    cells = [nbformat.v4.new_code_cell(CODE), nbformat.v4.new_markdown_cell(ANSWER)]
    for cell, kind, name in zip(cells, ("exercise", "question"), ("total", "why"), strict=True):
        cell.metadata["gradlab"] = {"kind": kind, "exercise": name}
    return nbformat.v4.new_notebook(cells=cells)


def grade(*checks: Outcome, why: float | None = None) -> SubmissionResult:
    exercises = (
        GradedCellResult(name="total", points=1.0, worth=2.0, checks=checks),
        GradedCellResult(name="why", points=why, worth=1.0, by_hand=True),
    )
    return SubmissionResult(student="ana", lab="01_squares", points=1.0, worth=3.0, exercises=exercises)


def read_page_marks(
    result: SubmissionResult, notebook: nbformat.NotebookNode, tell: Tell
) -> dict[str, dict[str, object]]:
    page = render_feedback_page(result, notebook, PageOptions(tell))
    return dict(json.loads(find_page_marks(page)))


def test_a_page_has_each_mark_with_the_digest_of_the_cell_that_got_it(notebook: nbformat.NotebookNode) -> None:
    marks = read_page_marks(grade(VISIBLE, HIDDEN, why=0.5), notebook, "all")
    assert {name: (mark["source"], mark["points"]) for name, mark in marks.items()} == {
        "total": (digest_source(CODE), 1.0),
        "why": (digest_source(ANSWER), 0.5),
    }
    assert marks["total"]["hidden"] == [
        {"label": "an empty tensor", "passed": False, "seen": 'your result is "1"', "hints": []}
    ]


def test_an_answer_that_a_person_still_has_to_mark_has_none(notebook: nbformat.NotebookNode) -> None:
    assert list(read_page_marks(grade(VISIBLE), notebook, "all")) == ["total"]


def test_findings_that_a_page_keeps_back_are_not_in_its_marks(notebook: nbformat.NotebookNode) -> None:
    assert read_page_marks(grade(VISIBLE, HIDDEN), notebook, "points")["total"]["hidden"] == []
    assert read_page_marks(grade(VISIBLE, HIDDEN), notebook, "visible") == {}
    assert list(read_page_marks(grade(VISIBLE), notebook, "visible")) == ["total"]


def test_a_notebook_whose_metadata_is_damaged_has_no_marks(notebook: nbformat.NotebookNode) -> None:
    notebook.cells[0].metadata["gradlab"] = "damaged"
    result = grade(VISIBLE)
    assert format_page_marks(result, build_student_view(result.exercises), notebook, "all") == "{}"
