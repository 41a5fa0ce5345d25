"""A copy of the answer is pasted at the end."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, pasted, write

NOTE = "Copies of cells"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].append(pasted(notebook, DOUBLE))
    write(folder, notebook)
