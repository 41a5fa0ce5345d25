"""Cells have no metadata at all: a minimal converter wrote them."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        del each["metadata"]
    write(folder, notebook)
