"""All code stands in one cell: exported as a script and pasted back."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, code, write

NOTE = "found again"


def damage(folder: Path, notebook: Notebook) -> None:
    source = "\n\n".join(c["source"] for c in notebook["cells"] if c["cell_type"] == "code")
    write(folder, notebook | {"cells": [code(source)]})
