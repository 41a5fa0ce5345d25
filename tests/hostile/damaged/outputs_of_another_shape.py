"""Outputs and counts are of shapes that no notebook has."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE) | {"outputs": 3}
    cell(notebook, DOUBLE).update(outputs={"a": [None]}, execution_count="many")
    write(folder, notebook)
