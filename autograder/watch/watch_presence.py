"""Whether a watch of a course runs, when it last looked, and why it can't mark.

They are the lock, the time and the text of results/.watch.
A watch that is killed loses the lock. One that hangs keeps it, and the time gets old.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from dataclasses import dataclass
from datetime import datetime
from io import BufferedRandom
from pathlib import Path
from time import monotonic

from autograder.base.timestamps import convert_file_time

NEVER_SHOWN = "?"  # no problem, and also not that there is none
BEAT_SECONDS = 5.0  # between two signs of life, since a watch looks several times a second


def _get_path(course: Path) -> Path:
    return course / "results" / ".watch"


class WatchPresence:
    """A watch's sign of life. Several watches of a course share it, and one of them has the lock."""

    def __init__(self, course: Path) -> None:
        self._path, self._last = _get_path(course), -BEAT_SECONDS
        self._file: BufferedRandom | None = None
        self._is_locked, self._problem = False, NEVER_SHOWN

    def record_look(self) -> None:
        """Give the sign, unless the last one is recent. A file system without locks, or a full disk, stops no watch."""
        if monotonic() - self._last < BEAT_SECONDS:
            return
        self._last = monotonic()
        with contextlib.suppress(OSError):
            file = self._open()
            os.utime(self._path)
            if not self._is_locked:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                self._is_locked = True
                self.record_problem("")  # an earlier watch's

    def record_problem(self, problem: str) -> None:
        """Show why the last submission couldn't be marked; nothing once one is."""
        if problem == self._problem:
            return
        self._problem = problem
        with contextlib.suppress(OSError):
            file = self._open()
            file.truncate(0)
            file.write(problem.encode())
            file.flush()

    def _open(self) -> BufferedRandom:
        if self._file is None:
            self._path.parent.mkdir(exist_ok=True)
            self._file = self._path.open("a+b")
        return self._file

    def close(self) -> None:
        """Give up the lock."""
        if self._file:
            self._file.close()


@dataclass(frozen=True)
class WatchSigns:
    """What a course shows of its watch."""

    is_running: bool
    last_look: datetime | None
    """In naive UTC, to some seconds; None if there was no watch yet."""
    problem: str = ""
    """Why the last submission couldn't be marked."""


def read_watch_signs(course: Path) -> WatchSigns:
    """Read the signs of life of a course's watch."""
    path = _get_path(course)
    try:
        with path.open("rb") as file:
            last_look = convert_file_time(os.fstat(file.fileno()).st_mtime)
            return WatchSigns(_is_locked(file.fileno()), last_look, file.read().decode(errors="replace"))
    except OSError:
        return WatchSigns(False, None)


def _is_locked(file: int) -> bool:
    try:
        fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    return False
