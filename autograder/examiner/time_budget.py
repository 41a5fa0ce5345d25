"""The time limits of a submission, and how much time is left."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

from autograder.examiner.stopped_error import StoppedError

CELL_SHARE = 2 / 3  # of a submission's time: the rest is for checks, even if cells use up all of theirs


@dataclass(frozen=True)
class Timeouts:
    """Limits in seconds: of a cell and a check as on an idle machine, of a submission by the clock."""

    cell: float = 60.0
    check: float = 8.0
    submission: float = 900.0


class CellTimeLimit(NamedTuple):
    """A time limit for one thing."""

    seconds: float
    message: str
    """The message when they are over."""
    clock_limit: float
    """Seconds by the clock that are left for everything."""


class TimeBudget:
    """The time that a submission has left. Methods raise StoppedError when it has none."""

    def __init__(self, timeouts: Timeouts) -> None:
        self.timeouts = timeouts
        self._end = time.monotonic() + timeouts.submission * CELL_SHARE
        self._message = f"the time limit of {timeouts.submission * CELL_SHARE:g} s for all cells was reached"

    def begin_checks(self) -> None:
        """Add the time for checks: all cells have run, or have used up theirs."""
        self._end += self.timeouts.submission * (1 - CELL_SHARE)
        self._message = f"the time limit of {self.timeouts.submission:g} s for a submission was reached"

    def get_cell_limit(self, seconds: float | None = None) -> CellTimeLimit:
        """Return the limit of a cell: these seconds, or those of any cell."""
        left, seconds = self.measure_left(), self.timeouts.cell if seconds is None else seconds
        if left < seconds:
            return CellTimeLimit(left, self._message, left)
        return CellTimeLimit(seconds, f"the time limit of {seconds:g} s for a cell was reached", left)

    def get_check_seconds(self) -> float:
        """Return the seconds that a check may take."""
        return min(self.timeouts.check, self.measure_left())

    def has_time(self) -> bool:
        return self._end > time.monotonic()

    def measure_left(self) -> float:
        """Return the seconds left by the clock. Raises StoppedError if there are none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise StoppedError(self._message)
        return left
