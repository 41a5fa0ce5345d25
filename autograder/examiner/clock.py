"""How long the parts of a submission may take, and how much of that is left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from autograder.examiner.connection import Stopped

FOR_CELLS = 2 / 3  # of a submission's time: what cells use up must not be missing to check the exercises before them


@dataclass(frozen=True)
class Timeouts:
    """Seconds that a cell and a check may take on an idle machine (effort.py), and all of a submission by the clock."""

    cell: float = 60.0
    check: float = 8.0
    submission: float = 900.0


class Limit(NamedTuple):
    """Seconds that something may take, what to say when they are over, and seconds by the clock for everything."""

    seconds: float
    words: str
    most: float


class Clock:
    """What is left of a submission's time. Raises Stopped where that is nothing."""

    def __init__(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self._end = time.monotonic() + timeouts.submission * FOR_CELLS
        self._whole = f"the time limit of {timeouts.submission * FOR_CELLS:g} s for all cells was reached"

    def begin_checks(self) -> None:
        """All cells have run, or have had their time."""
        self._end += self.timeouts.submission * (1 - FOR_CELLS)
        self._whole = f"the time limit of {self.timeouts.submission:g} s for a submission was reached"

    def cell(self, seconds: float | None = None) -> Limit:
        """seconds: its own limit, instead of that of all cells."""
        left, seconds = self.left(), self.timeouts.cell if seconds is None else seconds
        if left < seconds:
            return Limit(left, self._whole, left)
        return Limit(seconds, f"the time limit of {seconds:g} s for a cell was reached", left)

    def check(self) -> float:
        return min(self.timeouts.check, self.left())

    def has_time(self) -> bool:
        return self._end > time.monotonic()

    def left(self) -> float:
        """Seconds by the clock. Raises Stopped."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise Stopped(self._whole)
        return left
