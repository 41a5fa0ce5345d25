"""Who gave each mark on the desk, and when: a line each in rubrics/LAB.marks.jsonl.

nbgrader's tables have no column for this. A mark that changed elsewhere, for instance in the formgrader, has no giver.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from autograder.base.line_file import add_line
from autograder.base.timestamps import format_age
from autograder.model.marks import Mark
from autograder.model.strict_model import StrictModel


class GivenMark(StrictModel):
    """Points that a person gave."""

    when: datetime
    person: str = ""
    """The user of the hub; empty for a desk without a hub, which knows no names."""
    question: str
    """See CellAddress.key."""
    student: str
    points: float | None
    """None if the person took the mark back, or wrote only a comment."""


def get_mark_log_path(course: Path, lab: str) -> Path:
    return course / "rubrics" / f"{lab}.marks.jsonl"


def add_given_marks(course: Path, lab: str, question: str, person: str, points: Mapping[str, float | None]) -> None:
    """Add these points, by student. Call this only within lock_rubrics(), since several desks may write."""
    now = datetime.now(UTC).replace(microsecond=0)
    for student, value in points.items():
        given = GivenMark(when=now, person=person, question=question, student=student, points=value)
        add_line(get_mark_log_path(course, lab), given.model_dump_json())


def read_given_marks(course: Path, lab: str, question: str) -> dict[str, GivenMark]:
    """Read the last mark that each student was given for a question, without lines that a crash cut off."""
    path = get_mark_log_path(course, lab)
    last = {}
    for line in path.read_bytes().split(b"\n") if path.exists() else []:
        try:
            given = GivenMark.model_validate_json(line)
        except ValidationError:  # also the empty line at the end
            continue
        if given.question == question:
            last[given.student] = given
    return last


def describe_giver(mark: Mark, given: GivenMark | None, now: datetime) -> str:
    """Say who gave this mark, and how long ago; empty if it isn't the last one that was given on the desk.

    Args:
        now: The time, with its zone.
    """
    if given is None or mark.points is None or mark.needs_manual_grade or given.points != round(mark.points, 4):
        return ""
    by = f"marked by {given.person}, " if given.person else "marked "
    return by + format_age((now - given.when).total_seconds())
