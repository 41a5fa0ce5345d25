"""The term's calendar: of each lab when it is due and what else has its time, from the gradebook and term.toml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from shlex import quote

from autograder.gradebook.class_schema import LabClass
from autograder.gradebook.names import make_sort_key
from autograder.model.term import Term, format_minute, to_naive_utc

MOST = 5  # extensions of one lab in a line
NEVER = datetime.max


@dataclass(frozen=True)
class Dates:
    """Times are UTC without a zone. extensions: student -> until when, the last to end first.

    watched_until, attempts, wait_minutes, practice: see LabTerm. solutions: from when pages show them.
    """

    lab: str
    due: datetime | None = None
    watched_until: datetime | None = None
    solutions: datetime | None = None
    extensions: dict[str, datetime] = field(default_factory=dict)
    attempts: int | None = None
    wait_minutes: float = 0.0
    practice: bool = False

    @property
    def tries(self) -> str:
        """How often a watch marks a student's submissions, in words; empty where it always does."""
        often = "" if self.attempts is None else str(self.attempts)
        return f"{often or 'any'}, {self.wait_minutes:g} min apart" if self.wait_minutes else often

    def extended(self) -> str:
        """Who has an extension, at most so many."""
        named = [f"{student} until {format_minute(until)}" for student, until in list(self.extensions.items())[:MOST]]
        more = len(self.extensions) - len(named)
        return ", ".join(named) + (f" and {more} more: gradlab report {quote(self.lab)}" if more else "")


def build_calendar(labs: Sequence[LabClass], term: Term) -> list[Dates]:
    """Of every lab that has a class or a place in term.toml, in the order of their dates; those without any last."""
    classes = {group.lab: group for group in labs}
    known = sorted({*classes, *term.labs}, key=make_sort_key)
    return sorted((_make_dates(lab, classes.get(lab), term) for lab in known), key=_find_first_date)


def _make_dates(lab: str, group: LabClass | None, term: Term) -> Dates:
    of_lab = term.lab(lab)
    watched_until, solutions = (to_naive_utc(time) if time else None for time in (of_lab.until, of_lab.solutions))
    extensions = {m.student: until for m, until in group.extended} if group else {}
    due = group.due if group else None
    return Dates(lab, due, watched_until, solutions, extensions, of_lab.attempts, of_lab.wait_minutes, of_lab.practice)


def _find_first_date(dates: Dates) -> datetime:
    return dates.due or dates.watched_until or dates.solutions or NEVER
