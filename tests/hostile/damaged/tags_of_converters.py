"""Cells are tagged remove-cell and raises-exception: copied from a book's notebooks."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import CHECK, Notebook, cell, write

NOTE = "do not count: check-double"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, CHECK)["metadata"]["tags"] = ["raises-exception", "remove-cell"]
    write(folder, notebook)
