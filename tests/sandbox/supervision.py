"""Runs processes under the fork server's supervisor, with the layers that a test names."""

import contextlib
import os
import select
import socket
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

from autograder.base.device import Device
from autograder.forkserver.supervisor import Supervisor
from autograder.sandbox import memory_watch
from autograder.sandbox.plan import Layer, Limits, Network, find_runtime_paths
from autograder.sandbox.processes import find_run_processes

LONG = 300  # seconds: the duration of a run that isn't ended
ROOM_TO_START = 1 << 40  # bytes: a fork of a large test process can start


@dataclass(frozen=True)
class RunEnd:
    limit: str
    """The one for which the supervisor ended the run."""
    status: int | None
    """As os.waitpid gives it; None for a run that was still going when the supervisor had looked often enough."""
    peak: int
    """The most memory that a look found."""
    output: bytes
    """What the run wrote into its control socket."""
    is_gone: bool
    """Whether no process holds that socket any more."""


def supervise(
    layers: Collection[Layer],
    act: Callable[[int], None],
    limits: Limits,
    network: Network = "local",
    looks: int | None = None,
    more: int | None = None,
) -> RunEnd:
    """Run act(control) until it ends, or until the supervisor has looked at it `looks` times.

    The run reads a byte from its control socket for each look. Its memory is limited once it has entered its sandbox.

    Args:
        more: Bytes that it may hold beyond its initial memory, instead of the limit on all its memory.
    """

    def enter_and_act(control: int) -> None:
        os.write(control, b"x")
        act(control)

    start = replace(limits, memory=max(limits.memory, ROOM_TO_START))
    supervisor = Supervisor(frozenset(layers), start, find_runtime_paths(), network, Device.CPU, enter_and_act)
    parent_end, child_end = socket.socketpair()
    with parent_end:
        pid, problem = supervisor.start(child_end.detach())
        assert isinstance(pid, int) and pid, problem
        while not select.select([parent_end], [], [], 0.001)[0]:
            supervisor.poll()  # as a fork server does while a run takes its layers
        assert parent_end.recv(1) == b"x", "it did not enter its sandbox"
        state = supervisor.running[pid].watch
        if more is not None:
            begun = memory_watch.measure_pages(state, find_run_processes(state.run))
            limits = replace(limits, memory=begun + more)
        supervisor.limits, state.limit = limits, limits.memory
        peak = 0
        limit: object = ""
        status: object = None
        while status is None and looks != 0:
            supervisor.adopt(pid, "")
            limit, status = supervisor.check_status(pid)
            peak = max(peak, memory_watch.measure_memory(state)) if status is None else peak
            with contextlib.suppress(BlockingIOError, BrokenPipeError, ConnectionResetError):
                parent_end.send(b"l", socket.MSG_DONTWAIT)
            looks = looks and looks - 1
            time.sleep(0.01)
        supervisor.stop(pid)
        output, is_gone = _read_to_the_end(parent_end)
    assert status is None or isinstance(status, int)
    return RunEnd(str(limit), status, peak, output, is_gone)


def measure_own_memory() -> int:
    """Bytes that this process holds. Its forks share them."""
    return memory_watch.read_statm(os.getpid())[1] + memory_watch.measure_shared_memory([os.getpid()])


def wait_for_looks(control: int, count: int = 1) -> None:
    """In a run: wait until the supervisor has looked at it this many times."""
    while select.select([control], [], [], 0)[0]:
        os.read(control, 4096)
    for _ in range(count + 1):  # the first may have begun before
        os.read(control, 1)


def _read_to_the_end(parent_end: socket.socket) -> tuple[bytes, bool]:
    parent_end.settimeout(60)
    output = b""
    try:
        while chunk := parent_end.recv(1 << 16):
            output += chunk
    except ConnectionResetError:  # it ended before it read all of the looks
        return output, True
    except TimeoutError:
        return output, False
    return output, True
