"""What a command costs: wall-clock time, and CPU time and memory of all processes that it starts."""

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
    """What a command took. The memory is 0 if it wasn't sampled."""

    wall: float
    """Seconds of wall-clock time."""
    cpu: float
    """Seconds of CPU time."""
    output: str = ""
    """What it printed."""
    peak_memory: int = 0
    """The largest sample, in bytes."""
    median_memory: int = 0
    """The median of the samples, in bytes."""


def measure_command(command: Sequence[str], cwd: Path, sample_seconds: float = 0.0) -> Cost:
    """Run a command, with the programs of this interpreter's environment on the PATH, and measure its cost.

    Args:
        cwd: The folder to run it in.
        sample_seconds: The time between two samples of its memory. A sample takes a few milliseconds per process, so
            the default, 0, takes none.

    Raises:
        SystemExit: If the command fails.
    """
    adopt_orphans()  # otherwise their CPU time isn't counted
    path = f"{Path(command[0]).parent}{os.pathsep}{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cpu_before, start = _measure_child_cpu(), time.perf_counter()
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
    with _watch_memory(process.pid, sample_seconds) as samples:
        output = process.communicate()[0]
    wall = time.perf_counter() - start
    _wait_for_orphans()
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{output[-5000:]}")
    return Cost(wall, _measure_child_cpu() - cpu_before, output, max(samples), round(median(samples)))


def compute_submission_cost(large: Cost, large_count: int, small: Cost, small_count: int) -> Cost:
    """Compute the cost of one submission from two classes, which both paid for the start of the command."""
    more = large_count - small_count
    return Cost((large.wall - small.wall) / more, (large.cpu - small.cpu) / more)


def compute_median_cost(costs: Sequence[Cost]) -> Cost:
    return Cost(median(cost.wall for cost in costs), median(cost.cpu for cost in costs))


def list_descendants(pid: int) -> list[int]:
    """List this process and its descendants. A process whose parent has ended isn't found."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [pid, *(child.pid for child in psutil.Process(pid).children(recursive=True))]
    return [pid]


def measure_memory(pid: int, *fields: str) -> int:
    """Return the sum of these fields of /proc/PID/smaps_rollup in bytes, or 0 if it can't be read."""
    with contextlib.suppress(OSError):  # psutil doesn't have SwapPss, so this reads the file
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        values = {name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)}
        return 1024 * sum(values[field] for field in fields)
    return 0


def _measure_child_cpu() -> float:
    """Measure the CPU seconds of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _wait_for_orphans() -> None:
    deadline = time.monotonic() + ORPHANS_SECONDS
    with contextlib.suppress(ChildProcessError):
        while time.monotonic() < deadline:
            if not os.waitpid(-1, os.WNOHANG)[0]:
                time.sleep(0.01)


@contextlib.contextmanager
def _watch_memory(pid: int, seconds: float) -> Iterator[list[int]]:
    """Sample the memory of a process and its descendants, with shared pages counted once.

    Args:
        seconds: The time between two samples; 0 takes none.

    Yields:
        The samples in bytes, after a first 0. The list grows until the context ends.
    """
    samples, done = [0], threading.Event()

    def take_samples() -> None:
        while not done.wait(seconds):
            samples.append(sum(measure_memory(each, "Pss", "SwapPss") for each in list_descendants(pid)))

    thread = threading.Thread(target=take_samples)
    if seconds:
        thread.start()
    try:
        yield samples
    finally:
        done.set()
        if seconds:
            thread.join()
