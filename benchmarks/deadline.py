"""How long a mark takes in the hour before a deadline, simulated for classes of different sizes.

Each student submits twice in that hour, and more of them towards its end: the rate grows with the square of the time.
Submissions are marked in the order of their arrival, by processors that each mark one at a time. The seconds of
processor time that a mark takes are drawn from those of the labs, as results/classes.md has them, from the cheapest to
the most expensive.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from statistics import quantiles

HOUR = 3600.0
SUBMISSIONS = 2  # of each student
MARK_SECONDS = (0.2, 0.5, 0.8, 1.3, 2.0, 4.0)
CLASSES = (30, 300, 3_000, 30_000)
PROCESSORS = (2, 4, 8, 16, 32, 64, 128, 256)
GOAL_SECONDS = 5.0  # for 95 of 100 marks
SEED = 11


def run() -> str:
    """Return a Markdown table."""
    lines = [
        "# Before a deadline",
        "",
        f"Simulated: {SUBMISSIONS} submissions of each student within an hour, most of them at its end, and "
        f"{sum(MARK_SECONDS) / len(MARK_SECONDS):.1f} s of processor time for a mark, on average. Seconds from a "
        "submission to its mark.",
        "",
        "| students | processors | median | 95th percentile | longest |",
        "|---|---|---|---|---|",
    ]
    for students in CLASSES:
        rows = [(processors, compute_waits(students, processors)) for processors in PROCESSORS]
        enough = next((each for each in rows if _compute_95th(each[1]) <= GOAL_SECONDS), rows[-1])
        for processors, waits in (rows[0], enough) if enough[0] != rows[0][0] else (enough,):
            cut = quantiles(waits, n=20)
            lines.append(f"| {students:,} | {processors} | {cut[9]:.1f} | {cut[18]:,.0f} | {max(waits):,.0f} |")
    return "\n".join(lines) + "\n"


def compute_waits(students: int, processors: int) -> list[float]:
    """Return the seconds from each submission to its mark."""
    draws = random.Random(SEED)
    free = [0.0] * processors  # when each processor is free
    waits = []
    for arrival in _draw_arrivals(draws, students * SUBMISSIONS):
        start = max(arrival, heapq.heappop(free))
        end = start + draws.choice(MARK_SECONDS)
        heapq.heappush(free, end)
        waits.append(end - arrival)
    return waits


def _draw_arrivals(draws: random.Random, count: int) -> Iterator[float]:
    """Draw moments of an hour, in order, whose density grows with the square of the time."""
    return iter(sorted(HOUR * draws.random() ** (1 / 3) for _ in range(count)))


def _compute_95th(waits: list[float]) -> float:
    return quantiles(waits, n=20)[-1]
