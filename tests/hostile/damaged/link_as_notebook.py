"""The notebook is a symbolic link: to the solution of the course, or to one's own cloud folder."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook

KEPT: set[str] = set()
NOTE = "link"


def damage(folder: Path, notebook: Notebook) -> None:
    source = folder.parent.parent.parent / "source" / LAB / f"{LAB}.ipynb"
    assert source.exists()
    (folder / f"{LAB}.ipynb").symlink_to(source)
