"""What a student may see of a result: its checks, and the points that they gave.

A hidden check passes inputs to the student's code, which can keep them and repeat them later. So from the first hidden
check of a notebook on, no text of the student's own reaches a page, from any check, and few digits do.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from autograder.gradebook.excuses import set_passed
from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.model.term import Tell
from labkit.cause import Cause
from labkit.difference import Difference
from labkit.outcome import SHORT_SECONDS, Blame, Outcome, compute_share, select_earning, select_hints

EXCUSED = "Your instructor excused this check: it counts as passed."
MAX_DIGITS = 40  # in one message: a shape, an index and a value; a bracket or a word of a value counts as one
RUN_CHECK = ". Run this check in your notebook to see why"
NOT_PASSED = "it didn't pass"
SAME = "the same as for “{}”"  # the label of an earlier check
LATE = (Cause.TIME, Cause.BUSY)
RUN_CELL = ". Run this cell in your notebook to see why"
COMPARE = ". Run this check in your notebook to compare it with what was expected"
SHORT_LIMIT = f": after one check of an exercise runs out of time, each of its others gets {SHORT_SECONDS:g} s"
DIGIT = re.compile(r"[\d\[\](){}<]|\b(?:True|False|None|Ellipsis|nan|inf|u?int|float|bfloat|complex|bool|torch)")


@dataclass(frozen=True)
class ShownCheck:
    """A check as its student may see it."""

    label: str
    passed: bool
    hidden: bool = False
    seen: str = ""
    """A message about the student's own result, if the check failed."""
    hints: tuple[str, ...] = ()
    expected: str = ""
    """What a failed check expected: of a visible one before the first hidden one, or on the page of an own copy."""
    call: str = ""
    """The call that failed, with its values; only on the page of an own copy."""
    difference: Difference | None = None
    """Only for a visible check before the first hidden one. A later one's could carry a hidden input."""
    points: float = 0.0
    """What it earns if it passes, out of the exercise's points."""
    unearned: str = ""
    """Why it passed and earns nothing, or what its failure stops."""
    is_late: bool = False
    """Whether it ran out of time, which says nothing about the answer's values."""


def build_student_view(
    exercises: Sequence[GradedCellResult], tell: Tell = "all", is_own_copy: bool = False
) -> dict[str, list[ShownCheck]]:
    """Return each exercise's checks as the student may see them.

    Args:
        exercises: The exercises of one notebook, in its order.
        tell: Which checks to show: all, only visible ones (which then reveal nothing about hidden ones), or none.
        is_own_copy: Whether it's for a student who works alone. The clone holds the checks, so nothing is kept back.
    """
    view: dict[str, list[ShownCheck]] = {}
    after_hidden = False
    for exercise in exercises:
        view[exercise.name] = []
        weights = sum(outcome.weight for outcome in exercise.checks) or 1.0
        shown = [outcome for outcome in exercise.checks if is_shown(outcome, tell)]
        counted = set_passed(shown, exercise.excused)
        counted_by_id = dict(zip(map(id, shown), counted, strict=True))
        short_ids = _find_short_limit_ids(exercise.checks)
        for outcome in exercise.checks:
            after_hidden = after_hidden or outcome.hidden
            if not is_shown(outcome, tell):
                continue
            counts_as = counted_by_id[id(outcome)]
            points = exercise.worth * outcome.weight / weights
            is_excused, is_whole = counts_as.passed and not outcome.passed, exercise.excused.is_whole
            is_free = is_whole or not exercise.worth
            unearned = EXCUSED if is_excused else "" if is_free else explain_unearned(counts_as, counted)
            check = (
                _build_shown_stock_test(outcome)
                if exercise.notebook and after_hidden
                else build_shown_check(outcome, after_hidden, is_own_copy)
            )
            check = replace(check, points=points, unearned=unearned)
            if id(outcome) in short_ids:  # the first of them explains it for all
                check, short_ids = replace(check, seen=check.seen + SHORT_LIMIT), set()
            is_plain = check.hidden and check.seen and not outcome.error and outcome.cause is None
            earlier = (each for each in view[exercise.name] if _is_same_finding(check, each))
            if is_plain and (first := next(earlier, None)):
                check = replace(check, seen=SAME.format(first.label), expected="", call="")
            view[exercise.name].append(check)
    return view


def _is_same_finding(check: ShownCheck, earlier: ShownCheck) -> bool:
    return earlier.hidden and (earlier.seen, earlier.expected) == (check.seen, check.expected)


def _find_short_limit_ids(outcomes: Sequence[Outcome]) -> set[int]:
    """Return the ids of outcomes that reached the short limit, which applies once one reached the lab's limit.

    See CheckConnection.
    """
    late = [outcome for outcome in outcomes if outcome.cause in LATE]
    if not late or late[0].has_short_limit:  # the lab's own limit is as short
        return set()
    return {id(outcome) for outcome in late[1:] if outcome.has_short_limit}


