"""The marks of a stock assignment's submission, as nbgrader gives them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from nbformat import NotebookNode
from nbgrader.utils import determine_grade, is_grade, is_solution, is_task

from autograder.intake.cell_origin import is_to_be_read
from autograder.model.marks import MarkSheet
from autograder.model.metadata import get_cell_name, make_stock_name
from autograder.model.nbgrader_cells import is_blank, is_by_hand, read_worth
from autograder.model.result import ResultDocument


def compute_stock_marks(
    result: ResultDocument, notebooks: Mapping[str, NotebookNode], submitted: datetime | None = None
) -> MarkSheet:
    """Compute a submission's marks. As in nbgrader, no cell of a missing notebook waits for a person.

    Args:
        notebooks: The autograded notebooks, by name.
        submitted: When it was submitted, as UTC without a time zone, if known.
    """
    scores: dict[str, float | None] = {}
    worth, blank = {}, {}
    for notebook, content in notebooks.items():
        for cell in content.cells:
            name = make_stock_name(notebook, get_cell_name(cell))
            if is_grade(cell) or is_task(cell):
                worth[name] = read_worth(cell)
            if is_grade(cell):
                points = result.get_points(name)
                if points is None:
                    points = 0.0 if notebook in result.missing else _get_manual_score(cell)
                scores[name] = points
            elif is_task(cell) and notebook in result.missing:
                scores[name] = 0.0
            if is_solution(cell) or is_task(cell):
                is_unchanged = is_blank(cell) and not is_to_be_read(cell)
                blank[name] = is_unchanged and not is_task(cell) and notebook not in result.missing
    return MarkSheet(result.student, scores, blank, submitted, worth)


def _get_manual_score(cell: NotebookNode) -> float | None:
    """Return 0 for an unchanged answer without work next to it, else None: a person has to read it."""
    if is_to_be_read(cell):
        return None
    return determine_grade(cell)[0] if is_by_hand(cell.cell_type, is_solution(cell)) else None
