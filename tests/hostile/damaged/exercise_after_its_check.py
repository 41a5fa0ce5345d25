"""An exercise stands below its check: moved by an arrow."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, at, write

NOTE = "course's order: exercise-double"


def damage(folder: Path, notebook: Notebook) -> None:
    place = at(notebook, DOUBLE)
    cells = notebook["cells"]
    cells[place], cells[place + 1] = cells[place + 1], cells[place]
    write(folder, notebook)
