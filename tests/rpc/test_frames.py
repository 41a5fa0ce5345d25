"""A frame arrives as sent, or not at all: whatever bytes arrive, a receiver gets a value or a ProtocolError."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.rpc import frames
from autograder.rpc.frames import (
    HEADER,
    ConnectionClosed,
    ProtocolError,
    ProtocolTimeout,
    decode_message,
    encode_message,
    receive,
    send,
)
from tests.conftest import NIGHTLY
from tests.rpc.damage import assert_memory_limit

SIMPLE = st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text() | st.binary()
PLAIN = st.recursive(SIMPLE, lambda inner: st.lists(inner, max_size=5), max_leaves=30)
Ends = tuple[socket.socket, socket.socket]


@pytest.fixture
def channel_ends() -> Iterator[Ends]:
    a, b = socket.socketpair()
    with a, b:
        yield a, b


@given(PLAIN)
def test_a_value_arrives_as_it_was_sent(value: Any) -> None:
    a, b = socket.socketpair()
    with a, b:
        send(a, value)
        assert repr(receive(b, 5)) == repr(value)


def test_large_bytes_arrive_in_pieces(channel_ends: Ends) -> None:
    a, b = channel_ends
    value = [bytes(3_000_000), "end"]
    sender = threading.Thread(target=send, args=(a, value))
    sender.start()
    assert receive(b, 20) == value
    sender.join()


@settings(max_examples=20_000 if NIGHTLY else 1_000)
@given(st.binary(max_size=200))
def test_random_bytes_are_a_value_or_refused(data: bytes) -> None:
    with contextlib.suppress(ProtocolError):
        decode_message(data)


@given(PLAIN, st.integers(0, 1000))
def test_a_cut_frame_is_a_closed_connection(value: Any, at: int) -> None:
    frame = encode_message(value)
    frame = HEADER.pack(len(frame)) + frame
    a, b = socket.socketpair()
    with a, b:
        a.sendall(frame[: min(at, len(frame) - 1)])
        a.close()
        with pytest.raises(ConnectionClosed):
            receive(b, 5)


@pytest.mark.parametrize("length", [frames.MAX_FRAME + 1, 2**40, 2**64 - 1])
def test_a_huge_announced_length_is_refused_at_once(channel_ends: Ends, length: int) -> None:
    a, b = channel_ends
    a.sendall(HEADER.pack(length))
    with pytest.raises(ProtocolError, match="was announced"):
        receive(b, 5)


def test_an_announced_length_costs_no_memory_before_its_bytes_arrive(channel_ends: Ends) -> None:
    a, b = channel_ends
    a.sendall(HEADER.pack(frames.MAX_FRAME) + b"x")
    with assert_memory_limit(), pytest.raises(ProtocolTimeout):
        receive(b, 0.05)


def test_silence_ends_in_time(channel_ends: Ends) -> None:
    _, b = channel_ends
    with pytest.raises(ProtocolTimeout):
        receive(b, 0.05)


def test_a_slow_sender_does_not_get_more_time(channel_ends: Ends) -> None:
    a, b = channel_ends

    def drip() -> None:
        with contextlib.suppress(OSError):
            a.sendall(HEADER.pack(frames.MAX_FRAME))
            while True:
                a.sendall(b"x")
                time.sleep(0.02)

    threading.Thread(target=drip, daemon=True).start()
    with pytest.raises(ProtocolTimeout):
        receive(b, 0.2)


def test_a_receiver_that_is_gone_or_does_not_read_is_reported(channel_ends: Ends) -> None:
    a, b = channel_ends
    a.settimeout(0.05)
    with pytest.raises(ProtocolTimeout):
        send(a, bytes(10_000_000))
    b.close()
    with pytest.raises(ConnectionClosed):
        send(a, 1)


def test_an_object_that_is_no_value_is_not_sent(channel_ends: Ends) -> None:
    for value in (object(), {1: 2}.keys(), 2**64, -(2**70)):
        with pytest.raises(ProtocolError):
            send(channel_ends[0], value)


@pytest.mark.parametrize(
    "data",
    [
        b"\xdd\x00\x01\xff\xff" * 2000,  # lists in lists, each announcing a hundred thousand items
        b"\x91" * 100_000,
        b"\x90" * 3_000_000,
        b"\xdc\xff\xff" + b"\x90" * 65535,
        b"\x9f" + (b"\xdd\x00\x01\xff\xff" + b"\x90" * 131071) * 15,  # two million empty lists
        b"\xc6\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\x81\x01\x02",
        b"\xc7\x01\x05a",
        b"\xd9\x02\xff\xff",
        b"",
    ],
    ids=lambda data: f"{data[:6]!r} {len(data)}",
)
def test_messages_made_to_grow_are_refused(data: bytes) -> None:
    with assert_memory_limit():
        start = time.process_time()
        with contextlib.suppress(ProtocolError):
            assert decode_message(data) is not None
        assert time.process_time() - start < 5
