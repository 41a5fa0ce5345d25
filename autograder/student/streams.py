"""stdout and stderr of a cell: the streams of Python, and the file descriptors that programs and C code write to.

A kernel reads the descriptors in threads of its own. Here they are files, read when their stream is used or flushed.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence

from autograder.student.outputs import MAX_TEXT, Outputs

NAMES = {"stdout": 1, "stderr": 2}


class Stream(io.TextIOBase):
    """sys.stdout or sys.stderr. outputs: gives those of the cell that is running."""

    encoding = "UTF-8"  # type: ignore[assignment]

    def __init__(self, name: str, outputs: Callable[[], Outputs]) -> None:
        self.name, self._outputs = name, outputs
        self._owner = self._file = self._before = -1
        self._taken = 0  # bytes of the file

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        if os.getpid() != self._owner:  # a worker of a data loader
            os.write(self.fileno(), text.encode(errors="replace"))
            return len(text)
        self._take()
        self._outputs().printed(self.name, text)
        return len(text)

    def flush(self) -> None:
        if os.getpid() == self._owner:
            self._take()
            self._outputs().flush(self.name)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return NAMES[self.name]

    def start(self) -> None:
        """Have the descriptor write to a file of this process' own. Not before a fork, which would share it."""
        forked, self._owner = self._owner != os.getpid(), os.getpid()
        with contextlib.suppress(OSError):  # a full disk, or a cell that closed it: what programs print is lost then
            if self._before < 0:
                self._before = os.dup(self.fileno())
            if forked:
                self._file = -1
                with tempfile.TemporaryFile() as file:
                    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
                    self._file = os.dup(file.fileno())
            os.ftruncate(self._file, 0)
            self._taken = 0
            os.dup2(self._file, self.fileno())

    def stop(self) -> None:
        self.flush()
        with contextlib.suppress(OSError):
            os.dup2(self._before, self.fileno())

    def _take(self) -> None:
        """What came through the descriptor since the last time."""
        with contextlib.suppress(OSError):
            end = os.lseek(self._file, 0, os.SEEK_END)
            if end > self._taken:
                written = os.pread(self._file, 4 * MAX_TEXT, self._taken)
                self._taken = end
                self._outputs().printed(self.name, written.decode(errors="replace"))


@contextlib.contextmanager
def capture_streams(streams: Sequence[Stream]) -> Iterator[None]:
    """Python's streams and their descriptors lead to the outputs meanwhile."""
    before = sys.stdout, sys.stderr
    try:
        for stream in streams:
            stream.start()
        sys.stdout, sys.stderr = streams
        yield
    finally:
        sys.stdout, sys.stderr = before
        for stream in streams:
            stream.stop()
