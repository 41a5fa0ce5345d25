"""Frames of a length and msgpack data. Whatever a sender does, a receiver gets a wire value or a ProtocolError."""

from __future__ import annotations

import contextlib
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgpack

MAX_FRAME = 256 * 2**20  # bytes
MAX_LIST = 2**17  # items of one list; a tensor is one item, whatever its size
MAX_ITEMS = 2**20  # items of all lists of a message together: one byte of msgpack can become 64 bytes of Python
MAX_DEPTH = 200
HEADER = struct.Struct(">Q")
CALLBACK = "callback"  # the first item of a frame that uses an object of the other side, and of such an object
# What a frame holds. Tuples are sent as lists. What was received is checked by rpc/fields.py before it's used.
WireValue: TypeAlias = "bool | int | float | str | bytes | Sequence[WireValue] | None"


class ProtocolError(Exception):
    """What was received, or should be sent, isn't a value of the protocol."""


class ConnectionClosed(ProtocolError):
    """The other side is gone."""


class ProtocolTimeout(ProtocolError):
    """The other side did not answer in time."""


def encode_message(value: WireValue) -> bytes:
    """Encode a value. Raises ProtocolError if it's too large, or not a value of the protocol."""
    try:
        data: bytes = msgpack.packb(value, use_bin_type=True)
    except Exception as error:
        raise ProtocolError(f"no message: {type(error).__name__}") from None
    if len(data) > MAX_FRAME:
        raise ProtocolError(f"a message of {len(data)} bytes: at most {MAX_FRAME} are allowed")
    return data


def decode_message(data: bytes | bytearray) -> WireValue:
    """Decode a message. Raises ProtocolError if these bytes aren't one."""
    if len(data) <= MAX_ITEMS:  # an item takes at least a byte, so there's nothing to count
        return _unpack(data, None)
    count = 0

    def limit_items(items: list[WireValue]) -> list[WireValue]:
        nonlocal count
        count += len(items) + 1
        if count > MAX_ITEMS:
            raise ProtocolError("too many items")
        return items

    return _unpack(data, limit_items)


def _unpack(data: bytes | bytearray, list_hook: Callable[[list[WireValue]], list[WireValue]] | None) -> WireValue:
    try:
        value: WireValue = msgpack.unpackb(
            data,
            raw=False,
            use_list=True,
            list_hook=list_hook,
            max_array_len=MAX_LIST,
            max_map_len=0,
            max_ext_len=0,
        )
        return value
    except Exception as error:  # msgpack raises many types, RecursionError among them
        raise ProtocolError(f"not a message: {type(error).__name__}") from None


def send(channel: socket.socket, value: WireValue, seconds: float | None = None) -> None:
    """Send one frame.

    Args:
        seconds: The time limit on a blocking channel.

    Raises:
        ConnectionClosed: If the other side is gone.
        ProtocolTimeout: If it doesn't read within the time limit.
        ProtocolError: If the value can't be encoded.
    """
    data = encode_message(value)
    data = HEADER.pack(len(data)) + data
    try:
        if seconds is None:
            channel.sendall(data)
        else:
            _send_within(channel, data, seconds)
    except TimeoutError:
        raise ProtocolTimeout("the other side doesn't read") from None
    except OSError:
        raise ConnectionClosed("the other side is gone") from None


def _send_within(channel: socket.socket, data: bytes, seconds: float) -> None:
    sent = 0
    with contextlib.suppress(BlockingIOError):
        sent = channel.send(data, socket.MSG_DONTWAIT)
    if sent < len(data):
        channel.settimeout(seconds)
        try:
            channel.sendall(memoryview(data)[sent:])
        finally:
            channel.settimeout(None)


def receive(channel: socket.socket, seconds: float | None = None, max_bytes: int = MAX_FRAME) -> WireValue:
    """Receive one frame. Memory grows with the bytes that arrive, not with the announced length.

    Args:
        seconds: The time limit; None waits until the other side hangs up.
        max_bytes: The number of bytes allowed.

    Raises:
        ConnectionClosed: If the other side is gone.
        ProtocolTimeout: If the frame isn't complete within the time limit.
        ProtocolError: If it isn't a message, or has too many bytes.
    """
    return decode_message(receive_bytes(channel, seconds, max_bytes))


def receive_bytes(
    channel: socket.socket, seconds: float | None = None, max_bytes: int = MAX_FRAME
) -> bytes | bytearray:
    """Receive one frame like receive(), undecoded. It tries to read before it polls.

    Args:
        seconds: The time limit; None waits until the other side hangs up.
        max_bytes: The number of bytes allowed.
    """
    deadline = None if seconds is None else time.monotonic() + seconds
    (length,) = HEADER.unpack(_receive_exactly(channel, HEADER.size, deadline))
    if length > min(max_bytes, MAX_FRAME):
        raise ProtocolError(f"a message of {length} bytes was announced: at most {max_bytes} are allowed")
    return _receive_exactly(channel, length, deadline)


def wait_readable(channel: socket.socket, seconds: float) -> bool:
    poller = select.poll()  # select() knows no descriptor above 1023
    poller.register(channel, select.POLLIN)
    return bool(poller.poll(max(seconds, 0) * 1000))


def _receive_exactly(channel: socket.socket, count: int, deadline: float | None) -> bytes | bytearray:
    """Receive `count` bytes. The deadline is a time.monotonic(); None waits until the other side hangs up."""
    chunks = bytearray()
    flags = 0 if deadline is None else socket.MSG_DONTWAIT
    must_poll = deadline is not None and channel.gettimeout() is not None  # with a timeout, Python itself would wait
    while len(chunks) < count:
        if must_poll and deadline is not None and not wait_readable(channel, deadline - time.monotonic()):
            raise ProtocolTimeout("no answer in time")
        try:
            chunk = channel.recv(min(count - len(chunks), 1 << 20), flags)
        except OSError as error:
            if flags and isinstance(error, BlockingIOError):
                must_poll = True
                continue
            chunk = b""
        if not chunk:
            raise ConnectionClosed("the other side is gone")
        if len(chunk) == count:
            return chunk
        chunks += chunk
    return chunks
