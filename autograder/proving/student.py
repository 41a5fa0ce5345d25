"""The student process that answers are tried in: it runs the lab up to an exercise, and branches there.

The answers are the course's own, so it is a fork of the process that proves, without a sandbox.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import weakref
from typing import Any

import torch

from autograder.examiner.connection import Connection
from autograder.proving.forks import ForkFailed
from autograder.proving.liars import lie
from autograder.proving.replaced import replacement
from autograder.rpc.frames import ConnectionClosed, Plain, ProtocolError, ProtocolTimeout, receive, send
from autograder.student.kernel import Kernel
from autograder.student.main import serve_calls

CELL_SECONDS = 60.0
NOTE = "_note_of_replacement"  # the name of the note in the notebook


class CellRaised(ForkFailed):
    """A cell raised an exception."""


class Student:
    """A process with a notebook's names, asked over a socket. It has at most one branch at a time."""

    def __init__(self, control: socket.socket) -> None:
        self.control = control

    def run(self, source: str) -> None:
        """Run a cell. Raises CellRaised where it raises, ForkFailed where it ends the process or is too slow."""
        if error := self._ask("run", source):
            raise CellRaised(error)

    def replace(self, name: str, how: str, *args: Plain) -> None:
        """Put in place of the object of this name its replacement(), with the note under NOTE. Raises ForkFailed."""
        self._ask("replace", name, how, list(args))

    def lie(self, exercise: str, how: str, *args: Plain) -> None:
        """Replace the probes, or the exercise, as lie() says, with the note under NOTE. Raises ForkFailed."""
        self._ask("lie", exercise, how, list(args))

    def branch(self) -> Student:
        """A fork of this process as it is now, in place of an earlier branch. Raises ForkFailed."""
        ours, theirs = socket.socketpair()
        try:
            self._send("branch")
            socket.send_fds(self.control, [b"b"], [theirs.fileno()])
            self._receive()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return Student(ours)

    def calls(self) -> Connection:
        """A line for calls of this process' objects: it does nothing else from here on."""
        self._send("calls")
        return Connection(self.control)

    def end_branch(self) -> None:
        """Kill the branch, if there is one, and wait for its end."""
        with contextlib.suppress(ForkFailed):
            self._ask("end")

    def close(self) -> None:
        """Hang up."""
        self.control.close()

    def _ask(self, *request: Plain) -> Any:
        self._send(*request)
        return self._receive()

    def _send(self, *request: Plain) -> None:
        try:
            self.control.settimeout(CELL_SECONDS)
            send(self.control, list(request))
        except ProtocolError:
            raise ForkFailed("the process died") from None

    def _receive(self) -> Any:
        try:
            return receive(self.control, CELL_SECONDS)
        except ProtocolTimeout:
            raise ForkFailed(f"no answer within {CELL_SECONDS:g} s") from None
        except ProtocolError:
            raise ForkFailed("the process died") from None


class Root(Student):
    """A student process that is no branch of another. It ends with close(), or with the last reference to it."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        child = os.fork()
        if child == 0:
            torch.set_num_threads(1)  # a fork that starts OpenMP threads of its own hangs
            with contextlib.suppress(BaseException):
                ours.close()
                _become_student(theirs)
            os._exit(0)
        theirs.close()
        super().__init__(ours)
        self._stop = weakref.finalize(self, _stop, ours, child, os.getpid())

    def close(self) -> None:
        """Kill the process, and wait for its end."""
        self._stop()


def _stop(control: socket.socket, child: int, owner: int) -> None:
    if os.getpid() != owner:  # a fork of the owner has this finalizer too
        return
    control.close()
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _become_student(control: socket.socket) -> None:
    os.setsid()
    torch.manual_seed(0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    _serve(control, Kernel())


def _serve(control: socket.socket, kernel: Kernel) -> None:
    """Answer requests until the client hangs up. A branch goes on with its own socket in the same loop."""
    branch = 0
    while True:
        try:
            kind, *rest = receive(control)
        except ConnectionClosed:
            break
        reply: Plain = ""
        if kind == "run":
            reply = _error(kernel.run(rest[0]))
        elif kind == "replace":
            name, how, args = rest
            kernel.namespace[name], kernel.namespace[NOTE] = replacement(kernel.namespace[name], how, args)
        elif kind == "lie":
            exercise, how, args = rest
            kernel.namespace[NOTE] = lie(kernel.namespace, exercise, how, *args)
        elif kind == "calls":
            serve_calls(control, kernel.namespace)
            break
        elif kind == "end":
            branch = _end(branch)
        elif kind == "branch":
            _end(branch)
            _, (descriptor, *_), _, _ = socket.recv_fds(control, 1, 1)
            branch = os.fork()
            if branch == 0:
                torch.set_num_threads(1)  # again after each fork
                os.setsid()
                control.close()
                control = socket.socket(fileno=descriptor)
                continue
            os.close(descriptor)
        send(control, reply)
    _end(branch)


def _end(branch: int) -> int:
    """Kill a branch with what it started, and wait for its end. 0: there is none now."""
    if branch:
        for kill in (os.killpg, os.kill):
            with contextlib.suppress(ProcessLookupError):
                kill(branch, signal.SIGKILL)
        os.waitpid(branch, 0)
    return 0


def _error(outputs: list[dict[str, Any]]) -> str:
    """What a cell raised, or nothing."""
    errors = (f"{o['ename']}: {o['evalue']}" for o in outputs if o["output_type"] == "error")
    return next(errors, "")
