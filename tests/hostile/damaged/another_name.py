"""The notebook has another name: the student renamed it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

NOTE = "found as"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / f"{LAB}.ipynb").rename(folder / "my_solution.ipynb")
