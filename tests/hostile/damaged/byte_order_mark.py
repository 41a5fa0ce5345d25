"""The file begins with a byte order mark: an editor on Windows saved it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

NOTE = "UTF-8-SIG"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, json.dumps(notebook).encode("utf-8-sig"))
