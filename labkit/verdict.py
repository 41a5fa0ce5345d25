"""The verdict on one check cell, as a table in a notebook and as text without one.

Its plain-text form inside a notebook is the bare number of points: nbgrader reads a partial score from there.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

from labkit.outcome import Outcome, paying

MIME = "application/vnd.gradlab.verdict+json"


@dataclass
class Verdict:
    """outcomes: of the cell's checks. points: the cell's worth. visible: points that the visible checks can show.

    hidden_present: whether the hidden checks ran too, as they do when an instructor grades.
    """

    outcomes: list[Outcome]
    points: float
    visible: float
    hidden_present: bool
    earned: float

    def __repr__(self) -> str:
        return as_text(self)

    def __float__(self) -> float:
        return self.earned

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": f"{self.earned:g}", "text/html": as_html(self), MIME: as_json(self)}


def as_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "points": verdict.points,
        "earned": verdict.earned,
        "hidden_present": verdict.hidden_present,
        "checks": [o.as_dict() for o in verdict.outcomes],
    }


def summary(verdict: Verdict) -> str:
    """One line: how many checks passed, what that is worth, and what the hidden checks still decide."""
    passed = sum(o.passed for o in verdict.outcomes)
    counted = f"{passed} of {len(verdict.outcomes)} checks passed"
    if verdict.hidden_present:
        return f"{counted}: {verdict.earned:g} of {verdict.points:g} points."
    hidden = round(verdict.points - verdict.visible, 4)
    shown = round(verdict.earned / verdict.points * verdict.visible, 4) if verdict.points else 0.0
    line = f"{counted}: {shown:g} of the {verdict.visible:g} points that can be seen here."
    return f"{line} Hidden checks decide the other {hidden:g}." if hidden else line


def details(outcome: Outcome, verdict: Verdict) -> list[str]:
    """What a student reads under a check's label: nothing where it passed without a note."""
    lines = [f"note: {note}" for note in outcome.notes]
    if outcome.passed:
        if verdict.outcomes and outcome not in paying(verdict.outcomes):
            lines.append("pays nothing yet: see the checks that failed")
        return lines
    if outcome.misconception:
        lines.insert(0, outcome.misconception)
    elif outcome.seen:
        expected = f" (expected: {outcome.expected})" if outcome.expected and not verdict.hidden_present else ""
        lines.insert(0, outcome.seen + expected)
    if outcome.hint:
        lines.append(f"hint: {outcome.hint}")
    return lines


def as_text(verdict: Verdict) -> str:
    lines = []
    for outcome in verdict.outcomes:
        lines.append(f"{'pass' if outcome.passed else 'FAIL'}  {outcome.label}")
        lines += [f"      {line}" for line in details(outcome, verdict)]
    return "\n".join([*lines, summary(verdict)])


def as_html(verdict: Verdict) -> str:
    rows = []
    for outcome in verdict.outcomes:
        word, colour = ("pass", "#1a7f37") if outcome.passed else ("fail", "#b42318")
        under = "".join(
            f'<div style="opacity:.8;white-space:pre-wrap">{escape(line)}</div>' for line in details(outcome, verdict)
        )
        rows.append(
            f'<tr><td style="text-align:left;vertical-align:top;color:{colour};font-weight:600">{word}</td>'
            f'<td style="text-align:left">{escape(outcome.label)}{under}</td></tr>'
        )
    return f'<table class="gradlab-verdict"><tbody>{"".join(rows)}</tbody></table><p>{escape(summary(verdict))}</p>'
