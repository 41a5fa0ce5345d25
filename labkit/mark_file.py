"""The files that the grader writes for a notebook: the latest marks, and the feedback page."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.untrusted_json import DAMAGED, check_number, check_text, read_object


def get_marks_path(notebook: Path) -> Path:
    """Return where the grader writes a notebook's marks: exercise -> {source: digest of its cell, points}."""
    return notebook.parent.parent / ".gradlab" / f"{notebook.stem}.json"


def get_page_path(notebook: Path) -> Path:
    """Return where the grader writes a notebook's feedback page."""
    return get_marks_path(notebook).with_suffix(".html")


def read_marks(notebook: Path) -> Mapping[str, Any]:
    """Read the marks of the notebook at this path; none if it isn't marked. Malformed entries are skipped."""
    marks = {}
    for name, mark in read_object(get_marks_path(notebook)).items():
        with contextlib.suppress(*DAMAGED):
            marks[name] = {"source": check_text(mark["source"]), "points": check_number(mark["points"])}
    return marks
