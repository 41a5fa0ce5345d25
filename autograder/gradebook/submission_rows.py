"""Reads what the gradebook has for submissions: the scores that results, pages and tables are made from.

It reads rows and not nbgrader's objects, in a few queries for a whole class: a large one has tens of thousands of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from shlex import quote
from typing import Any

from nbgrader.api import (
    BaseCell,
    Comment,
    Grade,
    Gradebook,
    MissingEntry,
    Notebook,
    SubmittedAssignment,
    SubmittedNotebook,
)
from sqlalchemy import func, select

from autograder.base.errors import GradlabError
from autograder.gradebook.excuses import Excused, compute_points
from autograder.gradebook.labels import make_labels
from autograder.model.assignments import refuse_unknown_lab
from autograder.model.metadata import make_stock_name
from autograder.model.result import ResultDocument

CellKey = tuple[str, str]  # a cell's notebook and name


@dataclass(frozen=True)
class CellRow:
    """What the gradebook has for a graded cell of a submission."""

    notebook: str
    name: str
    """nbgrader's grade_id."""
    auto: float | None
    """Points from checks."""
    manual: float | None
    """Points from a person, which count instead."""
    extra_credit: float
    """Extra credit from a person."""
    needs_manual_grade: bool
    """Whether a person still has to read it, perhaps again."""

    @property
    def points(self) -> float | None:
        """What it earns, with extra credit; None if nothing does yet."""
        points = self.manual if self.manual is not None else self.auto
        return None if points is None else points + self.extra_credit


@dataclass(frozen=True)
class SubmissionRow:
    """What the gradebook has for a submission."""

    submitted: datetime | None
    """When it was submitted, in naive UTC, if that's known."""
    extension_end: datetime | None
    """When the student's extension ends."""
    seconds_late: float
    penalty: float
    """Points that lateness costs."""
    cells: list[CellRow] = field(default_factory=list)

    @property
    def points(self) -> float:
        """What it earns, less the penalty."""
        return sum(cell.points or 0.0 for cell in self.cells) - self.penalty

    @property
    def needs_manual_grade(self) -> bool:
        return any(cell.needs_manual_grade for cell in self.cells)

    @property
    def auto_scores(self) -> dict[str, float | None]:
        """The points from checks, by the cells' ids in result documents of lab and of stock assignments."""
        ids = [(cell, (cell.name, make_stock_name(cell.notebook, cell.name))) for cell in self.cells]
        return {cell_id: cell.auto for cell, cell_ids in ids for cell_id in cell_ids}

    def has_points_of(self, result: ResultDocument, excused: Excused) -> bool:
        """Return whether the points from checks are those of this result with these excuses."""
        labels, scores = make_labels(result), self.auto_scores
        return all(scores.get(cell.id) == compute_points(labels, cell, excused) for cell in result.cells)

    def is_up_to_date(self, result: ResultDocument, submitted: datetime | None, excused: Excused) -> bool:
        """Return whether there's nothing to write. Never true if it's late, since the penalty depends on settings.

        Args:
            result: The submission's result document.
            submitted: When the submission that counts was submitted, in naive UTC; None if that's unknown.
            excused: The checks that are excused now.
        """
        is_late = self.seconds_late > 0 or self.penalty > 0
        return self.has_points_of(result, excused) and not is_late and submitted in (None, self.submitted)


def refuse_ungraded_lab(gradebook: Gradebook, course: Path, lab: str) -> None:
    """Raise GradlabError if the gradebook doesn't know the lab."""
    try:
        gradebook.find_assignment(lab)
    except MissingEntry:
        refuse_unknown_lab(course, lab)
        raise GradlabError(
            f"no submission of {lab} is graded yet", fix=f"run gradlab grade {quote(lab)} first"
        ) from None


def read_submission_rows(gradebook: Gradebook, lab: str, students: Sequence[str] = ()) -> dict[str, SubmissionRow]:
    """Read what the gradebook has for a lab, by student.

    Args:
        students: Only these students; empty for all.

    Raises:
        MissingEntry: If the gradebook doesn't know the lab.
    """
    assignment = gradebook.find_assignment(lab)
    submitted = _select_students(assignment, students)
    notebooks = submitted.join(SubmittedAssignment.notebooks)
    penalty = func.coalesce(func.sum(SubmittedNotebook.late_submission_penalty), 0.0)
    of_student = notebooks.add_columns(penalty).group_by(SubmittedAssignment.student_id)
    penalties = {student: points for student, points in gradebook.db.execute(of_student)}
    rows = {}
    times = submitted.add_columns(SubmittedAssignment.timestamp, SubmittedAssignment.extension)
    for student, time, extension in gradebook.db.execute(times):
        rows[student] = _build_row(time, assignment.duedate, extension, penalties.get(student, 0.0))
    cells = notebooks.join(SubmittedNotebook.notebook).join(SubmittedNotebook.grades).join(Grade.cell)
    scores = (Grade.auto_score, Grade.manual_score, Grade.extra_credit, Grade.needs_manual_grade)
    for student, notebook, name, auto, manual, extra, needs_manual_grade in gradebook.db.execute(
        cells.add_columns(Notebook.name, BaseCell.name, *scores)
    ):
        rows[student].cells.append(CellRow(notebook, name, auto, manual, extra or 0.0, bool(needs_manual_grade)))
    gradebook.db.commit()  # no transaction stays open while submissions are graded
    return rows


def read_comments(gradebook: Gradebook, lab: str, students: Sequence[str] = ()) -> dict[str, dict[CellKey, str]]:
    """Read the comments on a lab's cells, by student, and by notebook and cell. A person's precedes nbgrader's.

    Args:
        students: Only those of these students; empty for all.
    """
    submitted = _select_students(gradebook.find_assignment(lab), students).join(SubmittedAssignment.notebooks)
    cells = submitted.join(SubmittedNotebook.notebook).join(SubmittedNotebook.comments).join(Comment.cell)
    comments: dict[str, dict[CellKey, str]] = {}
    for student, notebook, name, text in gradebook.db.execute(
        cells.add_columns(Notebook.name, BaseCell.name, Comment.comment)
    ):
        comments.setdefault(student, {})[notebook, name] = text or ""
    return comments


def _select_students(assignment: Any, students: Sequence[str]) -> Any:
    """Select the students with a submission of this assignment, or those of them who are named."""
    selected = select(SubmittedAssignment.student_id).where(SubmittedAssignment.assignment_id == assignment.id)
    return selected.where(SubmittedAssignment.student_id.in_(students)) if students else selected


def _build_row(
    submitted: datetime | None, due: datetime | None, extension: timedelta | None, penalty: float
) -> SubmissionRow:
    extension_end = due + extension if due and extension else None
    return SubmissionRow(submitted, extension_end, compute_seconds_late(submitted, extension_end or due), penalty)


def compute_seconds_late(submitted: datetime | None, until: datetime | None) -> float:
    """Compute how late a submission is, as nbgrader does.

    Args:
        submitted: When it was submitted, if that's known.
        until: When it was due, or the student's extension ended.
    """
    return max((submitted - until).total_seconds(), 0.0) if submitted and until else 0.0
