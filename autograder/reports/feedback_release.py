"""What nbgrader's release_feedback needs besides the pages, and what to know before they are handed out."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path

from autograder.base.timestamps import SECRET, TIMESTAMP
from autograder.model.term import format_minute


def make_releasable(course: Path, lab: str, pages: Iterable[Path]) -> list[str]:
    """Give submissions without a secret, which says who may fetch a page, one that no one knows.

    nbgrader stops if a secret is missing, and gives the page to anyone who knows it.

    Returns:
        The students whose pages can't be handed out through the exchange.
    """
    outside = []
    for folder in dict.fromkeys(page.parent for page in pages):
        student = folder.parent.name
        if not (course / "autograded" / student / lab / SECRET).exists():
            outside.append(student)
        for name, text in ((TIMESTAMP, ""), (SECRET, secrets.token_hex())):
            if not (folder / name).exists():
                (folder / name).write_text(text)
    return outside


def describe_still_working(
    due: datetime | None, extended: Mapping[str, datetime], now: datetime, until: datetime | None = None
) -> str:
    """Who may still hand in, in words; empty if no one may. Times are UTC without a zone.

    Args:
        until: When `gradlab watch` stops marking.
    """
    if end := max((each for each in (due, until) if each is not None and each > now), default=None):
        return f"everybody until {format_minute(end)} UTC"
    open_ = {student: until for student, until in extended.items() if until > now}
    return ", ".join(f"{student} until {format_minute(until)} UTC" for student, until in sorted(open_.items()))
