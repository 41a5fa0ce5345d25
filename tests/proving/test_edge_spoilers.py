"""The reference is made wrong at one edge, whatever it returns there."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from autograder.proving.edge_spoilers import digest_arguments, spoil_edge

Function = Callable[[Any], Any]


def divide(x: int) -> float:
    return 1 / x


@pytest.mark.parametrize(
    "function",
    [
        lambda x: 2.0,
        lambda x: torch.tensor([2.0, -1.0, float("nan"), float("inf")]),
        lambda x: torch.empty(0, 3),
        lambda x: torch.tensor([True, False]),
        lambda x: np.array([1, 2]),
        lambda x: (),
        lambda x: {},
        lambda x: torch.device("cpu"),
        lambda x: torch.float32,
        lambda x: "name",
        divide,
    ],
    ids=["2", "numbers", "no numbers", "booleans", "array", "tuple", "dict", "device", "dtype", "text", "an exception"],
)
def test_the_result_of_the_reference_at_an_edge_is_spoiled(function: Function) -> None:
    spoiled, changed = spoil_edge({digest_arguments((0,))}, function, (0,), {})
    assert changed
    try:
        right = function(0)
    except ZeroDivisionError:
        assert spoiled is None
        return
    if isinstance(right, torch.Tensor):
        assert spoiled.shape != right.shape or not torch.isclose(spoiled, right).any()
    else:
        assert not np.array_equal(spoiled, right)


def test_an_argument_that_is_returned_is_changed_in_place() -> None:
    x = torch.tensor([2.0])
    assert spoil_edge({digest_arguments((x,))}, lambda x: x, (x,), {})[0] is x
    assert x.item() == 5


def test_other_calls_are_as_the_references() -> None:
    assert spoil_edge({digest_arguments((0,))}, divide, (2,), {}) == (0.5, False)
    with pytest.raises(ZeroDivisionError):
        spoil_edge({digest_arguments((2,))}, divide, (0,), {})
