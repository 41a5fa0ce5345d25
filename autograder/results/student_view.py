"""What a student may be told of the checks.

A hidden check passes inputs to the student's code, which can keep them and say them later. So from the first hidden
check of a notebook on, no text of the student's own reaches a page, from any check, and few digits do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from autograder.result import CheckOutcome, GradedCell
from autograder.results.schema import CheckResult
from labkit.blame import NOT_WRITTEN

MAX_DIGITS = 40  # in one message: a shape, an index and a value
WHY = ". Run this check in your notebook to read why"
DIGIT = re.compile(r"\d")


def student_view(cells: Iterable[GradedCell]) -> dict[str, tuple[CheckResult, ...]]:
    """Check cell's id -> its checks as its student may see them. cells: of one notebook, in its order."""
    view: dict[str, tuple[CheckResult, ...]] = {}
    after_hidden = False
    for cell in cells:
        results = []
        for check in cell.checks:
            after_hidden = after_hidden or check.hidden
            results.append(check_for_student(check, after_hidden))
        view[cell.id] = tuple(results)
    return view


def check_for_student(check: CheckOutcome, after_hidden: bool) -> CheckResult:
    """One check. after_hidden: whether it, or one before it in the notebook, is hidden."""
    seen = check.misconception or check.seen
    if after_hidden and check.error and check.blame != "process" and check.seen != NOT_WRITTEN:
        seen = f"your code raised {check.error}" + ("" if check.hidden else WHY)
    elif after_hidden and not check.misconception:
        seen = _few_digits(seen)
    return CheckResult(label=check.label, passed=check.passed, hidden=check.hidden, seen=seen, hint=check.hint)


def _few_digits(text: str) -> str:
    digits = list(DIGIT.finditer(text))
    return text if len(digits) <= MAX_DIGITS else text[: digits[MAX_DIGITS].start()] + " ..."
