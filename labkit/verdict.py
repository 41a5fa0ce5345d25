"""The verdict on one exercise, shown as a card in a notebook and as text elsewhere.

In a notebook, its plain text is just the number of points: nbgrader reads a partial score from there.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from typing import Any

from labkit.card_style import CARD, COLORS, SYSTEM, VALUE
from labkit.cause import Cause
from labkit.difference import Difference
from labkit.hint import fold_hints
from labkit.outcome import Outcome, select_earning, select_hints
from labkit.quiz_source import drop_half_labels
from labkit.value_table import render_values
from labkit.verdict_summary import SO_FAR, choose_state, is_blank, list_remarks, split_summary, summarize_verdict

MIME = "application/vnd.gradlab.verdict+json"
NAMES = ("call", "expected")  # of lines that a card sets apart
SAME_ERROR = "the same error as above"
NO_RETURN = "Your function returned None. Does every path through it end with a return?"
SAME_NOTHING = "It returned None here, too."


@dataclass
class Verdict:
    """The verdict of an exercise's checks."""

    exercise: str
    outcomes: list[Outcome]
    """The outcomes of the checks that ran."""
    worth: float
    """What the exercise is worth; 0 for practice."""
    earned: float
    later: tuple[str, ...] = ()
    """The labels of the checks that didn't run."""
    required: tuple[str, ...] = ()
    """Those of them without which no point is earned."""
    hidden_present: bool = True
    """Whether hidden checks ran too, as they do in grading."""
    source_digest: str = ""
    """The digest of the exercise's cell when the checks ran; empty if unknown."""
    failed_since: bool = False
    """Whether the exercise's cell ran again and failed, so the checks found an earlier definition."""
    folds: bool = True
    """Whether the page that shows it supports <details>. nbgrader's pages don't."""

    def __repr__(self) -> str:
        return render_text(self)

    def __float__(self) -> float:
        return self.earned

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        return {"text/plain": f"{self.earned:g}", "text/html": render_html(self), MIME: to_json(self)}


def to_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "exercise": verdict.exercise,
        "points": verdict.worth,
        "earned": verdict.earned,
        "hidden_present": verdict.hidden_present,
        "source": verdict.source_digest,
        "checks": [
            o.as_dict() | ({"difference": None, "call": ""} if verdict.hidden_present else {}) for o in verdict.outcomes
        ],
        "later": list(verdict.later),
    }


def list_details(outcome: Outcome, verdict: Verdict) -> list[str]:
    """List the lines under a check's label; none if it passed without a note."""
    lines = [f"note: {note}" for note in outcome.notes]
    if outcome.passed:
        if verdict.worth and verdict.outcomes and outcome not in select_earning(verdict.outcomes):
            lines.append("earns points once the failed checks pass")
        return lines
    if outcome.cause is Cause.NOTHING:
        first = next(o for o in verdict.outcomes if o.cause is Cause.NOTHING)
        return [*_list_call(outcome, verdict), NO_RETURN if outcome is first else SAME_NOTHING, *lines]
    if (
        outcome.error
        and next(o for o in verdict.outcomes if (o.error, o.seen) == (outcome.error, outcome.seen)) is not outcome
    ):
        return [SAME_ERROR, *lines]
    failures = [outcome.misconception] if outcome.misconception else []
    failures += _list_call(outcome, verdict)
    if outcome.seen and not (outcome.misconception and verdict.hidden_present):
        failures.append(outcome.seen)
        if outcome.expected and not verdict.hidden_present:
            failures.append(f"expected: {outcome.expected}")
    if difference := select_difference(outcome, verdict):
        failures += _format_forms(difference)
    return failures + lines


def _list_call(outcome: Outcome, verdict: Verdict) -> list[str]:
    return [f"call: {outcome.call}"] if outcome.call and not verdict.hidden_present else []


def select_difference(outcome: Outcome, verdict: Verdict) -> Difference | None:
    """Return the difference to show. None if hidden checks ran too: here it's unknown which outcomes are theirs."""
    return None if outcome.passed or verdict.hidden_present else outcome.difference


def _format_forms(difference: Difference) -> list[str]:
    is_same = difference.yours == difference.expected
    forms = f"both: {difference.yours}" if is_same else f"yours: {difference.yours}; expected: {difference.expected}"
    return [forms, difference.note] if difference.note else [forms]


def render_text(verdict: Verdict) -> str:
    lines = [f"{verdict.exercise}: {summarize_verdict(verdict)}", *list_remarks(verdict)]
    for outcome in [] if is_blank(verdict) else verdict.outcomes:
        lines.append(f"{'pass' if outcome.passed else 'FAIL'}  {_name(outcome.label, outcome.required)}")
        lines += [f"      {line}" for line in list_details(outcome, verdict)]
        if hints := select_hints(outcome):
            more = f" ({len(hints) - 1} more in a notebook)" if hints[1:] else ""
            lines.append(f"      hint: {hints[0]}{more}")
    return "\n".join([*lines, *(f"later {label}" for label in _name_later(verdict))])


