"""Two exercises are merged into one cell, and the cells between them are gone."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, SHIFT, Notebook, merge, write

NOTE = "were taken out of them: exercise-shift"


def damage(folder: Path, notebook: Notebook) -> None:
    merge(notebook, DOUBLE, SHIFT)
    write(folder, notebook)
