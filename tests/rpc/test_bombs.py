"""What is small on the wire and endless to work with is refused."""

from typing import Any

import numpy as np
import pytest
import torch

from autograder.rpc.exchange import Exchange
from autograder.rpc.frames import ProtocolError


def test_a_tensor_that_is_its_own_gradient_is_refused() -> None:
    """Nothing would free it: autograd's references are no part of what Python collects."""
    a, b = torch.zeros(3), torch.zeros(3)
    a.grad, b.grad = b, a
    with pytest.raises(ProtocolError, match="its own gradient"):
        Exchange().unpack(Exchange().pack(a))


def test_a_type_of_torchs_that_is_no_record_is_refused() -> None:
    with pytest.raises(ProtocolError):
        Exchange().unpack([[], ["torch record", "__doc__", 1]])


def doubled(levels: int) -> Any:
    value: list[Any] = [1]
    for _ in range(levels):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        doubled(30),
        {"a": doubled(25), "b": doubled(25)},
        (doubled(19),) * 3,
        [torch.zeros(1).expand(2**24)] * 100,
        [np.broadcast_to(np.zeros(1), 2**24)] * 100,
        range(2**40),
    ],
    ids=["lists", "in a dict", "in a tuple", "expanded tensors", "broadcast arrays", "a range"],
)
def test_a_bomb_is_refused(value: Any) -> None:
    message = Exchange().pack(value)
    with pytest.raises(ProtocolError, match=r"items|numbers"):
        Exchange().unpack(message)


def test_what_is_only_shared_is_kept() -> None:
    shared = doubled(10)
    got = Exchange().unpack(Exchange().pack(shared))
    assert got == shared
    assert got[0] is got[1]


def test_a_list_that_holds_itself_is_kept() -> None:
    value: list[Any] = [1]
    value.append(value)
    got = Exchange().unpack(Exchange().pack(value))
    assert got[1] is got


def test_an_argument_handed_back_many_times_counts_each_time() -> None:
    ours, theirs = Exchange(), Exchange()
    (big,) = theirs.unpack(ours.pack((torch.zeros(2**22),)))
    ours.unpack(theirs.pack([big] * 10))
    with pytest.raises(ProtocolError):
        ours.unpack(theirs.pack([big] * 100))


@pytest.mark.parametrize("make", [set, lambda keys: dict.fromkeys(keys), frozenset], ids=["set", "dict", "frozenset"])
def test_keys_that_collide_are_refused(make: Any) -> None:
    prime = 2**61 - 1  # Python's hash of an integer is its remainder by this
    colliding = [(prime << 200) + k * prime for k in range(2_000)]
    tuples = [(1, k) for k in range(2_000)]
    for keys in (colliding, tuples):
        message = Exchange().pack(make(keys))
        with pytest.raises(ProtocolError, match=r"keys|frozenset"):
            Exchange().unpack(message)
    plain = make([*range(900), "a", None, 1.5, (1, 2)])
    assert Exchange().unpack(Exchange().pack(plain)) == plain
