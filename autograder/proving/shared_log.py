"""Notes that a process shares with its forks, since the ranks of a gloo group are forks."""

from __future__ import annotations

import os
import tempfile

NOTE = "_note_of_replacement"  # the name of the note in a notebook


class SharedLog:
    """Short lines, in the order in which the processes wrote them."""

    def __init__(self) -> None:
        self.file = tempfile.TemporaryFile("ab+", buffering=0)  # noqa: SIM115  open as long as this object exists

    def write(self, line: str) -> None:
        os.write(self.file.fileno(), f"{line}\n".encode())  # appended as a whole

    def read_lines(self) -> list[str]:
        size = os.fstat(self.file.fileno()).st_size
        return os.pread(self.file.fileno(), size, 0).decode().splitlines()
