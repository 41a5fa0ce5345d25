"""Which submissions `gradlab watch` marks, and when: what term.toml sets for a lab, against the marks so far.

It also says so to students: how many attempts are left, when the next one is marked, what counts instead of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from autograder.base.timestamps import format_time
from autograder.gradebook.past_marks import PastMark
from autograder.model.term import LabTerm, Term, to_naive_utc

CAUSE = "watch"
UNTIL_GRADED = "until your instructor grades the lab"


@dataclass(frozen=True)
class Decision:
    """Whether to mark a submission."""

    now: bool = False
    """Whether to mark it now."""
    later: datetime | None = None
    """When it may be marked, UTC without a zone."""
    never: str = ""
    """Why it won't be marked."""


def resolve_lab_term(term: Term, lab: str, student: str, newest: bool = False) -> LabTerm:
    """What term.toml sets for this student. An extension beyond the lab's end moves the end.

    Args:
        newest: Whether the newest submission counts in any case: then there are no attempts, no wait and no end.
    """
    settings = term.lab(lab)
    if newest:
        return settings.model_copy(update={"attempts": None, "wait_minutes": 0.0, "until": None})
    extended = term.extended(lab).get(student)
    if settings.until is None or extended is None or extended <= to_naive_utc(settings.until):
        return settings
    return settings.model_copy(update={"until": extended})


def decide(
    when: datetime,
    history: Sequence[PastMark],
    settings: LabTerm,
    now: datetime,
    written: datetime | None = None,
    brought_in: bool = True,
    zone: tzinfo = UTC,
) -> Decision:
    """Decide whether to mark a submission.

    Args:
        when: The time that the submission gives.
        history: The student's marks for this lab.
        settings: What term.toml sets for the student.
        now: The time, UTC without a zone.
        written: A time no later than when its files were written, by the machine's clock.
        brought_in: Whether it is the one in submitted/.
        zone: The time zone for times in words.
    """
    used = _list_used_attempts(history)
    if when in used and not brought_in:  # else a team member could hand in once more without using an attempt
        return Decision(never="another submission that says the very same time has its mark")
    if when in used:
        return Decision(now=True)  # it has its mark, but perhaps not its page
    if settings.until is not None and max(when, written or when) > to_naive_utc(settings.until):
        return Decision(
            never=f"it came after {format_time(to_naive_utc(settings.until), zone)}, until when the lab was open"
        )
    if settings.attempts is not None and len(used) >= settings.attempts:
        return Decision(never="the one attempt is used up" if settings.attempts == 1 else _describe_used_up(len(used)))
    free = _compute_wait_end(history, settings)
    return Decision(later=free) if free is not None and free > now else Decision(now=True)


def describe_attempts(
    when: datetime, history: Sequence[PastMark], settings: LabTerm, now: datetime, zone: tzinfo = UTC
) -> str:
    """What a submission's page says about attempts; empty if term.toml sets no limit.

    Args:
        when: The time that the submission gives.
        history: The student's marks for this lab, this one included.
        settings: What term.toml sets for the student.
        now: The time, UTC without a zone.
        zone: The time zone for times in words.
    """
    used, words = _list_used_attempts(history), []
    left = settings.attempts is None or len(used) < settings.attempts
    until = None if settings.until is None else to_naive_utc(settings.until)
    if settings.attempts is not None:
        if when in used:
            words.append(f"Attempt {used.index(when) + 1} of {settings.attempts}.")
        if not left:
            words.append(f"No further one is marked {UNTIL_GRADED}.")
    if until is not None and until <= now:
        return " ".join([*words[:1], f"The lab was open until {format_time(until, zone)}."])
    free = _compute_wait_end(history, settings)
    if left and free is not None and free > now:
        in_time = f", handed in until {format_time(until, zone)}," if until is not None and free > until else ""
        words.append(f"The next one{in_time} is marked from {format_time(free, zone)} on.")
        if in_time:
            return " ".join(words)
    if until is not None:
        words.append(f"The lab is open until {format_time(until, zone)}.")
    return " ".join(words)


def describe_counting_mark(history: Sequence[PastMark], zone: tzinfo = UTC) -> str:
    """What counts instead of a submission that isn't marked."""
    last = next((mark.submitted for mark in reversed(history) if mark.submitted is not None), None)
    if last is None:
        return f"There is no mark of yours {UNTIL_GRADED}."
    return f"The mark of what was handed in at {format_time(last, zone)} counts {UNTIL_GRADED}; its page says it."


def _list_used_attempts(history: Sequence[PastMark]) -> list[datetime | None]:
    """The times of the submissions that a watch has marked, the earliest first."""
    return list(dict.fromkeys(mark.submitted for mark in history if mark.cause == CAUSE))


def _compute_wait_end(history: Sequence[PastMark], settings: LabTerm) -> datetime | None:
    """When the wait after the last mark ends."""
    marks = [mark for mark in history if mark.cause == CAUSE]
    if not marks or not settings.wait_minutes:
        return None
    return to_naive_utc(marks[-1].when) + timedelta(minutes=settings.wait_minutes)


def _describe_used_up(number: int) -> str:
    return f"all {number} attempts are used up"
