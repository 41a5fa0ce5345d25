"""Statistics of a class on which people base decisions; None if too few students support a number."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

MIN_STUDENTS = 5  # for fewer, a mean says more about single students than about the exercise
MIN_PAIRS = 10  # for fewer, the interval of a correlation covers nearly everything
NORMAL = 1.959964  # 95 % of a normal distribution are within this many standard deviations


@dataclass(frozen=True)
class Correlation:
    """A correlation with its 95 % confidence interval, by Fisher's transformation."""

    r: float
    low: float
    high: float


@dataclass(frozen=True)
class Spread:
    """The five numbers of a box plot, and the mean."""

    least: float
    lower: float
    median: float
    upper: float
    most: float
    mean: float


def compute_difficulty(shares: Sequence[float]) -> float | None:
    """Return the difficulty of an exercise: the mean share of its points; None for fewer than five."""
    return float(np.mean(shares)) if len(shares) >= MIN_STUDENTS else None


def compute_discrimination(item: Sequence[float], total: Sequence[float]) -> Correlation | None:
    """Return the discrimination of an exercise: how its points correlate with those of the rest of the lab.

    Args:
        item: Each student's points for the exercise.
        total: The same students' points for the lab, the exercise included.

    Returns:
        None for fewer than ten students, or if all have the same points in either.
    """
    points = np.asarray(item, dtype=float)
    rest = np.asarray(total, dtype=float) - points
    if len(points) < MIN_PAIRS or _is_constant(points) or _is_constant(rest):
        return None
    r = float(np.clip(np.corrcoef(points, rest)[0, 1], -1, 1))
    if abs(r) > 1 - 1e-9:
        return Correlation(r, r, r)
    centre, width = math.atanh(r), NORMAL / math.sqrt(len(points) - 3)
    return Correlation(r, math.tanh(centre - width), math.tanh(centre + width))


def compute_spread(points: Sequence[float]) -> Spread | None:
    """Return the spread of these points; None for fewer than five."""
    if len(points) < MIN_STUDENTS:
        return None
    least, lower, median, upper, most = (float(q) for q in np.percentile(points, (0, 25, 50, 75, 100)))
    return Spread(least, lower, median, upper, most, float(np.mean(points)))


def compute_bins(points: Sequence[float], worth: float, max_bins: int = 20) -> list[tuple[float, float, int]]:
    """Count points in equal bins from 0 to worth; extra credit beyond that counts in the last bin.

    Returns:
        The lower edge, upper edge and count of each bin.
    """
    if not worth > 0:
        return []
    step = _choose_step(worth, max_bins)
    edges = np.arange(math.ceil(worth / step - 1e-9) + 1) * step
    counts, _ = np.histogram(np.clip(points, 0, edges[-1]), edges)
    return [(float(a), float(b), int(n)) for (a, b), n in zip(pairwise(edges), counts, strict=True)]


def _choose_step(worth: float, max_bins: int) -> float:
    """Return the smallest of 1, 2 and 5 times a power of ten that needs at most this many steps."""
    power = 10.0 ** math.floor(math.log10(worth / max_bins))
    return next(power * times for times in (1, 2, 5, 10, 20) if worth / (power * times) <= max_bins + 1e-9)


def _is_constant(values: np.ndarray) -> bool:
    return bool(np.ptp(values) <= 1e-9)
