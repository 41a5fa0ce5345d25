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


# JupyterLab's own colours, light or dark. The second ones stand where there is no JupyterLab, as in feedback.
COLOURS = {True: "var(--jp-success-color1, #1a7f37)", False: "var(--jp-error-color1, #b42318)"}


def as_html(verdict: Verdict) -> str:
    rows = []
    for outcome in verdict.outcomes:
        under = "".join(
            f'<div style="opacity:.8;white-space:pre-wrap">{escape(line)}</div>' for line in details(outcome, verdict)
        )
        word = f'<b style="color:{COLOURS[outcome.passed]}">{"pass" if outcome.passed else "fail"}</b>'
        rows.append(_row(word, escape(outcome.label) + under))
    rows.append(_row("", f"<b>{escape(summary(verdict))}</b>"))
    return f'<table class="gradlab-verdict"><tbody>{"".join(rows)}</tbody></table>'


def _row(word: str, text: str) -> str:
    """No stripes: JupyterLab gives every second row of a table another ground."""
    cell = '<td style="text-align:left;vertical-align:top">'
    return f'<tr style="background:none">{cell}{word}</td>{cell}{text}</td></tr>'
