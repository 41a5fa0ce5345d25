"""What a student may be told of a result: of the checks, and of the points that they gave.

A hidden check passes inputs to the student's code, which can keep them and say them later. So from the first hidden
check of a notebook on, no text of the student's own reaches a page, from any check, and few digits do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.examiner.check_connection import SHORT_SECONDS
from autograder.gradebook.excuses import set_passed
from autograder.gradebook.schema import ExerciseResult, SubmissionResult
from autograder.model.term import Tell
from labkit.cause import Cause
from labkit.difference import Difference
from labkit.outcome import Outcome, compute_share, select_hints, select_paying

EXCUSED = "Your instructor excused this check: it counts as passed."
MAX_DIGITS = 40  # in one message: a shape, an index and a value; a bracket or a word of a value counts as one
WHY = ". Run this check in your notebook to read why"
NOT_PASSED = "it did not pass"
SEE_YOURSELF = ". Run this cell in your notebook to read why"
BESIDE = ". Run this check in your notebook to see it beside what was expected"
WHY_SHORT = f": after one check of an exercise ran out of time, each of its others gets {SHORT_SECONDS:g} s"
DIGIT = re.compile(r"[\d\[\](){}<]|\b(?:True|False|None|Ellipsis|nan|inf|u?int|float|bfloat|complex|bool|torch)")


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


def build_student_view(exercises: Sequence[ExerciseResult], tell: Tell = "all") -> dict[str, list[ShownCheck]]:
    """Exercise -> its checks as the student may see them. exercises: of one notebook, in its order.

    tell: all, those that students can read, which then say nothing of the others, or none.
    """
    view: dict[str, list[ShownCheck]] = {}
    after_hidden = False
    for exercise in exercises:
        view[exercise.name] = []
        weights = sum(outcome.weight for outcome in exercise.checks) or 1.0
        told = [outcome for outcome in exercise.checks if is_told(outcome, tell)]
        paid = told if exercise.excused is None else set_passed(told, exercise.excused)
        counts = dict(zip(map(id, told), paid, strict=True))
        short = _find_cut_short(exercise.checks)
        for outcome in exercise.checks:
            after_hidden = after_hidden or outcome.hidden
            if not is_told(outcome, tell):
                continue
            counted = counts[id(outcome)]
            points = exercise.worth * outcome.weight / weights
            excused, whole = counted.passed and not outcome.passed, exercise.excused == frozenset()
            why = EXCUSED if excused else "" if whole else describe_unpaid(counted, paid)
            seen = (
                _show_stock_test(outcome) if exercise.notebook and after_hidden else show_check(outcome, after_hidden)
            )
            check = replace(seen, points=points, unpaid=why)
            if id(outcome) in short:  # the first of them says why, for all
                check, short = replace(check, seen=check.seen + WHY_SHORT), set()
            view[exercise.name].append(check)
    return view


def _find_cut_short(outcomes: Sequence[Outcome]) -> set[int]:
    """The ids of those that reached the limit that checks have after others reached the lab's; see CheckConnection."""
    late = [outcome for outcome in outcomes if outcome.cause in (Cause.TIME, Cause.BUSY)]
    if not late or late[0].limit == SHORT_SECONDS:  # the lab's own limit is as short
        return set()
    return {id(outcome) for outcome in late[1:] if outcome.limit == SHORT_SECONDS}


def is_told(outcome: Outcome, tell: Tell) -> bool:
    return tell == "all" or (tell == "visible" and not outcome.hidden)


def hide_untold(result: SubmissionResult, tell: Tell) -> SubmissionResult:
    """The result as a page with this `tell` counts it: where hidden checks are not told, as if there were none.

    What lateness takes off is a part of all points, so it is not told then, either.
    """
    if tell != "visible":
        return result
    exercises = tuple(e if e.by_hand else _drop_hidden_checks(e) for e in result.exercises)
    hiding = {(e.notebook, e.name.rpartition("/")[2]) for e in result.exercises if any(o.hidden for o in e.checks)}
    return result.model_copy(
        update={
            "exercises": exercises,
            "points": round(sum(e.points or 0.0 for e in exercises), 4),
            "worth": round(sum(e.worth for e in exercises if not e.extra), 4),
            "penalty": 0.0,
            "notes": tuple(note for note in result.notes if (note.notebook, note.cell) not in hiding),
        }
    )


def find_known_inside(exercises: Sequence[ExerciseResult]) -> set[str]:
    """Names of those of which a page may say that they were decided in the submission's own process.

    A submission chooses that by what its functions return: after a hidden test it would say what that passed in.
    exercises: of one notebook, in its order.
    """
    before = itertools.takewhile(lambda each: not any(outcome.hidden for outcome in each.checks), exercises)
    return {exercise.name for exercise in before if exercise.own_process}


def _drop_hidden_checks(exercise: ExerciseResult) -> ExerciseResult:
    visible = [outcome for outcome in exercise.checks if not outcome.hidden]
    counted = visible if exercise.excused is None else set_passed(visible, exercise.excused)
    weights = sum(outcome.weight for outcome in exercise.checks)
    worth = exercise.worth * sum(outcome.weight for outcome in visible) / weights if weights else 0.0
    part = 1.0 if exercise.excused == frozenset() else compute_share(counted)
    alone = len(visible) == len(exercise.checks)
    told = {"points": round(worth * part, 4), "worth": round(worth, 4), "own_process": exercise.own_process and alone}
    return exercise.model_copy(update=told)


def describe_unpaid(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """Why a check that passed pays nothing, and what a required one that failed stops; see select_paying()."""
    if outcome.required and not outcome.passed:
        return "The exercise pays nothing until this check passes."
    if not outcome.passed or outcome in select_paying(outcomes):
        return ""
    stops = next((o for o in outcomes if o.required and not o.passed), None)
    return f"Pays once this passes: {stops.label}." if stops else "Pays once a check of your result's values passes."


def _show_stock_test(outcome: Outcome) -> ShownCheck:
    """A stock test from the first hidden one on: it ran in the submission's process, which may have read that one.

    So of its outcome a page says nothing that the submission can choose but whether it passed.
    """
    seen = "" if outcome.passed else NOT_PASSED if outcome.hidden else NOT_PASSED + SEE_YOURSELF
    return ShownCheck(outcome.label, outcome.passed, outcome.hidden, seen)


def show_check(outcome: Outcome, after_hidden: bool) -> ShownCheck:
    """One check. after_hidden: whether it, or one before it in the notebook, is hidden."""
    seen = outcome.misconception or outcome.seen
    if after_hidden and outcome.error and outcome.blame != "process" and outcome.cause is not Cause.UNWRITTEN:
        seen = f"your code raised {outcome.error}" + ("" if outcome.hidden else WHY)
    elif after_hidden and not outcome.misconception:
        seen = _limit_digits(seen) + (BESIDE if outcome.difference and not outcome.hidden else "")
    difference = None if after_hidden or outcome.hidden else outcome.difference
    return ShownCheck(outcome.label, outcome.passed, outcome.hidden, seen, select_hints(outcome), difference)


def _limit_digits(text: str) -> str:
    digits = list(DIGIT.finditer(text))
    return text if len(digits) <= MAX_DIGITS else text[: digits[MAX_DIGITS].start()] + " ..."
