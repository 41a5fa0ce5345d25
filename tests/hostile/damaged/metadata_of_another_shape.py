"""nbgrader's metadata are a list and the cell's a text: an extension rewrote them."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, SHIFT, Notebook, cell, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["metadata"] = {"nbgrader": [1]}
    cell(notebook, SHIFT)["metadata"] = "locked"
    write(folder, notebook)
