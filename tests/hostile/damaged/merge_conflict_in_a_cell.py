"""Marks of a merge conflict stand in one exercise's cell."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, Notebook, cell, write

KEPT = ["double", "total"]
NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, SHIFT)["source"] = "<<<<<<< HEAD\ndef shift(x):\n    return x\n=======\n>>>>>>> theirs"
    write(folder, notebook)
