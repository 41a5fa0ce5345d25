"""Decides which submissions `gradlab watch` marks, and when, from term.toml's limits for the lab and the marks so far.

It also explains this to students: how many attempts are left, when the next one is marked, and what counts instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from autograder.base.timestamps import format_time
from autograder.gradebook.history import HistoryEntry
from autograder.model.term import LabTerm, Term, to_naive_utc

WATCH_COMMAND = "watch"  # as the history names it
UNTIL_GRADED = "until your instructor grades the lab"


@dataclass(frozen=True)
class AttemptDecision:
    """Whether to mark a submission."""

    is_due: bool = False
    """Whether to mark it now."""
    due_from: datetime | None = None
    """When it may be marked, in naive UTC."""
    refusal: str = ""
    """Why it won't be marked."""


def resolve_lab_term(term: Term, lab: str, student: str, ignores_limits: bool = False) -> LabTerm:
    """Return what term.toml sets for this student. An extension beyond the lab's end moves the end.

    Args:
        ignores_limits: Whether the newest submission is marked whatever the limits of attempts, waits and the end are.
    """
    lab_term = term.lab(lab)
    if ignores_limits:
        return lab_term.model_copy(update={"attempts": None, "wait_minutes": 0.0, "until": None})
    extension_end = term.get_extensions(lab).get(student)
    if lab_term.until is None or extension_end is None or extension_end <= to_naive_utc(lab_term.until):
        return lab_term
    return lab_term.model_copy(update={"until": extension_end})


def decide_attempt(
    submitted: datetime,
    history: Sequence[HistoryEntry],
    lab_term: LabTerm,
    now: datetime,
    changed_at: datetime | None = None,
    is_collected: bool = True,
    zone: tzinfo = UTC,
) -> AttemptDecision:
    """Decide whether to mark a submission.

    Args:
        submitted: The submission's own time.
        history: The student's marks for this lab.
        lab_term: What term.toml sets for the student.
        now: The time, in naive UTC.
        changed_at: A time no later than when its files were written, by the machine's clock.
        is_collected: Whether it's the one in submitted/.
        zone: The time zone for times in messages.
    """
    used = _list_used_attempts(history)
    if submitted in used and not is_collected:  # else a team member could submit once more without using an attempt
        return AttemptDecision(refusal="another submission with exactly the same time is already marked: submit again")
    if submitted in used:
        return AttemptDecision(is_due=True)  # it has its mark, but perhaps not its page
    if lab_term.until is not None and max(submitted, changed_at or submitted) > to_naive_utc(lab_term.until):
        return AttemptDecision(
            refusal=f"it arrived after the lab closed at {format_time(to_naive_utc(lab_term.until), zone)}"
        )
    if lab_term.attempts is not None and len(used) >= lab_term.attempts:
        only = lab_term.attempts == 1
        return AttemptDecision(
            refusal="the only attempt is used up" if only else f"all {len(used)} attempts are used up"
        )
    wait_end = _compute_wait_end(history, lab_term)
    return (
        AttemptDecision(due_from=wait_end) if wait_end is not None and wait_end > now else AttemptDecision(is_due=True)
    )


def describe_attempts(
    submitted: datetime, history: Sequence[HistoryEntry], lab_term: LabTerm, now: datetime, zone: tzinfo = UTC
) -> str:
    """Say on a submission's page how many attempts are left; empty if term.toml sets no limit.

    Args:
        submitted: The submission's own time.
        history: The student's marks for this lab, including this one.
        lab_term: What term.toml sets for the student.
        now: The time, in naive UTC.
        zone: The time zone for times in messages.
    """
    used, sentences = _list_used_attempts(history), []
    has_more = lab_term.attempts is None or len(used) < lab_term.attempts
    until = None if lab_term.until is None else to_naive_utc(lab_term.until)
    if lab_term.attempts is not None:
        if submitted in used:
            sentences.append(f"Attempt {used.index(submitted) + 1} of {lab_term.attempts}.")
        if not has_more:
            sentences.append(f"No further attempts will be marked {UNTIL_GRADED}.")
    if until is not None and until <= now:
        return " ".join([*sentences[:1], f"The lab closed at {format_time(until, zone)}."])
    wait_end = _compute_wait_end(history, lab_term)
    if has_more and wait_end is not None and wait_end > now:
        wait = f"attempt will be marked after {format_time(wait_end, zone)}."
        if until is not None and wait_end > until:
            return " ".join([*sentences, f"If you submit again by {format_time(until, zone)}, that {wait}"])
        sentences.append(f"Your next {wait}")
    if until is not None:
        sentences.append(f"The lab is open until {format_time(until, zone)}.")
    return " ".join(sentences)


def describe_counting_mark(history: Sequence[HistoryEntry], zone: tzinfo = UTC) -> str:
    """Say what counts instead of a submission that isn't marked."""
    last = next((mark.submitted for mark in reversed(history) if mark.submitted is not None), None)
    if last is None:
        return f"You have no mark {UNTIL_GRADED}."
    return f"The mark of the submission from {format_time(last, zone)} counts {UNTIL_GRADED}; its page shows it."


def _list_used_attempts(history: Sequence[HistoryEntry]) -> list[datetime | None]:
    """Return the times of the submissions that a watch has marked, earliest first."""
    return list(dict.fromkeys(mark.submitted for mark in history if mark.command == WATCH_COMMAND))


def _compute_wait_end(history: Sequence[HistoryEntry], lab_term: LabTerm) -> datetime | None:
    """Compute when the wait after the last mark ends."""
    marks = [mark for mark in history if mark.command == WATCH_COMMAND]
    if not marks or not lab_term.wait_minutes:
        return None
    return to_naive_utc(marks[-1].when) + timedelta(minutes=lab_term.wait_minutes)
