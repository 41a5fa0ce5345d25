"""The name has a space and a number: a browser's second download."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

NOTE = "found as"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / f"{LAB}.ipynb").rename(folder / "01_door (1).ipynb")
