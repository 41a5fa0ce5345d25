"""The labels that people see instead of the gradebook's names, and how to sort those names."""

from __future__ import annotations

import re
from dataclasses import dataclass

from autograder.model.assignments import AssignmentKind
from autograder.model.metadata import make_stock_name, split_cell_name, split_stock_name
from autograder.model.result import ResultDocument


@dataclass(frozen=True)
class CellLabels:
    """How people name the graded cells of one assignment.

    In a lab assignment, a cell has the name of its exercise or question. In a stock assignment, it has the name that
    its author chose, whatever that looks like.
    """

    kind: AssignmentKind
    has_several: bool = False
    """Whether it has several notebooks, which may use one name twice."""

    def label(self, notebook: str, cell: str) -> str:
        """Return the label of a cell by its names in the gradebook."""
        if self.kind is AssignmentKind.LAB:
            return _get_exercise(cell)
        return make_stock_name(notebook, cell) if self.has_several else cell

    def has_name(self, name: str, notebook: str, cell: str) -> bool:
        """Return whether this name can mean this cell; it may omit the notebook of a stock assignment."""
        if self.kind is AssignmentKind.LAB:
            return name == _get_exercise(cell)
        return name in (cell, make_stock_name(notebook, cell))

    def split(self, cell_id: str) -> tuple[str, str]:
        """Split an id in a result document into notebook and cell; a lab assignment's ids have no notebook."""
        return ("", cell_id) if self.kind is AssignmentKind.LAB else split_stock_name(cell_id)

    def join(self, notebook: str, cell: str) -> str:
        """Join a cell's names in the gradebook to its id in a result document."""
        return cell if self.kind is AssignmentKind.LAB else make_stock_name(notebook, cell)

    def label_id(self, cell_id: str) -> str:
        """Return the label of a cell by its id in a result document."""
        return self.label(*self.split(cell_id))


def make_labels(result: ResultDocument) -> CellLabels:
    """Return the labels for the cells of a result document."""
    return CellLabels(result.kind, len(result.notebooks) > 1)


def _get_exercise(cell: str) -> str:
    """Return the exercise or question of a lab assignment's graded cell."""
    try:
        kind, name = split_cell_name(cell)
    except ValueError:
        return cell
    return name if kind.traits.graded else cell


def make_sort_key(name: str) -> list[tuple[int, str]]:
    """Return a key that sorts wrong_2 before wrong_10."""
    return [
        (int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)
    ]
