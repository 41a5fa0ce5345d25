"""Values arrive as sent, and return as the same objects; malformed ones are refused."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.rpc import blocks
from autograder.rpc.frames import ProtocolError, decode_message, encode_message
from autograder.rpc.tensors import DTYPES
from autograder.rpc.value_exchange import ValueExchange
from tests.conftest import NIGHTLY
from tests.examiner.observe import list_differences, observe
from tests.rpc.damage import assert_memory_limit

DTYPE = st.sampled_from(sorted(DTYPES))
SIMPLE = st.none() | st.booleans() | st.integers() | st.floats() | st.complex_numbers() | st.text() | st.binary()
KEYS = st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3)


def send(value: Any, sender: ValueExchange | None = None, receiver: ValueExchange | None = None) -> Any:
    return (receiver or ValueExchange()).unpack(decode_message(encode_message((sender or ValueExchange()).pack(value))))


@st.composite
def draw_tensors(draw: Any) -> torch.Tensor:
    """A view with random geometry over random bytes."""
    dtype = DTYPES[draw(DTYPE)]
    memory = draw(st.binary(min_size=64, max_size=64))
    source = torch.frombuffer(bytearray(memory), dtype=torch.uint8)
    if dtype is torch.bool:
        source = source % 2
    base = torch.empty(0, dtype=dtype).set_(source.untyped_storage(), 0, (64 // dtype.itemsize,), (1,)).data
    size = draw(st.lists(st.integers(0, 3), max_size=3))
    stride = draw(st.lists(st.integers(0, 3), min_size=len(size), max_size=len(size)))
    reach = sum((n - 1) * s for n, s in zip(size, stride, strict=True)) if 0 not in size else 0
    offset = draw(st.integers(0, 3))
    if reach + offset >= base.numel():
        return base
    t = base.as_strided(size, stride, offset)
    if dtype.is_complex and draw(st.booleans()):
        t = t.conj()
    return t


@st.composite
def draw_arrays(draw: Any) -> np.ndarray:
    dtype = np.dtype(draw(st.sampled_from(["<f4", ">f8", "<i2", ">u4", "|b1", "<c8", "|u1", "<f2"])))
    a = np.frombuffer(bytearray(draw(st.binary(min_size=192, max_size=192))), np.uint8)
    a = (a % 2 if dtype.kind == "b" else a).view(dtype)[:12].reshape(3, 4)
    for _ in range(draw(st.integers(0, 3))):
        a = draw(st.sampled_from([a.T, a[::-1], a[..., ::2], a[:1], a[:0], a.copy(), np.asfortranarray(a)]))
    return a


VALUES = st.recursive(
    SIMPLE | draw_tensors() | draw_arrays(),
    lambda inner: st.lists(inner, max_size=4) | st.tuples(inner, inner) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=2_000 if NIGHTLY else 300)
@given(VALUES)
def test_nested_values_arrive_as_they_are(value: Any) -> None:
    assert list(list_differences(observe(send(value)), observe(value))) == []


@given(VALUES)
def test_values_return_as_the_same_objects(value: Any) -> None:
    examiner, student = ValueExchange(), ValueExchange()
    message = examiner.pack([value, [value]])
    reply = student.pack(student.unpack(message))
    assert observe(examiner.unpack(reply)) == observe([value, [value]])


@settings(max_examples=5_000 if NIGHTLY else 500)
@given(
    DTYPE,
    st.integers(-2, 40) | st.sampled_from([2**31, 2**39, 2**62]),
    st.lists(st.integers(-1, 40) | st.sampled_from([2**20, 2**31, 2**39]), max_size=4),
    st.lists(st.integers(-2, 40) | st.sampled_from([2**20, 2**31, 2**39]), max_size=4),
    st.integers(-1, 200),
)
def test_no_tensor_reaches_beyond_its_block(
    dtype: str, offset: int, size: list[int], stride: list[int], bits: int
) -> None:
    message = [[[64, "cpu", bytes(64)]], ["tensor", 0, None, dtype, offset, size, stride, bits, 0, None]]
    itemsize = DTYPES[dtype].itemsize
    try:
        t = ValueExchange().unpack(message)
    except ProtocolError:
        return
    assert list(t.shape) == size
    assert t.untyped_storage().nbytes() == 64
    if t.numel():
        last = offset + sum((n - 1) * s for n, s in zip(size, stride, strict=True))
        assert offset >= 0
        assert min(stride, default=0) >= 0
        assert (last + 1) * itemsize <= 64
        assert t.numel() * itemsize <= blocks.MAX_BLOCK


@settings(max_examples=5_000 if NIGHTLY else 500)
@given(
    st.sampled_from(["<f4", ">f8", "|u1", "<c16", "O", "V8", "<U9", "f4,f4", ""]),
    st.integers(-70, 70) | st.sampled_from([2**31, 2**62]),
    st.lists(st.integers(-1, 20) | st.sampled_from([2**20, 2**40]), max_size=3),
    st.lists(st.integers(-70, 70) | st.sampled_from([2**40, -(2**62)]), max_size=3),
    st.booleans(),
)
def test_no_array_reaches_beyond_its_block(
    dtype: str, offset: int, shape: list[int], strides: list[int], owns: bool
) -> None:
    message = [[[64, "cpu", bytes(64)]], ["array", 0, dtype, offset, shape, strides, True, owns]]
    exchange = ValueExchange()
    try:
        a = exchange.unpack(message)
    except ProtocolError:
        return
    begin = exchange.blocks[0].address
    steps = [(n - 1) * s for n, s in zip(a.shape, a.strides, strict=True)]
    if a.size:
        assert begin <= a.ctypes.data + sum(s for s in steps if s < 0)
        assert a.ctypes.data + sum(s for s in steps if s > 0) + a.itemsize <= begin + 64
        assert math.prod(a.shape) * a.itemsize <= blocks.MAX_BLOCK


def test_a_number_that_grows_with_the_first_operation_is_refused() -> None:
    message = [[[4, "cpu", bytes(4)]], ["tensor", 0, None, "float32", 0, [2**30], [0], 0, 0, None]]
    with assert_memory_limit(), pytest.raises(ProtocolError, match="elements"):
        ValueExchange().unpack(message)


def test_read_only_memory_is_never_written() -> None:
    """The other side may not change objects that Python treats as constant."""
    content = b"constant"
    exchange = ValueExchange()
    exchange.pack(np.frombuffer(content, np.uint8))
    with pytest.raises(ProtocolError, match="read-only"):
        exchange.write_blocks([[0, b"changed!"]], 1)
    assert content == b"constant"


def test_only_what_was_sent_can_be_written() -> None:
    exchange = ValueExchange()
    exchange.pack(torch.zeros(2))
    for changes in ([[1, bytes(8)]], [[-1, bytes(8)]], [[0, bytes(7)]], [[0, 5]], [0], 7, [[0]], [[True, bytes(8)]]):
        with pytest.raises(ProtocolError):
            exchange.write_blocks(changes, 1)


def test_a_record_runs_nothing() -> None:
    for fields in (["x=__import__('os')"], ["_private"], ["class"], ["a", "a"], [1], ["x"] * 300):
        with pytest.raises(ProtocolError):
            ValueExchange().unpack([[], ["record", "m.Point", fields, *range(len(fields))]])


@pytest.mark.parametrize(
    "name",
    [
        "",
        *"torch.load torch.hub builtins.eval builtins.__import__ os.system torch._C torch.set_default_dtype torch.Tensor.__class__".split(),
    ],
)
def test_names_reach_only_harmless_objects(name: str) -> None:
    from autograder.rpc import allowed_names

    with pytest.raises(ProtocolError):
        ValueExchange(get_named=allowed_names.get_named).unpack([[], ["named", name]])


def test_an_object_that_is_no_value_is_not_packed() -> None:
    for value in (
        object(),
        torch.ones(2).to_sparse(),
        np.array([object()]),
        np.zeros(1, "U3"),
        torch.empty(2, device="meta"),
    ):
        with pytest.raises(ProtocolError):
            ValueExchange().pack([value])


def test_values_nested_too_deep_are_refused_on_both_sides() -> None:
    value: Any = 1
    for _ in range(500):
        value = (value,)
    with pytest.raises(ProtocolError):
        ValueExchange().pack(value)
    message: Any = 1
    for _ in range(500):
        message = ["tuple", message]
    with pytest.raises(ProtocolError):
        ValueExchange().unpack([[], message])


def test_a_value_that_did_not_pass_has_no_number() -> None:
    """Otherwise all later numbers would mean other objects on the other side."""
    examiner, student = ValueExchange(), ValueExchange()
    t = torch.ones(2)
    with pytest.raises(ProtocolError):
        examiner.pack([t, object()])
    (got,) = student.unpack(examiner.pack((t,)))
    assert got.tolist() == [1, 1]
    assert examiner.unpack(student.pack(got)) is t


def test_only_the_used_part_of_a_storage_arrives() -> None:
    exchange = ValueExchange()
    a, b = exchange.unpack(ValueExchange().pack((torch.ones(4), torch.arange(6.0)[2:4])))
    assert a.untyped_storage().nbytes() == 16
    assert b.tolist() == [2, 3]
    assert b.untyped_storage().nbytes() == 24
    assert a._version == b._version == 0
    assert exchange.read_changed_blocks(2) == []
    a[0] = 5
    assert len(exchange.read_changed_blocks(2)) == 1
