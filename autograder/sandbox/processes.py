"""Finding a run's processes: by uid where it has one of its own, else by descent from its keeper. Stops nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """A sandboxed child: the pid that fork() gave, and what its plan said."""

    pid: int
    uid: int | None = None


def list_pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def read_stat_fields(pid: int) -> list[str]:
    """The fields of /proc/PID/stat from the state on; empty where it is gone. A command's name may hold anything."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(4096).rpartition(b")")[2].decode().split()
    except OSError:
        return []


def measure_seconds(pid: int) -> tuple[float, float]:
    """(that its threads and the children that it waited for ran, that its first thread was ready and did not)."""
    fields = read_stat_fields(pid)
    ran = sum(map(int, fields[11:15])) / TICKS if fields else 0.0
    try:
        with open(f"/proc/{pid}/schedstat", "rb", buffering=0) as file:
            waited = int(file.read(100).split()[1]) / 1e9
    except (OSError, IndexError):  # it is gone, or the kernel does not count this
        waited = 0.0
    return ran, waited


def is_alive(fields: list[str]) -> bool:
    """Whether that process runs. Its first thread may have ended, and shows as a zombie, while others go on."""
    state, threads = fields[0], int(fields[17])
    return state != "X" and (state != "Z" or threads > 1)


def read_real_uid(pid: int) -> int | None:
    """From status: the owner of /proc/PID becomes root when a process makes itself undumpable."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return None
    _, found, rest = text.partition(b"\nUid:")
    return int(rest.split(None, 1)[0]) if found else None


def find_descendants(root: int) -> list[int]:
    """Every living process below `root`, which orphans come back to because the keeper is their subreaper."""
    children: dict[int, list[int]] = {}
    dead = set()
    for pid in list_pids():
        fields = read_stat_fields(pid)
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
            if not is_alive(fields):
                dead.add(pid)
    found, todo = [], [root]
    while todo:
        for child in children.get(todo.pop(), ()):
            todo.append(child)
            if child not in dead:
                found.append(child)
    return found


def find_uid_processes(uid: int, ignored: set[int] | None = None) -> list[int]:
    """Every living process of that user. `ignored` remembers others' processes from one call to the next."""
    found = []
    ignored = set() if ignored is None else ignored
    present = list_pids()
    ignored &= present
    for pid in present - ignored:
        if read_real_uid(pid) != uid:
            ignored.add(pid)
        elif (fields := read_stat_fields(pid)) and is_alive(fields):
            found.append(pid)
    return found


def find_run_processes(run: Run, ignored: set[int] | None = None) -> list[int]:
    """Every living process of that run. `ignored` as for of_uid, but for the run's first process, which is never."""
    if run.uid is not None:
        if ignored:
            ignored.discard(run.pid)  # it may have been seen before it took its uid
        return find_uid_processes(run.uid, ignored)
    return [run.pid, *find_descendants(run.pid)]
