"""All ids and all metadata are gone: a converter to text and back lost them."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "found again"


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        del each["id"]
        each["metadata"] = {}
    write(folder, notebook)
