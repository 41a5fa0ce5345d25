"""Which submissions `gradlab watch` marks, and when: what term.toml sets for a lab, against the marks so far."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from autograder.gradebook.history import PastMark
from autograder.term import LabTerm, plain_utc

CAUSE = "watch"


@dataclass(frozen=True)
class Decision:
    """now: mark it. later: when it may be marked, UTC without a zone. never: why it will not be."""

    now: bool = False
    later: datetime | None = None
    never: str = ""


def decide(
    when: datetime,
    history: list[PastMark],
    settings: LabTerm,
    now: datetime,
    written: datetime | None = None,
    brought_in: bool = True,
) -> Decision:
    """when: the time that the submission says. history: the student's marks of this lab. now: UTC without a zone.

    written: no later than when its files were written, by the machine's clock. brought_in: whether it is the one that
    lies in submitted/.
    """
    marks = [mark for mark in history if mark.cause == CAUSE]
    used = {mark.submitted for mark in marks}
    if when in used and not brought_in:  # a member of the team could hand in once more without an attempt
        return Decision(never="another submission that says the very same time has its mark")
    if when in used:
        return Decision(now=True)  # it has its mark, and perhaps not its page
    if settings.until is not None and max(when, written or when) > plain_utc(settings.until):
        return Decision(never=f"it came after {plain_utc(settings.until)} UTC, until when this lab is watched")
    if settings.attempts is not None and len(used) >= settings.attempts:
        return Decision(never=f"its {len(used)} attempts are used up")
    if marks and settings.wait_minutes:
        free = plain_utc(marks[-1].when) + timedelta(minutes=settings.wait_minutes)
        if free > now:
            return Decision(later=free)
    return Decision(now=True)
