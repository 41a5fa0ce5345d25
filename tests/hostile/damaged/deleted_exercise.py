"""An exercise's cell is deleted: cut instead of copied."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, Notebook, drop, write

KEPT = ["double", "total"]
NOTE = "put back, empty: exercise-shift"


def damage(folder: Path, notebook: Notebook) -> None:
    drop(notebook, SHIFT)
    write(folder, notebook)
