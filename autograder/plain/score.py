"""What nbgrader gives for the outputs of a test cell: by its own function, and where that raises, by a rule of ours."""

from __future__ import annotations

import builtins
from dataclasses import dataclass

from nbformat import NotebookNode
from nbgrader.utils import determine_grade, has_failed

MAX_MESSAGE = 300
EXCEPTIONS = frozenset(
    name for name, value in vars(builtins).items() if isinstance(value, type) and issubclass(value, BaseException)
)


@dataclass(frozen=True)
class Score:
    """points: what the cell earns. note: for the instructor, where nbgrader itself would have stopped.

    why: what cost points, in words without a text of the student's. message: the exception's own, which has one.
    """

    points: float
    note: str = ""
    why: str = ""
    message: str = ""


def score_of(cell: NotebookNode, stopped: str = "") -> Score:
    """cell: an automatic one, with the outputs of its run. stopped: the limit that it ran into, or how it ended."""
    worth = float(cell.metadata.nbgrader.points)
    try:
        points = float(determine_grade(cell)[0] or 0.0)
    except ValueError:
        return Score(worth, note=f"its score is above the {worth:g} points that it is worth, which count")
    except (KeyError, TypeError):
        return Score(worth)  # it shows something that has no text: no number, so all points, as for any other text
    if points >= worth and not has_failed(cell):
        return Score(points)
    why, message = (stopped, "") if stopped else _cause(cell)
    return Score(points, why=why or f"it gave {points:g} of {worth:g} points", message=message)


def _cause(cell: NotebookNode) -> tuple[str, str]:
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
