"""An added cell is no Python: notes typed into a code cell."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, code, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].insert(1, code("remember: to ask about this!"))
    write(folder, notebook)
