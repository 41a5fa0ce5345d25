"""A check is unlocked and no longer graded: to be able to edit it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import CHECK, Notebook, cell, write

NOTE = "do not count: check-double"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, CHECK)["metadata"]["nbgrader"] |= {"locked": False, "grade": False, "solution": True}
    write(folder, notebook)
