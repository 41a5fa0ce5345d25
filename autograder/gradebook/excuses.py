"""Applies excused checks to marks and pages. The result document keeps what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.gradebook.labels import CellLabels
from autograder.model.result import GradedCell
from labkit.outcome import Outcome, compute_earned

Excused = Mapping[str, frozenset[str]]  # ids of checks that count as passed, by exercise; an empty set means all


def find_excused(labels: CellLabels, cell_id: str, excused: Excused) -> frozenset[str] | None:
    """Return the excused checks of a graded cell; an empty set excuses all of them, None means there's no excuse."""
    return next((checks for name, checks in excused.items() if labels.has_name(name, *labels.split(cell_id))), None)


def compute_points(labels: CellLabels, cell: GradedCell, excused: Excused) -> float:
    """Compute what the cell earns if excused checks count as passed."""
    checks = find_excused(labels, cell.id, excused)
    if checks is None:
        return cell.points
    return max(cell.points, compute_earned(set_passed(cell.checks, checks), cell.worth) if checks else cell.worth)


def set_passed(outcomes: Sequence[Outcome], checks: frozenset[str]) -> list[Outcome]:
    """Return the outcomes with excused checks as passed.

    Args:
        checks: The ids of excused checks; empty for all.
    """
    return [replace(o, passed=True) if o.id in checks or not checks else o for o in outcomes]
