"""Reasons why a check couldn't compare anything: an enum for code, with words for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

NOT_WRITTEN = "This exercise is not written yet."


class Cause(StrEnum):
    """Why a check couldn't compare anything."""

    UNWRITTEN = "unwritten"
    """The exercise is unchanged."""
    NOTHING = "nothing"
    """The function returned None."""
    SYNTAX = "syntax"
    """The exercise's cell has a syntax error."""
    TIME = "time"
    """The check's time limit was reached."""
    BUSY = "busy"
    """The machine was too busy to run the student's code."""
    ENDED = "ended"
    """The student's process ended."""
    GRADER = "grader"
    """The grader's own work on the result took too long."""
    OTHER = "other"
    """Another limit or failure of the student's process, which the message names."""


@dataclass(frozen=True)
class StopReason:
    """Why the student's process couldn't answer."""

    message: str
    cause: Cause = Cause.OTHER
    seconds: float = 0.0
    """The time limit, if it was reached."""

    def __str__(self) -> str:
        return self.message
