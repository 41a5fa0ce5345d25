"""The points of a check are NaN and those of another a text."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import CHECK, Notebook, cell, write

NOTE = "do not count: check-double"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, CHECK)["metadata"]["nbgrader"]["points"] = float("nan")
    cell(notebook, "check-shift")["metadata"]["nbgrader"]["points"] = "ten"
    write(folder, notebook)
