"""The file ends in the middle: the disk was full, or the upload broke off."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

KEPT: set[str] = set()
NOTE = "cut off"


def damage(folder: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook)
    write_bytes(folder, text[: len(text) // 2].encode())
