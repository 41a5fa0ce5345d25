"""The result of one submission with penalties, marks by hand and comments, as feedback, reports and exports read it."""

from __future__ import annotations

from datetime import datetime

from autograder.model.course import Model
from autograder.model.notes import Note
from labkit.outcome import Outcome


class ExerciseResult(Model):
    """One graded cell. `points` is None where somebody has yet to grade it by hand. `comment` is that person's.

    waits: a person is to look, also where there are points already, since the answer has changed since it was read.
    excused: checks that count as passed, by their ids; all of them where it is empty and not None. extra: its points
    come on top of the lab's. notebook: where it stands, of a stock assignment. own_process: decided in the submission's
    own process.
    """

    name: str
    points: float | None
    worth: float
    by_hand: bool = False
    comment: str = ""
    checks: tuple[Outcome, ...] = ()
    waits: bool = False
    excused: frozenset[str] | None = None
    extra: bool = False
    notebook: str = ""
    own_process: bool = False


class SubmissionResult(Model):
    """One submission. `penalty` is nbgrader's for lateness, already taken from `points`.

    changed: the course's names that it had bound anew, for the instructor. submitted: UTC without a zone, where that
    is known. late: seconds after the due date, or after the student's extension. notebooks: of a stock assignment, also
    those without a graded cell.
    """

    student: str
    lab: str
    points: float
    worth: float
    penalty: float = 0.0
    needs_manual_grade: bool = False
    exercises: tuple[ExerciseResult, ...] = ()
    notes: tuple[Note, ...] = ()
    changed: tuple[str, ...] = ()
    submitted: datetime | None = None
    late: float = 0.0
    notebooks: tuple[str, ...] = ()

    def get_points(self, name: str) -> float | None:
        return next((e.points for e in self.exercises if e.name == name), None)
