"""A uid of the run's own. Stops: reading or ptracing another process, its /proc files, signals to it, files that are
not world-readable, becoming root again; makes RLIMIT_NPROC count the run alone. Needs root."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

from autograder.sandbox.system import call


def become(uid: int) -> None:
    """Be that user for good: no other group, no saved id to return to. /proc/self stays root's, as memory may be."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)


@contextmanager
def reading_as(uid: int) -> Iterator[None]:
    """Open files as that user would, and stay out of reach of its signals, which a helper that became it would not be.

    This thread then has no signal for its parent's death, and a memory that is closed to its own user.
    """
    call("setfsgid", uid)
    call("setfsuid", uid)
    try:
        yield
    finally:
        call("setfsuid", os.geteuid())
        call("setfsgid", os.getegid())
