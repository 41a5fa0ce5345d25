"""The grade_id and the id of an exercise are others: an extension renamed them."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, Notebook, cell, write

NOTE = "found again by the name that they define: exercise-shift"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, SHIFT)["metadata"]["nbgrader"]["grade_id"] = "cell-4f1"
    cell(notebook, SHIFT)["id"] = "renamed"
    write(folder, notebook)
