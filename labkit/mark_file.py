"""The files that the grader writes for a notebook: the latest marks, and the feedback page."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.lab_progress import HiddenFinding
from labkit.untrusted_json import DAMAGED, check_number, check_text, read_object


@dataclass(frozen=True)
class ExerciseMark:
    """The latest mark of one exercise."""

    source: str
    """The digest of its cell when it was marked."""
    points: float
    hidden: tuple[HiddenFinding, ...] = ()
    another_way: str = ""
    """Another answer, shown with full marks."""
    tries: int = 0
    """How many different answers were marked below full marks."""
    is_own: bool = False
    """Whether the student marked it, comparing a written answer with the model answer."""


def get_marks_path(notebook: Path) -> Path:
    """Return where the grader writes a notebook's marks: exercise -> ExerciseMark, as JSON."""
    return notebook.parent.parent / ".gradlab" / f"{notebook.stem}.json"


def get_page_path(notebook: Path) -> Path:
    """Return where the grader writes a notebook's feedback page."""
    return get_marks_path(notebook).with_suffix(".html")


def read_marks(notebook: Path) -> Mapping[str, ExerciseMark]:
    """Read the marks of the notebook at this path; none if it isn't marked. Malformed entries are skipped."""
    marks = {}
    for name, mark in read_object(get_marks_path(notebook)).items():
        with contextlib.suppress(*DAMAGED):
            hidden = tuple(map(_read_finding, mark.get("hidden", ())))
            another_way = check_text(mark.get("another_way", ""))
            marks[name] = ExerciseMark(
                check_text(mark["source"]),
                check_number(mark["points"]),
                hidden,
                another_way,
                int(check_number(mark.get("tries", 0))),
                bool(mark.get("is_own", False)),
            )
    return marks


def _read_finding(data: Mapping[str, Any]) -> HiddenFinding:
    hints = tuple(map(check_text, data.get("hints", ())))
    return HiddenFinding(check_text(data["label"]), bool(data["passed"]), check_text(data.get("seen", "")), hints)
