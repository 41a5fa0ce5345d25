"""Student processes, as the examiner holds them: asked to run cells and to fork for a check, replaced when they end."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable
from typing import Any, Protocol

from autograder.examiner.link import Link, Stopped
from autograder.examiner.outputs import MAX_OUTPUTS, read_outputs
from autograder.wire.frames import WireError, WireTimeout, receive, send

ENDING_SECONDS = 1.0
RESTARTS = 3  # while one cell is run or checked; then what is left of that cell goes without


class Keeper(Protocol):
    """What started the student processes, and sees them from outside."""

    def mark(self, pid: int) -> None: ...
    def tidy(self, pid: int) -> None: ...
    def why(self, pid: int) -> str: ...
    def stop(self, pid: int) -> int: ...


class StudentProcess:
    """The process of one submission. `ended` says why it is gone."""

    def __init__(self, control: socket.socket, pid: int, keeper: Keeper) -> None:
        self.control, self.pid, self.keeper, self.ended = control, pid, keeper, ""

    def run(self, source: str, seconds: float) -> list[dict[str, Any]]:
        """The outputs of a cell. Raises Stopped where it took too long or ended the process."""
        try:
            self._ask(["run", source], seconds)
            outputs = receive(self.control, seconds, MAX_OUTPUTS)
        except WireTimeout:
            raise self._stop(f"the time limit of {seconds:g} s for a cell was reached") from None
        except WireError:
            raise self._stop(self._how_it_ended()) from None
        return read_outputs(outputs)

    def connect(self, seconds: float) -> Link:
        """A line to a fork of the process as it is now: what a check does there does not stay."""
        ours, theirs = socket.socketpair()
        try:
            self._ask(["fork"], seconds)
            socket.send_fds(self.control, [b"f"], [theirs.fileno()])
            receive(self.control, seconds)
        except (WireError, OSError):
            raise self._stop(self._how_it_ended()) from None
        finally:
            theirs.close()
        link = Link(ours)
        link.until = time.monotonic() + seconds
        return link

    def why(self) -> str:
        """The limit that the process or one of its forks hit, or how it ended; empty where all is well."""
        return self.ended or self.keeper.why(self.pid)

    def mark(self) -> None:
        """Remember what runs now: tidy() ends what came later."""
        if not self.ended:
            self.keeper.mark(self.pid)

    def tidy(self) -> None:
        """End what came after mark(), and find out whether the process itself is still there: a check can kill it."""
        if self.ended:
            return
        self.keeper.tidy(self.pid)
        try:
            self._ask(["ping"], ENDING_SECONDS)
            receive(self.control, ENDING_SECONDS)
        except WireError:
            self._stop(self._how_it_ended())

    def kill(self) -> None:
        """End the process, with everything that it started and wrote."""
        if not self.ended:
            self._stop("the Python process was stopped")

    def _how_it_ended(self) -> str:
        """Its socket closes a moment before a process has ended."""
        until = time.monotonic() + ENDING_SECONDS
        while not (why := self.why()) and time.monotonic() < until:
            time.sleep(0.005)
        return why or "the Python process sent what is no answer"

    def _ask(self, request: list[Any], seconds: float) -> None:
        if self.ended:
            raise Stopped(self.ended)
        self.control.settimeout(seconds)
        send(self.control, request)

    def _stop(self, why: str) -> Stopped:
        self.ended = why
        self.keeper.stop(self.pid)
        self.control.close()
        return Stopped(why)


class Restarting:
    """A student process that is replaced when a cell or a check ends it: the cells before run again, that one does not.

    Raises Stopped from run() and connect() where the process is gone, for its own reason.
    """

    def __init__(self, start: Callable[[], StudentProcess]) -> None:
        self._start, self.process = start, start()
        self._history: list[str] = []
        self._restarts = 0

    def run(self, source: str, seconds: float) -> list[dict[str, Any]]:
        """As StudentProcess.run."""
        self._restarts = 0
        if self.process.ended:
            self._restart(seconds)
        outputs = self.process.run(source, seconds)
        self._history.append(source)
        return outputs

    def begin_checks(self) -> None:
        """Called before the first connect() of a check cell."""
        self._restarts = 0
        self.process.mark()

    def connect(self, seconds: float) -> Link:
        """As StudentProcess.connect, to a new process where a check before has ended the last one."""
        if not self.process.ended:
            with contextlib.suppress(Stopped):
                return self.process.connect(seconds)
        if self._restarts == RESTARTS:
            raise Stopped(self.process.ended)
        self._restart(seconds)
        self.process.mark()
        return self.process.connect(seconds)

    def end_checks(self) -> None:
        """Called after the last check of a cell: ends what the checks left running."""
        self.process.tidy()

    def why(self) -> str:
        """As StudentProcess.why."""
        return self.process.why()

    def kill(self) -> None:
        self.process.kill()

    def _restart(self, seconds: float) -> None:
        self._restarts += 1
        self.process.kill()
        self.process = self._start()
        for source in self._history:
            with contextlib.suppress(Stopped):
                self.process.run(source, seconds)
