"""What exchanges with a student process cost: the CPU time of a call, and of a use of a check's own function.

A real student process runs each kind in a loop. Compare between machines only the ratios to a bare exchange of bytes
between two Python processes, which is measured in the same run.
"""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import torch

from autograder.examiner.connection import Connection
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.remote_namespace import RemoteNamespace
from autograder.student_process.main import serve_calls

TURNS = 5
TIMES = 300  # per turn
SECONDS = 600.0


def _use_repeatedly(g: Any, *args: Any) -> None:
    for _ in range(TIMES):
        g(*args)


def _use_with_backward(g: Any, x: torch.Tensor) -> None:
    for _ in range(TIMES):
        g(x).sum().backward()


NAMESPACE = {
    "f": lambda x: x,
    "double": lambda x: x * 2,
    "uses": _use_repeatedly,
    "uses_with_backward": _use_with_backward,
}


def run() -> str:
    """Return a Markdown table of CPU microseconds of each kind, medians of TURNS turns taken in alternation."""
    torch.set_num_threads(1)
    with _start_echo() as measure_exchange, _start_student_process() as (namespace, read_clock):
        kinds = _build_kinds(namespace)
        turns: dict[str, list[float]] = {name: [] for name in ("bare", *kinds)}
        for _ in range(TURNS + 1):
            turns["bare"].append(measure_exchange())
            for name, run_kind in kinds.items():
                before = read_clock()
                run_kind()
                turns[name].append((read_clock() - before) / TIMES)
    costs = {name: 1e6 * median(seconds[1:]) for name, seconds in turns.items()}
    rows = [f"| {name} | {cost:.0f} | {cost / costs['bare']:.1f} |" for name, cost in costs.items()]
    return (
        "# What a call and a use cost\n\nMicroseconds of CPU of both processes together.\n\n"
        "| kind | each | times a bare exchange |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _build_kinds(namespace: RemoteNamespace) -> dict[str, Callable[[], Any]]:
    """Return functions that call or use something TIMES times, by name."""
    f, double, uses, backward = (namespace.get_proxy(name) for name in NAMESPACE)
    x, w = torch.ones(3, 4), torch.ones(3, 4, requires_grad=True)

    def repeat(call: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: [call() for _ in range(TIMES)]

    return {
        "a call with a number": repeat(lambda: f(1)),
        "a call with a tensor": repeat(lambda: double(x)),
        "a call with its backward": repeat(lambda: double(w).sum().backward()),
        "a use with a number": lambda: uses(lambda n: n + 1, 1),
        "a use with a tensor": lambda: uses(lambda t: t * 2, x),
        "a use with its backward": lambda: backward(lambda t: t * w, w),
    }


@contextmanager
def _start_student_process() -> Iterator[tuple[RemoteNamespace, Callable[[], float]]]:
    """Start a student process, and yield its namespace and a clock of both processes' CPU seconds."""
    with _fork_process(lambda channel: serve_calls(channel, dict(NAMESPACE))) as (channel, read_clock):
        connection = Connection(channel)
        connection.begin_check(ProcessTimeLimit(SECONDS), 2**40)
        yield RemoteNamespace(connection, {}), read_clock


@contextmanager
def _start_echo() -> Iterator[Callable[[], float]]:
    """Start a process that sends back what it receives.

    Yields:
        A function that measures the CPU seconds of sending a hundred bytes and receiving them again.
    """

    def serve(channel: socket.socket) -> None:
        while data := channel.recv(1000):
            channel.sendall(data)

    with _fork_process(serve) as (channel, read_clock):

        def measure_exchange() -> float:
            before = read_clock()
            for _ in range(TIMES):
                channel.sendall(bytes(100))
                channel.recv(1000)
            return (read_clock() - before) / TIMES

        yield measure_exchange


@contextmanager
def _fork_process(serve: Callable[[socket.socket], None]) -> Iterator[tuple[socket.socket, Callable[[], float]]]:
    """Fork a process that serves a channel.

    Yields:
        This process's end of the channel, and a clock of both processes' CPU seconds.
    """
    channel, child_channel = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            channel.close()
            serve(child_channel)
        finally:
            os._exit(0)
    child_channel.close()
    child_clock = ~pid << 3 | 2  # the id that clock_getcpuclockid() gives it
    try:
        yield channel, lambda: time.clock_gettime(child_clock) + time.process_time()
    finally:
        channel.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
