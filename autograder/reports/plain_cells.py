"""What a feedback page shows of a plain assignment's notebook: the student's cells, and none of the course's tests.

Tests ran in the submission's own process, which can keep what a hidden one passed in. So from the first hidden test on,
nothing is shown that a cell printed, drew or raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_locked, is_solution, is_task

from autograder.gradebook.schema import ExerciseResult, SubmissionResult
from autograder.metadata import name_of

LEFT_OUT = "(what this cell showed is left out, since hidden tests ran before it)\n"


def part_of(result: SubmissionResult, notebook: str) -> SubmissionResult:
    """What is in this notebook, where a plain assignment has several. Points and notes stay the whole submission's."""
    if len(result.notebooks) < 2:
        return result
    exercises = tuple(e for e in result.exercises if e.notebook == notebook)
    return result.model_copy(update={"exercises": exercises})


def plain_cells(notebook: Any, exercises: Sequence[ExerciseResult]) -> dict[str, list[NotebookNode]]:
    """Exercise -> the answer that a person reads, or the student's cells of code since the tests before it."""
    by_cell = {e.name.rpartition("/")[2]: e for e in exercises}
    found: dict[str, list[NotebookNode]] = {e.name: [] for e in exercises}
    since: list[NotebookNode] = []
    hidden = False
    for cell in notebook.cells:
        exercise = by_cell.get(name_of(cell))
        if is_task(cell) or (is_locked(cell) and not is_grade(cell)):
            continue
        if exercise is None:
            since += [_without_outputs(cell) if hidden else cell] if cell.cell_type == "code" else []
        elif is_solution(cell):
            found[exercise.name] = [_without_outputs(cell) if hidden else cell]
        elif is_grade(cell):
            found[exercise.name], since = since, []
            hidden = hidden or any(check.hidden for check in exercise.checks)
    return found


def _without_outputs(cell: NotebookNode) -> NotebookNode:
    if not cell.get("outputs"):
        return cell
    shown: NotebookNode = NotebookNode({**cell})
    shown.outputs = [NotebookNode(output_type="stream", name="stdout", text=LEFT_OUT)]
    return shown
