"""A connection for the checks of one cell: opened when the first check begins, reopened after a check broke it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from autograder.examiner.connection import ENDED, MAX_BYTES, CallbackServer, Connection
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.frames import WireValue
from labkit.cause import Cause, StopReason
from labkit.outcome import SHORT_SECONDS


class ConnectionSource(Protocol):
    """A source of connections: SubmissionRunner, or the run in which `gradlab prove` tries an answer."""

    def connect(self, name: str) -> Connection: ...
    def create_time_limit(self, seconds: float) -> ProcessTimeLimit: ...
    def explain_end(self) -> str: ...
    def kill_group(self, name: str) -> None: ...


class CheckConnection:
    """The connection of one check cell.

    Args:
        source: Connects to the student process.
        name: The name of the check cell.
        get_seconds: Returns how long the check that begins may take, or raises StoppedError.
    """

    def __init__(self, source: ConnectionSource, name: str, get_seconds: Callable[[], float]) -> None:
        self.source, self.name, self.get_seconds = source, name, get_seconds
        self.connection: Connection | None = None
        self.has_begun = False
        self.checks = 0  # begun so far
        self.has_timed_out = False
        self.reason = StopReason("a call outside of a check")  # why there is no connection

    def __enter__(self) -> CheckConnection:
        return self

    def __exit__(self, *_: object) -> None:
        """End whatever the checks started."""
        if self.has_begun:
            self.source.kill_group(self.name)

    def begin_check(self) -> None:
        """Begin a check: reconnect if necessary, and reset its limits."""
        self.has_begun = True
        self.checks += 1
        try:
            if self.connection is None or self.connection.broken:
                self.connection = self.source.connect(self.name)
            seconds = self.get_seconds()
            if self.has_timed_out:
                seconds = min(seconds, SHORT_SECONDS)
            self.connection.begin_check(self.source.create_time_limit(seconds), MAX_BYTES)
        except StoppedError as stopped:
            self.connection, self.reason = None, stopped.reason

    def ask(self, request: WireValue, callbacks: CallbackServer) -> WireValue:
        if self.connection is None:
            raise StoppedError(self.reason)
        try:
            return self.connection.ask(request, callbacks)
        except StoppedError as stopped:
            self.has_timed_out |= self.connection.time_limit is not None and self.connection.time_limit.is_over()
            reason = stopped.reason
            if reason == ENDED:
                message = f"{self.source.explain_end() or 'the Python process ended'} during this check"
                reason = StopReason(message, Cause.ENDED)
                self.connection.mark_broken(reason)
            raise StoppedError(reason) from None
