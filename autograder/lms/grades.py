"""Writes grades as a table that other systems import: a row for everyone in the course, columns for each lab."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from autograder.gradebook.class_results import ClassResults, Member
from autograder.lms.people import Person
from autograder.reports.csv_files import write_table


@dataclass(frozen=True)
class Exporter:
    """Writes everyone's marks in one form: what `gradlab export` writes."""

    file: str
    """The name of its file in results/."""
    write: Callable[[Path, Sequence[Person], Sequence[ClassResults]], object]
    """Called with the path, everyone in the course, and the labs that count."""


@dataclass(frozen=True)
class GradeTableFormat:
    """A form of grades that is a table."""

    person: Mapping[str, str]
    """The field of Person in each column on the left, by heading; empty for an empty column."""
    lab: Mapping[str, Callable[[ClassResults, Member | None], str]]
    """Formats each column of a lab, by the part of its heading after the lab's name; empty cells mean no mark."""
    worth_row: str = ""
    """The first cell of a row that says what each lab is worth; empty for no such row."""

    def write(self, path: Path, people: Sequence[Person], labs: Sequence[ClassResults]) -> None:
        """Write the table, as an Exporter does."""
        head = [*self.person, *(f"{lab.lab}{ending}" for lab in labs for ending in self.lab)]
        members = {lab.lab: {member.student: member for member in lab.members} for lab in labs}
        rows = [
            [
                *(getattr(person, name) if name else "" for name in self.person.values()),
                *(show(lab, members[lab.lab].get(person.id)) for lab in labs for show in self.lab.values()),
            ]
            for person in people
        ]
        if self.worth_row:
            gap = [""] * (len(self.person) - 1)
            rows.insert(0, [self.worth_row, *gap, *(format_worth(lab) for lab in labs for _ in self.lab)])
        write_table(path, head, rows)


def format_points(lab: ClassResults, member: Member | None) -> str:
    return format_number(member.points) if member and member.graded else ""


def format_worth(lab: ClassResults, member: Member | None = None) -> str:
    return format_number(lab.worth)


def format_lateness(lab: ClassResults, member: Member | None) -> str:
    if member is None or not member.graded:
        return ""
    minutes, seconds = divmod(int(member.seconds_late), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{seconds:02}"


def format_number(value: float) -> str:
    return f"{round(value, 4):g}"
