"""The file is UTF-16: PowerShell's redirection wrote it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

NOTE = "UTF-16"


def damage(folder: Path, notebook: Notebook) -> None:
    write_bytes(folder, json.dumps(notebook).encode("utf-16"))
