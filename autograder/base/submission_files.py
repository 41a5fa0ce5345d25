"""The two files that nbgrader puts next to a submission. A student can write both, so neither is trusted."""

from __future__ import annotations

import os
import stat
from pathlib import Path

TIMESTAMP = "timestamp.txt"
SECRET = "submission_secret.txt"  # what `nbgrader submit` writes last
MAX_BYTES = 100  # of either


def read_small_text(path: str | Path, max_bytes: int = MAX_BYTES, folder: int | None = None) -> str | None:
    """Read the text of a small, untrusted file; None if it isn't a small regular file, or can't be read now.

    Args:
        folder: A descriptor of the folder that relative paths start from.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            is_regular = stat.S_ISREG(os.fstat(descriptor).st_mode)
            content = file.read(max_bytes + 1) if is_regular else None
        return None if content is None or len(content) > max_bytes else content.decode()
    except (OSError, ValueError):
        return None
