"""Safe copying of a folder that a stranger may be changing: only regular files, no links followed, within limits.

Everything goes through descriptors, so the file that was checked is the file that is read, even if its name changes.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.base.atomic_files import is_path_error
from autograder.intake.folder_normalization import (
    LEFT_OUT,
    NOT_FOLLOWED,
    UNREADABLE,
    find_free_path,
    is_too_long,
    write_placeholder,
)
from autograder.intake.safe_names import CHECKPOINTS, make_safe_name

MAX_FILE = 100_000_001  # bytes; one more than a notebook may have, so the intake refuses it for its size
MAX_ALL = 500_000_000
MAX_FILES = 2_000
MAX_LISTED = 100_000  # names that are read
MAX_DEPTH = 20  # of nested folders; MAX_FOLDER limits the length of their path
PIECE = 2**20
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # follow no links, and don't wait for pipes


@dataclass
class _CopyJob:
    """The state of a copy, and how much more it may take."""

    root: Path
    """The copy."""
    owner: int | None
    """The user whose files are copied; None for anyone's."""
    fails_if_unreadable: bool
    """Whether a file that can't be read yet aborts the copy."""
    size: int
    """Bytes that may still be copied."""
    files: int
    listed: int
    """Names that may still be read."""


@contextlib.contextmanager
def open_folder(path: str | Path, parent: int | None = None) -> Iterator[int]:
    """Open a folder, and yield its descriptor.

    Args:
        parent: The descriptor of the folder that `path` is relative to.

    Raises:
        OSError: If it can't be opened, or is a link.
    """
    descriptor = os.open(path, FLAGS | os.O_DIRECTORY, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def copy_folder(folder: int, target: Path, owner: int | None = None, fails_if_unreadable: bool = False) -> None:
    """Copy this folder into a new one. What is left out gets an empty placeholder, whose ending says why.

    Args:
        owner: The user whose files are copied; others' aren't, since a hard link can lead to any file.
        fails_if_unreadable: Whether to raise PermissionError for a file that can't be read: its student may not be
            done yet.
    """
    _copy(folder, target, _CopyJob(target, owner, fails_if_unreadable, MAX_ALL, MAX_FILES, MAX_LISTED), MAX_DEPTH)


def _copy(folder: int, target: Path, job: _CopyJob, depth: int, package: str = "") -> None:
    """Copy one folder.

    Args:
        package: The folder's name, if a kernel may start next to it.
    """
    target.mkdir(parents=True)
    with os.scandir(folder) as entries:
        names = [entry.name for entry in itertools.islice(entries, job.listed)]
    job.listed -= len(names)
    names = [name for name in names if name != CHECKPOINTS]
    names.sort(key=lambda name: (not name.endswith(".ipynb"), name))  # notebooks first, in case of a limit
    holds_notebook = depth == MAX_DEPTH or any(name.endswith(".ipynb") for name in names)
    for name in names:
        if job.files == 0:
            write_placeholder(target / name, LEFT_OUT)  # also represents the rest
            break
        job.files -= 1
        try:
            copy = find_free_path(target / make_safe_name(name, package, holds_notebook), name)
            ending = _copy_entry(folder, name, copy, job, depth, holds_notebook)
        except PermissionError:
            if job.fails_if_unreadable:
                raise
            ending = UNREADABLE
        except OSError as error:
            if not is_path_error(error):
                raise
            ending = LEFT_OUT
        if ending:
            with contextlib.suppress(OSError):  # the path is too long already
                write_placeholder(target / name, ending)


def _copy_entry(folder: int, name: str, target: Path, job: _CopyJob, depth: int, holds_notebook: bool) -> str:
    """Copy one file or folder, or return the ending that says why it is left out."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        if depth == 1 or is_too_long(target, job.root):
            return LEFT_OUT
        with open_folder(name, folder) as inner:
            _copy(inner, target, job, depth - 1, name if holds_notebook else "")
        return ""
    if not stat.S_ISREG(status.st_mode):
        return NOT_FOLLOWED
    descriptor = os.open(name, FLAGS, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or job.owner not in (None, status.st_uid):
            return NOT_FOLLOWED
        most = min(MAX_FILE, job.size)
        if status.st_size > most and not name.endswith(".ipynb"):
            return LEFT_OUT
        with target.open("wb") as copy:
            while most > 0 and (piece := file.read(min(PIECE, most))):
                copy.write(piece)
                most, job.size = most - len(piece), job.size - len(piece)
    return ""
