"""Files that grow by a line at a time, such as histories."""

from __future__ import annotations

import os
from pathlib import Path


def add_line(path: Path, line: str) -> None:
    """Add a line to a file. If a crash or a full disk cut off the last line, it stays the only damaged one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.seek(0, os.SEEK_END):
            file.seek(-1, os.SEEK_END)
            line = line if file.read(1) == b"\n" else f"\n{line}"
        file.write(f"{line}\n".encode())
