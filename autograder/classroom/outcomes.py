"""What came of one submission for the class: a mark, or what kept it from one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from autograder.base.atomic_files import is_full

Found = TypeVar("Found")


@dataclass(frozen=True)
class GradingOutcome:
    """A submission that was graded, or what kept the course from grading it. kept: it had been graded before.

    empty: the file could not be read. stopped: some of it ran into a limit. anew: of one that had been graded, what
    changed since, in words. remarks: what the instructor should know of it.
    """

    student: str
    failure: str = ""
    kept: bool = False
    empty: bool = False
    stopped: bool = False
    anew: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def write_log(course: Path, lab: str, student: str, reason: str) -> Path:
    """Keep the whole text of an error beside the results; the file's path."""
    log = course / "results" / lab / f"{student}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(reason, encoding="utf-8", errors="replace")
    return log


def run_guarded(student: str, do: Callable[[], Found]) -> Found | GradingOutcome:
    """What comes of it. What is wrong with one student's files costs that student; a full disk stops all."""
    try:
        return do()
    except OSError as error:
        if is_full(error):
            raise
        return GradingOutcome(student, f"its files cannot be read or written: {error}\n    its mark was not touched")


def find_last_error(log: str) -> str:
    """The exception at the end of a traceback."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception|Exit)\b.*: ", line)]
    return (errors or lines or ["no reason was given"])[-1]
