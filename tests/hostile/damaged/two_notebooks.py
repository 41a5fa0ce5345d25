"""A second notebook lies beside the right one."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "not graded: draft.ipynb"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / "draft.ipynb").write_text("{}")
