"""Locks a lab, so only one process grades it at a time."""

from __future__ import annotations

import contextlib
import errno
import fcntl
from collections.abc import Iterator
from pathlib import Path

from autograder.base.errors import GradlabError

HELD = (errno.EACCES, errno.EAGAIN)  # the errors of a lock that another process holds


@contextlib.contextmanager
def lock_lab(course: Path, lab: str) -> Iterator[None]:
    """Lock the lab. Raises GradlabError if another process is grading it, or the file system has no locks."""
    path = course / "results" / lab / ".lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        try:
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # not flock: the workers would hold it too
        except OSError as error:
            if error.errno in HELD:
                raise GradlabError(
                    f"another gradlab is grading {lab} in {course}", fix="wait for it to finish, or stop it"
                ) from None
            raise GradlabError(
                f"{path} can't be locked: {error}", fix="keep the course on a file system that has locks"
            ) from None
        yield
