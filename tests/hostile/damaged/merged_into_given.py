"""An exercise is merged into the given cell above it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, Notebook, merge, write

NOTE = "found again by the name that they define: exercise-shift"


def damage(folder: Path, notebook: Notebook) -> None:
    given = next(c for c in notebook["cells"] if c["source"].startswith("STEP"))
    merge(notebook, given["id"], SHIFT)
    write(folder, notebook)
