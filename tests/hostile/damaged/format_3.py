"""The notebook is of format 3: an old server saved it."""

from __future__ import annotations

from pathlib import Path

import nbformat

from tests.hostile.edits import Notebook, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    old = nbformat.convert(nbformat.from_dict(notebook), 3)
    write(folder, old)
