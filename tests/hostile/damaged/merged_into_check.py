"""An exercise is merged into the check of the one before."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import TOTAL, Notebook, merge, write

NOTE = "found again by the name that they define: exercise-total"


def damage(folder: Path, notebook: Notebook) -> None:
    merge(notebook, "check-shift", TOTAL)
    write(folder, notebook)
