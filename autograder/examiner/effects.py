"""Whether running a cell can change what the student's functions did before it, as far as their source shows.

Where it cannot, a check of an earlier cell may look at a later state of the process, and needs no fork of its own. In
doubt the answer is that it can: a fork for each check cell is always right.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.examiner.cell_source import CellSource, inspect_source

MAX_CHARACTERS = 200_000  # of the student's cells of one notebook
MAX_STEPS = 500_000  # names that are followed for one notebook; a lab of the course takes some thousands


class Effects:
    """Follows the cells of a notebook. exercises: names that the checks ask for.

    What it does is bounded by the two limits above: after them every cell counts as one that can change anything.
    """

    def __init__(self, exercises: Iterable[str]) -> None:
        self._characters, self._steps = MAX_CHARACTERS, MAX_STEPS
        self.exercises = frozenset(exercises)
        self.keeps_nothing = True  # the exercises so far are functions and classes without a memory
        self._values: frozenset[str] = frozenset()  # names of anybody's, for what can be written into
        self._made: dict[str, CellSource] = {}  # the student's names, and the cell that each is from

    def has_no_effect(self, source: str, given: bool) -> bool:
        """Whether running this cell next leaves all that the exercises so far do as it is."""
        try:
            return self._has_no_effect(source, given)
        except _LimitExceeded:
            self.keeps_nothing = False
            return False

    def _has_no_effect(self, source: str, given: bool) -> bool:
        self._characters -= 0 if given else len(source)
        if self._characters < 0:
            raise _LimitExceeded
        cell = inspect_source(source)
        new, used = cell.binds | cell.defines, self._find_used_names()
        apart = not new & used and cell.writes <= self._values | cell.binds and not cell.writes & used
        before = self.keeps_nothing
        self._values |= cell.binds - cell.constants
        if not given:
            self._made |= dict.fromkeys(new, cell)
            self.keeps_nothing &= cell.is_pure and cell.writes <= self._values and not cell.binds & self.exercises
        used = self._find_used_names()
        recalled = {name for made in used & self._made.keys() for name in self._made[made].recalls}
        self.keeps_nothing &= not recalled & self._values
        return before and apart and (given or cell.is_pure)

    def _find_used_names(self) -> frozenset[str]:
        """The exercises that there are, and all names that they may come to: through what they read, and that reads."""
        found: set[str] = set()
        left = {name for name in self.exercises if name in self._made}
        while left:
            name = left.pop()
            found.add(name)
            reads = self._made[name].reads if name in self._made else frozenset()
            self._steps -= len(reads) + 1
            if self._steps < 0:
                raise _LimitExceeded
            left |= reads - found
        return frozenset(found)


class _LimitExceeded(Exception):
    """The notebook goes beyond what is followed."""
