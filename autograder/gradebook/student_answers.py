"""What students wrote for each exercise and question, and what they were handed out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autograder.gradebook.notebook_file import read_plain_cells
from autograder.model.course import CellKind
from autograder.model.fingerprint import digest_lab
from autograder.model.metadata import read_exercise_name, read_kind, read_stub, read_written_name


@dataclass(frozen=True)
class LabSource:
    """What the source notebook of a lab assignment says. A stock assignment's exercises are unknown."""

    cells: Sequence[Any]
    stubs: Mapping[str, str]
    """Each exercise as it's handed out."""
    solutions: Mapping[str, str]
    """Each exercise as the course solves it."""
    digest: str
    """As in ResultDocument.made_of; empty for a stock assignment, which is more than a notebook."""


def read_lab_source(course: Path, lab: str) -> LabSource:
    path = course / "source" / lab / f"{lab}.ipynb"
    cells = read_plain_cells(path)
    exercises = {read_exercise_name(cell): cell for cell in cells if read_kind(cell) is CellKind.EXERCISE}
    return LabSource(
        cells,
        {name: read_stub(cell) for name, cell in exercises.items()},
        {name: cell.source for name, cell in exercises.items()},
        digest_lab(path.read_bytes()) if exercises else "",
    )


def collect_answers(cells: Sequence[Any]) -> dict[str, str]:
    """Return what the student wrote, by exercise or question, unless it's unchanged.

    That's the exercise's cell with the code cells added after it.

    Args:
        cells: The cells of the autograded notebook.
    """
    texts: dict[str, list[str]] = {}
    stubs = {}
    current = ""
    for cell in cells:
        kind = read_kind(cell)
        if kind is not None:
            current = read_written_name(cell)
        if current and kind is not None:
            stubs[current] = read_stub(cell)
        if current and (kind is not None or cell.cell_type == "code"):
            texts.setdefault(current, []).append(cell.source)
    joined = {name: "\n\n".join(parts) for name, parts in texts.items()}
    return {name: text for name, text in joined.items() if text.strip() != stubs[name].strip()}
