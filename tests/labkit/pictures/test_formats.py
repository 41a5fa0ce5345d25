"""The bits of numbers in three formats, their neighbors, and the explorer that walks along them."""

import math

import pytest
import torch

from labkit.pictures.formats import BITS, explore_formats, store_number


@pytest.mark.parametrize("name", list(BITS))
def test_bits_say_the_value(name: str) -> None:
    bias = 2 ** (BITS[name][0] - 1) - 1
    for number in (1.0, -2.75, 0.1, 3e-5, 65519.0, 1e-40):
        s = store_number(number, name)
        exponent, fraction = int(s.bits[1], 2), int(s.bits[2], 2) / 2 ** len(s.bits[2])
        want = (1 + fraction) * 2.0 ** (exponent - bias) if exponent else fraction * 2.0 ** (1 - bias)
        assert s.value == (-want if s.bits[0] == "1" else want)
        assert s.value == torch.tensor(number, dtype=torch.float64).to(getattr(torch, name)).item()


@pytest.mark.parametrize("name", list(BITS))
def test_neighbors_are_next_to_each_other(name: str) -> None:
    for number in (1.0, -1.0, 0.0, 1e-3, -7.25, torch.finfo(getattr(torch, name)).tiny):
        s = store_number(number, name)
        assert s.below < s.value < s.above
        assert store_number(s.above, name).below == s.value == store_number(s.below, name).above


def test_the_edges_of_the_formats() -> None:
    assert store_number(65504.0, "float16").above == math.inf and store_number(math.inf, "float16").above == math.inf
    assert store_number(math.inf, "float16").below == 65504
    assert [store_number(x, "float16").kind for x in (1.0, 1e-7, 0.0, 1e6, math.nan)] == [
        "normal",
        "subnormal",
        "zero",
        "inf",
        "nan",
    ]
    assert math.isnan(store_number(math.nan, "bfloat16").below)


def test_without_a_kernel_it_is_static_and_says_the_same_in_words() -> None:
    bundle = explore_formats(0.1)._repr_mimebundle_()
    assert "0.0999755859 (normal)" in bundle["image/svg+xml"]
    assert "bfloat16  0 01111011 1001101  0.100097656 (normal)" in bundle["text/plain"]
    assert "no picture" in explore_formats("a word").words  # type: ignore[arg-type]
