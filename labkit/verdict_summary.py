"""What a verdict says first: how many checks passed, and what a mark decides later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from labkit.cause import Cause
from labkit.points import format_points
from labkit.quiz_source import QUIZ_LABEL, drop_half_labels

if TYPE_CHECKING:
    from labkit.verdict import Verdict

SO_FAR = " so far; not done yet:"
FAILED_SINCE = "Checked as it was last defined: your cell has failed since. Correct it and run it, then run this again."
WHERE_ANSWERS_ARE = (
    "Compare below a question, if it's there, says which statements are true, and why. So does the feedback page, once "
    "it's marked."
)


def summarize_verdict(verdict: Verdict) -> str:
    """Say in one line how many checks passed and what remains to be decided."""
    counted, rest = split_summary(verdict)
    return counted + rest


def split_summary(verdict: Verdict) -> tuple[str, str]:
    """Return what is certain, and what a mark will decide or has decided."""
    worth = _format_points(verdict.worth)
    if is_blank(verdict):
        return "not written yet", f"; {worth} to earn" if verdict.worth else ""
    passed = sum(o.passed for o in verdict.outcomes)
    counted = f"{passed} of {_format_count(len(verdict.outcomes), 'check')} passed"
    if verdict.hidden_present:
        done = "done: " if choose_state(verdict) == "pass" else ""
        return done + counted, f", {format_points(verdict.earned)} of {worth}" if verdict.worth else ""
    later = drop_half_labels(verdict.later)
    needed = sum(label in verdict.required for label in later)
    runs = f"{format_points(len(later))} more {'runs' if len(later) == 1 else 'run'} when it's marked"
    runs += f", {needed} of them required" if needed else ""
    points = f", for {worth} in all" if verdict.worth else ""
    return counted, f"{SO_FAR if choose_state(verdict) == 'so far' else ' here;'} {runs}{points}"


def choose_state(verdict: Verdict) -> str:
    """Choose the state of the exercise: what passes so far isn't done until the other checks have run."""
    if is_blank(verdict):
        return "to do"
    if not all(o.passed for o in verdict.outcomes):
        return "fail"
    return "pass" if verdict.hidden_present else "so far"


def is_blank(verdict: Verdict) -> bool:
    """Return whether the exercise is unchanged."""
    return bool(verdict.outcomes) and all(o.cause is Cause.UNWRITTEN for o in verdict.outcomes)


def list_remarks(verdict: Verdict) -> list[str]:
    """List the lines below the summary."""
    is_quiz = not verdict.hidden_present and any(QUIZ_LABEL.match(label) for label in verdict.later)
    remarks = [FAILED_SINCE] if verdict.failed_since else []
    return remarks + ([WHERE_ANSWERS_ARE] if is_quiz and not is_blank(verdict) else [])


def _format_points(points: float) -> str:
    return _format_count(points, "point")


def _format_count(number: float, noun: str) -> str:
    return f"{format_points(number)} {noun}" if number == 1 else f"{format_points(number)} {noun}s"
