"""What a feedback page shows of a stock assignment's notebook: the student's cells, and none of the course's tests.

Tests ran in the submission's own process, which can keep what a hidden test passed in. So from the first hidden test
on, the page shows nothing that a cell printed, drew or raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.intake.cell_origin import find_stock_answer, is_students
from autograder.model.metadata import get_cell_name

OUTPUT_LEFT_OUT = "(this cell's output is left out, since hidden tests ran before it)\n"


def select_notebook(result: SubmissionResult, notebook_name: str) -> SubmissionResult:
    """Keep only the exercises of one notebook of a stock assignment; points and notes stay the whole submission's."""
    if len(result.notebooks) < 2:
        return result
    exercises = tuple(e for e in result.exercises if e.notebook == notebook_name)
    return result.model_copy(update={"exercises": exercises})


def group_stock_cells(notebook: Any, exercises: Sequence[GradedCellResult]) -> tuple[dict[str, list[Any]], list[Any]]:
    """Return the student's cells that each exercise is about, and the student's other cells.

    A question that a person reads is about its answer, and the cells that the student wrote next to it. A test is about
    the code since the tests before it. Together with the other cells, the page shows everything the student wrote.
    """
    by_cell = {e.cell: e for e in exercises}
    shown = _strip_after_hidden(notebook.cells, by_cell)
    grouped: dict[str, list[Any]] = {e.name: [] for e in exercises}
    assigned: set[int] = set()
    since_test: list[int] = []
    for index, cell in enumerate(notebook.cells):
        exercise = by_cell.get(get_cell_name(cell))
        if exercise is None:
            if cell.cell_type == "code" and not (is_task(cell) or (is_locked(cell) and not is_grade(cell))):
                since_test.append(index)
            continue
        if is_solution(cell) or is_task(cell):
            indices = find_stock_answer(notebook.cells, index)
        else:
            indices, since_test = since_test, []
        grouped[exercise.name] = [shown[i] for i in indices]
        assigned |= {*indices}
    others = [
        shown[index]
        for index, cell in enumerate(notebook.cells)
        if index not in assigned and _is_work(cell, not exercises)
    ]
    return grouped, others


def _is_work(cell: Any, is_ungraded: bool) -> bool:
    """Return whether a page shows this cell, which no exercise is about.

    Args:
        is_ungraded: Whether the notebook has no exercise.
    """
    if not cell.source.strip() or is_grade(cell) or is_task(cell):
        return False
    return is_students(cell) or is_solution(cell) or (is_ungraded and cell.cell_type == "code" and not is_locked(cell))


def _strip_after_hidden(cells: Sequence[Any], by_cell: Mapping[str, GradedCellResult]) -> list[Any]:
    """Return the cells, without the outputs of those after the first hidden test."""
    shown, after_hidden = [], False
    for cell in cells:
        shown.append(_strip_outputs(cell) if after_hidden else cell)
        exercise = by_cell.get(get_cell_name(cell))
        after_hidden = after_hidden or bool(exercise and any(check.hidden for check in exercise.checks))
    return shown


def _strip_outputs(cell: Any) -> Any:
    """Replace a cell's outputs by a placeholder, even if there are none, since that could reveal a test, too."""
    if cell.cell_type != "code":
        return cell
    shown: NotebookNode = NotebookNode({**cell})
    shown.outputs = [NotebookNode(output_type="stream", name="stdout", text=OUTPUT_LEFT_OUT)]
    return shown
