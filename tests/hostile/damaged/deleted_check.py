"""A check cell is deleted: it looked like clutter."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import CHECK, Notebook, drop, write

NOTE = "were put back: check-double"


def damage(folder: Path, notebook: Notebook) -> None:
    drop(notebook, CHECK)
    write(folder, notebook)
