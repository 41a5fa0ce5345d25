"""The notebook says that it is of format 5: a version to come saved it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

KEPT: set[str] = set()
NOTE = "format 2, 3 or 4"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook | {"nbformat": 5})
