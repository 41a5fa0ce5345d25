"""Notes that a process shares with its forks, since a call may happen in a rank of a gloo group, which is a fork."""

from __future__ import annotations

import os
import tempfile

NOTE = "_note_of_replacement"  # the name, in a notebook, of the note of what was replaced


class NoteFile:
    """Short lines in the order in which any of the processes wrote them."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115  as long as this object

    def write(self, line: str) -> None:
        os.write(self.file.fileno(), f"{line}\n".encode())  # appended whole

    def lines(self) -> list[str]:
        size = os.fstat(self.file.fileno()).st_size
        return os.pread(self.file.fileno(), size, 0).decode().splitlines()
