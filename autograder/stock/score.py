"""The score of a test cell's outputs: by nbgrader's own function or, if that raises, by our rules."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass, replace

from nbformat import NotebookNode
from nbgrader.utils import determine_grade, has_failed

from autograder.base.text import replace_controls, truncate
from autograder.model.nbgrader_cells import read_worth

MAX_MESSAGE = 300
MAX_SHOWN = 60
# A NumPy number as NumPy 2 shows it. Earlier versions show it like a Python number.
NUMPY = re.compile(r"np\.(?:float|longdouble|half|single|double|u?int|u?byte|u?short|u?long)\w*\('?([^()']+)'?\)")
EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)


@dataclass(frozen=True)
class Score:
    """What a test cell earns, and why."""

    points: float
    note: str = ""
    """A note if nbgrader itself would have stopped with an error."""
    reason: str = ""
    """Why points are missing, in words that quote nothing from the student."""
    message: str = ""
    """The exception's own message, which may quote the student."""
    remark: str = ""
    """For the instructor only, if nbgrader gives all points although fewer may have been intended."""


def score_cell(cell: NotebookNode, stopped: str = "") -> Score:
    """Score an automatic cell by the outputs of its run.

    Args:
        stopped: The limit that it reached, or how it ended.
    """
    cell = _convert_numpy_numbers(cell)
    return replace(_score(cell, stopped), remark=_find_remark(cell))


def _convert_numpy_numbers(cell: NotebookNode) -> NotebookNode:
    """Show a NumPy number as a Python number, since nbgrader reads only those."""
    outputs = []
    for output in cell.outputs:
        text = _get_shown_text(output)
        match = NUMPY.fullmatch(text.strip()) if text else None
        if match:
            data = NotebookNode({**output.data, "text/plain": match[1]})
            outputs.append(NotebookNode({**output, "data": data}))
        else:
            outputs.append(output)
    return NotebookNode({**cell, "outputs": outputs})


def _get_shown_text(output: NotebookNode) -> str | None:
    """Return the text of the value in this output; None if it isn't a value or has no text."""
    text = output.get("data", {}).get("text/plain") if output.output_type == "execute_result" else None
    return "".join(text) if isinstance(text, list) else text


def _find_remark(cell: NotebookNode) -> str:
    """Return a remark on a value from which nbgrader reads no score: it gives all points and only logs a warning."""
    value = next((output for output in cell.outputs if output.output_type == "execute_result"), None)
    if value is None or has_failed(cell):
        return ""
    text = _get_shown_text(value)
    if not text:
        return "it shows a value without text, from which nbgrader reads no score, so it earns all points"
    try:
        if float(text) >= 0:
            return ""
    except ValueError:
        if text == "True":
            return ""
    line = replace_controls(" ".join(text.split()))
    return f"it shows {truncate(line, MAX_SHOWN, '…')}, from which nbgrader reads no score, so it earns all points"


def _score(cell: NotebookNode, stopped: str) -> Score:
    worth = read_worth(cell)
    try:
        points = float(determine_grade(cell)[0] or 0.0)
    except ValueError:
        return Score(worth, note=f"its score is above the {worth:g} points that it's worth, so it earns {worth:g}")
    except (KeyError, TypeError):
        return Score(worth)  # a value without text isn't a number: all points, as for any other text
    if points >= worth and not has_failed(cell):
        return Score(points)
    reason, message = (stopped, "") if stopped else _find_cause(cell)
    return Score(points, reason=reason or f"it gave {points:g} of {worth:g} points", message=message)


def _find_cause(cell: NotebookNode) -> tuple[str, str]:
    for output in cell.outputs:
        if output.output_type == "error":
            name = output.ename if output.ename in EXCEPTIONS else "an exception"
            value = f": {output.evalue}" if output.evalue else ""
            return f"it ended with {name}", f"{output.ename}{value}"[:MAX_MESSAGE]
        if output.output_type == "stream" and output.name == "stderr":
            return "something was written to stderr, perhaps a warning, which costs all points", ""
        if output.output_type == "execute_result":
            break
    return "", ""
