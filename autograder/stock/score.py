"""What nbgrader gives for the outputs of a test cell: by its own function or, if that raises, by a rule of ours."""

from __future__ import annotations

import builtins
import re
from dataclasses import dataclass, replace

from nbformat import NotebookNode
from nbgrader.utils import determine_grade, has_failed

from autograder.base.text import replace_controls

MAX_MESSAGE = 300
MAX_SHOWN = 60
# A NumPy number as it is shown since version 2. Before, it looked like a Python number.
NUMPY = re.compile(r"np\.(?:float|longdouble|half|single|double|u?int|u?byte|u?short|u?long)\w*\('?([^()']+)'?\)")
EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)


@dataclass(frozen=True)
class Score:
    """What a test cell earns, and why."""

    points: float
    note: str = ""
    """For the instructor, if nbgrader itself would have stopped."""
    why: str = ""
    """What cost points, in words that quote nothing from the student."""
    message: str = ""
    """The exception's own message, which may quote the student."""
    remark: str = ""
    """Only for the instructor, if nbgrader gives all points where fewer were perhaps meant."""


def score_cell(cell: NotebookNode, stopped: str = "") -> Score:
    """Score an automatic cell by the outputs of its run.

    Args:
        stopped: The limit that it ran into, or how it ended.
    """
    cell = _convert_numpy_numbers(cell)
    return replace(_score(cell, stopped), remark=_find_remark(cell))


def _convert_numpy_numbers(cell: NotebookNode) -> NotebookNode:
    """The cell, with a NumPy number shown as Python's: nbgrader reads only those."""
    outputs = []
    for output in cell.outputs:
        text = _get_shown_text(output)
        found = NUMPY.fullmatch(text.strip()) if text else None
        if found:
            data = NotebookNode({**output.data, "text/plain": found[1]})
            outputs.append(NotebookNode({**output, "data": data}))
        else:
            outputs.append(output)
    return NotebookNode({**cell, "outputs": outputs})


def _get_shown_text(output: NotebookNode) -> str | None:
    """The text of the value in this output; None if it isn't a value, or has no text."""
    text = output.get("data", {}).get("text/plain") if output.output_type == "execute_result" else None
    return "".join(text) if isinstance(text, list) else text


def _find_remark(cell: NotebookNode) -> str:
    """A remark about a value that gives all points because nbgrader reads no score in it, and only logs a warning."""
    value = next((output for output in cell.outputs if output.output_type == "execute_result"), None)
    if value is None or has_failed(cell):
        return ""
    text = _get_shown_text(value)
    if not text:
        return "it shows a value without a text, in which nbgrader reads no score: it gives all points"
    try:
        if float(text) >= 0:
            return ""
    except ValueError:
        if text == "True":
            return ""
    line = replace_controls(" ".join(text.split()))
    shown = line if len(line) <= MAX_SHOWN else line[:MAX_SHOWN] + "…"
    return f"it shows {shown}, in which nbgrader reads no score: it gives all points"


def _score(cell: NotebookNode, stopped: str) -> Score:
    worth = float(cell.metadata.nbgrader.points)
    try:
        points = float(determine_grade(cell)[0] or 0.0)
    except ValueError:
        return Score(worth, note=f"its score is above the {worth:g} points that it is worth, which count")
    except (KeyError, TypeError):
        return Score(worth)  # a value without text is no number: all points, as for any other text
    if points >= worth and not has_failed(cell):
        return Score(points)
    why, message = (stopped, "") if stopped else _find_cause(cell)
    return Score(points, why=why or f"it gave {points:g} of {worth:g} points", message=message)


def _find_cause(cell: NotebookNode) -> tuple[str, str]:
    for output in cell.outputs:
        if output.output_type == "error":
            name = output.ename if output.ename in EXCEPTIONS else "an exception"
            said = f": {output.evalue}" if output.evalue else ""
            return f"it ended with {name}", f"{output.ename}{said}"[:MAX_MESSAGE]
        if output.output_type == "stream" and output.name == "stderr":
            return "something was written to stderr, a warning perhaps, which costs all points", ""
        if output.output_type == "execute_result":
            break
    return "", ""
