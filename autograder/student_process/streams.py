"""stdout and stderr of a cell: Python's streams, and the file descriptors that programs and C code write to.

A kernel reads the descriptors in threads. Here they are files, read when their stream is used or flushed.
"""

from __future__ import annotations

import contextlib
import fcntl
import io
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence

from autograder.student_process.outputs import MAX_TEXT, Outputs

NAMES = {"stdout": 1, "stderr": 2}


class Stream(io.TextIOBase):
    """Replaces sys.stdout or sys.stderr.

    Args:
        outputs: Returns the outputs of the running cell.
    """

    encoding = "UTF-8"

    def __init__(self, name: str, outputs: Callable[[], Outputs]) -> None:
        self.name, self._outputs = name, outputs
        self._owner = self._file = self._original = -1
        self._position = 0  # in the file, up to which it has been read

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text)}")
        if os.getpid() != self._owner:  # a worker of a data loader
            os.write(self.fileno(), text.encode(errors="replace"))
            return len(text)
        self._read_file()
        self._outputs().add_text(self.name, text)
        return len(text)

    def flush(self) -> None:
        if os.getpid() == self._owner:
            self._read_file()
            self._outputs().flush(self.name)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return NAMES[self.name]

    def start(self) -> None:
        """Redirect the descriptor to a file of this process. Not before a fork, which would share the file."""
        is_new, self._owner = self._owner != os.getpid(), os.getpid()
        with contextlib.suppress(OSError):  # the disk is full, or a cell closed it: output of programs is lost then
            if self._original < 0:
                self._original = os.dup(self.fileno())
            if is_new:
                self._file = -1
                with tempfile.TemporaryFile() as file:
                    fcntl.fcntl(file, fcntl.F_SETFL, fcntl.fcntl(file, fcntl.F_GETFL) | os.O_APPEND)
                    self._file = os.dup(file.fileno())
            os.ftruncate(self._file, 0)
            self._position = 0
            os.dup2(self._file, self.fileno())

    def stop(self) -> None:
        self.flush()
        with contextlib.suppress(OSError):
            os.dup2(self._original, self.fileno())

    def _read_file(self) -> None:
        """Add to the outputs what was written to the descriptor since the last time."""
        with contextlib.suppress(OSError):
            end = os.lseek(self._file, 0, os.SEEK_END)
            if end > self._position:
                data = os.pread(self._file, 4 * MAX_TEXT, self._position)
                self._position = end
                self._outputs().add_text(self.name, data.decode(errors="replace"))


@contextlib.contextmanager
def capture_streams(streams: Sequence[Stream]) -> Iterator[None]:
    """Send Python's streams and their descriptors to the outputs."""
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
