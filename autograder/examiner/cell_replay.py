"""The cells of a submission that ran, and running them again in another process as far as a check needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from autograder.examiner.connection import Connection
from autograder.examiner.process import StudentProcess
from autograder.examiner.time_budget import TimeBudget


class ReplayPoint(NamedTuple):
    """A position between two cells at which a check cell will use the state of the process."""

    name: str


class ExecutedCell(NamedTuple):
    """A cell that ran."""

    source: str
    number: int
    """The execution count."""
    protected: tuple[str, ...] = ()
    """Course names that it bound, to restore before checks."""
    seconds: float | None = None
    """Its own time limit."""

    def run_in(self, process: StudentProcess, budget: TimeBudget) -> None:
        """Run the cell again. Raises StoppedError."""
        process.run(self.source, self.number, budget.get_cell_limit(self.seconds), self.protected)


class CellHistory:
    """The cells that ran, and the replay points between them, in order."""

    def __init__(self) -> None:
        self._items: list[ExecutedCell | ReplayPoint] = []

    def __iter__(self) -> Iterator[ExecutedCell | ReplayPoint]:
        return iter(self._items)

    def __getitem__(self, position: int) -> ExecutedCell | ReplayPoint:
        return self._items[position]

    def add(self, item: ExecutedCell | ReplayPoint) -> None:
        self._items.append(item)

    def find_point(self, name: str) -> int:
        """Return the position of the replay point of this name."""
        return self._items.index(ReplayPoint(name))

    def drop_last_cell(self) -> None:
        """Leave out the last cell from now on."""
        cells = [position for position, item in enumerate(self._items) if isinstance(item, ExecutedCell)]
        if cells:
            del self._items[cells[-1]]


class Replay:
    """A process in which the cells run again, as far as a check needs them."""

    def __init__(self, process: StudentProcess, history: CellHistory) -> None:
        self.process, self._history, self._position = process, history, 0

    def can_reach(self, name: str) -> bool:
        """Return whether the process still answers, and hasn't run past the replay point of this name."""
        return self.process.ping() and not self.process.serves and self._history.find_point(name) >= self._position

    def connect(self, name: str, budget: TimeBudget) -> Connection:
        """Run the cells up to this point, and return a connection to a fork of the process. Raises StoppedError."""
        end = self._history.find_point(name)
        while self._position < end:
            item = self._history[self._position]
            self._position += 1
            if isinstance(item, ExecutedCell):
                item.run_in(self.process, budget)
        return self.process.connect(name, budget.get_check_seconds())