def is_shown(outcome: Outcome, tell: Tell) -> bool:
    return tell == "all" or (tell == "visible" and not outcome.hidden)


def drop_hidden_checks(result: SubmissionResult, tell: Tell) -> SubmissionResult:
    """Return the result as a page with this `tell` counts it: without hidden checks, if it shows only visible ones.

    The penalty for lateness is a share of all points, so it's left out then, too.
    """
    if tell != "visible":
        return result
    exercises = tuple(e if e.by_hand else _drop_from_exercise(e) for e in result.exercises)
    with_hidden = {(e.notebook, e.cell) for e in result.exercises if e.cell and any(o.hidden for o in e.checks)}
    return result.model_copy(
        update={
            "exercises": exercises,
            "points": round(sum(e.points or 0.0 for e in exercises), 4),
            "worth": round(sum(e.worth for e in exercises if not e.is_extra_credit), 4),
            "penalty": 0.0,
            "notes": tuple(note for note in result.notes if (note.notebook, note.cell) not in with_hidden),
        }
    )


def find_own_process_names(exercises: Sequence[GradedCellResult]) -> set[str]:
    """Return the names of exercises that a page may call decided in the submission's own process.

    A submission chooses that by what its functions return, so after a hidden test it could reveal that test's inputs.

    Args:
        exercises: The exercises of one notebook, in its order.
    """
    before = itertools.takewhile(lambda each: not any(outcome.hidden for outcome in each.checks), exercises)
    return {exercise.name for exercise in before if exercise.own_process}


def _drop_from_exercise(exercise: GradedCellResult) -> GradedCellResult:
    visible = [outcome for outcome in exercise.checks if not outcome.hidden]
    counted = set_passed(visible, exercise.excused)
    weights = sum(outcome.weight for outcome in exercise.checks)
    worth = exercise.worth * sum(outcome.weight for outcome in visible) / weights if weights else 0.0
    share = 1.0 if exercise.excused.is_whole else compute_share(counted)
    has_no_hidden = len(visible) == len(exercise.checks)
    update = {
        "points": round(worth * share, 4),
        "worth": round(worth, 4),
        "own_process": exercise.own_process and has_no_hidden,
    }
    return exercise.model_copy(update=update)


def explain_unearned(outcome: Outcome, outcomes: Sequence[Outcome]) -> str:
    """Say why a check that passed earns nothing, and what a required one that failed stops; see select_earning()."""
    if outcome.required and not outcome.passed:
        return "The exercise earns no points until this check passes."
    if not outcome.passed or outcome in select_earning(outcomes):
        return ""
    failed = next((o for o in outcomes if o.required and not o.passed), None)
    condition = f"“{failed.label}” passes" if failed else "a check of your result's values passes"
    return f"Earns points once {condition}."


def _build_shown_stock_test(outcome: Outcome) -> ShownCheck:
    """Show a stock test from the first hidden one on.

    It ran in the submission's process, which may have read the hidden test. So the page says only whether it passed,
    and nothing else that the submission can choose.
    """
    seen = "" if outcome.passed else NOT_PASSED if outcome.hidden else NOT_PASSED + RUN_CELL
    return ShownCheck(outcome.label, outcome.passed, outcome.hidden, seen)


def build_shown_check(outcome: Outcome, after_hidden: bool, is_own_copy: bool = False) -> ShownCheck:
    """Show one check.

    Args:
        after_hidden: Whether it, or one before it in the notebook, is hidden.
        is_own_copy: Whether it's for a student who works alone.
    """
    seen = outcome.misconception or outcome.seen
    keeps_back = after_hidden and not is_own_copy
    expected = "" if outcome.passed or outcome.misconception or keeps_back else outcome.expected
    if keeps_back and outcome.error and outcome.blame is not Blame.PROCESS and outcome.cause is not Cause.UNWRITTEN:
        seen = f"your code raised {outcome.error}" + ("" if outcome.hidden else RUN_CHECK)
    elif keeps_back and not outcome.misconception:
        seen = _limit_digits(seen) + (COMPARE if outcome.difference and not outcome.hidden else "")
    difference = None if keeps_back or outcome.hidden else outcome.difference
    call = outcome.call if is_own_copy else ""
    hints = select_hints(outcome)
    is_late = outcome.cause in LATE
    return ShownCheck(
        outcome.label, outcome.passed, outcome.hidden, seen, hints, expected, call, difference, is_late=is_late
    )


def _limit_digits(text: str) -> str:
    digits = list(DIGIT.finditer(text))
    return text if len(digits) <= MAX_DIGITS else text[: digits[MAX_DIGITS].start()] + " ..."
