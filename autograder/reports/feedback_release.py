"""Prepares feedback pages for nbgrader's release_feedback, and says who can still submit."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from autograder.base.submission_files import SECRET, TIMESTAMP
from autograder.model.term import format_minute


def make_releasable(course: Path, lab: str, pages: Iterable[Path]) -> list[str]:
    """Give a random secret to each submission that has none.

    A secret says who may fetch a page. nbgrader stops if one is missing, and gives the page to anyone who knows it.

    Args:
        pages: The paths of the pages, in feedback/STUDENT/LAB/.

    Returns:
        The students whose pages can't be handed out through the exchange.
    """
    unreachable = []
    for folder in dict.fromkeys(page.parent for page in pages):
        student = folder.parent.name
        if not (course / "autograded" / student / lab / SECRET).exists():
            unreachable.append(student)
        for name, text in ((TIMESTAMP, ""), (SECRET, secrets.token_hex())):
            if not (folder / name).exists():
                (folder / name).write_text(text)
    return unreachable


def describe_still_working(
    due: datetime | None, extension_ends: Mapping[str, datetime], now: datetime, until: datetime | None = None
) -> str:
    """Describe who may still submit; empty if no one may. Times are naive UTC.

    Args:
        until: When `gradlab watch` stops marking.
    """
    if end := max((time for time in (due, until) if time is not None and time > now), default=None):
        return f"everyone until {format_minute(end)} UTC"
    working = {student: until for student, until in extension_ends.items() if until > now}
    return ", ".join(f"{student} until {format_minute(until)} UTC" for student, until in sorted(working.items()))
