"""Marks of a merge conflict stand in the file: git pull, and nobody looked."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "marks of a merge"


def damage(folder: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook, indent=1)
    half = text.index("\n", len(text) // 2)
    marks = "\n<<<<<<< HEAD\n=======\n>>>>>>> theirs"
    write_bytes(folder, (text[:half] + marks + text[half:]).encode())
