"""Finds who submitted, by the folders submitted/STUDENT/ASSIGNMENT."""

from __future__ import annotations

import os
from pathlib import Path


def list_submitted_students(course: Path, assignment: str) -> list[str]:
    """List the students who submitted this assignment."""
    folders = (course / "submitted").iterdir() if (course / "submitted").is_dir() else ()
    return sorted(folder.name for folder in folders if os.path.lexists(folder / assignment))
