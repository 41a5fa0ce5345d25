"""The graded cells of an assignment in the gradebook, with what follows from their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nbgrader.api import Assignment, Gradebook, GradeCell, Notebook, SolutionCell, TaskCell
from sqlalchemy import select

from autograder.gradebook.labels import CellLabels
from autograder.gradebook.submission_rows import CellKey
from autograder.model.nbgrader_cells import is_by_hand


@dataclass(frozen=True)
class GradebookCell:
    """A graded cell, or a task."""

    notebook: str
    name: str
    """nbgrader's grade_id."""
    worth: float
    """0 for extra credit."""
    by_hand: bool
    """Whether a person marks it."""


def read_gradebook_cells(gradebook: Gradebook, lab: str) -> dict[CellKey, GradebookCell]:
    """Read the graded cells, by notebook and name."""
    query = select(Notebook.name, SolutionCell.name).join(SolutionCell.notebook).join(Assignment)
    answers = {tuple(row) for row in gradebook.db.execute(query.where(Assignment.name == lab))}
    cells = {}
    for kind in (GradeCell, TaskCell):
        rows = select(Notebook.name, kind.name, kind.max_score, kind.cell_type).join(kind.notebook).join(Assignment)
        for notebook, name, worth, cell_type in gradebook.db.execute(rows.where(Assignment.name == lab)):
            by_hand = is_by_hand(cell_type, (notebook, name) in answers, kind is TaskCell)
            cells[notebook, name] = GradebookCell(notebook, name, worth or 0.0, by_hand)
    return cells


def is_extra_credit(labels: CellLabels, cell: GradebookCell, course_worth: float, exercises: Sequence[str]) -> bool:
    """Return whether a cell's points are extra credit: the gradebook then counts it as worth 0, from the next grading.

    Args:
        course_worth: What the course says it's worth; 0 if unknown.
        exercises: Exercises that term.toml makes extra credit.
    """
    is_listed = any(labels.has_name(exercise, cell.notebook, cell.name) for exercise in exercises)
    return is_listed or (not cell.worth and course_worth > 0)
