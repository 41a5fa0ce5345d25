"""The examiner's end of the connection to a student process. Everything received over it is checked, never trusted."""

from __future__ import annotations

import socket
from typing import Protocol, TypeGuard

from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.stopped_error import StoppedError
from autograder.rpc.fields import check_length
from autograder.rpc.frames import (
    CALLBACK,
    ConnectionClosed,
    ProtocolError,
    ProtocolTimeout,
    WireValue,
    decode_message,
    receive,
    receive_bytes,
    send,
)
from autograder.rpc.global_state import GlobalState
from labkit.cause import Cause, StopReason

PING_SECONDS = 2.0
ENDED = StopReason("the Python process ended during this check", Cause.ENDED)
STARVED = StopReason("the machine was too busy for this check", Cause.BUSY)
MAX_BYTES = 512 * 2**20  # received in one check
INVALID_REPLY = StopReason("the Python process sent a reply that can't be read")


class CallbackServer(Protocol):
    """Serves the student process while it answers a call: runs the functions that a check passed to it."""

    def serve(self, request: WireValue) -> WireValue: ...
    def forget(self, nodes: WireValue) -> None: ...


class Requester(Protocol):
    """Sends requests to a student process, and serves it meanwhile."""

    def ask(self, request: WireValue, callbacks: CallbackServer) -> WireValue: ...


class Connection:
    """Requests and replies over one socket."""

    def __init__(self, channel: socket.socket) -> None:
        self.channel = channel
        self.time_limit: ProcessTimeLimit | None = None  # the time that the process has left, None for no limit
        self.bytes_left = MAX_BYTES  # to receive
        self.broken: StopReason | None = None
        self.global_state = GlobalState()

    def ask(self, request: WireValue, callbacks: CallbackServer) -> WireValue:
        """Return the reply to a request, and serve callbacks until it arrives. Both carry the global state.

        Raises StoppedError, from then on for every request: after a lost reply, replies can't be matched to requests.
        """
        if self.broken:
            raise StoppedError(self.broken)
        try:
            self._send([request, self.global_state.read()])
            while _is_use(message := self._receive()):
                callback_reply = callbacks.serve(message[1])
                if self.time_limit is not None and self.time_limit.is_over():
                    raise ProtocolTimeout("no reply in time, only uses of callbacks")
                self._send(callback_reply)
            reply, state, dropped = check_length(message, 3)
            callbacks.forget(dropped)
            self.global_state.apply(state)
            return reply
        except StoppedError as stopped:  # raised by a callback, for which the student process waits
            self.broken = stopped.reason
        except ProtocolTimeout:
            self.broken = _explain_delay(self.time_limit)
        except ConnectionClosed:
            self.broken = ENDED
        except ProtocolError:
            self.broken = INVALID_REPLY
        raise StoppedError(self.broken)

    def begin_check(self, time_limit: ProcessTimeLimit | None, max_bytes: int = MAX_BYTES) -> None:
        """Set the limits of the check that begins: its time, and the bytes to receive in it."""
        self.time_limit, self.bytes_left = time_limit, max_bytes

    def mark_broken(self, reason: StopReason) -> None:
        """Raise StoppedError for this reason from now on."""
        self.broken = reason

    def reset(self, time_limit: ProcessTimeLimit) -> bool:
        """Start over, as on a new connection, and return whether the process answers within `time_limit`."""
        self.global_state = GlobalState()
        try:
            send(self.channel, "begin", time_limit.measure_wall_left())
            time_limit.wait(self.channel)
            receive(self.channel, time_limit.measure_wall_left())
        except ProtocolError:
            return False
        return True

    def close(self) -> None:
        """Hang up, which ends the process at the other end."""
        self.channel.close()

    def _send(self, message: WireValue) -> None:
        send(self.channel, message, None if self.time_limit is None else self.time_limit.measure_wall_left())

    def _receive(self) -> WireValue:
        if self.time_limit is not None:
            self.time_limit.wait(self.channel)
        data = receive_bytes(
            self.channel, None if self.time_limit is None else self.time_limit.measure_wall_left(), self.bytes_left
        )
        self.bytes_left = max(self.bytes_left - len(data), 0)
        return decode_message(data)


def _explain_delay(time_limit: ProcessTimeLimit | None) -> StopReason:
    if time_limit is not None and time_limit.was_starved():
        return STARVED
    return build_timeout(time_limit.seconds if time_limit else 0)


def build_timeout(seconds: float) -> StopReason:
    """Return the reason for a check that reached its time limit."""
    return StopReason(f"the time limit of {seconds:g} s for a check was reached", Cause.TIME, seconds)


def _is_use(message: WireValue) -> TypeGuard[list[WireValue]]:
    return isinstance(message, list) and len(message) == 2 and message[0] == CALLBACK


class DroppedReferences:
    """Numbers of nodes and handles without a reference here: the student process can forget them."""

    def __init__(self) -> None:
        self.nodes: list[int] = []
        self.handles: list[int] = []

    def add_node(self, number: int) -> None:
        self.nodes.append(number)

    def add_handle(self, number: int) -> None:
        self.handles.append(number)

    def remove_handle(self, number: int) -> None:
        """Keep this handle after all: it arrived again."""
        self.handles = [handle for handle in self.handles if handle != number]

    def take(self) -> WireValue:
        """Return [nodes, handles] since the last call."""
        dropped = [self.nodes, self.handles]
        self.nodes, self.handles = [], []
        return dropped


def build_invalid_reply() -> StoppedError:
    """Build the exception for an invalid reply, without its content: students read the message."""
    return StoppedError(INVALID_REPLY)