SIGNS = {
    "pass": ("pass", "✓"),
    "fail": ("fail", "✗"),
    "so far": ("ready", "◐"),
    "later": ("later", "○"),
    "to do": ("untouched", "○"),
}


def render_html(verdict: Verdict) -> str:
    """Render the card without scripts or tables, so JupyterLab, nbgrader's pages and nbviewer show the same."""
    shown = [] if is_blank(verdict) else verdict.outcomes
    rows = [
        _render_row(
            "pass" if o.passed else "fail",
            _name(o.label, o.required),
            list_details(o, verdict),
            _render_details(o, verdict),
            belief=o.misconception,
        )
        for o in shown
    ]
    waiting = [_render_row("to do", _name(o.label, o.required), []) for o in verdict.outcomes if not shown]
    waiting += [_render_row("later", label, []) for label in _name_later(verdict)]
    label = escape(f"Checks of {verdict.exercise}", quote=True)
    items = "".join(rows + waiting)
    card = f'<div class="gradlab gradlab-card" role="group" aria-label="{label}" style="{CARD}">'
    return f'<div style="{SYSTEM}">{card}{_render_head(verdict)}{items}</div></div>'


def _render_head(verdict: Verdict) -> str:
    """Render the line that says how far the exercise is. Once it's marked, cards.js hides what was pending."""
    counted, rest = map(escape, split_summary(verdict))
    if not verdict.hidden_present and not is_blank(verdict):
        words, rest = (SO_FAR, rest.removeprefix(SO_FAR)) if rest.startswith(SO_FAR) else ("", rest)
        counted += _render_pending(words) if words else ""
        rest = _render_pending(rest)
    sign = f'<span class="gradlab-card-state">{_render_sign(choose_state(verdict))}</span>'
    weight = "bold" if verdict.failed_since else "normal"
    remarks = "".join(f'<div style="font-weight:{weight}">{escape(line)}</div>' for line in list_remarks(verdict))
    return f'<div class="gradlab-card-head">{escape(verdict.exercise)}: {sign} <b>{counted}</b>{rest}{remarks}</div>'


def _render_pending(words: str) -> str:
    return f'<span class="gradlab-card-pending">{words}</span>'


def _render_details(outcome: Outcome, verdict: Verdict) -> str:
    """Render what follows the lines: the two tensors, and hints that open one by one."""
    difference = select_difference(outcome, verdict)
    matrices = render_values(difference) if difference else ""
    hints = select_hints(outcome)
    if not verdict.folds:
        return matrices + "".join(
            f"<div>hint {number}: {escape(one)}</div>" for number, one in enumerate(hints, start=1)
        )
    return matrices + fold_hints(hints)


def _render_row(state: str, label: str, lines: list[str], details: str = "", belief: str = "") -> str:
    under = "".join(_render_line(line, line == belief) for line in lines) + details
    word = f'<b style="color:{COLORS[state]};min-width:3em">{state}</b>'
    layout = "display:flex;gap:.5em;margin-top:.5em"
    kind = f"gradlab-check gradlab-check-{SIGNS[state][0]}"
    return (
        f'<div class="{kind}" style="{layout}">{_render_sign(state)}{word}<div>{_mark_code(label)}{under}</div></div>'
    )


def _render_sign(state: str) -> str:
    name, letter = SIGNS[state]
    style = f"color:{COLORS[state]}"
    return f'<span class="gradlab-sign gradlab-sign-{name}" aria-hidden="true" style="{style}">{letter}</span>'


def _render_line(line: str, is_belief: bool) -> str:
    """Render a line below a label. A belief is set apart, and so is the word before a colon that names what follows."""
    name, _, rest = line.partition(": ")
    value = f'<code style="{VALUE}">{escape(rest)}</code>' if name == "call" or "tensor(" in rest else escape(rest)
    shown = f"<b>{name}:</b> {value}" if name in NAMES else escape(line)
    shown = f"<b>{_mark_code(line)}</b>" if is_belief else shown
    return f'<div style="opacity:.9;white-space:pre-wrap">{shown}</div>'


def _mark_code(text: str) -> str:
    """Render a text of the course's, whose code is between backticks."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escape(text))


def _name(label: str, is_required: bool) -> str:
    return f"{label} (required)" if is_required else label


def _name_later(verdict: Verdict) -> list[str]:
    return [_name(label, label in verdict.required) for label in drop_half_labels(verdict.later)]
