"""Two notebooks, and neither has the lab's name."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

KEPT: set[str] = set()
NOTE = "not graded: a.ipynb, b.ipynb"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / f"{LAB}.ipynb").rename(folder / "a.ipynb")
    shutil.copy(folder / "a.ipynb", folder / "b.ipynb")
