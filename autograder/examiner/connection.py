"""The examiner's end of the connection to a student process. What comes over it is checked, and believed in nothing."""

from __future__ import annotations

import socket
from typing import Any, Protocol

from autograder.examiner.effort import Effort
from autograder.rpc.frames import (
    CALLBACK,
    ConnectionClosed,
    ProtocolError,
    ProtocolTimeout,
    WireValue,
    from_bytes,
    receive,
    receive_bytes,
    send,
)
from autograder.rpc.global_state import GlobalState
from labkit.cause import Cause, StopReason

PING_SECONDS = 2.0
ENDED = StopReason("the Python process ended during this check", Cause.ENDED)
STARVED = StopReason("the machine was too busy for this check", Cause.BUSY)
MAX_BYTES = 512 * 2**20  # of all that comes in one check
NO_ANSWER = StopReason("the Python process sent what is no answer")


class Stopped(Exception):
    """The student process could not answer: it ran out of time, died, or sent what is no message."""

    def __init__(self, reason: StopReason | str) -> None:
        super().__init__(str(reason))
        self.reason = StopReason(reason) if isinstance(reason, str) else reason


class CallbackServer(Protocol):
    """What answers the student process while it serves a call: the functions that a check passed to it."""

    def serve(self, request: WireValue) -> WireValue: ...
    def forget(self, nodes: WireValue) -> None: ...


class Requester(Protocol):
    """What takes requests to a student process, and serves it meanwhile."""

    def ask(self, request: WireValue, callbacks: CallbackServer) -> WireValue: ...


class Connection:
    """Requests and replies over one socket. `effort`: what the process may still take; None for ever.

    `most`: bytes that may still come. Both are set anew for each check.
    """

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.effort: Effort | None = None
        self.most = MAX_BYTES
        self.broken: StopReason | None = None
        self.global_state = GlobalState()

    def ask(self, request: WireValue, callbacks: CallbackServer) -> WireValue:
        """The reply to a request; the global state goes along both ways. Until it comes, callbacks are served.

        Raises Stopped, and goes on raising it: after a lost reply nothing can be matched.
        """
        if self.broken:
            raise Stopped(self.broken)
        try:
            self._send([request, self.global_state.read()])
            while _is_use(came := self._receive()):
                answer = callbacks.serve(came[1])
                if self.effort is not None and self.effort.is_over():
                    raise ProtocolTimeout("no reply in time, for all its questions")
                self._send(answer)
            reply, state, dropped = expect(came, 3)
            callbacks.forget(dropped)
            self.global_state.apply(state)
            return reply
        except Stopped as stopped:  # of a callback: the student process waits for it
            self.broken = stopped.reason
        except ProtocolTimeout:
            self.broken = _explain_delay(self.effort)
        except ConnectionClosed:
            self.broken = ENDED
        except ProtocolError:
            self.broken = NO_ANSWER
        raise Stopped(self.broken)

    def begin(self, effort: Effort) -> bool:
        """Begin anew, as on a new connection.

        Args:
            effort: What the process at the other end may take to answer.

        Returns:
            Whether it answers.
        """
        self.global_state = GlobalState()
        try:
            send(self.channel, "begin", effort.wall())
            effort.wait(self.channel)
            receive(self.channel, effort.wall())
        except ProtocolError:
            return False
        return True

    def close(self) -> None:
        """Hang up: the process at the other end then ends."""
        self.channel.close()

    def _send(self, message: WireValue) -> None:
        send(self.channel, message, None if self.effort is None else self.effort.wall())

    def _receive(self) -> WireValue:
        if self.effort is not None:
            self.effort.wait(self.channel)
        data = receive_bytes(self.channel, None if self.effort is None else self.effort.wall(), self.most)
        self.most = max(self.most - len(data), 0)
        return from_bytes(data)


def _explain_delay(effort: Effort | None) -> StopReason:
    if effort is not None and effort.was_starved():
        return STARVED
    return build_timeout(effort.seconds if effort else 0)


def build_timeout(seconds: float) -> StopReason:
    """The reason of a check that reached its time limit."""
    return StopReason(f"the time limit of {seconds:g} s for a check was reached", Cause.TIME, seconds)


def _is_use(came: WireValue) -> bool:
    return isinstance(came, list) and len(came) == 2 and came[0] == CALLBACK


def expect(reply: WireValue, length: int) -> list[Any]:
    """The reply as a list of this length. Raises ProtocolError."""
    if not isinstance(reply, list) or len(reply) != length:
        raise ProtocolError("a list of another length")
    return reply


def check_number(value: Any, below: int = 2**62) -> int:
    """The value as a number from 0 to below - 1. Raises ProtocolError."""
    if type(value) is not int or not 0 <= value < below:
        raise ProtocolError("a number out of range")
    return value


def check_numbers(values: Any, below: int) -> list[int]:
    """The values as different numbers from 0 to below - 1. Raises ProtocolError."""
    if not isinstance(values, list) or len({check_number(v, below) for v in values}) != len(values):
        raise ProtocolError("a number given twice")
    return values


class DroppedReferences:
    """Numbers of nodes and handles that nothing here refers to any more: the student process can forget them."""

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.handles: list[int] = []

    def take(self) -> WireValue:
        taken = [self.nodes, self.handles]
        self.nodes, self.handles = [], []
        return taken


def build_no_answer() -> Stopped:
    """Without what came: students read this."""
    return Stopped(NO_ANSWER)
