"""The result document of one submission: what the examiner found. The gradebook and the pages are made from it.

docs/result.schema.json is its JSON schema. It has no time, no address, and of the student only the id, so the same
submission, lab, device and versions give the same bytes.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from autograder.model.assignments import AssignmentKind, get_result_kind
from autograder.model.notes import Note
from autograder.model.result_upgrade import upgrade_result
from autograder.model.strict_model import StrictModel
from autograder.model.versions import Versions
from labkit.outcome import Outcome


class GradedCell(StrictModel):
    """One graded cell."""

    id: str
    """nbgrader's grade_id; in a stock assignment, the notebook's name, a slash and the grade_id."""
    key: str = ""
    """A digest of everything that these outcomes depend on; empty if it wasn't requested."""
    points: float
    """What it earned."""
    worth: float
    checks: tuple[Outcome, ...]
    """For the instructor: those of hidden checks may quote inputs. reports/student_view.py removes that."""
    own_process: bool = False
    """Whether the submission's own process decided it, as in nbgrader, so the points rest on its word."""


class ResultDocument(StrictModel):
    """What one submission earned, and why."""

    format: Literal["gradlab result 2"] = "gradlab result 2"
    lab: str
    student: str
    key: str = ""
    """A digest of everything that this document depends on: a task with this key is already graded.

    Empty if it wasn't requested.
    """
    made_of: dict[str, str] = Field(default_factory=dict)
    """Digests of the parts of the key, which show what changed."""
    device: str = "cpu"
    versions: Versions
    isolation: tuple[str, ...]
    """The sandbox layers between the submission and the grader."""
    notes: tuple[Note, ...] = ()
    """What the intake repaired and what limits were hit, for the student and the instructor."""
    remarks: tuple[Note, ...] = ()
    """For the instructor only."""
    empty: bool = False
    """Whether the file couldn't be read, so it counts as empty."""
    stopped: tuple[str, ...] = ()
    """Cells that ran into a limit or ended their process."""
    answers: dict[str, str] = Field(default_factory=dict)
    """A digest of each answer's text, by its cell's name: a mark by hand holds for that text."""
    changed: tuple[str, ...] = ()
    """The course's names that the submission was found to have rebound or patched when its checks began.

    Something to ask about, not a verdict.
    """
    cells: tuple[GradedCell, ...]
    notebooks: tuple[str, ...] = ()
    """The names of a stock assignment's notebooks."""
    missing: tuple[str, ...] = ()
    """Notebooks that weren't submitted, or couldn't be read."""

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, data: Any) -> Any:
        return upgrade_result(data) if isinstance(data, dict) else data

    @property
    def kind(self) -> AssignmentKind:
        return get_result_kind(self.notebooks)

    def get_points(self, cell_id: str) -> float | None:
        return next((cell.points for cell in self.cells if cell.id == cell_id), None)

    def to_json(self) -> str:
        return self.model_dump_json(indent=1) + "\n"
