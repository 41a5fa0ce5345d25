"""Why a check could not compare anything: as values, which code can ask for, with the words that people read."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Cause(StrEnum):
    """What kept a check from comparing a result."""

    UNWRITTEN = "unwritten"
    """The exercise is as it was handed out."""
    NOTHING = "nothing"
    """The function gave nothing back."""
    TIME = "time"
    """The check's time limit was reached."""
    BUSY = "busy"
    """The machine was too busy to run the student's code."""
    ENDED = "ended"
    """The student's process ended."""
    GRADER = "grader"
    """The grader's own work on the result took too long."""
    OTHER = "other"
    """Another limit or trouble of the student's process; the words say which."""


@dataclass(frozen=True)
class StopReason:
    """Why the student's process could not answer."""

    words: str
    cause: Cause = Cause.OTHER
    seconds: float = 0.0
    """Of the time limit, if that was reached."""

    def __str__(self) -> str:
        return self.words
