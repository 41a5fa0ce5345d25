"""Outcomes of checks, and the points that a cell's outcomes earn together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from labkit.cause import Cause
from labkit.difference import Difference

SHORT_SECONDS = 1.0  # for each further check of an exercise after one ran out of time


class Blame(StrEnum):
    """Whose error ended a check."""

    NO_ONE = ""  # it failed, or passed, without an error
    STUDENT = "student"
    CHECK = "check"  # an error in the test
    PROCESS = "process"  # the student process had ended


@dataclass
class Outcome:
    """What one check found."""

    id: str
    label: str = ""
    weight: float = 1.0
    guard: bool = False
    required: bool = False
    hint: str = ""
    passed: bool = False
    seen: str = ""
    """What the check saw of the student's result."""
    expected: str = ""
    """What it expected; shown only with a check that the student can read."""
    misconception: str = ""
    call: str = ""
    """The call that failed, with its values. A class is shown none: a hidden check's would reveal its input."""
    error: str = ""
    """The type of the exception that ended the check; empty for a plain `assert`."""
    blame: Blame = Blame.NO_ONE
    """Whose error it was."""
    notes: list[str] = field(default_factory=list)
    observed: bool = False
    hidden: bool = False
    """Whether the check's code is hidden from the student."""
    further_hints: tuple[str, ...] = ()
    """The hints after the first."""
    difference: Difference | None = None
    """How two tensors differ; never kept for a hidden check."""
    cause: Cause | None = None
    """Why there was nothing to compare."""
    limit: float = 0.0
    """The time limit that was reached, in seconds."""

    def __post_init__(self) -> None:
        self.label = self.label or self.id

    @property
    def has_short_limit(self) -> bool:
        """Whether its time limit was the short one, since an earlier check of the exercise had run out of time."""
        return self.limit == SHORT_SECONDS

    def as_dict(self) -> dict[str, Any]:
        difference = asdict(self.difference) if self.difference else None
        return vars(self) | {"notes": list(self.notes), "difference": difference}


def build_outcome(data: Mapping[str, Any]) -> Outcome:
    """Rebuild the outcome from what as_dict() returned."""
    difference = data.get("difference")
    cause = data.get("cause")
    parts = {
        "difference": Difference(**difference) if difference else None,
        "cause": Cause(cause) if cause else None,
        "blame": Blame(data.get("blame", "")),
    }
    return Outcome(**{**data, **parts})


def select_hints(outcome: Outcome) -> tuple[str, ...]:
    """Return a failed check's hints. After an exception, a syntax error, or a result of None, they don't apply."""
    if outcome.passed or outcome.error or outcome.cause in (Cause.NOTHING, Cause.SYNTAX) or not outcome.hint:
        return ()
    return (outcome.hint, *outcome.further_hints)


def select_earning(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the checks that earn points.

    A required check that fails voids the whole cell: the result doesn't even have the right form.
    A guard earns points only if a check that is neither a guard nor observed passes: on its own, leaving the input
    unchanged is worth nothing.
    An observed check, which a lying process could pass, earns points only if a check of a value passes.
    """
    if any(o.required and not o.passed for o in outcomes):
        return []
    values = [o for o in outcomes if not o.guard and not o.observed]
    if values and not any(o.passed for o in values):
        return []
    return [o for o in outcomes if o.passed and (values or not o.observed)]


def compute_share(outcomes: Sequence[Outcome]) -> float:
    """Return the share of a cell's points that these outcomes earn, between 0 and 1."""
    total = sum(o.weight for o in outcomes)
    return sum(o.weight for o in select_earning(outcomes)) / total if total else 0.0


def compute_earned(outcomes: Sequence[Outcome], points: float) -> float:
    """Return the points earned, rounded to four places so thirds add up to the same mark everywhere."""
    return round(points * compute_share(outcomes), 4)
