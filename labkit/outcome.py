"""What one check saw, and what a cell's checks are worth together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from labkit.cause import Cause
from labkit.difference import Difference


@dataclass
class Outcome:
    """The verdict of one check."""

    id: str
    """The check's id."""
    label: str = ""
    """The check's label."""
    weight: float = 1.0
    guard: bool = False
    required: bool = False
    hint: str = ""
    passed: bool = False
    seen: str = ""
    """What the check saw of the student's result."""
    expected: str = ""
    """What it expected; shown only beside a check that the student can read."""
    misconception: str = ""
    error: str = ""
    """The exception, about the student's result."""
    blame: str = ""
    """Whose exception it was: "student", "check" (an error in the test), "process" (its process was gone) or ""."""
    notes: list[str] = field(default_factory=list)
    observed: bool = False
    hidden: bool = False
    """Whether the student never sees the check's code."""
    further_hints: tuple[str, ...] = ()
    """Hints that follow the first, one by one."""
    difference: Difference | None = None
    """How two tensors differ; never kept for a hidden check."""
    cause: Cause | None = None
    """Why there was nothing to compare."""
    limit: float = 0.0
    """The time limit that was reached, in seconds."""

    def __post_init__(self) -> None:
        self.label = self.label or self.id

    def as_dict(self) -> dict[str, Any]:
        difference = asdict(self.difference) if self.difference else None
        return vars(self) | {"notes": list(self.notes), "difference": difference}


def build_outcome(data: Mapping[str, Any]) -> Outcome:
    """The outcome that as_dict() made a dictionary of."""
    difference = data.get("difference")
    cause = data.get("cause")
    parts = {"difference": Difference(**difference) if difference else None, "cause": Cause(cause) if cause else None}
    return Outcome(**{**data, **parts})


def select_hints(outcome: Outcome) -> tuple[str, ...]:
    """The check's hints, if they fit what failed: none beside an exception, or if nothing was returned."""
    if outcome.passed or outcome.error or outcome.cause is Cause.NOTHING or not outcome.hint:
        return ()
    return (outcome.hint, *outcome.further_hints)


def select_paying(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """The checks whose weight is paid.

    A required check that fails voids the whole cell: it says that the result has not even the right form.
    A guard pays only where the other checks do not all fail: leaving the input unchanged is worth nothing alone.
    An observed check, which a lying process could pass, pays only where a check of a value passed.
    """
    if any(o.required and not o.passed for o in outcomes):
        return []
    values = [o for o in outcomes if not o.guard and not o.observed]
    if values and not any(o.passed for o in values):
        return []
    return [o for o in outcomes if o.passed and (values or not o.observed)]


def compute_share(outcomes: Sequence[Outcome]) -> float:
    """The part of a cell's points that these outcomes earn, between 0 and 1."""
    total = sum(o.weight for o in outcomes)
    return sum(o.weight for o in select_paying(outcomes)) / total if total else 0.0


def compute_earned(outcomes: Sequence[Outcome], points: float) -> float:
    """Points earned, rounded to four places so that thirds add up to the same mark everywhere."""
    return round(points * compute_share(outcomes), 4)
