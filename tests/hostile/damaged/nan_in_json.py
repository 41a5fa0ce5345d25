"""NaN stands in an output's data, which is no JSON: a library wrote it so."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["outputs"] = [
        {"output_type": "display_data", "data": {"application/json": float("nan")}, "metadata": {}}
    ]
    write(folder, notebook)
