"""A copy is pasted below the wrong answer and corrected there."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, at, cell, pasted, write

NOTE = "last version counts: exercise-double"


def damage(folder: Path, notebook: Notebook) -> None:
    right = pasted(notebook, DOUBLE)
    cell(notebook, DOUBLE)["source"] = "def double(x):\n    return x"
    notebook["cells"].insert(at(notebook, DOUBLE) + 1, right)
    write(folder, notebook)
