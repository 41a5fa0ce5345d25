"""The outcome of grading one submission: a mark, or what prevented it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from autograder.base.atomic_files import is_disk_full_error
from autograder.model.result import ResultDocument

T = TypeVar("T")


@dataclass(frozen=True)
class GradingOutcome:
    """A submission that was graded, or what prevented that."""

    student: str
    failure: str = ""
    """Why it couldn't be graded."""
    kept: bool = False
    """Whether its earlier result still counts."""
    unreadable: bool = False
    """Whether the file couldn't be read."""
    at_limit: bool = False
    """Whether some of it ran into a limit."""
    regrade_reasons: tuple[str, ...] = ()
    """What has changed since it was last graded, in words."""
    remarks: tuple[str, ...] = ()
    """What the instructor should know about it."""

    @classmethod
    def from_result(cls, result: ResultDocument) -> GradingOutcome:
        return cls(result.student, unreadable=result.empty, at_limit=bool(result.stopped))


def write_log(course: Path, lab: str, student: str, reason: str) -> Path:
    """Write the whole text of an error next to the results, and return the file's path."""
    log = course / "results" / lab / f"{student}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(reason, encoding="utf-8", errors="replace")
    return log


def run_guarded(student: str, action: Callable[[], T]) -> T | GradingOutcome:
    """Run an action for a student. A fault in one student's files affects only that student; a full disk stops all."""
    try:
        return action()
    except OSError as error:
        if is_disk_full_error(error):
            raise
        return GradingOutcome(student, f"its files cannot be read or written: {error}\n    its mark was not changed")


def find_last_error(log: str) -> str:
    """Return the exception at the end of a traceback."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b.*: ", line)]
    return (errors or lines or ["no reason was given"])[-1]
