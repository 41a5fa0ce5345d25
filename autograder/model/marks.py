"""The marks of one submission, on their way from a result into the gradebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, is_solution, is_task

from autograder.model.nbgrader_cells import is_as_released, read_grade_id, read_points

if TYPE_CHECKING:
    from autograder.model.result import Result  # imports torch


@dataclass(frozen=True)
class Marks:
    """The marks of a submission for the gradebook. Cells have their ids from the result document."""

    student: str
    scores: Mapping[str, float | None]
    """Points of each graded cell; None if a person has to mark it."""
    unanswered: Mapping[str, bool] = field(default_factory=dict)
    """Whether the answer is unchanged since it was handed out, for each cell that students write."""
    submitted: datetime | None = None
    """When it was handed in, in naive UTC, if that's known."""
    worth: Mapping[str, float] = field(default_factory=dict)
    """The points that each graded cell is worth."""
    same: frozenset[str] = frozenset()
    """Graded cells whose answer hasn't changed since the last grading, so a mark by hand still holds."""


def compute_marks(result: Result, notebook: NotebookNode, submitted: datetime | None = None) -> Marks:
    """Compute the marks of a lab's submission from its result and its autograded notebook."""
    scores: dict[str, float | None] = {}
    worth = {}
    unanswered = {}
    for cell in notebook.cells:
        name = read_grade_id(cell)
        if is_grade(cell):
            points = result.get_points(name)
            scores[name] = determine_grade(cell)[0] if points is None else points
            worth[name] = read_points(cell)
        if is_solution(cell) or is_task(cell):
            unanswered[name] = not is_task(cell) and is_as_released(cell)
    return Marks(result.student, scores, unanswered, submitted, worth)
