"""An added cell asks for input, and so does the answer's own cell."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import SHIFT, Notebook, cell, code, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].insert(1, code("name = input('Your name? ')"))
    cell(notebook, SHIFT)["source"] += "\ninput()"
    write(folder, notebook)
