"""Grades the test cells of a stock notebook that has run.

A cell whose tests pass only in the own process of the submission earns nothing, since it can fake the outcome there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder.model.metadata import get_cell_name, make_stock_name
from autograder.model.nbgrader_cells import is_by_hand, read_worth
from autograder.model.result import GradedCell
from autograder.stock.notebook_run import NotebookRun
from autograder.stock.score import Score
from labkit.outcome import Outcome

LABEL = "the tests of this cell"
PASSED_INSIDE = "it passed only in the submission's own process"
DECIDED_INSIDE = "decided in the submission's own process"


def is_automatic(cell: NotebookNode) -> bool:
    """Return whether the cell's own outputs give its points."""
    return is_grade(cell) and not is_by_hand(cell.cell_type, is_solution(cell))


def find_undisclosed_cells(code: Sequence[NotebookNode], hidden: Mapping[str, bool]) -> frozenset[str]:
    """Return the names of the first cell with hidden tests and of all cells after it.

    A submission may have kept what hidden tests passed in. So for these cells a student's page shows nothing that the
    submission could vary at will: no text, no number, no status, and not which of them stopped.
    """
    names = [get_cell_name(cell) for cell in code]
    first = next((place for place, name in enumerate(names) if hidden.get(name)), len(names))
    return frozenset(names[first:])


def grade_cell(cell: NotebookNode, score: Score, run: NotebookRun, hidden: bool, undisclosed: bool) -> GradedCell:
    """Grade a test cell, and add notes about it to the run.

    Args:
        score: Its score in the submission's own process.
        hidden: Whether it has hidden tests.
        undisclosed: Whether it has hidden tests, or follows a cell that has.
    """
    name, worth = get_cell_name(cell), read_worth(cell)
    decision = run.decisions.get(name)
    points, reason = score.points, score.reason
    own_process = decision is None or decision.points is None
    if decision is not None and decision.points is not None and decision.points < points:
        points, reason = decision.points, decision.reason or PASSED_INSIDE
        run.reduced.add(name)
        run.add_note(name, reason, undisclosed)
    if decision is not None and decision.points is None and not decision.is_planned:  # else the page shows it anyway
        run.add_note(name, f"{DECIDED_INSIDE}, since {decision.reason}", undisclosed)
    if score.note:
        run.add_note(name, score.note, undisclosed)
    if score.remark and points >= worth:
        run.add_note(name, score.remark, undisclosed=True)
    seen = reason if undisclosed or not score.message else score.message
    outcome = Outcome("tests", LABEL, passed=not reason, seen=seen, hidden=hidden)
    return GradedCell(
        id=make_stock_name(run.notebook, name), points=points, worth=worth, checks=(outcome,), own_process=own_process
    )
