"""The processors that this process may use, and how much they have to do."""

from __future__ import annotations

import os


def count_processors() -> int:
    """Count the processors that this process may use; on macOS, which has no affinity, those of the machine."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def is_machine_busy() -> bool:
    """Return whether more programs want to run than there are processors, over the last minute."""
    return os.getloadavg()[0] > count_processors()
