"""The name is of bytes that are no UTF-8: unpacked from a zip of another system."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

NOTE = "found as"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    os.rename(folder / f"{LAB}.ipynb", os.fsencode(folder) + b"/l\xf6sung.ipynb")
