"""An exercise, its check and the next exercise are merged into one cell."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, TOTAL, Notebook, merge, write

NOTE = "were taken out of them: check-shift, exercise-total"


def damage(folder: Path, notebook: Notebook) -> None:
    merge(notebook, SHIFT, "check-shift", TOTAL)
    write(folder, notebook)
