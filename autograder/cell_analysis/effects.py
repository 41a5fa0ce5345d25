"""Static analysis of whether running a cell can change what the student's functions did before it.

If it can't, a check of an earlier cell may use a later state of the process and needs no fork of its own. When in
doubt, the analysis assumes that the cell can: a fork for each check cell is always right.
"""

from __future__ import annotations

from collections.abc import Iterable

from autograder.cell_analysis.cell_source import NameUse, inspect_source

MAX_CHARACTERS = 200_000  # of the student's cells of one notebook
MAX_STEPS = 500_000  # names followed for one notebook; a lab of the course takes a few thousand


class EffectAnalysis:
    """Follows the cells of a notebook. After the two limits above, every cell counts as one that can change anything.

    Args:
        exercises: The names that checks use.
    """

    def __init__(self, exercises: Iterable[str]) -> None:
        self._characters, self._steps = MAX_CHARACTERS, MAX_STEPS
        self.exercises = frozenset(exercises)
        self.keeps_nothing = True  # the exercises so far are functions and classes without state
        self._values: frozenset[str] = frozenset()  # names of mutable values, the course's and the student's
        self._student_cells: dict[str, NameUse] = {}  # a name of the student's -> the cell that defined it

    def follow_cell(self, source: str, given: bool) -> bool:
        """Follow the next cell. Return whether running it leaves the behavior of all exercises so far as it is."""
        try:
            return self._follow_cell(source, given)
        except _LimitExceeded:
            self.keeps_nothing = False
            return False

    def _follow_cell(self, source: str, given: bool) -> bool:
        """Do as follow_cell(), and record what later cells depend on. Raises _LimitExceeded."""
        self._characters -= 0 if given else len(source)
        if self._characters < 0:
            raise _LimitExceeded
        cell = inspect_source(source)
        new, used = cell.binds | cell.defines, self._find_used_names()
        is_separate = not new & used and cell.writes <= self._values | cell.binds and not cell.writes & used
        kept_nothing = self.keeps_nothing
        self._values |= cell.binds - cell.constants
        if not given:
            self._student_cells |= dict.fromkeys(new, cell)
            self.keeps_nothing &= cell.is_pure and cell.writes <= self._values and not cell.binds & self.exercises
        used_cells = [self._student_cells[name] for name in self._find_used_names() if name in self._student_cells]
        self.keeps_nothing &= not any(used_cell.recalls & self._values for used_cell in used_cells)
        return kept_nothing and is_separate and (given or cell.is_pure)

    def _find_used_names(self) -> frozenset[str]:
        """Return the defined exercises, and all names that they can reach: names they read, and what those read."""
        used: set[str] = set()
        left = {name for name in self.exercises if name in self._student_cells}
        while left:
            name = left.pop()
            used.add(name)
            reads = self._student_cells[name].reads if name in self._student_cells else frozenset()
            self._steps -= len(reads) + 1
            if self._steps < 0:
                raise _LimitExceeded
            left |= reads - used
        return frozenset(used)


class _LimitExceeded(Exception):
    """The notebook exceeds MAX_CHARACTERS or MAX_STEPS."""
