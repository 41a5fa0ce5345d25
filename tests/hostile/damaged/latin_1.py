"""The file is Latin-1 and has a comment with an umlaut: an old editor saved it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import DOUBLE, Notebook, cell, write_bytes

NOTE = "not stored as UTF-8"


def damage(folder: Path, notebook: Notebook) -> None:
    cell(notebook, DOUBLE)["source"] += "\n# für später"
    write_bytes(folder, json.dumps(notebook, ensure_ascii=False).encode("latin-1"))
