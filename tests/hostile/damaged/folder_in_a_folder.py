"""The notebook lies in a folder in the folder: an archive was unpacked there."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

NOTE = "found as 01_door/01_door.ipynb"


def damage(folder: Path, notebook: Notebook) -> None:
    (folder / LAB).mkdir()
    write(folder / LAB, notebook)
