"""The exercise's cell is split in the middle of the function: Ctrl-Shift-Minus by accident."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, split, write

NOTE = "split were joined again: exercise-double"


def damage(folder: Path, notebook: Notebook) -> None:
    split(notebook, DOUBLE, 2)
    write(folder, notebook)
