"""The result of one submission with penalties, marks by hand and comments, for feedback, reports and exports."""

from __future__ import annotations

from datetime import datetime

from autograder.model.assignments import AssignmentKind, get_result_kind
from autograder.model.notes import Note
from autograder.model.strict_model import StrictModel
from autograder.model.term import ExcusedChecks
from labkit.outcome import Outcome


class GradedCellResult(StrictModel):
    """One graded cell."""

    name: str
    points: float | None
    """What it earns; None if a person still has to mark it."""
    worth: float
    by_hand: bool = False
    """Whether a person marks it."""
    comment: str = ""
    """That person's comment."""
    checks: tuple[Outcome, ...] = ()
    needs_manual_grade: bool = False
    """Whether a person has to read it, perhaps again because the answer has changed since it was marked."""
    excused: ExcusedChecks = ExcusedChecks()
    is_extra_credit: bool = False
    """Whether its points are extra credit."""
    notebook: str = ""
    """The notebook that it's in, in a stock assignment."""
    cell: str = ""
    """nbgrader's name of it there, in a stock assignment."""
    own_process: bool = False
    """Whether the submission's own process decided it."""

    @property
    def is_full(self) -> bool:
        """Whether it earned all its points or, if it's worth none, passed all its checks."""
        if self.points is None:
            return False
        return self.points >= self.worth if self.worth else all(check.passed for check in self.checks)


class SubmissionResult(StrictModel):
    """One submission."""

    student: str
    lab: str
    points: float
    """What it earns, less the penalty."""
    worth: float
    penalty: float = 0.0
    """What nbgrader takes off for lateness."""
    needs_manual_grade: bool = False
    exercises: tuple[GradedCellResult, ...] = ()
    notes: tuple[Note, ...] = ()
    changed_names: tuple[str, ...] = ()
    """The course's names that it had rebound, for the instructor."""
    submitted: datetime | None = None
    """When it was submitted, in naive UTC, if that's known."""
    seconds_late: float = 0.0
    """Seconds after the due date, or after the student's extension."""
    notebooks: tuple[str, ...] = ()
    """The names of a stock assignment's notebooks, including those without a graded cell."""

    @property
    def kind(self) -> AssignmentKind:
        return get_result_kind(self.notebooks)

    def get_points(self, name: str) -> float | None:
        return next((e.points for e in self.exercises if e.name == name), None)
