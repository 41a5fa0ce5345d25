"""How long the parts of a submission may take, and how much of that is left."""

from __future__ import annotations

import time
from dataclasses import dataclass

from autograder.examiner.link import Stopped


@dataclass(frozen=True)
class Patience:
    """Seconds that a cell, a check and all of a submission may take."""

    cell: float = 60.0
    check: float = 20.0
    submission: float = 900.0


class Clock:
    """Seconds that are left. Raises Stopped where the submission has none."""

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.end = time.monotonic() + patience.submission

    def cell(self) -> float:
        return min(self.patience.cell, self._left())

    def check(self) -> float:
        return min(self.patience.check, self._left())

    def _left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise Stopped(f"the time limit of {self.patience.submission:g} s for a submission was reached")
        return left
