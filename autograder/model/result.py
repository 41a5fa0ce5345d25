"""The result document of one submission: what the examiner found, and all that the gradebook and the pages are made of.

docs/result.schema.json is its JSON schema. It holds the student's id and nothing else personal, no time and no address:
the same submission, lab, device and versions give the same bytes.
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field, model_validator

from autograder.model.course import Model
from autograder.model.notes import Note
from autograder.model.result_upgrade import upgrade
from autograder.model.versions import Versions
from labkit.outcome import Outcome


class GradedCell(Model):
    """One check cell. id: nbgrader's grade_id, of a stock assignment behind its notebook's name and a slash. points:
    earned, of worth.

    own_process: decided in the submission's own process, as nbgrader decides, and so on its word.

    key: a digest of all that these outcomes depend on; empty where nobody asked for it. What is said of a hidden
    check may quote its inputs, so it is the instructor's: reports/student_view.py leaves that out.
    """

    id: str
    key: str = ""
    points: float
    worth: float
    checks: tuple[Outcome, ...]
    own_process: bool = False


class Result(Model):
    """What one submission earned, and why.

    isolation: the layers that were between the submission and the grader. notes: what the intake repaired and what
    limits were hit, for the student and the instructor. remarks: what is for the instructor alone. empty: the
    file could not be read, and counts as one without answers. stopped: cells that ran into a limit or ended their
    process. answers: a digest of each answer's text, by its cell's name: a mark by hand holds for that text. changed:
    names of the course's that the submission had bound anew or patched when its checks began, as far as a look found:
    something to ask about, no verdict. key: a digest of all that this document depends on, by which a submission that
    has been graded is known; empty where nobody asked for it. made_of: the same by its parts, so that it can be told
    what changed. notebooks: of a stock assignment, one that was made for stock nbgrader, their names; missing: those of
    them that were not handed in, or could not be read.
    """

    format: Literal["gradlab result 2"] = "gradlab result 2"
    lab: str
    student: str
    key: str = ""
    made_of: dict[str, str] = Field(default_factory=dict)
    device: str = "cpu"
    versions: Versions
    isolation: tuple[str, ...]
    notes: tuple[Note, ...] = ()
    remarks: tuple[Note, ...] = ()
    empty: bool = False
    stopped: tuple[str, ...] = ()
    answers: dict[str, str] = Field(default_factory=dict)
    changed: tuple[str, ...] = ()
    cells: tuple[GradedCell, ...]
    notebooks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _upgrade(cls, data: Any) -> Any:
        return upgrade(data) if isinstance(data, dict) else data

    def get_points(self, cell_id: str) -> float | None:
        return next((cell.points for cell in self.cells if cell.id == cell_id), None)

    def to_json(self) -> str:
        return self.model_dump_json(indent=1) + "\n"
