"""Cells are tagged skip-execution: to run the notebook faster, or for full marks without a test."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import TOTAL, Notebook, cell, write

KEPT = ["double", "shift"]
NOTE = "do not count"


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each["metadata"]["tags"] = ["skip-execution"]
    cell(notebook, TOTAL)["source"] = "def total(x):\n    return x"
    write(folder, notebook)
