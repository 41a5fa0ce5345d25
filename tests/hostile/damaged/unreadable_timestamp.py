"""The time of the submission is no time: edited by hand."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "time of your submission cannot be read"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / "timestamp.txt").write_text("yesterday, I think")
