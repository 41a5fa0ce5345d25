"""The name has a line break: pasted from a web page."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

NOTE = "found as"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / f"{LAB}.ipynb").rename(folder / "01\ndoor.ipynb")
