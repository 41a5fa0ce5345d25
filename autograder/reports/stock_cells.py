"""What a feedback page shows of a stock assignment's notebook: the student's cells, and none of the course's tests.

Tests ran in the submission's own process, which can keep what a hidden test passed in. So from the first hidden test
on, the page shows nothing that a cell printed, drew or raised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

from autograder.gradebook.schema import ExerciseResult, SubmissionResult
from autograder.intake.cell_origin import find_stock_answer, is_own
from autograder.model.metadata import get_cell_name

LEFT_OUT = "(what this cell shows is left out, since hidden tests ran before it)\n"


def select_part(result: SubmissionResult, notebook: str) -> SubmissionResult:
    """The result's cells in one notebook of a stock assignment. Points and notes stay the whole submission's."""
    if len(result.notebooks) < 2:
        return result
    exercises = tuple(e for e in result.exercises if e.notebook == notebook)
    return result.model_copy(update={"exercises": exercises})


def group_stock_cells(notebook: Any, exercises: Sequence[ExerciseResult]) -> tuple[dict[str, list[Any]], list[Any]]:
    """The student's cells that each exercise is about, and the student's other cells.

    What a person reads is the answer, with what the student wrote beside it. A test is about the code since the tests
    before it. The other cells are shown, too, so the page shows everything that the student wrote.
    """
    by_cell = {e.name.rpartition("/")[2]: e for e in exercises}
    shown = _strip_after_hidden(notebook.cells, by_cell)
    found: dict[str, list[Any]] = {e.name: [] for e in exercises}
    taken: set[int] = set()
    since: list[int] = []
    for place, cell in enumerate(notebook.cells):
        exercise = by_cell.get(get_cell_name(cell))
        if exercise is None:
            if cell.cell_type == "code" and not (is_task(cell) or (is_locked(cell) and not is_grade(cell))):
                since.append(place)
            continue
        if is_solution(cell) or is_task(cell):
            places = find_stock_answer(notebook.cells, place)
        else:
            places, since = since, []
        found[exercise.name] = [shown[each] for each in places]
        taken |= {*places}
    others = [
        place for place, cell in enumerate(notebook.cells) if place not in taken and _is_work(cell, not exercises)
    ]
    return found, [shown[place] for place in others]


def _is_work(cell: Any, alone: bool) -> bool:
    """Whether a page shows this cell, which no exercise is about.

    Args:
        alone: Whether the notebook has no exercise.
    """
    if not cell.source.strip() or is_grade(cell) or is_task(cell):
        return False
    return is_own(cell) or is_solution(cell) or (alone and cell.cell_type == "code" and not is_locked(cell))


def _strip_after_hidden(cells: Sequence[Any], by_cell: Mapping[str, ExerciseResult]) -> list[Any]:
    """The cells, without the outputs of those after the first hidden test."""
    shown, hidden = [], False
    for cell in cells:
        shown.append(_strip_outputs(cell) if hidden else cell)
        exercise = by_cell.get(get_cell_name(cell))
        hidden = hidden or bool(exercise and any(check.hidden for check in exercise.checks))
    return shown


def _strip_outputs(cell: Any) -> Any:
    """The cell with the same placeholder whether it showed something or not, since that could reveal a test, too."""
    if cell.cell_type != "code":
        return cell
    shown: NotebookNode = NotebookNode({**cell})
    shown.outputs = [NotebookNode(output_type="stream", name="stdout", text=LEFT_OUT)]
    return shown
