"""Writes files and folders completely or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
OF_ONE_NAME = (  # errors that affect only the file or folder of that name
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENXIO,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EISDIR,
)


def is_disk_full_error(error: OSError) -> bool:
    """Return whether the disk or the quota is full, which affects every file."""
    return error.errno in FULL


def is_of_one_name(error: OSError) -> bool:
    """Return whether the error affects only this file: its name, its path, its type, or that it's gone."""
    return error.errno in OF_ONE_NAME


def write_atomically(path: Path, text: str) -> None:
    """Write or replace a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")  # not longer than the file's name, which may have the maximum length
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


@contextlib.contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Yield a path where the caller makes a new folder. At the end, it replaces this one.

    A process that is killed between the two renames leaves only the old folder, under another name. The next call puts
    it back.
    """
    new, old = (folder.with_name(f".{folder.name}.{word}") for word in ("new", "old"))
    if old.is_dir() and not os.path.lexists(folder):
        os.replace(old, folder)
    for leftover in (new, old):
        shutil.rmtree(leftover, ignore_errors=True)
    yield new
    if os.path.lexists(folder):
        os.replace(folder, old)
    os.replace(new, folder)
    shutil.rmtree(old, ignore_errors=True)
