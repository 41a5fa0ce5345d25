"""What the talk with a student process costs: CPU of both ends for a call, and for a use of a check's own function.

Each kind is a loop that a real student process runs. The ratio to a bare exchange of bytes between two Python
processes, in the same run, is what can be compared between machines.
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
TIMES = 300  # in a turn
SECONDS = 600.0


def _uses(g: Any, *args: Any) -> None:
    for _ in range(TIMES):
        g(*args)


def _uses_with_backward(g: Any, x: torch.Tensor) -> None:
    for _ in range(TIMES):
        g(x).sum().backward()


STUDENT = {"f": lambda x: x, "double": lambda x: x * 2, "uses": _uses, "uses_with_backward": _uses_with_backward}


def run() -> str:
    """A Markdown table: microseconds of CPU of each kind, medians of TURNS turns that were taken in alternation."""
    torch.set_num_threads(1)
    with _echo() as bare, _student() as (world, clock):
        kinds = _kinds(world)
        turns: dict[str, list[float]] = {name: [] for name in ("bare", *kinds)}
        for _ in range(TURNS + 1):
            turns["bare"].append(bare())
            for name, kind in kinds.items():
                before = clock()
                kind()
                turns[name].append((clock() - before) / TIMES)
    costs = {name: 1e6 * median(seconds[1:]) for name, seconds in turns.items()}
    rows = [f"| {name} | {cost:.0f} | {cost / costs['bare']:.1f} |" for name, cost in costs.items()]
    return (
        "# What a call and a use cost\n\nMicroseconds of CPU of both processes together.\n\n"
        "| kind | each | times a bare exchange |\n|---|---|---|\n" + "\n".join(rows) + "\n"
    )


def _kinds(world: RemoteNamespace) -> dict[str, Callable[[], Any]]:
    f, double, uses, backward = (world.get_proxy(name) for name in STUDENT)
    x, w = torch.ones(3, 4), torch.ones(3, 4, requires_grad=True)

    def repeated(call: Callable[[], Any]) -> Callable[[], Any]:
        return lambda: [call() for _ in range(TIMES)]

    return {
        "a call with a number": repeated(lambda: f(1)),
        "a call with a tensor": repeated(lambda: double(x)),
        "a call with its backward": repeated(lambda: double(w).sum().backward()),
        "a use with a number": lambda: uses(lambda n: n + 1, 1),
        "a use with a tensor": lambda: uses(lambda t: t * 2, x),
        "a use with its backward": lambda: backward(lambda t: t * w, w),
    }


@contextmanager
def _student() -> Iterator[tuple[RemoteNamespace, Callable[[], float]]]:
    """The objects of a fork that serves them, and the CPU seconds of it and of this process."""
    with _fork(lambda channel: serve_calls(channel, dict(STUDENT))) as (channel, clock):
        connection = Connection(channel)
        connection.begin_check(ProcessTimeLimit(SECONDS), 2**40)
        yield RemoteNamespace(connection, {}), clock


@contextmanager
def _echo() -> Iterator[Callable[[], float]]:
    """CPU seconds of sending a hundred bytes and getting them back."""

    def serve(channel: socket.socket) -> None:
        while data := channel.recv(1000):
            channel.sendall(data)

    with _fork(serve) as (channel, clock):

        def exchange() -> float:
            before = clock()
            for _ in range(TIMES):
                channel.sendall(bytes(100))
                channel.recv(1000)
            return (clock() - before) / TIMES

        yield exchange


@contextmanager
def _fork(serve: Callable[[socket.socket], None]) -> Iterator[tuple[socket.socket, Callable[[], float]]]:
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid == 0:
        try:
            ours.close()
            serve(theirs)
        finally:
            os._exit(0)
    theirs.close()
    their_clock = ~pid << 3 | 2  # as clock_getcpuclockid() makes it
    try:
        yield ours, lambda: time.clock_gettime(their_clock) + time.process_time()
    finally:
        ours.close()
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
