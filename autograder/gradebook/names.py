"""Names in the gradebook as people read them: of cells, and students in an order."""

from __future__ import annotations

import re

from autograder.course import Kind
from autograder.metadata import make_cell_name, split_cell_name


def parse_graded_name(cell: str) -> tuple[Kind, str]:
    """(kind, exercise or question) of a graded cell; a check under the cell's own name where no builder made it."""
    try:
        kind, name = split_cell_name(cell)
    except ValueError:
        return Kind.CHECK, cell
    return (kind, name) if kind.traits.graded else (Kind.CHECK, cell)


def list_graded_names(exercise: str) -> tuple[str, str, str]:
    """The names that the graded cell of this exercise or question can have; its own where no builder made it."""
    return exercise, make_cell_name(Kind.CHECK, exercise), make_cell_name(Kind.QUESTION, exercise)


def make_sort_key(name: str) -> list[tuple[int, str]]:
    """A key that puts wrong_2 before wrong_10."""
    return [
        (int(part), "") if part.isascii() and part.isdigit() else (-1, part) for part in re.split(r"([0-9]+)", name)
    ]
