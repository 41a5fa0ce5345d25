"""A cell is a heading, a type that format 4 no longer has."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "left out"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].append({"cell_type": "heading", "level": 1, "metadata": {}, "source": "Notes"})
    write(folder, notebook)
