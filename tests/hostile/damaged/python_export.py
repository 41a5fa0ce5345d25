"""The notebook is a Python file with its name changed: exported as a script."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "Python file"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, "\n\n".join(c["source"] for c in notebook["cells"]).encode())
