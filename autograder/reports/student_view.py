"""What a student may be told of the checks.

A hidden check passes inputs to the student's code, which can keep them and say them later. So from the first hidden
check of a notebook on, no text of the student's own reaches a page, from any check, and few digits do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.gradebook.schema import ExerciseResult
from labkit.blame import NOT_WRITTEN
from labkit.outcome import Outcome

MAX_DIGITS = 40  # in one message: a shape, an index and a value
WHY = ". Run this check in your notebook to read why"
DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class ShownCheck:
    """A check as its student may see it. seen: a message about the student's own result, where it failed."""

    label: str
    passed: bool
    hidden: bool = False
    seen: str = ""
    hint: str = ""


def student_view(exercises: Sequence[ExerciseResult]) -> dict[str, list[ShownCheck]]:
    """Exercise -> its checks as the student may see them. exercises: of one notebook, in its order."""
    view: dict[str, list[ShownCheck]] = {}
    after_hidden = False
    for exercise in exercises:
        view[exercise.name] = []
        for outcome in exercise.checks:
            after_hidden = after_hidden or outcome.hidden
            view[exercise.name].append(shown(outcome, after_hidden))
    return view


def shown(outcome: Outcome, after_hidden: bool) -> ShownCheck:
    """One check. after_hidden: whether it, or one before it in the notebook, is hidden."""
    seen = outcome.misconception or outcome.seen
    if after_hidden and outcome.error and outcome.blame != "process" and outcome.seen != NOT_WRITTEN:
        seen = f"your code raised {outcome.error}" + ("" if outcome.hidden else WHY)
    elif after_hidden and not outcome.misconception:
        seen = _few_digits(seen)
    return ShownCheck(outcome.label, outcome.passed, outcome.hidden, seen, outcome.hint)


def _few_digits(text: str) -> str:
    digits = list(DIGIT.finditer(text))
    return text if len(digits) <= MAX_DIGITS else text[: digits[MAX_DIGITS].start()] + " ..."
