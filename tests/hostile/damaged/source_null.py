"""A cell's source is null: a script cleared it so."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write

KEPT = ["shift", "total"]
NOTE = "left out"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["source"] = None
    write(folder, notebook)
