"""The student process of one submission, as the examiner holds it: asked to run cells, and to fork for a check."""

from __future__ import annotations

import contextlib
import math
import re
import socket
import time
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Protocol

from autograder.examiner.checked_outputs import MAX_OUTPUTS, read_outputs
from autograder.examiner.clock import Limit
from autograder.examiner.connection import PING_SECONDS, Connection, Stopped
from autograder.examiner.effort import CpuTime, Effort
from autograder.rpc.frames import (
    MAX_FRAME,
    ConnectionClosed,
    ProtocolError,
    ProtocolTimeout,
    WireValue,
    receive,
    send,
)

ENDING_SECONDS = 1.0  # until what is known of a process that sent what is no message
ENDED_SECONDS = 20.0  # the same for one that hung up, which ends
MAX_NAMES = 20
PIECE = 4 * 2**20  # bytes of a file in one message
NAME = re.compile(r"[\w.]{1,80}", re.ASCII)


class Keeper(Protocol):
    """What started the student processes, and sees them from outside."""

    def adopt(self, pid: int, group: str) -> None: ...
    def kill_group(self, pid: int, group: str) -> None: ...
    def why(self, pid: int) -> str: ...
    def used(self, pid: int) -> list[CpuTime]: ...
    def stop(self, pid: int) -> int: ...


class StudentProcess:
    """A process that runs cells. `ended` says why it is gone.

    forks: whether it can be forked. One that uses CUDA cannot: it serves calls itself, and runs no cell after that.
    restores: whether the course's names and those of labkit are bound again before calls. A course that is made without
    labkit has none.
    """

    def __init__(
        self, control: socket.socket, pid: int, keeper: Keeper, forks: bool = True, restores: bool = True
    ) -> None:
        self.control, self.pid, self.keeper, self.forks, self.restores = control, pid, keeper, forks, restores
        self.ended, self.serves = "", False

    def run(self, source: str, number: int, limit: Limit, keep: Sequence[str] = ()) -> list[dict[str, Any]]:
        """The outputs of a cell. number: its execution count. keep: names that it binds and that stay the course's.

        Raises Stopped where it took too long or ended the process.
        """
        try:
            effort = self.effort(limit.seconds, limit.most)
            outputs = self._request_answer(["run", source, number, list(keep)], effort, MAX_OUTPUTS)
        except ProtocolTimeout:
            raise self._stop(limit.words) from None
        except ProtocolError as error:
            raise self._stop(self._wait_for_reason(error)) from None
        return read_outputs(outputs)

    def put(self, files: Iterable[tuple[str, bytes]], seconds: float) -> None:
        """Let these files, by their paths, lie in its scratch home, where cells run. Raises Stopped."""
        try:
            for path, content in files:
                for begin in range(0, max(len(content), 1), PIECE):
                    self._request_answer(["put", path, content[begin : begin + PIECE]], self.effort(seconds, math.inf))
        except (ProtocolError, OSError) as error:
            raise self._stop(self._wait_for_reason(error)) from None

    def changed(self, seconds: float) -> list[str]:
        """Names of the course's that the cells bound anew or patched, as the process says. Raises Stopped."""
        try:
            found = self._request_answer(["changed"], self.effort(seconds, math.inf))
        except (ProtocolError, OSError) as error:  # a late answer would be taken for that to the next question
            raise self._stop(self._wait_for_reason(error)) from None
        names = found if isinstance(found, list) else []
        return [name for name in names[:MAX_NAMES] if isinstance(name, str) and NAME.fullmatch(name)]

    def effort(self, seconds: float, most: float) -> Effort:
        """A bound from now on for what the process, or a fork of it, is asked to do. most: seconds by the clock."""
        return Effort(seconds, partial(self.keeper.used, self.pid), most)

    def fork(self, group: str, seconds: float) -> StudentProcess:
        """A fork of the process as it is now, in this group of its processes. Raises Stopped."""
        self._require_idle()
        ours, theirs = socket.socketpair()
        try:
            self.keeper.adopt(self.pid, "")  # what cells have started belongs to no check
            effort = self.effort(seconds, math.inf)
            self._ask(["fork"], effort.wall())
            socket.send_fds(self.control, [b"f"], [theirs.fileno()])
            self._receive_answer(effort)
        except (ProtocolError, OSError) as error:
            ours.close()
            raise self._stop(self._wait_for_reason(error)) from None
        finally:
            theirs.close()
        self.keeper.adopt(self.pid, group)
        return StudentProcess(ours, self.pid, self.keeper, restores=self.restores)

    def connect(self, group: str, seconds: float) -> Connection:
        """A connection for calls of the objects of the process as it is now: to a fork of it, in this group.

        Of a process that cannot be forked, to itself, once. Raises Stopped.
        """
        process = self.fork(group, seconds) if self.forks else self
        if not self.forks:
            self._require_idle()
            self.keeper.adopt(self.pid, "")
        process.serves = True
        with contextlib.suppress(ProtocolError):  # the first call over the connection finds that it is gone
            process._ask(["serve", self.restores], seconds)
        return Connection(process.control)

    def kill_group(self, group: str) -> None:
        """End the processes of the group, and whatever they started."""
        if not self.ended:
            self.keeper.kill_group(self.pid, group)

    def alive(self) -> bool:
        """Whether it still answers. One that does not is ended for good."""
        if self.ended or self.serves:
            return not self.why()
        try:
            self._request_answer(["ping"], self.effort(PING_SECONDS, math.inf))
        except ProtocolError as error:
            self._stop(self._wait_for_reason(error))
        return not self.ended

    def why(self) -> str:
        """The limit that the process or one of its forks hit, or how it ended; empty where all is well."""
        return self.ended or self.keeper.why(self.pid)

    def kill(self) -> None:
        """End the process, with everything that it started and wrote."""
        if not self.ended:
            self._stop("the Python process was stopped")

    def _require_idle(self) -> None:
        if self.ended or self.serves:
            raise Stopped(self.ended or "the Python process serves a check already")

    def _wait_for_reason(self, error: Exception) -> str:
        """Its socket closes a moment before a process has ended, and on a busy machine that moment is long."""
        closed = isinstance(error, ConnectionClosed | OSError)
        until = time.monotonic() + (ENDED_SECONDS if closed else ENDING_SECONDS)
        while not (why := self.why()) and time.monotonic() < until:
            time.sleep(0.005)
        return why or "the Python process sent what is no answer"

    def _request_answer(self, request: list[Any], effort: Effort, most: int = MAX_FRAME) -> WireValue:
        self._ask(request, effort.wall())
        return self._receive_answer(effort, most)

    def _receive_answer(self, effort: Effort, most: int = MAX_FRAME) -> WireValue:
        effort.wait(self.control)
        return receive(self.control, effort.wall(), most)

    def _ask(self, request: list[Any], seconds: float) -> None:
        if self.ended:
            raise Stopped(self.ended)
        self.control.settimeout(seconds)
        send(self.control, request)

    def _stop(self, why: str) -> Stopped:
        self.ended = why
        self.keeper.stop(self.pid)
        with contextlib.suppress(OSError):
            self.control.close()
        return Stopped(why)
