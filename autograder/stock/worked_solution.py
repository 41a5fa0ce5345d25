"""Tries the course's own solution: a test that it passes only in its own process is decided there for all students.

Such a test depends on what no call transfers: that two names are one object, what a function keeps, a very long list.
The course's text doesn't always show that, but a run does. No submission is involved.
"""

from __future__ import annotations

from autograder.examiner.clock import Timeouts
from autograder.examiner.submission_code import Start
from autograder.intake.read import RefusedSubmission, read_notebook
from autograder.stock.assignment import StockNotebook
from autograder.stock.eligibility import can_use_proxies, inspect_source
from autograder.stock.preprocess import repair
from autograder.stock.run_notebook import Filter, run_notebook


def find_inside_cells(
    own: StockNotebook, start: Start, timeouts: Timeouts, as_nbgrader_keeps: Filter
) -> frozenset[str]:
    """Names of the test cells whose points the worked solution gets only in its own process.

    Args:
        start: Starts student processes with the course's files, without a student's.
        as_nbgrader_keeps: As in run_notebook().
    """
    look = inspect_source(own)
    if not any(cell.grade and can_use_proxies(cell.source, look) for cell in own.cells if cell.cell_type == "code"):
        return frozenset()
    try:
        notebook, _ = repair(read_notebook(own.worked.encode(), []), own)
    except RefusedSubmission:
        return frozenset()
    ran = run_notebook(notebook, own, start, timeouts, as_nbgrader_keeps)
    if ran.is_doubtful:  # another process may have taken its memory: only what fails twice counts
        ran = run_notebook(notebook, own, start, timeouts, as_nbgrader_keeps)
    return frozenset(ran.lost)
