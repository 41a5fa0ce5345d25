"""A pipe stands in the notebook's place, and who opens it waits for ever."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.edits import LAB, Notebook

KEPT: set[str] = set()
NOTE = "no plain file"


def damage(folder: Path, notebook: Notebook) -> None:
    os.mkfifo(folder / f"{LAB}.ipynb")
