"""The examiner's side of the student process of one submission: runs cells in it, and forks it for a check."""

from __future__ import annotations

import contextlib
import math
import re
import socket
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from autograder.examiner.connection import INVALID_REPLY, PING_SECONDS, Connection
from autograder.examiner.output_filter import MAX_OUTPUTS, read_outputs
from autograder.examiner.process_time_limit import CpuTime, ProcessTimeLimit
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.time_budget import CellTimeLimit
from autograder.rpc.frames import (
    MAX_FRAME,
    ConnectionClosed,
    ProtocolError,
    ProtocolTimeout,
    WireValue,
    receive,
    send,
)
from autograder.rpc.requests import RequestKind

INVALID_SECONDS = 1.0  # to wait for the reason after a process sent an invalid message
CLOSED_SECONDS = 20.0  # to wait for it after a process hung up, since it ends then
MAX_NAMES = 20
PIECE = 4 * 2**20  # bytes of a file in one message
NAME = re.compile(r"[\w.]{1,80}", re.ASCII)


class ProcessSupervisor(Protocol):
    """The program that started the student processes and watches them from outside."""

    def adopt(self, pid: int, group: str) -> None: ...
    def kill_group(self, pid: int, group: str) -> None: ...
    def explain_end(self, pid: int) -> str: ...
    def measure_times(self, pid: int) -> list[CpuTime]: ...
    def stop(self, pid: int) -> None: ...


