"""The folder is a link to another student's."""

from __future__ import annotations

from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

KEPT: set[str] = set()
NOTE = "link"


def damage(folder: Path, notebook: Notebook) -> None:
    other = folder.parent.parent / "linked_folder_neighbour"
    (other / LAB).mkdir(parents=True)
    write(other / LAB, notebook)
    folder.rmdir()
    folder.symlink_to(other / LAB)
