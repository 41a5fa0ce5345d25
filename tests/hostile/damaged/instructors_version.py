"""It is the instructor's notebook, with solutions and hidden tests: it leaked."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write_bytes

NOTE = "instructor's version"


def damage(folder: Path, notebook: Notebook) -> None:
    source = folder.parent.parent.parent / "source" / LAB / f"{LAB}.ipynb"
    write_bytes(folder, source.read_bytes())
