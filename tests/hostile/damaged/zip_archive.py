"""The notebook is a zip archive with its name changed."""

from __future__ import annotations

import zipfile
from pathlib import Path

from tests.hostile.edits import LAB, Notebook

KEPT: set[str] = set()
NOTE = "zip archive"


def damage(folder: Path, notebook: Notebook) -> None:
    with zipfile.ZipFile(folder / f"{LAB}.ipynb", "w") as archive:
        archive.writestr("notebook", str(notebook))
