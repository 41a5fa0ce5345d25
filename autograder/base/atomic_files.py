"""Files and folders that are there whole or not at all: whoever reads meanwhile finds the old ones or the new ones."""

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
    """Whether it is trouble of this file alone: its name, its path, what it is, that it is gone."""
    return error.errno in OF_ONE_NAME


def write_atomically(path: Path, text: str) -> None:
    """In place of what this file was, if it was there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")  # no longer than its name, which may be as long as one can be
    new.write_text(text, encoding="utf-8")
    os.replace(new, path)


@contextlib.contextmanager
def replace_folder(folder: Path) -> Iterator[Path]:
    """Where whoever asks makes the new folder: beside it. It takes the place of what is there, at the end."""
    new, old = (folder.with_name(f".{folder.name}.{word}") for word in ("new", "old"))
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    yield new
    if os.path.lexists(folder):
        os.replace(folder, old)
    os.replace(new, folder)
    shutil.rmtree(old, ignore_errors=True)
