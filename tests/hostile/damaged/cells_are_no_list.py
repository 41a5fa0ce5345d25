"""The list of cells became an object: a script numbered them."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

KEPT: set[str] = set()
NOTE = "no list of cells"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook | {"cells": dict(enumerate(notebook["cells"]))})
