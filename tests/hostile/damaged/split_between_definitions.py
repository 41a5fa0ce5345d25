"""The exercise's cell is split between a helper and the function that uses it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import TOTAL, Notebook, cell, split, write

NOTE = "split were joined again: exercise-total"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, TOTAL)["source"] = "def helper(x):\n    return x.sum()\n\ndef total(x):\n    return helper(x)"
    split(notebook, TOTAL, 2)
    write(folder, notebook)
