"""The cells stand in the reverse order: dragged by a touchpad, all of them selected."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import Notebook, write

NOTE = "course's order"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"].reverse()
    write(folder, notebook)
