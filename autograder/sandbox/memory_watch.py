"""A memory watch. Stops: a run whose processes together hold more memory than its bound, however it is split among
children, shared mappings or sockets. It polls, so it is late by one poll; only a container's --memory is exact."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from autograder.sandbox.processes import Run, find_run_processes, read_real_uid
from autograder.sandbox.socket_memory import measure_socket_memory
from autograder.sandbox.uid import read_as_user

PAGE = resource.getpagesize()
# Mappings whose pages live on when no process's page table shows them.
SHARED_MEMORY = (b"/dev/zero (deleted)", b"/dev/shm/", b"/memfd:", b"/SYSV")
EXACT_SECONDS, EXACT_STEP = 0.3, 16 << 20


@dataclass
class MemoryWatch:
    """What is remembered of one run from poll to poll."""

    run: Run
    bound: int
    started: int = 0  # address space of the run's first process when it began
    image: int = 0  # where its stack began: forks have it there too, and a program that a process becomes elsewhere
    ignored: set[int] = field(default_factory=set)
    polls: int = 0
    peak: int = 0
    exact: int = 0  # as it was when looked at, by time.monotonic, with the cheap bound at that time
    bound_then: int = 0
    looked: float = 0.0


def watch(run: Run, bound: int) -> MemoryWatch:
    """To be called before the run's own code starts: what it maps later is held against it."""
    return MemoryWatch(run, bound, started=_read_statm(run.pid)[0], image=_read_stack_start(run.pid))


def measure_memory(state: MemoryWatch) -> int:
    """Bytes that the run holds now: a cheap upper bound where that is within the bound, else an exact figure."""
    state.polls += 1
    if state.polls % 100 == 0:
        state.ignored.clear()  # a pid may have been used again
    pids = find_run_processes(state.run, state.ignored)
    total = grown = 0
    for pid in pids:
        size, own = _read_statm(pid)
        total += own
        grown += max(0, size - _measure_start(state, pid))
    queued = measure_socket_memory(pids)
    if total + queued > state.bound or grown + queued > state.bound:
        total = _measure_exactly(state, pids, total + grown)
    total += queued
    state.peak = max(state.peak, total)
    return total


def _measure_exactly(state: MemoryWatch, pids: list[int], bound: int) -> int:
    """The exact figure. It takes milliseconds a process: while the bound stays, the last one holds for a while."""
    now = time.monotonic()
    if abs(bound - state.bound_then) > EXACT_STEP or now - state.looked > EXACT_SECONDS:
        state.exact = _measure_pages(state, pids)
        if state.exact > state.bound:  # pages count twice if a process is measured, then forks
            state.exact = min(state.exact, _measure_pages(state, pids))
        state.bound_then, state.looked = bound, now
    return state.exact


def _measure_pages(state: MemoryWatch, pids: list[int]) -> int:
    private = sum(measure_private_memory(pid, _measure_start(state, pid)) for pid in pids)
    return private + measure_shared_memory(pids)


def _measure_start(state: MemoryWatch, pid: int) -> int:
    """Address space that this process has from the fork server: none, once it has become another program.

    If a process hides that, nothing is subtracted, and the exact figure is measured sooner. A keeper hides itself too,
    but runs no student code.
    """
    image = _read_stack_start(pid)
    is_keeper = not image and state.run.uid is None and pid == state.run.pid
    return state.started if is_keeper or (image and image == state.image) else 0


def _read_stack_start(pid: int) -> int:
    """The 28th field of /proc/PID/stat, which a run can't change; 0 where it isn't shown."""
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:
            return int(file.read(1024).rpartition(b")")[2].split()[25])
    except (OSError, ValueError, IndexError):
        return 0


def _read_statm(pid: int) -> tuple[int, int]:
    """Address space, and resident pages that belong to no file. A first thread that has ended shows none; others do."""
    own = _read_statm_file(f"/proc/{pid}")
    return own if own[0] else max((_read_statm_file(thread) for thread in _list_threads(pid)), default=own)


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
    """A file of /proc/PID that is closed to other users; open to a root that may trace them, not to a container's."""
    path = Path(f"/proc/{pid}/{name}")
    try:
        return path.read_bytes()
    except PermissionError:
        owner = read_real_uid(pid)
        if os.geteuid() or not owner:
            raise
        with read_as_user(owner):
            return path.read_bytes()


def is_readable(pid: int) -> bool:
    """Whether the exact figure can be had of that process."""
    try:
        return bool(_read(pid, "smaps_rollup") and _read(pid, "maps"))
    except OSError:
        return False


def measure_private_memory(pid: int, started: int = 0) -> int:
    """Private memory, pages that a fork shares counted in parts, with what was swapped out."""
    try:
        lines = dict(line.split(b":", 1) for line in _read(pid, "smaps_rollup").splitlines()[1:])
    except (OSError, ValueError):
        # Gone, or it made itself unreadable: then all that it mapped counts.
        return max(0, _read_statm(pid)[0] - started)
    return sum(int(lines[name].split()[0]) * 1024 for name in (b"Pss_Anon", b"SwapPss") if name in lines)


def measure_shared_memory(pids: Iterable[int]) -> int:
    """Length of the shared memory that these processes map, each object once, shown in a page table or not."""
    objects: dict[bytes, int] = {}
    for pid in pids:
        try:
            table = _read(pid, "maps").split(b"\n")  # a name may hold any other end of a line
        except OSError:
            continue
        lines = [line.split(None, 5) for line in table if any(name in line for name in SHARED_MEMORY)]
        for span, _, offset, device, inode, _ in lines:
            start, end = (int(number, 16) for number in span.split(b"-"))
            key = device + b" " + inode
            objects[key] = max(objects.get(key, 0), int(offset, 16) + end - start)
    return sum(objects.values())
