"""The sources are lists of lines, as nbformat writes them on disk."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each["source"] = each["source"].splitlines(keepends=True)
    write(folder, notebook)
