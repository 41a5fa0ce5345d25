"""Marks: the record that all packages share, and the sheet that takes a submission's marks into the gradebook."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, is_solution, is_task

from autograder.model.nbgrader_cells import is_blank, read_grade_id, read_worth
from autograder.model.result import ResultDocument


@dataclass(frozen=True)
class Mark:
    """The mark of a graded cell or of a whole submission. Other packages derive theirs from it."""

    points: float | None = None
    """What it earns now; None if nothing does yet."""
    worth: float = 0.0
    """The most that it can earn."""
    needs_manual_grade: bool = False
    """Whether a person still has to read it, or some of it, perhaps again."""
    reason: str = ""
    """Why it has no points, or counts as empty."""


@dataclass(frozen=True)
class MarkSheet:
    """The marks of all cells of a submission, for the gradebook. Cells have their ids from the result document."""

    student: str
    scores: Mapping[str, float | None]
    """Points of each graded cell; None if a person has to mark it."""
    blank: Mapping[str, bool] = field(default_factory=dict)
    """Whether the answer is unchanged since it was handed out, for each cell that students write."""
    submitted: datetime | None = None
    """When it was submitted, in naive UTC, if that's known."""
    worth: Mapping[str, float] = field(default_factory=dict)
    """The points that each graded cell is worth."""
    unchanged_answers: frozenset[str] = frozenset()
    """Graded cells whose answer hasn't changed since the last grading, so a mark by hand still holds."""


def compute_marks(result: ResultDocument, notebook: NotebookNode, submitted: datetime | None = None) -> MarkSheet:
    """Compute the mark sheet of a lab assignment's submission.

    Args:
        notebook: The autograded notebook.
        submitted: When it was submitted, in naive UTC, if that's known.
    """
    scores: dict[str, float | None] = {}
    worth = {}
    blank = {}
    for cell in notebook.cells:
        name = read_grade_id(cell)
        if is_grade(cell):
            points = result.get_points(name)
            scores[name] = determine_grade(cell)[0] if points is None else points
            worth[name] = read_worth(cell)
        if is_solution(cell) or is_task(cell):
            blank[name] = not is_task(cell) and is_blank(cell)
    return MarkSheet(result.student, scores, blank, submitted, worth)
