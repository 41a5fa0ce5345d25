"""Checks of what was received: each returns the value with its type, or raises ProtocolError."""

from __future__ import annotations

from autograder.rpc.frames import ProtocolError, WireValue


def check_length(received: WireValue, length: int) -> list[WireValue]:
    """Return the value if it is a list of this length."""
    if not isinstance(received, list) or len(received) != length:
        raise ProtocolError("a list of another length")
    return received


def check_list(received: WireValue) -> list[WireValue]:
    """Return the value if it is a list."""
    if not isinstance(received, list):
        raise ProtocolError("not a list")
    return received


def check_number(received: WireValue, below: int = 2**62) -> int:
    """Return the value if it is an integer from 0 to below - 1."""
    if type(received) is not int or not 0 <= received < below:
        raise ProtocolError("a number out of range")
    return received


def check_numbers(received: WireValue, below: int) -> list[int]:
    """Return the values if they are distinct integers from 0 to below - 1."""
    numbers = [check_number(number, below) for number in check_list(received)]
    if len(set(numbers)) != len(numbers):
        raise ProtocolError("a repeated number")
    return numbers


def check_int(received: WireValue) -> int:
    """Return the value if it is an integer, of either sign."""
    if not isinstance(received, int):
        raise ProtocolError("not an integer")
    return received


def check_float(received: WireValue) -> float:
    """Return the value if it is a number."""
    if not isinstance(received, int | float):
        raise ProtocolError("not a number")
    return received


def check_text(received: WireValue) -> str:
    """Return the value if it is text."""
    if not isinstance(received, str):
        raise ProtocolError("not a text")
    return received


def check_bytes(received: WireValue) -> bytes:
    """Return the value if it is bytes."""
    if not isinstance(received, bytes):
        raise ProtocolError("not bytes")
    return received
