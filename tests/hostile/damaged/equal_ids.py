"""All cells have the same id, and no metadata: a script wrote the notebook."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, write

NOTE = "found again"


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each |= {"id": DOUBLE, "metadata": {}}
    write(folder, notebook)
