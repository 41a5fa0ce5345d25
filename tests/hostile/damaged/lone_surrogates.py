"""Half of an emoji stands in a comment: cut by an editor that counts 16-bit units."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write

NOTE = "question marks"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["source"] += "\n# done \ud83d"
    write(folder, notebook)
