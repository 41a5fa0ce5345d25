"""The points of a check are a thousand."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import CHECK, Notebook, cell, write

NOTE = "do not count: check-double"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, CHECK)["metadata"]["nbgrader"]["points"] = 1000
    write(folder, notebook)
