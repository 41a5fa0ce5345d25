"""Values that are small on the wire and endless to process are refused."""

import itertools
from typing import Any

import numpy as np
import pytest
import torch

from autograder.rpc.frames import ProtocolError
from autograder.rpc.value_exchange import ValueExchange


def send(value: Any) -> Any:
    return ValueExchange().unpack(ValueExchange().pack(value))


def test_a_tensor_that_is_its_own_gradient_is_refused() -> None:
    """Nothing would free it: Python's collector doesn't know autograd's references."""
    a, b = torch.zeros(3), torch.zeros(3)
    a.grad, b.grad = b, a
    with pytest.raises(ProtocolError, match="its own gradient"):
        ValueExchange().unpack(ValueExchange().pack(a))


def test_a_type_of_torchs_that_is_no_record_is_refused() -> None:
    with pytest.raises(ProtocolError):
        ValueExchange().unpack([[], ["torch record", "__doc__", 1]])


def make_doubled(levels: int) -> Any:
    value: list[Any] = [1]
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        make_doubled(30),
        {"a": make_doubled(25), "b": make_doubled(25)},
        (make_doubled(19),) * 3,
        [torch.zeros(1).expand(2**24)] * 100,
        [np.broadcast_to(np.zeros(1), 2**24)] * 100,
        range(2**40),
    ],
    ids=["lists", "in a dict", "in a tuple", "expanded tensors", "broadcast arrays", "a range"],
)
def test_a_bomb_is_refused(value: Any) -> None:
    message = ValueExchange().pack(value)
    with pytest.raises(ProtocolError, match=r"items|numbers"):
        ValueExchange().unpack(message)


def find_pairs_of_one_hash(count: int) -> list[tuple[int, int]]:
    """Solved for the last item: CPython's hash of a tuple can be inverted."""
    first, second, fifth, mask = 11400714785074694791, 14029467366897019727, 2870177450012600261, 2**64 - 1
    inverse, pairs, target = pow(second, -1, 2**64), list[tuple[int, int]](), None
    for number in itertools.count():
        mixed = (fifth + number * second) & mask
        step = ((mixed << 31 | mixed >> 33) & mask) * first & mask
        target = (step + second) & mask if target is None else target
        last = (target - step) * inverse & mask
        last -= 2**64 if last >= 2**63 else 0
        if abs(last) < 2**61 - 1 and last != -1:
            pairs.append((number, last))
        if len(pairs) == count:
            return pairs
    raise AssertionError


@pytest.mark.parametrize(
    "values",
    [
        find_pairs_of_one_hash(2000),
        [complex(-1000003.0 * k, k) for k in range(2000)],
        [k * (2**61 - 1) for k in range(2, 2002)],
        [np.complex128(complex(-1000003.0 * k, k)) for k in range(2000)],
        [(pair,) for pair in find_pairs_of_one_hash(2000)],
    ],
    ids=["pairs", "complex", "large", "numpy", "nested"],
)
def test_a_list_of_many_values_with_one_hash_is_refused(values: list[Any]) -> None:
    """A set of them takes hours in one C function."""
    with pytest.raises(ProtocolError, match="of one hash"):
        send(values)


def test_many_equal_values_and_many_others_are_kept() -> None:
    numbers = [(0, 0)] * 5000 + [(n, n) for n in range(5000)] + [complex(n, 1) for n in range(2000)] + [2**70] * 2000
    assert send(numbers) == numbers


def test_values_that_are_only_shared_are_kept() -> None:
    shared = make_doubled(10)
    got = ValueExchange().unpack(ValueExchange().pack(shared))
    assert got == shared
    assert got[0] is got[1]


def test_a_list_that_holds_itself_is_kept() -> None:
    value: list[Any] = [1]
    value.append(value)
    got = ValueExchange().unpack(ValueExchange().pack(value))
    assert got[1] is got


def test_an_argument_returned_many_times_counts_each_time() -> None:
    examiner, student = ValueExchange(), ValueExchange()
    (big,) = student.unpack(examiner.pack((torch.zeros(2**22),)))
    examiner.unpack(student.pack([big] * 10))
    with pytest.raises(ProtocolError):
        examiner.unpack(student.pack([big] * 100))


@pytest.mark.parametrize("make", [set, lambda keys: dict.fromkeys(keys), frozenset], ids=["set", "dict", "frozenset"])
def test_keys_that_collide_are_refused(make: Any) -> None:
    prime = 2**61 - 1  # Python's hash of an integer is its remainder by this
    colliding = [(prime << 200) + k * prime for k in range(2_000)]
    tuples = [(1, k) for k in range(2_000)]
    for keys in (colliding, tuples):
        message = ValueExchange().pack(make(keys))
        with pytest.raises(ProtocolError, match=r"keys|frozenset|one hash"):
            ValueExchange().unpack(message)
    plain = make([*range(900), "a", None, 1.5, (1, 2)])
    assert ValueExchange().unpack(ValueExchange().pack(plain)) == plain
