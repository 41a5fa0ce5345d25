"""Every line ends in CR LF, in the file and in the cells: git's autocrlf, or Windows' Notepad."""

from __future__ import annotations

import json
from pathlib import Path

from tests.hostile.edits import Notebook, write_bytes

NOTE = ""


def damage(folder: Path, notebook: Notebook) -> None:
    for each in notebook["cells"]:
        each["source"] = each["source"].replace("\n", "\r\n")
    write_bytes(folder, json.dumps(notebook, indent=1).replace("\n", "\r\n").encode())
