"""The folders submitted/STUDENT/LAB, from which grading reads. This file imports nothing that takes long."""

from __future__ import annotations

import os
from pathlib import Path


def get_submitted_path(course: Path, lab: str, student: str) -> Path:
    return course / "submitted" / student / lab


def list_submitted_students(course: Path, lab: str) -> list[str]:
    """List the students who submitted this lab."""
    folders = (course / "submitted").iterdir() if (course / "submitted").is_dir() else ()
    return sorted(folder.name for folder in folders if os.path.lexists(folder / lab))
