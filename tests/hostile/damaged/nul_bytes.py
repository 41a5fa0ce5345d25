"""A NUL stands in a comment, and another in an added cell: a crash of the editor."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, code, write

NOTE = "question marks"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["source"] += "\n# \0"
    notebook["cells"].append(code("x = 1\0"))
    write(folder, notebook)
