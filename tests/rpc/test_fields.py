"""What was received is used only after a check of its type and range."""

from collections.abc import Callable
from typing import Any

import pytest

from autograder.rpc import fields
from autograder.rpc.frames import ProtocolError, WireValue


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (fields.check_list, [1, "a", None]),
        (fields.check_number, 0),
        (fields.check_number, 2**62 - 1),
        (fields.check_int, -3),
        (fields.check_float, 0.5),
        (fields.check_float, 1),
        (fields.check_text, "a"),
        (fields.check_bytes, b"a"),
        (lambda value: fields.check_length(value, 2), [1, [2]]),
        (lambda value: fields.check_numbers(value, 3), [2, 0]),
    ],
)
def test_a_value_of_its_type_is_returned(check: Callable[[WireValue], Any], value: WireValue) -> None:
    assert check(value) == value


@pytest.mark.parametrize(
    ("check", "values"),
    [
        (fields.check_list, [None, "ab", b"ab", 1]),
        (fields.check_number, [None, True, -1, 2**62, 1.0, "1", [1]]),
        (fields.check_int, [None, 1.0, "1", [1]]),
        (fields.check_float, [None, "1", [1.0]]),
        (fields.check_text, [None, b"a", ["a"], 1]),
        (fields.check_bytes, [None, "a", [1], 1]),
        (lambda value: fields.check_length(value, 2), [None, "ab", b"ab", [1], [1, 2, 3]]),
        (lambda value: fields.check_numbers(value, 3), [None, "12", 1, [1, 1], [3], [True], [[1]]]),
    ],
)
def test_a_value_of_a_wrong_type_is_a_protocol_error(
    check: Callable[[WireValue], Any], values: list[WireValue]
) -> None:
    for value in values:
        with pytest.raises(ProtocolError):
            check(value)
