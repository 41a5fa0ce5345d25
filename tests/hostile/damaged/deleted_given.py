"""The cell with the imports is deleted: cut instead of copied."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, drop, write

NOTE = "missing were put back: "


def damage(folder: Path, notebook: Notebook) -> None:
    drop(notebook, notebook["cells"][0]["id"])
    write(folder, notebook)
