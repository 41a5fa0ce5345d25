"""More than a hundred megabytes: videos were shown in cells."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook

KEPT: set[str] = set()
NOTE = "over 100 MB"


def damage(folder: Path, notebook: Notebook) -> None:
    with (folder / f"{LAB}.ipynb").open("wb") as file:
        file.truncate(100_000_001)
