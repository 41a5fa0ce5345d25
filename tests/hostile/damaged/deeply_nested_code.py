"""An added cell holds ten thousand brackets in each other."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, code, write

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].insert(1, code("(" * 10_000 + ")" * 10_000))
    write(folder, notebook)
