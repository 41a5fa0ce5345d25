"""Copies a folder that a stranger can change meanwhile: regular files only, nothing followed, and not too much of it.

All goes through descriptors: what was looked at is what is read, whatever stands under its name by then.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.base.atomic_files import is_of_one_name
from autograder.intake.files import LEFT_OUT, NOT_FOLLOWED, UNREADABLE, find_free_path, is_too_long, write_placeholder
from autograder.intake.safe_names import CHECKPOINTS, make_safe_name

MAX_FILE = 100_000_001  # bytes; one more than a notebook may have, so that its size is what it is refused for
MAX_ALL = 500_000_000
MAX_FILES = 2_000
MAX_LISTED = 100_000  # names that are looked at
MAX_DEPTH = 20  # of folders in one another; MAX_FOLDER bounds their names together
PIECE = 2**20
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # no link is followed, no pipe waited for


@dataclass
class _CopyJob:
    """What is being copied, and how much more may be."""

    root: Path
    """The copy."""
    owner: int | None
    """Whose files count; None for anyone's."""
    wait: bool
    """Whether a file that can't be read yet ends the copy."""
    size: int
    """Bytes that may still be copied."""
    files: int
    listed: int
    """Names that may still be looked at."""


@contextlib.contextmanager
def open_folder(path: str | Path, within: int | None = None) -> Iterator[int]:
    """Its descriptor. within: of the folder that it lies in. Raises OSError for a link, too."""
    descriptor = os.open(path, FLAGS | os.O_DIRECTORY, dir_fd=within)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def copy_folder(folder: int, target: Path, owner: int | None = None, wait: bool = False) -> None:
    """Copy this folder into a new one. An empty file with an ending that says why stands for what is left out.

    owner: whose files count, where others' do not: a hard link can lead to any. wait: raise PermissionError for a file
    that cannot be read, since it may be so only until whoever hands it in is done.
    """
    _copy(folder, target, _CopyJob(target, owner, wait, MAX_ALL, MAX_FILES, MAX_LISTED), MAX_DEPTH)


def _copy(folder: int, target: Path, job: _CopyJob, depth: int, package: str = "") -> None:
    """package: the folder's name, if a kernel may start beside it."""
    target.mkdir(parents=True)
    with os.scandir(folder) as entries:
        names = [entry.name for entry in itertools.islice(entries, job.listed)]
    job.listed -= len(names)
    names = [name for name in names if name != CHECKPOINTS]
    names.sort(key=lambda name: (not name.endswith(".ipynb"), name))  # notebooks before it is too much
    starts = depth == MAX_DEPTH or any(name.endswith(".ipynb") for name in names)
    for name in names:
        if job.files == 0:
            write_placeholder(target / name, LEFT_OUT)  # it stands for the rest, too
            break
        job.files -= 1
        try:
            kept = find_free_path(target / make_safe_name(name, package, starts), name)
            ending = _copy_one(folder, name, kept, job, depth, starts)
        except PermissionError:
            if job.wait:
                raise
            ending = UNREADABLE
        except OSError as error:
            if not is_of_one_name(error):
                raise
            ending = LEFT_OUT
        if ending:
            with contextlib.suppress(OSError):  # of a path that is too long already
                write_placeholder(target / name, ending)


def _copy_one(folder: int, name: str, target: Path, job: _CopyJob, depth: int, starts: bool) -> str:
    """Copy what has this name to the target, or say with what ending it is left out."""
    status = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISDIR(status.st_mode):
        if depth == 1 or is_too_long(target, job.root):
            return LEFT_OUT
        with open_folder(name, folder) as inner:
            _copy(inner, target, job, depth - 1, name if starts else "")
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
        with target.open("wb") as copied:
            while most > 0 and (piece := file.read(min(PIECE, most))):
                copied.write(piece)
                most, job.size = most - len(piece), job.size - len(piece)
    return ""
