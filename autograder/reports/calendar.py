"""The term's calendar: each lab's due date and its other dates, from the gradebook and term.toml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from shlex import quote

from autograder.gradebook.class_results import ClassResults
from autograder.gradebook.labels import make_sort_key
from autograder.model.term import Term, format_minute, to_naive_utc

MAX_NAMED = 5  # extensions of one lab in a line
NEVER = datetime.max


@dataclass(frozen=True)
class LabDates:
    """The dates of a lab, in naive UTC. LabTerm describes the fields that have no description here."""

    lab: str
    due: datetime | None = None
    watched_until: datetime | None = None
    """When `gradlab watch` stops marking."""
    solutions: datetime | None = None
    """When pages begin to show worked solutions."""
    extensions: dict[str, datetime] = field(default_factory=dict)
    """When each student's extension ends, latest first."""
    attempts: int | None = None
    wait_minutes: float = 0.0
    practice: bool = False

    @property
    def tries(self) -> str:
        """How often a watch marks a student's submissions, in words; empty if there is no limit."""
        attempts = "" if self.attempts is None else str(self.attempts)
        return f"{attempts or 'any'}, {self.wait_minutes:g} min apart" if self.wait_minutes else attempts

    def format_extensions(self) -> str:
        """Return the students who have an extension, in words, the first few by name."""
        first = list(self.extensions.items())[:MAX_NAMED]
        named = [f"{student} until {format_minute(until)}" for student, until in first]
        more = len(self.extensions) - len(named)
        return ", ".join(named) + (f" and {more} more: gradlab report {quote(self.lab)}" if more else "")


def build_calendar(labs: Sequence[ClassResults], term: Term) -> list[LabDates]:
    """Return the dates of every lab that has a class or is in term.toml, in order; labs without dates are last."""
    classes = {class_results.lab: class_results for class_results in labs}
    names = sorted({*classes, *term.labs}, key=make_sort_key)
    return sorted((_make_dates(lab, classes.get(lab), term) for lab in names), key=_find_first_date)


def _make_dates(lab: str, class_results: ClassResults | None, term: Term) -> LabDates:
    rules = term.lab(lab)
    watched_until, solutions = (to_naive_utc(time) if time else None for time in (rules.until, rules.solutions))
    extensions = {m.student: until for m, until in class_results.extensions} if class_results else {}
    due = class_results.due if class_results else None
    return LabDates(lab, due, watched_until, solutions, extensions, rules.attempts, rules.wait_minutes, rules.practice)


def _find_first_date(dates: LabDates) -> datetime:
    return dates.due or dates.watched_until or dates.solutions or NEVER
