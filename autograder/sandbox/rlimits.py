"""rlimits. Stop fork bombs, huge files and mappings, endless computing, thousands of descriptors, and core dumps.

Each applies to one process, except NPROC, which counts all processes of the uid in this user namespace. Root's aren't
counted.
"""

from __future__ import annotations

import os
import resource
from pathlib import Path

from autograder.sandbox.plan import EntryState, Layer, Limits, Stage
from autograder.sandbox.system import wait


def set_rlimits(limits: Limits, others: int = 0) -> None:
    """Set the limits, irrevocably.

    Args:
        others: Processes of the same uid outside the run, which NPROC counts as well.
    """
    _set(resource.RLIMIT_NPROC, limits.processes + others)
    _set(resource.RLIMIT_FSIZE, limits.file_size)
    _set(resource.RLIMIT_CPU, limits.cpu_seconds, 1)
    _set(resource.RLIMIT_NOFILE, limits.descriptors)
    _set(resource.RLIMIT_MSGQUEUE, 0)
    # With 0, a core_pattern with a pipe would still get a dump; with 1 the kernel refuses both kinds.
    _set(resource.RLIMIT_CORE, 1)
    if limits.address_space is not None:
        _set(resource.RLIMIT_AS, read_mapped_bytes() + limits.address_space)


def _set(which: int, value: int, grace: int = 0) -> None:
    hard = resource.getrlimit(which)[1]
    ceiling = value + grace if hard == resource.RLIM_INFINITY else min(hard, value + grace)
    resource.setrlimit(which, (min(value, ceiling), ceiling))


def read_mapped_bytes() -> int:
    """Return the bytes of address space that this process has now."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def count_tasks(uid: int) -> int:
    """Count the threads of that user on this machine, as NPROC does without a run's own uid or user namespace."""
    total = 0
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                if entry.stat().st_uid == uid:
                    total += len(os.listdir(f"{entry.path}/task"))
            except OSError:
                continue
    return total


def _enter(entry: EntryState) -> None:
    counts_only_run = entry.plan.uid is not None or entry.user_namespace
    set_rlimits(entry.plan.limits, 0 if counts_only_run else count_tasks(os.getuid()))


def _explain_ineffective() -> str:
    """Return why forks aren't limited, or "": Linux doesn't count root's processes, even in a user namespace."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    resource.setrlimit(resource.RLIMIT_NPROC, (0, hard))
    try:
        child = os.fork()
    except BlockingIOError:
        return ""
    finally:
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
    if child == 0:
        os._exit(0)
    wait(child)
    return "root's processes aren't counted, so a fork bomb has no limit"


LIMITS = Layer("limits", Stage.BUILD, _enter, always=True, explain_ineffective=_explain_ineffective)
