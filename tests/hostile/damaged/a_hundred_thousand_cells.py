"""A hundred thousand empty cells: a key was held down."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, code, write_bytes

KEPT: set[str] = set()
NOTE = "more than 2,000 cells"


def damage(folder: Path, notebook: Notebook) -> None:
    notebook["cells"] += [code("")] * 100_000
    write_bytes(folder, json.dumps(notebook).encode())
