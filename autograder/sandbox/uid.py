"""A uid of the run's own. Stops: reading or ptracing another process, its /proc files, signals to it, files that are
not world-readable, becoming root again; makes RLIMIT_NPROC count the run alone. Needs root."""

from __future__ import annotations

import os


def become(uid: int) -> None:
    """Be that user for good: no other group, no saved id to return to. /proc/self stays root's, as memory may be."""
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
