"""A copy of the answer is pasted at the top: to keep it safe."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, pasted, write

NOTE = "Copies of cells"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].insert(0, pasted(notebook, DOUBLE))
    write(folder, notebook)
