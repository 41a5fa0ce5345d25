"""The folder is empty: the upload broke off."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook

KEPT: set[str] = set()
NOTE = "No notebook named 01_door.ipynb"


def damage(folder: Path, notebook: Notebook) -> None:
    assert folder.is_dir()
