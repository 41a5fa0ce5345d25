"""Answers of an exercise that are kept with the lab, so proofs can grade them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from autograder.model.strict_model import StrictModel


class AnswerKind(StrEnum):
    """What an answer is kept for, by the first word of its header."""

    RIGHT = "right"
    WRONG = "wrong"
    LIAR = "liar"  # computes without the demanded technique, and redefines the probes to claim it


class Answer(StrictModel):
    """A right, wrong or lying solution of an exercise, kept with the lab."""

    exercise: str
    kind: AnswerKind
    label: str
    source: str
    path: Path
    line: int
    fails: tuple[str, ...] = ()
    """The ids of exactly the checks that fail."""
    raises: str = ""
    """The type of the exception that may make them fail; empty if an exception would prove nothing."""

    @property
    def right(self) -> bool:
        return self.kind is AnswerKind.RIGHT

    @property
    def liar(self) -> bool:
        return self.kind is AnswerKind.LIAR
