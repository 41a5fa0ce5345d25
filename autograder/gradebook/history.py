"""Every mark that a submission has had, when and why: a line each in results/LAB/history/STUDENT.jsonl.

Times are here and not in the result document, so the same submission always gives the same result document.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import AliasChoices, ConfigDict, Field, ValidationError

from autograder.base.line_file import add_line
from autograder.gradebook.excuses import Excused
from autograder.model.strict_model import StrictModel
from autograder.model.versions import Versions

if TYPE_CHECKING:
    from autograder.model.result import ResultDocument


class HistoryEntry(StrictModel):
    """A mark that a submission has had, with the time and the command that gave it."""

    model_config = ConfigDict(populate_by_name=True)

    when: datetime
    command: str = Field(validation_alias=AliasChoices("cause", "command"), serialization_alias="cause")
    """The command that graded it: grade, regrade, watch, or nbgrader autograde. The file calls it `cause`."""
    points: float
    """Points from checks, including excused ones."""
    worth: float
    submitted: datetime | None = None
    """When it was submitted, if that's known."""
    device: str = "cpu"
    versions: Versions
    key: str = ""
    """The result document's key."""
    excused: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """The excused checks, by exercise; an empty tuple means all of them."""

    def has_excuses(self, excused: Excused) -> bool:
        """Return whether exactly these checks were excused."""
        return self.excused == _sort_excuses(excused)


def get_history_path(course: Path, lab: str, student: str) -> Path:
    return course / "results" / lab / "history" / f"{student}.jsonl"


def read_history(course: Path, lab: str, student: str) -> list[HistoryEntry]:
    """Read the marks, oldest first, without lines that a crash cut off or a disk damaged."""
    path = get_history_path(course, lab, student)
    lines = path.read_bytes().split(b"\n") if path.exists() else []
    entries = []
    for line in lines:
        try:
            entries.append(HistoryEntry.model_validate_json(line))
        except ValidationError:  # also the empty line at the end
            continue
    return entries


def remember_mark(
    course: Path, result: ResultDocument, points: float, submitted: datetime | None, command: str, excused: Excused
) -> None:
    """Add the mark, unless it repeats the last one.

    Args:
        points: The points from checks.
        submitted: When the submission was submitted, in naive UTC, if that's known.
        command: The command that gave the mark.
        excused: The checks that are excused now.
    """
    entry = HistoryEntry(
        when=datetime.now(UTC).replace(microsecond=0),
        command=command,
        points=round(points, 4),
        worth=round(sum(cell.worth for cell in result.cells), 4),
        submitted=submitted,
        device=result.device,
        versions=result.versions,
        key=result.key,
        excused=_sort_excuses(excused),
    )
    before = read_history(course, result.lab, result.student)
    if before and before[-1].model_copy(update={"when": entry.when, "command": command}) == entry:
        return
    add_line(get_history_path(course, result.lab, result.student), entry.model_dump_json(by_alias=True))


def _sort_excuses(excused: Excused) -> dict[str, tuple[str, ...]]:
    """Return the ids of excused checks by exercise, in order; an empty tuple for a whole exercise."""
    return {name: () if excused[name].is_whole else tuple(sorted(excused[name].ids)) for name in sorted(excused)}
