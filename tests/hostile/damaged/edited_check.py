"""A check cell is edited: the student printed something in it."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import CHECK, Notebook, cell, write

NOTE = "put back as they were: check-double"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, CHECK)["source"] = "print(double(torch.ones(1)))"
    write(folder, notebook)
