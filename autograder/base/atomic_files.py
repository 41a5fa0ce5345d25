"""Writes files and folders whole or not at all: a reader finds the old ones or the new ones."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

FULL = (errno.ENOSPC, errno.EDQUOT)
OF_ONE_NAME = (  # errors that cost the file or folder of that name, and nothing else
    errno.ENAMETOOLONG,
    errno.ELOOP,
    errno.ENXIO,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EEXIST,
    errno.EISDIR,
)


def is_full(error: OSError) -> bool:
    """Whether the disk is full, or the quota: trouble of every file, and not of this one."""
    return error.errno in FULL


def is_of_one_name(error: OSError) -> bool:
    """Whether the error is only about this file: its name, its path, its type, or that it is gone."""
    return error.errno in OF_ONE_NAME


def write_atomically(path: Path, text: str) -> None:
    """Write the file, or replace it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")  # no longer than its name, which may be as long as one can be
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


@contextlib.contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """A path beside the folder for the caller to make a new one, which replaces the folder at the end."""
    new, old = (folder.with_name(f".{folder.name}.{word}") for word in ("new", "old"))
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    yield new
    if os.path.lexists(folder):
        os.replace(folder, old)
    os.replace(new, folder)
    shutil.rmtree(old, ignore_errors=True)
