"""Two exercises have each other's grade_id: the answers were written into the wrong cells."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, TOTAL, Notebook, cell, write

NOTE = "found again"


def damage(folder: Path, notebook: Notebook) -> None:
    a, b = cell(notebook, DOUBLE), cell(notebook, TOTAL)
    a["source"], b["source"] = b["source"], a["source"]
    write(folder, notebook)
