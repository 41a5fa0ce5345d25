"""A cell's source is a number: a script wrote a result there."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, Notebook, cell, write

KEPT = ["double", "total"]
NOTE = "left out"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, SHIFT)["source"] = 3.0
    write(folder, notebook)
