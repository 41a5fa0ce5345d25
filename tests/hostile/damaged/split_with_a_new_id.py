"""The second half of a split cell has lost its metadata and has an id of its own."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, split, write

NOTE = "split were joined again: exercise-double"


def damage(folder: Path, notebook: Notebook) -> None:
    split(notebook, DOUBLE, 2)
    cell(notebook, DOUBLE).update(id="second-half", metadata={})
    write(folder, notebook)
