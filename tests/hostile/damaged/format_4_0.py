"""The notebook is of format 4.0, without ids: an old server saved it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        del each["id"]
    write(folder, notebook | {"nbformat_minor": 0})
