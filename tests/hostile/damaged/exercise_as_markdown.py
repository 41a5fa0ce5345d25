"""An exercise's cell became Markdown: the M key in command mode."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write

NOTE = "another type were made what they are in the course: exercise-double"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["cell_type"] = "markdown"
    write(folder, notebook)
