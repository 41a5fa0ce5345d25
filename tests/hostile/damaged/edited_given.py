"""A given cell is edited: another constant was tried and left there."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "changed were put back"


def damage(folder: Path, notebook: Notebook) -> None:
    given = next(c for c in notebook["cells"] if c["source"].startswith("STEP"))
    given["source"] = "STEP = 5.0"
    write(folder, notebook)
