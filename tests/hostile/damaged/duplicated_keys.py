"""A key stands twice in a cell: a merge by hand kept both lines."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    text = json.dumps(notebook)
    write_bytes(folder, text.replace('"cell_type": "code"', '"cell_type": "raw", "cell_type": "code"').encode())
