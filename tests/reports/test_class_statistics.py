"""Statistics of a class: equal to numpy's if numpy has them, and missing if there are too few students."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.reports.class_statistics import (
    MIN_PAIRS,
    MIN_STUDENTS,
    compute_bins,
    compute_difficulty,
    compute_discrimination,
    compute_spread,
)

SHARES = st.floats(0, 1)
POINTS = st.floats(0, 30)


@given(st.lists(SHARES, max_size=30))
def test_difficulty_is_the_mean_or_none_for_few(shares: list[float]) -> None:
    mean = compute_difficulty(shares)
    assert mean is None if len(shares) < MIN_STUDENTS else mean == pytest.approx(np.mean(shares))


@given(st.lists(st.tuples(st.floats(0, 4), POINTS), min_size=MIN_PAIRS, max_size=40))
def test_discrimination_is_the_correlation_with_the_rest(pairs: list[tuple[float, float]]) -> None:
    item = [round(a, 2) for a, _ in pairs]
    other_points = [round(b, 2) for _, b in pairs]
    discrimination = compute_discrimination(item, [a + b for a, b in zip(item, other_points, strict=True)])
    if discrimination is None:
        assert np.ptp(item) < 1e-6 or np.ptp(other_points) < 1e-6
        return
    assert discrimination.r == pytest.approx(np.corrcoef(item, other_points)[0, 1], abs=1e-6)
    assert -1 <= discrimination.low <= discrimination.r <= discrimination.high <= 1


def test_the_interval_is_fishers() -> None:
    """r = 0.5 of 28: tanh(0.549 - 0.392) to tanh(0.549 + 0.392)."""
    x = np.arange(28.0)
    noise = np.random.default_rng(0).normal(size=28)
    noise -= x * (noise @ (x - x.mean())) / (x @ (x - x.mean()))
    x = (x - x.mean()) / x.std()
    noise = (noise - noise.mean()) / noise.std()
    y = 0.5 * x + math.sqrt(0.75) * noise
    discrimination = compute_discrimination(list(x), list(x + y))
    assert discrimination and (discrimination.r, discrimination.low, discrimination.high) == pytest.approx(
        (0.5, 0.156, 0.736), abs=0.001
    )


@pytest.mark.parametrize(
    ("item", "other_points"), [([1.0] * 20, list(range(20))), (list(range(20)), [1.0] * 20), ([0, 1], [1, 0])]
)
def test_there_is_no_discrimination_if_nothing_differs_or_few_wrote(
    item: list[float], other_points: list[float]
) -> None:
    assert compute_discrimination(item, [a + b for a, b in zip(item, other_points, strict=True)]) is None


@given(st.lists(POINTS, min_size=MIN_STUDENTS, max_size=60))
def test_a_spread_is_numpys_percentiles(points: list[float]) -> None:
    spread = compute_spread(points)
    assert spread is not None
    assert (spread.least, spread.median, spread.most) == (min(points), pytest.approx(np.median(points)), max(points))
    assert spread.lower <= spread.median <= spread.upper
    assert compute_spread(points[: MIN_STUDENTS - 1]) is None


@given(st.lists(st.floats(0, 200), max_size=60), st.floats(0.5, 150))
def test_bins_hold_each_student_once_and_reach_from_zero_to_full_marks(points: list[float], worth: float) -> None:
    bins = compute_bins(points, worth)
    assert sum(n for _, _, n in bins) == len(points)
    assert bins[0][0] == 0
    assert bins[-1][1] >= worth - 1e-6
    assert len(bins) <= 21
    assert all(a[1] == b[0] for a, b in pairwise(bins))


def test_a_lab_worth_nothing_has_no_statistics() -> None:
    assert compute_bins([0, 0], 0) == []
