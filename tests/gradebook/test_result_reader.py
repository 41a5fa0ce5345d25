"""What a page shows of a graded cell follows nbgrader's rules, wherever the cell is read from."""

from datetime import datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook
from nbgrader.utils import determine_grade, is_solution

from autograder.gradebook.gradebook_cells import GradebookCell
from autograder.gradebook.result_reader import build_result, read_results
from autograder.gradebook.submission_rows import CellRow, SubmissionRow, read_submission_rows
from autograder.model.nbgrader_cells import is_by_hand
from autograder.model.result import ResultDocument
from autograder.model.versions import Versions
from tests.reports.written_class import LAB, StudentWork, write_class

DUE, LATER = "2027-01-31 18:00 UTC", datetime(2027, 2, 1, 12)


@pytest.mark.parametrize("cell_type", ["code", "markdown"])
@pytest.mark.parametrize("is_answer", [False, True])
def test_a_person_marks_the_cells_for_which_nbgrader_computes_no_points(cell_type: str, is_answer: bool) -> None:
    make = nbformat.v4.new_code_cell if cell_type == "code" else nbformat.v4.new_markdown_cell
    cell = make("x", metadata={"nbgrader": {"grade": True, "solution": is_answer, "points": 2}})
    assert is_by_hand(cell_type, is_solution(cell)) == (determine_grade(cell)[0] is None)


def test_a_person_marks_a_question_of_a_missing_notebook_and_no_test_of_it() -> None:
    versions = Versions(gradlab="1", python="3", torch="2")
    document = ResultDocument(
        lab="a1", student="ada", versions=versions, isolation=(), notebooks=("p",), missing=("p",), cells=()
    )
    names = {"why": True, "value_is": False}
    rows = [CellRow("p", name, auto=0.0, manual=None, extra_credit=0.0, needs_manual_grade=False) for name in names]
    row = SubmissionRow(None, None, seconds_late=0.0, penalty=0.0, cells=rows)
    cells = {("p", name): GradebookCell("p", name, 2.0, by_hand) for name, by_hand in names.items()}
    result = build_result("ada", "a1", row, document, cells)
    assert {each.name: each.by_hand for each in result.exercises} == names


def test_the_page_and_the_report_have_the_same_extra_credit_before_the_next_grading(small_course: Path) -> None:
    written_class = write_class(small_course, [StudentWork("ada")])
    (small_course / "term.toml").write_text(f'[labs.{LAB}]\nextra_credit = ["sum_of_squares"]\n')
    (result,), group = read_results(written_class.url, small_course, LAB), written_class.read()
    assert (
        [each.is_extra_credit for each in result.exercises]
        == [column.is_extra_credit for column in group.columns]
        == [True]
    )
    assert (result.worth, group.worth) == (0, 0)


def test_lateness_is_that_of_nbgrader(small_course: Path) -> None:
    """Only nbgrader's own functions make an extension negative."""
    written_class = write_class(small_course, [StudentWork("ada", submitted=LATER)], DUE)
    for hours in (None, 6, 24, -6):
        with Gradebook(written_class.url) as gradebook:
            submission = gradebook.find_submission(LAB, "ada")
            submission.extension = None if hours is None else timedelta(hours=hours)
            gradebook.db.commit()
            late = submission.total_seconds_late
            assert read_submission_rows(gradebook, LAB)["ada"].seconds_late == late
        (ada,) = written_class.read().members
        assert ada.seconds_late == late