class StudentProcess:
    """A process that runs cells. `end_reason` says why it's gone.

    Args:
        can_fork: Whether it can be forked. One that uses CUDA can't: it serves calls itself, and runs no cell then.
        restores_names: Whether the names of the course and of labkit are restored before calls. A stock assignment
            has none.
    """

    def __init__(
        self,
        control: socket.socket,
        pid: int,
        supervisor: ProcessSupervisor,
        can_fork: bool = True,
        restores_names: bool = True,
    ) -> None:
        self.control, self.pid, self.supervisor = control, pid, supervisor
        self.can_fork, self.restores_names = can_fork, restores_names
        self.end_reason, self.serves = "", False

    def run(
        self, source: str, number: int, limit: CellTimeLimit, protected: Sequence[str] = ()
    ) -> list[dict[str, Any]]:
        """Run a cell and return its outputs.

        Args:
            number: The execution count.
            protected: Course names that the cell binds, to restore before checks.

        Raises:
            StoppedError: If it took too long or ended the process.
        """
        try:
            time_limit = self.create_time_limit(limit.seconds, limit.clock_limit)
            outputs = self._request_reply([RequestKind.RUN, source, number, list(protected)], time_limit, MAX_OUTPUTS)
        except ProtocolTimeout:
            raise self._stop(limit.message) from None
        except ProtocolError as error:
            raise self._stop(self._wait_for_reason(error)) from None
        return read_outputs(outputs)

    def put(self, files: Iterable[tuple[str, bytes]], seconds: float) -> None:
        """Put files, given by path and content, into its scratch home, where cells run. Raises StoppedError."""
        try:
            for path, content in files:
                for begin in range(0, max(len(content), 1), PIECE):
                    self._request_reply(
                        [RequestKind.PUT, path, content[begin : begin + PIECE]],
                        self.create_time_limit(seconds, math.inf),
                    )
        except (ProtocolError, OSError) as error:
            raise self._stop(self._wait_for_reason(error)) from None

    def fetch_changed_names(self, seconds: float) -> list[str]:
        """Return the course names that cells rebound or patched, as the process reports. Raises StoppedError."""
        try:
            reply = self._request_reply([RequestKind.LIST_CHANGED], self.create_time_limit(seconds, math.inf))
        except (ProtocolError, OSError) as error:  # a late reply would be taken for that to the next request
            raise self._stop(self._wait_for_reason(error)) from None
        names = reply if isinstance(reply, list) else []
        return [name for name in names[:MAX_NAMES] if isinstance(name, str) and NAME.fullmatch(name)]

    def create_time_limit(self, seconds: float, clock_limit: float) -> ProcessTimeLimit:
        """Begin a time limit for the process and its forks. `clock_limit` is in seconds by the clock."""
        return ProcessTimeLimit(seconds, partial(self.supervisor.measure_times, self.pid), clock_limit)

    def fork(self, group: str, seconds: float) -> StudentProcess:
        """Fork the process as it is now. The fork belongs to this process group. Raises StoppedError."""
        self._require_idle()
        ours, theirs = socket.socketpair()
        try:
            self.supervisor.adopt(self.pid, "")  # processes that cells have started belong to no check
            time_limit = self.create_time_limit(seconds, math.inf)
            self._ask([RequestKind.FORK], time_limit.measure_wall_left())
            socket.send_fds(self.control, [b"f"], [theirs.fileno()])
            self._receive_reply(time_limit)
        except (ProtocolError, OSError) as error:
            ours.close()
            raise self._stop(self._wait_for_reason(error)) from None
        finally:
            theirs.close()
        self.supervisor.adopt(self.pid, group)
        return StudentProcess(ours, self.pid, self.supervisor, restores_names=self.restores_names)

    def copy_with_supervisor(self, supervisor: ProcessSupervisor) -> StudentProcess:
        """Return this process with another supervisor."""
        return StudentProcess(self.control, self.pid, supervisor, self.can_fork, self.restores_names)

    def connect(self, group: str, seconds: float) -> Connection:
        """Connect to a fork of the process as it is now, to call its objects. The fork belongs to this group.

        If the process can't be forked, connect to the process itself, only once. Raises StoppedError.
        """
        process = self.fork(group, seconds) if self.can_fork else self
        if not self.can_fork:
            self._require_idle()
            self.supervisor.adopt(self.pid, "")
        process.serves = True
        with contextlib.suppress(ProtocolError):  # the first call over the connection finds that it is gone
            process._ask([RequestKind.SERVE, self.restores_names], seconds)
        return Connection(process.control)

    def stop_forking(self) -> None:
        """Serve the next connection in the process itself, which runs no cell after that."""
        self.can_fork = False

    def kill_group(self, group: str) -> None:
        """End the processes of the group and all that they started."""
        if not self.end_reason:
            self.supervisor.kill_group(self.pid, group)

    def ping(self) -> bool:
        """Return whether the process still replies. If it doesn't, end it."""
        if self.end_reason or self.serves:
            return not self.explain_end()
        try:
            self._request_reply([RequestKind.PING], self.create_time_limit(PING_SECONDS, math.inf))
        except ProtocolError as error:
            self._stop(self._wait_for_reason(error))
        return not self.end_reason

    def explain_end(self) -> str:
        """Return the limit that the process or one of its forks reached, or how it ended; empty if all is well."""
        return self.end_reason or self.supervisor.explain_end(self.pid)

    def hang_up(self) -> None:
        """Close the socket; the process then ends on its own."""
        self.control.close()

    def kill(self) -> None:
        """End the process and all that it started, and delete its files."""
        if not self.end_reason:
            self._stop("the Python process was stopped")

    def _require_idle(self) -> None:
        if self.end_reason or self.serves:
            raise StoppedError(self.end_reason or "the Python process is already serving a check")

    def _wait_for_reason(self, error: Exception) -> str:
        """Wait until it's known why the process ended: its socket closes earlier, on a busy machine much earlier."""
        closed = isinstance(error, ConnectionClosed | OSError)
        deadline = time.monotonic() + (CLOSED_SECONDS if closed else INVALID_SECONDS)
        while not (reason := self.explain_end()) and time.monotonic() < deadline:
            time.sleep(0.005)
        return reason or str(INVALID_REPLY)

    def _request_reply(self, request: WireValue, time_limit: ProcessTimeLimit, max_bytes: int = MAX_FRAME) -> WireValue:
        self._ask(request, time_limit.measure_wall_left())
        return self._receive_reply(time_limit, max_bytes)

    def _receive_reply(self, time_limit: ProcessTimeLimit, max_bytes: int = MAX_FRAME) -> WireValue:
        time_limit.wait(self.control)
        return receive(self.control, time_limit.measure_wall_left(), max_bytes)

    def _ask(self, request: WireValue, seconds: float) -> None:
        if self.end_reason:
            raise StoppedError(self.end_reason)
        self.control.settimeout(seconds)
        send(self.control, request)

    def _stop(self, reason: str) -> StoppedError:
        self.end_reason = reason
        self.supervisor.stop(self.pid)
        with contextlib.suppress(OSError):
            self.control.close()
        return StoppedError(reason)
