"""An added cell holds ten megabytes in one line: a data set pasted as text."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, code, write

NOTE = "too long"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].insert(1, code("data = '" + "0" * 10_000_000 + "'"))
    write(folder, notebook)
