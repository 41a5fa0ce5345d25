"""Recognizes the exceptions that a sandbox limit causes, and names the limit for the student."""

from __future__ import annotations

import errno

LIMITS = {
    errno.EAGAIN: "the limit on processes and threads was reached",
    errno.EMFILE: "the limit on open files was reached",
    errno.EFBIG: "the limit on the size of a file was reached",
    errno.ENOSPC: "the limit on disk space was reached",
    errno.EDQUOT: "the limit on disk space was reached",
    errno.ENOMEM: "the memory limit was reached",
}


def describe_limit(error: BaseException) -> str:
    """Return the limit in words, or "" if the exception has another cause."""
    if isinstance(error, OSError):
        return LIMITS.get(error.errno or 0, "")
    text = str(error)
    out_of_memory = isinstance(error, RuntimeError) and "allocate" in text and "memory" in text  # torch's, on CPU
    if isinstance(error, MemoryError) or out_of_memory:
        return LIMITS[errno.ENOMEM]
    if isinstance(error, RuntimeError) and "can't start new thread" in text:
        return LIMITS[errno.EAGAIN]
    return ""
