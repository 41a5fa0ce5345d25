"""The file is empty: the disk was full."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "No notebook named 01_door.ipynb"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, b"")
