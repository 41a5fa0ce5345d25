"""Tries the course's own solution: a test that it passes in its own process alone is decided there for everybody.

Such a test rests on what no call brings over: that two names are one object, what a function keeps, a very long list.
The course's text does not always tell that, a run does. No submission has a part in it.
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
    """Names of the test cells whose points the worked solution gets in its own process only. Arguments as above.

    start: with the course's files, and none of a student's.
    """
    look = inspect_source(own)
    if not any(cell.grade and can_use_proxies(cell.source, look) for cell in own.cells if cell.cell_type == "code"):
        return frozenset()
    try:
        notebook, _ = repair(read_notebook(own.worked.encode(), []), own)
    except RefusedSubmission:
        return frozenset()
    ran = run_notebook(notebook, own, start, timeouts, as_nbgrader_keeps)
    if ran.is_doubtful:  # a neighbour may have taken its memory; what it lost twice, it loses
        ran = run_notebook(notebook, own, start, timeouts, as_nbgrader_keeps)
    return frozenset(ran.lost)
