"""The notebook is a link to a file that only exists on the student's machine."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook

KEPT: set[str] = set()
NOTE = "link"


def damage(folder: Path, notebook: Notebook) -> None:
    (folder / f"{LAB}.ipynb").symlink_to("/home/student/nowhere.ipynb")
