"""A comparison describes the student's value, and keeps the expected one separate."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from labkit.comparison import TOLERANCES, Mismatch, assert_close
from labkit.value_text import describe_value

T = torch.tensor


def get_mismatch(got: Any, want: Any, **options: Any) -> Mismatch:
    with pytest.raises(Mismatch) as caught:
        assert_close(got, want, **options)
    return caught.value


@pytest.mark.parametrize(
    ("got", "want", "seen", "expected"),
    [
        (None, T(1.0), "your result is None", "a tensor of shape (), float32"),
        (T([1.0, 2.0]), T([[1.0, 2.0]]), "your result has shape (2,)", "shape (1, 2)"),
        (T([1.0], dtype=torch.float64), T([1.0]), "your result has dtype float64", "dtype float32"),
        (T([[1, 2], [3, 9]]), T([[1, 2], [3, 4]]), "your result is 9 at index (1, 1); 1 of 4 values differ", "4 at index (1, 1)"),
        (T(2.5), T(2.0), "your result is 2.5", "2"),
        (1, 2, "your result is 1", "2"),
        (True, 1, "your result is True", "1"),
        (T(1), 1, "your result is a tensor of shape (), int64", "1"),
        ("a", "b", "your result is 'a'", "'b'"),
        ([1], [1, 2], "your result has 1 item", "2 items"),
        ({"a": 1}, {"a": 2}, "your result['a'] is 1", "2"),
        ({"a": 1}, {"b": 1}, "your result has 0 of 1 expected key and 1 other", "the keys 'b'"),
        ({"conv1.0.weight": 1}, {"conv1.0.weight": 2}, "your result['conv1.0.weight'] is 1", "2"),
        ({3: 1, "a secret": 1}, {3: 1, "a secret": 2}, "your result[key 2] is 1", "2"),
        (T(1.0), {"b": 1}, "your result is a tensor of shape (), float32", "a dict"),
        (np.zeros(2, np.float32), np.zeros(2), "your result has dtype float32", "dtype float64"),
        (T([1.0]), np.zeros(1), "your result is a tensor of shape (1,), float32", "a NumPy array of shape (1,)"),
        (0.5, 0.25, "your result is 0.5", "0.25"),
        (T([math.nan]), T([0.0]), "your result is nan at index (0,)", "0 at index (0,)"),
        (torch.float32, torch.float64, "your result is torch.float32", "torch.float64"),
    ],
)  # fmt: skip
def test_a_mismatch_describes_the_result_and_the_expected_value(got: Any, want: Any, seen: str, expected: str) -> None:
    error = get_mismatch(got, want)
    assert (error.seen, error.expected) == (seen, expected)


@pytest.mark.parametrize(
    ("got", "want"),
    [
        (T([math.nan, 1.0]), T([math.nan, 1.0])),
        (T([1.0, 2.0])[::1].flip(0), T([2.0, 1.0])),
        ((1, [T(1.0)]), [1, (T(1.0),)]),
        (1, 1.0),
        (math.nan, math.nan),
        (np.float64(0.5), 0.5),
        (T([1 + 2j]).conj(), T([1 - 2j])),
        (torch.empty(0, 3), torch.empty(0, 3)),
        (T([1.0], requires_grad=True), T([1.0])),
        (T([True, False]), T([True, False])),
        ({"b": None, "a": "x"}, {"a": "x", "b": None}),
    ],
)
def test_equal_values_in_other_forms_pass(got: Any, want: Any) -> None:
    assert_close(got, want)


def test_only_values_count_if_the_dtype_does_not_matter() -> None:
    assert_close(T([1, 2]), T([1.0, 2.0]), check_dtype=False)
    get_mismatch(T([1, 3]), T([1.0, 2.0]), check_dtype=False)


def make_summands(dtype: torch.dtype) -> Tensor:
    return torch.linspace(0.5, 1.5, 1000, dtype=torch.float64).to(dtype)


@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_another_order_of_summation_is_within_tolerance(dtype: torch.dtype) -> None:
    x = make_summands(dtype)
    assert_close(x.flip(0).sum(), x.sum())
    assert_close(sum(part.sum() for part in x.chunk(16)), x.sum())  # each partial sum is rounded to the dtype


@pytest.mark.parametrize("dtype", list(TOLERANCES))
def test_a_difference_of_five_percent_is_a_mismatch(dtype: torch.dtype) -> None:
    total = make_summands(dtype).sum()
    get_mismatch(total * 1.05, total)


@given(st.lists(st.floats(allow_nan=True, width=32), max_size=6))
def test_a_tensor_always_equals_itself(values: list[float]) -> None:
    assert_close(T(values), T(values))


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(),
        lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    )
)
def test_whatever_a_student_returns_the_comparison_ends_in_a_verdict(value: Any) -> None:
    for want in (T([1.0]), 1.5, {"a": 1}, [1], None, "text", np.zeros(2)):
        try:
            assert_close(value, want)
        except Mismatch as error:
            assert error.seen
    assert describe_value(value)


def test_a_subclass_with_a_false_equality_is_still_compared_by_value() -> None:
    class Liar(Tensor):
        def __eq__(self, other: object) -> bool:  # type: ignore[override]
            return True

    get_mismatch([T([1.0]).as_subclass(Liar)], [T([2.0])])
