"""Finds a run's processes by its uid, or else among the descendants of its keeper. Not a layer."""

from __future__ import annotations

import os
from dataclasses import dataclass

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """A sandboxed child: the pid that fork() returned, and the uid of its plan."""

    pid: int
    uid: int | None = None


def list_pids() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}


def read_stat_fields(pid: int) -> list[str]:
    """Return the fields of /proc/PID/stat from the state on, after the arbitrary command name. [] if it has ended."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return file.read(4096).rpartition(b")")[2].decode().split()
    except OSError:
        return []


def measure_seconds(pid: int) -> tuple[float, float]:
    """Return for how many seconds a process (with reaped children) ran, and its first thread waited to run."""
    fields = read_stat_fields(pid)
    ran = sum(map(int, fields[11:15])) / TICKS if fields else 0.0
    try:
        with open(f"/proc/{pid}/schedstat", "rb", buffering=0) as file:
            waited = int(file.read(100).split()[1]) / 1e9
    except (OSError, IndexError):  # it has ended, or the kernel doesn't count this
        waited = 0.0
    return ran, waited


def is_alive(fields: list[str]) -> bool:
    """Return whether that process runs. If only its first thread has ended, it appears as a zombie."""
    state, threads = fields[0], int(fields[17])
    return state != "X" and (state != "Z" or threads > 1)


def read_real_uid(pid: int) -> int | None:
    """Read the uid from /proc/PID/status: the owner of /proc/PID becomes root if a process makes itself undumpable."""
    try:
        with open(f"/proc/{pid}/status", "rb", buffering=0) as file:
            text = file.read(4096)
    except OSError:
        return None
    _, label, rest = text.partition(b"\nUid:")
    return int(rest.split(None, 1)[0]) if label else None


def find_descendants(root: int) -> list[int]:
    """Return every living process below `root`. A keeper adopts orphans, so they are below it too."""
    children: dict[int, list[int]] = {}
    dead = set()
    for pid in list_pids():
        fields = read_stat_fields(pid)
        if fields:
            children.setdefault(int(fields[1]), []).append(pid)
            if not is_alive(fields):
                dead.add(pid)
    descendants, todo = [], [root]
    while todo:
        for child in children.get(todo.pop(), ()):
            todo.append(child)
            if child not in dead:
                descendants.append(child)
    return descendants


def find_uid_processes(uid: int, ignored: set[int] | None = None) -> list[int]:
    """Return every living process of that user. `ignored` caches processes of other users between calls."""
    processes = []
    ignored = set() if ignored is None else ignored
    present = list_pids()
    ignored &= present
    for pid in present - ignored:
        if read_real_uid(pid) != uid:
            ignored.add(pid)
        elif (fields := read_stat_fields(pid)) and is_alive(fields):
            processes.append(pid)
    return processes


def find_run_processes(run: Run, ignored: set[int] | None = None) -> list[int]:
    """Return every living process of that run. `ignored` is as for find_uid_processes()."""
    if run.uid is not None:
        if ignored:
            ignored.discard(run.pid)  # it may have been seen before it took its uid
        return find_uid_processes(run.uid, ignored)
    return [run.pid, *find_descendants(run.pid)]
