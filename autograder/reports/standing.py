"""Who of a class needs a person's look, and why: one place for the report, the term's page and `gradlab status`."""

from __future__ import annotations

from enum import StrEnum

from autograder.gradebook.class_schema import LabClass, Member
from autograder.intake.notes import RAN_WITHOUT, counts_as_empty


class Standing(StrEnum):
    """The words are those of the pages."""

    MISSING = "missing"
    TO_GRADE = "to grade"
    DAMAGED = "damaged"
    LIMIT = "at a limit"
    WAITS = "to be read"
    LATE = "late"


def standings(member: Member, anybody: bool = True) -> list[Standing]:
    """All that hold. anybody: somebody has handed the lab in; before that nobody is missing."""
    holds = {
        Standing.MISSING: anybody and not member.handed_in,
        Standing.TO_GRADE: member.handed_in and (not member.graded or member.again),
        Standing.DAMAGED: counts_as_empty(member.notes),
        Standing.LIMIT: any(note.endswith(RAN_WITHOUT) for note in member.notes),
        Standing.WAITS: member.waits,
        Standing.LATE: member.late > 0,
    }
    return [standing for standing, true in holds.items() if true]


def by_standing(group: LabClass) -> dict[Standing, list[Member]]:
    """Everybody of whom something holds."""
    anybody = any(member.handed_in for member in group.members)
    found: dict[Standing, list[Member]] = {standing: [] for standing in Standing}
    for member in group.members:
        for standing in standings(member, anybody):
            found[standing].append(member)
    return found


def speaks_of(note: str, standing: Standing) -> bool:
    """Whether the note says why this holds of a submission."""
    return counts_as_empty([note]) if standing is Standing.DAMAGED else note.endswith(RAN_WITHOUT)


def duration(seconds: float) -> str:
    """2 d 3 h, 3 h 5 min, 5 min."""
    minutes = max(int(seconds // 60), 1)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [(days, "d"), (hours, "h"), (rest, "min")]
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2])
