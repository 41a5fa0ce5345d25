"""Writes term.toml's extensions to the gradebook, and revokes deleted ones; extensions granted in nbgrader stay."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from autograder.base.atomic_files import write_atomically


def set_extension(submission: Any, due: datetime | None, until: datetime | None) -> None:
    """Extend this row of the gradebook. Without a new time, an extension granted in nbgrader stays.

    Args:
        due: When the lab is due for everyone, in naive UTC.
        until: When the extension ends, in naive UTC; None if term.toml has none.
    """
    if until is not None and due is not None:
        submission.extension = max(until - due, timedelta())


def remember_extended(course: Path, lab: str, students: Iterable[str]) -> set[str]:
    """Remember that term.toml gave these students more time, so it may be revoked. Returns the earlier students."""
    path = _get_path(course, lab)
    before = set(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else set()
    if not before.issuperset(students):
        write_atomically(path, json.dumps(sorted(before.union(students))) + "\n")
    return before


def revoke_extensions(course: Path, lab: str, gradebook: Gradebook, extended: Iterable[str]) -> None:
    """Revoke the extensions of students who no longer have one in term.toml.

    Args:
        extended: The students who have one now.
    """
    now = set(extended)
    revoked = remember_extended(course, lab, now) - now
    for student in revoked:
        try:
            gradebook.find_submission(lab, student).extension = None
        except MissingEntry:
            continue
    if revoked:
        gradebook.db.commit()
        write_atomically(_get_path(course, lab), json.dumps(sorted(now)) + "\n")


def _get_path(course: Path, lab: str) -> Path:
    return course / "results" / lab / ".extended"
