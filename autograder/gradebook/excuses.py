"""Applies excused checks to marks and pages. The result document keeps what was seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from autograder.gradebook.labels import CellLabels
from autograder.model.result import GradedCell
from autograder.model.term import ExcusedChecks
from labkit.outcome import Outcome, compute_earned

Excused = Mapping[str, ExcusedChecks]  # by exercise


def find_excused(labels: CellLabels, cell_id: str, excused: Excused) -> ExcusedChecks:
    """Return the excused checks of a graded cell."""
    matches = (checks for name, checks in excused.items() if labels.has_name(name, *labels.split(cell_id)))
    return next(matches, ExcusedChecks())


def compute_points(labels: CellLabels, cell: GradedCell, excused: Excused) -> float:
    """Compute what the cell earns if excused checks count as passed."""
    checks = find_excused(labels, cell.id, excused)
    if not checks:
        return cell.points
    earned = cell.worth if checks.is_whole else compute_earned(set_passed(cell.checks, checks), cell.worth)
    return max(cell.points, earned)


def set_passed(outcomes: Sequence[Outcome], excused: ExcusedChecks) -> list[Outcome]:
    """Return the outcomes with excused checks as passed."""
    return [replace(o, passed=True) if excused.has_check(o.id) else o for o in outcomes]
