"""What excused checks are worth. The result document keeps what was seen; marks and pages ask here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from autograder.gradebook.names import list_graded_names

if TYPE_CHECKING:
    from autograder.result import GradedCell
    from labkit.outcome import Outcome

Excused = Mapping[str, frozenset[str]]  # exercise -> the ids of checks that count as passed; none: the whole exercise


def find_excused(cell: str, excused: Excused) -> frozenset[str] | None:
    """The checks of this graded cell, by its name, that are excused: none named for all; None where no check is.

    A cell of a plain assignment is meant by its grade_id, with its notebook's name or without.
    """
    names = {cell, cell.rpartition("/")[2]}
    for exercise, checks in excused.items():
        if names.intersection(list_graded_names(exercise)):
            return checks
    return None


def compute_points(cell: GradedCell, excused: Excused) -> float:
    """What the cell earns where excused checks count as passed."""
    checks = find_excused(cell.id, excused)
    if checks is None:
        return cell.points
    from labkit.outcome import compute_earned  # with it torch comes

    return max(cell.points, compute_earned(set_passed(cell.checks, checks), cell.worth) if checks else cell.worth)


def set_passed(outcomes: Sequence[Outcome], checks: frozenset[str]) -> list[Outcome]:
    """checks: that are excused; none named for all."""
    return [replace(o, passed=True) if o.id in checks or not checks else o for o in outcomes]
