"""What a student may be told of the checks.

A hidden check passes inputs to the student's code, which can keep them and say them later. So from the first hidden
check of a notebook on, no text of the student's own reaches a page, from any check, and few digits do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.gradebook.excused import as_passed
from autograder.gradebook.schema import ExerciseResult
from autograder.term import Tell
from labkit.blame import NOT_WRITTEN
from labkit.difference import Difference
from labkit.outcome import Outcome, fitting_hints, paying

EXCUSED = "Your instructor excused this check: it counts as passed."
MAX_DIGITS = 40  # in one message: a shape, an index and a value
WHY = ". Run this check in your notebook to read why"
BESIDE = ". Run this check in your notebook to see it beside what was expected"
DIGIT = re.compile(r"\d")


@dataclass(frozen=True)
class ShownCheck:
    """A check as its student may see it. seen: a message about the student's own result, where it failed.

    difference: only of a visible check before the first hidden one. A later one's could carry a hidden input.
    points: of the exercise's that it pays where it passes. unpaid: why one that passed pays nothing, or what one that
    failed stops.
    """

    label: str
    passed: bool
    hidden: bool = False
    seen: str = ""
    hints: tuple[str, ...] = ()
    difference: Difference | None = None
    points: float = 0.0
    unpaid: str = ""


def student_view(exercises: Sequence[ExerciseResult]) -> dict[str, list[ShownCheck]]:
    """Exercise -> its checks as the student may see them. exercises: of one notebook, in its order."""
    view: dict[str, list[ShownCheck]] = {}
    after_hidden = False
    for exercise in exercises:
        view[exercise.name] = []
        weights = sum(outcome.weight for outcome in exercise.checks) or 1.0
        checks = list(exercise.checks)
        paid = checks if exercise.excused is None else as_passed(checks, exercise.excused)
        for outcome, counted in zip(checks, paid, strict=True):
            after_hidden = after_hidden or outcome.hidden
            points = exercise.worth * outcome.weight / weights
            excused, whole = counted.passed and not outcome.passed, exercise.excused == frozenset()
            why = EXCUSED if excused else "" if whole else unpaid(counted, paid)
            view[exercise.name].append(replace(shown(outcome, after_hidden), points=points, unpaid=why))
    return view


def told(view: dict[str, list[ShownCheck]], tell: Tell) -> dict[str, list[ShownCheck]]:
    """What of it a page shows while students may still hand in: all, the checks that they can read, or points alone."""
    if tell == "all":
        return view
    return {name: [c for c in checks if tell == "visible" and not c.hidden] for name, checks in view.items()}


def unpaid(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """Why a check that passed pays nothing, and what a required one that failed stops; see labkit.outcome.paying."""
    if outcome.required and not outcome.passed:
        return "The exercise pays nothing until this check passes."
    if not outcome.passed or outcome in paying(outcomes):
        return ""
    stops = next((o for o in outcomes if o.required and not o.passed), None)
    return f"Pays once this passes: {stops.label}." if stops else "Pays once a check of your result's values passes."


def shown(outcome: Outcome, after_hidden: bool) -> ShownCheck:
    """One check. after_hidden: whether it, or one before it in the notebook, is hidden."""
    seen = outcome.misconception or outcome.seen
    if after_hidden and outcome.error and outcome.blame != "process" and outcome.seen != NOT_WRITTEN:
        seen = f"your code raised {outcome.error}" + ("" if outcome.hidden else WHY)
    elif after_hidden and not outcome.misconception:
        seen = _few_digits(seen) + (BESIDE if outcome.difference and not outcome.hidden else "")
    difference = None if after_hidden or outcome.hidden else outcome.difference
    return ShownCheck(outcome.label, outcome.passed, outcome.hidden, seen, fitting_hints(outcome), difference)


def _few_digits(text: str) -> str:
    digits = list(DIGIT.finditer(text))
    return text if len(digits) <= MAX_DIGITS else text[: digits[MAX_DIGITS].start()] + " ..."
