"""A connection for the checks of one cell: made as the first of them begins, and anew after one broke it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from autograder.examiner.connection import ENDED, MAX_BYTES, CallbackServer, Connection, Stopped
from autograder.examiner.effort import Effort
from labkit.cause import Cause, StopReason

SHORT_SECONDS = 1.0  # of each check of an exercise after one of them ran out of time


class ConnectionSource(Protocol):
    """Where connections come from: the examiner's student, or a branch in which an answer is tried."""

    def connect(self, name: str) -> Connection: ...
    def effort(self, seconds: float) -> Effort: ...
    def why(self) -> str: ...
    def kill_group(self, name: str) -> None: ...


class CheckConnection:
    """name: the check cell's. seconds: how long the check that begins may take, or raises Stopped."""

    def __init__(self, student: ConnectionSource, name: str, seconds: Callable[[], float]) -> None:
        self.student, self.name, self.seconds = student, name, seconds
        self.connection: Connection | None = None
        self.begun = False
        self.checks = 0  # that have begun
        self.has_timed_out = False
        self.why_not = StopReason("a call where there is no check")

    def __enter__(self) -> CheckConnection:
        return self

    def __exit__(self, *_: object) -> None:
        """Leave nothing running of what the checks started."""
        if self.begun:
            self.student.kill_group(self.name)

    def renew(self) -> None:
        """Called as each check begins."""
        self.begun = True
        self.checks += 1
        try:
            if self.connection is None or self.connection.broken:
                self.connection = self.student.connect(self.name)
            seconds = self.seconds()
            if self.has_timed_out:
                seconds = min(seconds, SHORT_SECONDS)
            self.connection.effort, self.connection.most = self.student.effort(seconds), MAX_BYTES
        except Stopped as stopped:
            self.connection, self.why_not = None, stopped.reason

    def ask(self, request: Any, callbacks: CallbackServer) -> Any:
        if self.connection is None:
            raise Stopped(self.why_not)
        try:
            return self.connection.ask(request, callbacks)
        except Stopped as stopped:
            self.has_timed_out |= self.connection.effort is not None and self.connection.effort.is_over()
            reason = stopped.reason
            if reason == ENDED:
                words = f"{self.student.why() or 'the Python process ended'} during this check"
                self.connection.broken = reason = StopReason(words, Cause.ENDED)
            raise Stopped(reason) from None
