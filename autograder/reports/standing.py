"""Which students need a person's attention, and why, for the report, the term page and `gradlab status`."""

from __future__ import annotations

from enum import StrEnum

from autograder.base.text import format_count
from autograder.gradebook.class_results import ClassResults, Member
from autograder.model.metadata import make_stock_name
from autograder.model.note_sentences import describe_notes
from autograder.model.notes import NoteKind
from labkit.outcome import Blame


class Standing(StrEnum):
    """A reason to look at a student's submission, in the words that pages show."""

    MISSING = "missing"
    UNCOLLECTED = "in the exchange"
    TO_GRADE = "to grade"
    OLDER = "of an earlier build"
    DAMAGED = "damaged"
    LIMIT = "at a limit"
    WAITS = "to be read"
    LATE = "late"
    STRANGER = "not on the roster"


def list_standings(member: Member, any_submitted: bool = True) -> list[Standing]:
    """Return all standings of a member.

    Args:
        any_submitted: Whether anyone has submitted the lab; before that, no one is missing.
    """
    holds = {
        Standing.MISSING: any_submitted and not member.has_submitted and not member.uncollected,
        Standing.UNCOLLECTED: member.uncollected,
        Standing.TO_GRADE: member.has_submitted and (not member.graded or member.needs_regrading),
        Standing.OLDER: member.from_earlier_build,
        Standing.DAMAGED: member.unreadable,
        Standing.LIMIT: bool(member.stopped_cells),
        Standing.WAITS: member.needs_manual_grade,
        Standing.LATE: member.seconds_late > 0,
        Standing.STRANGER: not member.on_roster,
    }
    return [standing for standing, is_true in holds.items() if is_true]


def group_by_standing(class_results: ClassResults) -> dict[Standing, list[Member]]:
    """Return the members who have each standing."""
    any_submitted = any(member.has_submitted for member in class_results.members)
    members: dict[Standing, list[Member]] = {standing: [] for standing in Standing}
    for member in class_results.members:
        for standing in list_standings(member, any_submitted):
            members[standing].append(member)
    return members


def list_reasons(member: Member, standing: Standing) -> list[str]:
    """Explain in sentences why a submission is damaged, or at a limit."""
    kind = NoteKind.REFUSED if standing is Standing.DAMAGED else NoteKind.STOPPED
    notes = [note for note in (*member.notes, *member.remarks) if note.kind is kind]
    reasons = describe_notes(notes, member.notebooks)
    if standing is Standing.DAMAGED:
        return reasons
    cells = {note.cell for note in notes} | {make_stock_name(note.notebook, note.cell) for note in notes}
    return reasons + [_describe_stopped_check(cell, member) for cell in member.stopped_cells if cell not in cells]


def _describe_stopped_check(cell: str, member: Member) -> str:
    """Say which check of this cell was stopped, if the outcomes show it."""
    name = member.stopped_cells[cell]
    stopped = [outcome for outcome in member.checks.get(name, ()) if outcome.blame is Blame.PROCESS]
    if not stopped:
        return f"{name}: one of its checks ran into a limit, or ended the process."
    more = f", and {format_count(len(stopped) - 1, 'more check')}" if len(stopped) > 1 else ""
    return f"{name}, “{stopped[0].label}”: {stopped[0].seen}{more}."


def format_delay(seconds: float) -> str:
    """Format seconds as in 1.2 s; two minutes or more as a duration."""
    return f"{seconds:.1f} s" if seconds < 120 else format_duration(seconds)


def format_duration(seconds: float) -> str:
    """Format a duration as in 2 d 3 h, 3 h 5 min, or 5 min."""
    minutes = max(int(seconds // 60), 1)
    days, hours, rest = minutes // 1440, minutes // 60 % 24, minutes % 60
    parts = [(days, "d"), (hours, "h"), (rest, "min")]
    shown = [f"{number} {unit}" for number, unit in parts if number]
    return " ".join(shown[:2])
