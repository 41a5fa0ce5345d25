"""What a command costs: wall-clock time, and processor time and memory of all processes that came of it."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import psutil

from autograder.sandbox import adopt_orphans

ORPHANS_SECONDS = 20.0


@dataclass(frozen=True)
class Cost:
    """Seconds. peak, middle: bytes, the most and the median of the looks at memory, where it was sampled."""

    wall: float
    cpu: float
    output: str = ""
    peak: int = 0
    middle: int = 0


def cost_of(command: Sequence[str], cwd: Path, sample: float = 0.0) -> Cost:
    """Run a command with the programs of this interpreter's environment on PATH. SystemExit where it fails.

    sample: seconds between two looks at its memory. A look takes a few milliseconds a process, so none by default.
    """
    adopt_orphans()  # so that what they took is counted here too
    path = f"{Path(command[0]).parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    before, started = _children(), time.perf_counter()
    process = subprocess.Popen(
        list(command),
        cwd=cwd,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    with _sampled(process.pid, sample) as seen:
        output = process.communicate()[0]
    wall = time.perf_counter() - started
    _wait_for_orphans()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{output[-5000:]}")
    return Cost(wall, _children() - before, output, max(seen), round(median(seen)))


def per_submission(whole: Cost, count: int, small: Cost, fewer: int) -> Cost:
    """Of one submission without the start of the command, which the smaller class paid as well."""
    more = count - fewer
    return Cost((whole.wall - small.wall) / more, (whole.cpu - small.cpu) / more)


def median_of(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def descendants(pid: int) -> list[int]:
    """The process and all that came of it, as far as their parents live."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [pid, *(each.pid for each in psutil.Process(pid).children(recursive=True))]
    return [pid]


def memory(pid: int, *fields: str) -> int:
    """The sum of these fields of /proc/PID/smaps_rollup in bytes; 0 where it cannot be read. psutil has no SwapPss."""
    with contextlib.suppress(OSError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        values = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return 1024 * sum(values[field] for field in fields)
    return 0


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _wait_for_orphans() -> None:
    deadline = time.monotonic() + ORPHANS_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.01)


@contextlib.contextmanager
def _sampled(pid: int, seconds: float) -> Iterator[list[int]]:
    """A list that grows by each look at the memory of all its processes together, shared pages counted once."""
    seen, done = [0], threading.Event()

    def look() -> None:
        while not done.wait(seconds):
            seen.append(sum(memory(each, "Pss", "SwapPss") for each in descendants(pid)))

    thread = threading.Thread(target=look)
    if seconds:
        thread.start()
    try:
        yield seen
    finally:
        done.set()
        if seconds:
            thread.join()
