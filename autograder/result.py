"""The result document of one submission: what the examiner found, and all that the gradebook and the pages are made of.

docs/result.schema.json is its JSON schema. It holds the student's id and nothing else personal, no time and no address:
the same submission, lab, device and versions give the same bytes.
"""

from __future__ import annotations

from typing import Literal

from autograder.course import Model
from labkit.outcome import Outcome


class GradedCell(Model):
    """One check cell. id: nbgrader's grade_id. points: earned, of worth.

    key: a digest of all that these outcomes depend on; empty where nobody asked for it. What is said of a hidden
    check may quote its inputs, so it is the instructor's: reports/student_view.py leaves that out.
    """

    id: str
    key: str = ""
    points: float
    worth: float
    checks: tuple[Outcome, ...]


class Versions(Model):
    """What it was graded with. gpu: names and drivers, where the device is no CPU."""

    gradlab: str
    python: str
    torch: str
    gpu: str = ""


class Result(Model):
    """What one submission earned, and why.

    isolation: the layers that were between the submission and the grader. notes: what the intake repaired and what
    limits were hit, in words for the student and the instructor. changed: names of the course's that the submission
    had bound anew or patched when its checks began, as far as a look found: something to ask about, no verdict. key: a
    digest of all that this document depends on, by which a submission that has been graded is known; empty where
    nobody asked for it.
    """

    format: Literal["gradlab result 1"] = "gradlab result 1"
    lab: str
    student: str
    key: str = ""
    device: str = "cpu"
    versions: Versions
    isolation: tuple[str, ...]
    notes: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    cells: tuple[GradedCell, ...]

    def points_of(self, cell_id: str) -> float | None:
        return next((cell.points for cell in self.cells if cell.id == cell_id), None)

    def to_json(self) -> str:
        return self.model_dump_json(indent=1) + "\n"
