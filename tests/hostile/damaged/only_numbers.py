"""The file holds a list of numbers: the wrong JSON was handed in."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "no notebook of format"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, b"[1, 2, 3]")
