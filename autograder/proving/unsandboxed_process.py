"""The student process that tries answers. It runs a lab up to an exercise, as in grading, and forks there.

The answers are the course's own, so it's a fork of the proving process, without a sandbox.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import tempfile
import time
import weakref
from collections.abc import Collection
from dataclasses import dataclass, field, replace

import torch.fx.experimental.symbolic_shapes  # noqa: F401  else each fork's first backward takes 0.3 s to import it

from autograder.examiner.process import StudentProcess
from autograder.examiner.process_time_limit import CpuTime
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.time_budget import CellTimeLimit
from autograder.proving.forks import ForkError
from autograder.rpc.frames import receive
from autograder.sandbox.keeper import fork_below
from autograder.sandbox.kill import kill, kill_tree
from autograder.sandbox.processes import is_alive, measure_seconds, read_stat_fields
from autograder.student_process.imports import import_groups
from autograder.student_process.kernel import Kernel
from autograder.student_process.main import become_student_process, prepare_course_names

CELL_SECONDS = 60.0
FORK_SECONDS = 60.0
START_SECONDS = 600.0  # by the clock


class CellError(ForkError):
    """A cell raised an exception."""


@dataclass
class UnsandboxedSupervisor:
    """Watches and ends the processes below a keeper; see examiner.process.ProcessSupervisor."""

    owner: int = field(default_factory=os.getpid)
    """The process that may end the keeper."""
    main_processes: set[int] = field(default_factory=set)
    """The processes before the last fork. kill_group() doesn't end them."""
    supervises_fork: bool = False
    """Whether this supervises a fork only, so stop() spares the main processes."""
    has_stopped: bool = False

    def adopt(self, pid: int, group: str) -> None:
        if not group:
            self.main_processes = set(find_living_descendants(pid))

    def kill_group(self, pid: int, group: str) -> None:
        while descendants := set(find_living_descendants(pid)) - self.main_processes:
            for descendant in descendants:
                kill(descendant)
            time.sleep(0.0005)

    def explain_end(self, pid: int) -> str:
        spared = self.main_processes if self.supervises_fork else set()
        return "" if set(find_living_descendants(pid)) - spared else "the Python process ended"

    def measure_times(self, pid: int) -> list[CpuTime]:
        return [CpuTime(descendant, *measure_seconds(descendant)) for descendant in find_living_descendants(pid)]

    def stop(self, pid: int) -> None:
        if self.supervises_fork:
            self.kill_group(pid, "")
        elif not self.has_stopped and os.getpid() == self.owner:
            self.has_stopped = True
            kill_tree(pid)
            os.waitpid(pid, 0)


def start_process(groups: Collection[str] = ()) -> StudentProcess:
    """Start a student process. It ends with kill(), or with the last reference to it.

    Args:
        groups: The modules to import, which each of its forks would import otherwise; see student_process/imports.py.
    """
    ours, theirs = socket.socketpair()
    parent = os.getpid()
    keeper = os.fork()
    if keeper == 0:
        with contextlib.suppress(BaseException):
            ours.close()
            fork_below(parent, pid_namespace=False)
            _serve(theirs, groups)
        os._exit(0)
    theirs.close()
    receive(ours, START_SECONDS)
    supervisor = UnsandboxedSupervisor()
    process = StudentProcess(ours, keeper, supervisor)
    weakref.finalize(process, supervisor.stop, keeper)
    return process


def fork_process(process: StudentProcess) -> StudentProcess:
    """Fork the process as it is now, so ending the fork leaves the process alone. Raises ForkError."""
    try:
        forked = process.fork("a branch", FORK_SECONDS)
    except StoppedError as stopped:
        raise ForkError(str(stopped)) from None
    assert isinstance(process.supervisor, UnsandboxedSupervisor)
    return forked.copy_with_supervisor(replace(process.supervisor, supervises_fork=True))


def run_cell_in(process: StudentProcess, source: str) -> None:
    """Run a cell. Raises CellError if it raises, ForkError if it ends the process or is too slow."""
    limit = CellTimeLimit(CELL_SECONDS, f"no answer within {CELL_SECONDS:g} s", math.inf)
    try:
        outputs = process.run(source, 1, limit)
    except StoppedError as stopped:
        raise ForkError(str(stopped)) from None
    for output in outputs:
        if output["output_type"] == "error":
            raise CellError(f"{output['ename']}: {output['evalue']}")


def find_living_descendants(pid: int) -> list[int]:
    """Return the living processes below a keeper, from the kernel's lists of children: all of /proc takes 5 ms."""
    descendants: list[int] = []
    todo = [pid]
    while todo:
        children = _read_children(todo.pop())
        todo += children
        descendants += [child for child in children if (fields := read_stat_fields(child)) and is_alive(fields)]
    return descendants


def _read_children(pid: int) -> list[int]:
    children = []
    with contextlib.suppress(OSError):  # it has ended
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/children") as file:
                children += [int(child) for child in file.read().split()]
    return children


def _serve(control: socket.socket, groups: Collection[str]) -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        import_groups(groups)
        kernel = Kernel()
        become_student_process(control.detach(), kernel, prepare_course_names(kernel))
