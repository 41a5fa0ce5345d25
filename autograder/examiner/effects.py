"""Whether running a cell can change what the student's functions did before it, as far as their source shows.

Where it cannot, a check of an earlier cell may look at a later state of the process, and needs no fork of its own. In
doubt the answer is that it can: a fork for each check cell is always right.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.examiner.cell_source import CellSource, look_at


class Effects:
    """Follows the cells of a notebook. exercises: names that the checks ask for."""

    def __init__(self, exercises: Iterable[str]) -> None:
        self.exercises = frozenset(exercises)
        self.keeps_nothing = True  # the exercises so far are functions and classes without a memory
        self._values: frozenset[str] = frozenset()  # names of anybody's, for what can be written into
        self._made: dict[str, CellSource] = {}  # the student's names, and the cell that each is from

    def leaves_alone(self, source: str, given: bool) -> bool:
        """Whether running this cell next leaves all that the exercises so far do as it is."""
        cell = look_at(source)
        new, used = cell.binds | cell.defines, self._used()
        apart = not new & used and cell.writes <= self._values | cell.binds and not cell.writes & used
        before = self.keeps_nothing
        self._values |= cell.binds - cell.constants
        if not given:
            self._made |= dict.fromkeys(new, cell)
            self.keeps_nothing &= cell.plain and cell.writes <= self._values and not cell.binds & self.exercises
        used = self._used()
        recalled = {name for made in used & self._made.keys() for name in self._made[made].recalls}
        self.keeps_nothing &= not recalled & self._values
        return before and apart and (given or cell.plain)

    def _used(self) -> frozenset[str]:
        """The exercises that there are, and all names that they may come to: through what they read, and that reads."""
        found: set[str] = set()
        left = {name for name in self.exercises if name in self._made}
        while left:
            name = left.pop()
            found.add(name)
            left |= (self._made[name].reads if name in self._made else frozenset()) - found
        return frozenset(found)
