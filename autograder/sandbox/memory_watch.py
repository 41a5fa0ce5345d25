"""A memory watch. Stops a run whose processes together use more memory than their limit.

It counts children, shared mappings and sockets. It polls, so it's late by one poll; only a container's --memory is
exact.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.sandbox.processes import Run, find_run_processes, read_real_uid, read_stat_fields
from autograder.sandbox.socket_memory import measure_socket_memory
from autograder.sandbox.uid import read_as_user

PAGE = resource.getpagesize()
# Mappings whose pages remain even if they are in no process's page table.
SHARED_MEMORY = (b"/dev/zero (deleted)", b"/dev/shm/", b"/memfd:", b"/SYSV")
EXACT_SECONDS, EXACT_STEP = 0.3, 16 << 20


@dataclass
class MemoryWatch:
    """The state of the watch of one run between polls."""

    run: Run
    limit: int
    inherited: int = 0
    """The address space of the run's first process when it began."""
    stack_start: int = 0
    """The address of its stack. Forks have the same one, but not a program that a process executes."""
    ignored: set[int] = field(default_factory=set)
    polls: int = 0
    exact: int = 0
    """The last exact measurement."""
    estimate: int = 0
    """The upper bound when it was taken."""
    measured: float = 0.0
    """The time when it was taken, by time.monotonic."""


def watch_memory(run: Run, limit: int) -> MemoryWatch:
    """Begin to watch, before the run's own code starts: what it maps later counts."""
    return MemoryWatch(run, limit, inherited=read_statm(run.pid)[0], stack_start=_read_stack_start(run.pid))


def measure_memory(state: MemoryWatch) -> int:
    """Return the bytes that the run uses now: a cheap upper bound if that's within the limit, else an exact figure."""
    state.polls += 1
    if state.polls % 100 == 0:
        state.ignored.clear()  # a pid may have been reused
    pids = find_run_processes(state.run, state.ignored)
    total = growth = 0
    for pid in pids:
        size, resident = read_statm(pid)
        total += resident
        growth += max(0, size - _get_inherited(state, pid))
    queued = measure_socket_memory(pids)
    if total + queued > state.limit or growth + queued > state.limit:
        total = _measure_exactly(state, pids, total + growth)
    return total + queued


def _measure_exactly(state: MemoryWatch, pids: list[int], estimate: int) -> int:
    """Return the exact figure. It takes milliseconds a process, so it's reused while the estimate is stable."""
    now = time.monotonic()
    if abs(estimate - state.estimate) > EXACT_STEP or now - state.measured > EXACT_SECONDS:
        state.exact = measure_pages(state, pids)
        if state.exact > state.limit:  # pages count twice if a process is measured, then forks
            state.exact = min(state.exact, measure_pages(state, pids))
        state.estimate, state.measured = estimate, now
    return state.exact


def measure_pages(state: MemoryWatch, pids: list[int]) -> int:
    private = sum(measure_private_memory(pid, _get_inherited(state, pid)) for pid in pids)
    return private + measure_shared_memory(pids)


def _get_inherited(state: MemoryWatch, pid: int) -> int:
    """Return the address space that this process has from the fork server, 0 if it executes another program.

    Also 0 if that can't be read: then the exact figure is measured sooner. A keeper hides itself too, but runs no
    student code.
    """
    start = _read_stack_start(pid)
    is_keeper = not start and state.run.uid is None and pid == state.run.pid
    return state.inherited if is_keeper or (start and start == state.stack_start) else 0


def _read_stack_start(pid: int) -> int:
    """Return the 28th field of /proc/PID/stat, which a run can't change; 0 if it isn't shown."""
    fields = read_stat_fields(pid)
    return int(fields[25]) if len(fields) > 25 else 0


def read_statm(pid: int) -> tuple[int, int]:
    """Return the address space and the resident memory without files. If the first thread has ended, ask others."""
    first = _read_statm_file(f"/proc/{pid}")
    return first if first[0] else max((_read_statm_file(thread) for thread in _list_threads(pid)), default=first)


def _list_threads(pid: int) -> list[str]:
    try:
        return [f"/proc/{pid}/task/{name}" for name in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def _read_statm_file(folder: str) -> tuple[int, int]:
    try:
        with open(f"{folder}/statm", "rb", buffering=0) as file:
            size, resident, shared = (int(number) * PAGE for number in file.read(256).split()[:3])
    except (OSError, ValueError):
        return 0, 0
    return size, resident - shared


def _read(pid: int, name: str) -> bytes:
    """Read a file of /proc/PID that is closed to other users. A container's root must read it as its owner."""
    path = Path(f"/proc/{pid}/{name}")
    try:
        return path.read_bytes()
    except PermissionError:
        owner = read_real_uid(pid)
        if os.geteuid() or not owner:
            raise
        with read_as_user(owner):
            return path.read_bytes()


def can_measure_exactly(pid: int) -> bool:
    """Return whether that process can be measured exactly."""
    try:
        return bool(_read(pid, "smaps_rollup") and _read(pid, "maps"))
    except OSError:
        return False


def measure_private_memory(pid: int, inherited: int = 0) -> int:
    """Return the private memory including swap, with a proportional share of pages that forks share."""
    try:
        lines = dict(line.split(b":", 1) for line in _read(pid, "smaps_rollup").splitlines()[1:])
    except (OSError, ValueError):
        # It has ended, or made itself unreadable: then all that it mapped counts.
        return max(0, read_statm(pid)[0] - inherited)
    return sum(int(lines[name].split()[0]) * 1024 for name in (b"Pss_Anon", b"SwapPss") if name in lines)


def measure_shared_memory(pids: Iterable[int]) -> int:
    """Return the size of the shared memory that these processes map, each object once, even if in no page table."""
    objects: dict[bytes, int] = {}
    for pid in pids:
        try:
            table = _read(pid, "maps").split(b"\n")  # a name may contain any other line break
        except OSError:
            continue
        lines = [line.split(None, 5) for line in table if any(name in line for name in SHARED_MEMORY)]
        for span, _, offset, device, inode, _ in lines:
            start, end = (int(number, 16) for number in span.split(b"-"))
            key = device + b" " + inode
            objects[key] = max(objects.get(key, 0), int(offset, 16) + end - start)
    return sum(objects.values())
