"""Text and bytes of a student process are compared and passed on like any others, and never shown."""

import collections

import pytest
import torch

from autograder.rpc import values
from autograder.rpc.masked_text import MaskedBytes, MaskedText
from labkit.check import check, record_outcomes
from labkit.comparison import Mismatch, assert_close
from labkit.value_text import describe_value
from tests.examiner.world import open_world

SECRET = "what the hidden check passed in"


def test_masked_text_is_equal_and_returns_as_it_was_sent() -> None:
    with open_world(f=lambda: {SECRET: [SECRET]}, g=lambda x: type(x).__name__ + x) as world:
        got = world.get_proxy("f")()
        assert got == {SECRET: [SECRET]}
        assert got[SECRET][0] == SECRET
        assert hash(got[SECRET][0]) == hash(SECRET)
        assert world.get_proxy("g")(got[SECRET][0]) == "str" + SECRET


@pytest.mark.parametrize("show", [str, repr, lambda t: f"{t}", lambda t: f"{t!r:>60}", lambda t: f"{[t]}", "{}".format])
def test_showing_masked_text_gives_its_length(show) -> None:  # type: ignore[no-untyped-def]
    assert SECRET not in show(MaskedText(SECRET)) and f"a text of {len(SECRET)} characters" in show(MaskedText(SECRET))


@pytest.mark.parametrize("show", [str, repr, lambda t: f"{t}", lambda t: f"{t!r:>60}", lambda t: f"{[t]}", "{}".format])
def test_showing_bytes_gives_their_length(show) -> None:  # type: ignore[no-untyped-def]
    data = MaskedBytes(SECRET.encode())
    assert SECRET not in show(data) and f"bytes of length {len(SECRET)}" in show(data)


def write_in_many_ways(got: object) -> str:
    """Messages of checks about a result, with every way to take or change parts of a text."""
    parts = [sorted(map(str, got)), [*got], f"{got}"]  # type: ignore[call-overload]
    if isinstance(got, str | bytes):
        parts += [got[:4], got[0], got.upper(), got.split(), got.partition(got[4:5] or got), got * 2, got + got]
    if isinstance(got, str):
        parts += ["you gave " + got, got.encode(), sorted(got)]
    if isinstance(got, bytes):
        parts += [got.decode(), got.hex()]
    return f"{parts} {parts[-1]!s}"


@pytest.mark.parametrize("result", [SECRET, SECRET.encode(), [SECRET], {SECRET.encode(): 1}, (1, SECRET.encode())])
def test_no_message_that_a_check_writes_holds_a_letter_of_it(result: object) -> None:
    with open_world(f=lambda: result) as world:
        messages = write_in_many_ways(world.get_proxy("f")()).lower()
    assert not any(part in messages for part in ("what", "'w'", "hidden", "passed", SECRET.encode().hex()[:6]))


@pytest.mark.parametrize("result", [SECRET, [SECRET], {SECRET: 1}, {"a": SECRET}, (1, SECRET), {SECRET}])
def test_no_message_of_a_comparison_holds_it(result: object) -> None:
    for want in (3, "x", [1, 2], {"a": 1}, torch.ones(2), 2.5, None):
        with open_world(f=lambda: result) as world, pytest.raises(Mismatch) as error_info:
            assert_close(world.get_proxy("f")(), want)
        assert SECRET not in error_info.value.seen + error_info.value.expected + str(error_info.value)


def test_an_assert_of_a_check_can_say_something_about_it() -> None:
    with open_world(f=lambda: [SECRET]) as world, record_outcomes() as outcomes:
        got = world.get_proxy("f")()
        with check("a list of one"):
            assert got == ["x"], f"you gave {sorted(map(str, got))}"
    assert outcomes[0].seen.startswith("you gave ['a text of") and SECRET not in outcomes[0].seen


def test_a_message_that_names_its_type_names_the_one_the_student_knows() -> None:
    for result in (SECRET, SECRET.encode()):
        with open_world(f=lambda result=result: result) as world:
            assert type(world.get_proxy("f")()).__name__ == type(result).__name__


def test_bytes_are_equal_and_return_as_they_were_sent() -> None:
    data = SECRET.encode()
    with open_world(f=lambda: {data: [data]}, g=lambda x: type(x).__name__ + x.decode()) as world:
        got = world.get_proxy("f")()
        assert got == {data: [data]} and got[data][0].decode() == SECRET
        assert world.get_proxy("g")(got[data][0]) == "bytes" + SECRET


def _make_connection(reply: object) -> object:
    class Line:
        def ask(self, request: object, callbacks: object) -> object:
            return reply

    return Line()


@pytest.mark.parametrize(
    "reply",
    [[SECRET], [None, [SECRET, 1], None, [], [], [], []], [None, [[], ["named", SECRET]], None, [], [], [], []]],
)
def test_an_invalid_reply_is_not_quoted(reply: object) -> None:
    from autograder.examiner.remote_namespace import RemoteNamespace
    from autograder.examiner.stopped_error import StoppedError

    with pytest.raises(StoppedError) as error_info:
        RemoteNamespace(_make_connection(reply), {}).get_proxy("f")()
    assert str(error_info.value) == "the Python process sent a reply that can't be read"


# A name has a hundred letters: quoting it in a message could reveal a hidden check's input.
STUDENTS_TUPLE = collections.namedtuple("A" + "\u4e00" * 90, ["B" * 90])(1)


def test_a_named_tuple_of_a_student_loses_its_name_and_those_of_its_fields() -> None:
    stripped = values.strip_names(STUDENTS_TUPLE)
    assert stripped == STUDENTS_TUPLE
    assert type(stripped).__name__ == "Record"
    assert type(stripped)._fields == ("field0",)


def test_a_named_tuple_that_claims_to_be_one_of_torch_loses_its_name() -> None:
    claiming = values.unpack("record", ["torch.return_types.max" + "B" * 90, ["values"], 1], lambda part: part)
    assert repr(values.strip_names(claiming)) == "Record(field0=1)"


def test_torchs_own_named_tuples_keep_their_names() -> None:
    largest = torch.max(torch.ones(1, 1), 0)
    assert type(values.strip_names(largest)).__name__ == "max"


def test_a_named_tuple_that_a_check_sent_keeps_its_names() -> None:
    checks_tuple = collections.namedtuple("Batch", "x")(1)
    values.pack_tuple(checks_tuple, lambda part: part)
    assert repr(values.strip_names(checks_tuple)) == "Batch(x=1)"


@pytest.mark.parametrize(
    "value",
    [
        values.strip_names(STUDENTS_TUPLE),
        STUDENTS_TUPLE,
        [STUDENTS_TUPLE],
        {"a": STUDENTS_TUPLE},
        [b"letters"],
        type("B" * 30, (), {})(),
    ],
    ids=["stripped", "tuple", "list", "dict", "bytes", "object"],
)
def test_the_description_of_a_value_quotes_no_name_and_no_bytes(value: object) -> None:
    description = describe_value(value)
    assert not set(description) & {"\u4e00", "B"}
    assert "letters" not in description


def test_numbers_are_described_by_their_values() -> None:
    assert describe_value([1, 2.5, None, True]) == "[1, 2.5, None, True]"
