"""A folder has the notebook's name: macOS unpacked a bundle so."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook

KEPT: set[str] = set()
NOTE = "no plain file"


def damage(folder: Path, notebook: Notebook) -> None:
    (folder / f"{LAB}.ipynb").mkdir()
    (folder / f"{LAB}.ipynb" / "readme.txt").write_text("")
