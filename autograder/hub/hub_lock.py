"""The lock that a running hub holds on its folder. Two hubs of one folder would stop each other's proxy."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

LOCK_FILE = "hub.lock"


def lock_folder(folder: Path) -> bool:
    """Lock this hub's folder until this process ends, even if another program replaces it.

    Returns:
        Whether it's locked; False if another process holds the lock.
    """
    descriptor = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
    if not _lock(descriptor):
        os.close(descriptor)
        return False
    os.set_inheritable(descriptor, True)
    return True


def is_locked(folder: Path) -> bool:
    """Return whether a hub of this folder runs."""
    try:
        descriptor = os.open(folder / LOCK_FILE, os.O_RDWR)
    except FileNotFoundError:
        return False
    is_free = _lock(descriptor)
    os.close(descriptor)
    return not is_free


def _lock(descriptor: int) -> bool:
    """Try to lock the file. Not with lockf: a check in the same process would give up its lock."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
