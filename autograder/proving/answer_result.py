"""What an answer gets when it's tried."""

from __future__ import annotations

from dataclasses import dataclass, replace

from labkit.outcome import Outcome, compute_earned


@dataclass(frozen=True)
class AnswerResult:
    """The result of trying one answer."""

    outcomes: tuple[Outcome, ...] = ()
    points: float = 0.0
    failure: str = ""
    """Why there are no outcomes: the process died, or a cell of the course raised."""
    has_effect: bool = True
    """Whether a generated answer differed from the reference."""

    @property
    def failed_checks(self) -> tuple[str, ...]:
        return tuple(o.id for o in self.outcomes if not o.passed)

    def compute_unobserved_points(self, points: float) -> float:
        """Return what the answer would have earned of these points if every observed check had failed."""
        return compute_earned([replace(o, passed=o.passed and not o.observed) for o in self.outcomes], points)
