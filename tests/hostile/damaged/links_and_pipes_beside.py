"""Beside the notebook lie links to files and folders of the course, and a pipe that nobody writes to."""

from __future__ import annotations

import os
from pathlib import Path

from tests.hostile.edits import LAB, Notebook, write

NOTE = "taken out: all, data.txt, pipe, submission_secret.txt"


def damage(folder: Path, notebook: Notebook) -> None:
    write(folder, notebook)
    (folder / "data.txt").symlink_to(folder.parent.parent.parent / "source" / LAB / f"{LAB}.ipynb")
    (folder / "submission_secret.txt").symlink_to("/etc/passwd")
    (folder / "all").symlink_to("/etc")
    os.mkfifo(folder / "pipe")
