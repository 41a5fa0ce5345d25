"""Runs the course's own solution: tests that it passes only in its own process are decided there for all students.

Such a test depends on what calls don't transfer: that two names are one object, state that a function keeps, or a very
long list. The course's source doesn't always show that, but a run does. No submission is involved.
"""

from __future__ import annotations

from autograder.examiner.submission_runner import ProcessFactory
from autograder.examiner.time_budget import Timeouts
from autograder.intake.notebook_reading import SubmissionRefusedError, read_notebook
from autograder.stock.content import StockNotebook
from autograder.stock.notebook_execution import OutputFilter, run_notebook
from autograder.stock.notebook_repair import repair_stock_notebook
from autograder.stock.proxy_eligibility import can_use_proxies, inspect_course_source


def find_proxy_incompatible_cells(
    source: StockNotebook, start: ProcessFactory, timeouts: Timeouts, filter_outputs: OutputFilter
) -> frozenset[str]:
    """Return the names of test cells whose points the worked solution gets only in its own process.

    Args:
        start: Starts student processes with only the course's files.
        filter_outputs: As in run_notebook().
    """
    course_source = inspect_course_source(source)
    if not any(
        cell.grade and can_use_proxies(cell.source, course_source) for cell in source.cells if cell.cell_type == "code"
    ):
        return frozenset()
    try:
        notebook, _ = repair_stock_notebook(read_notebook(source.worked_notebook.encode(), []), source)
    except SubmissionRefusedError:
        return frozenset()
    result = run_notebook(notebook, source, start, timeouts, filter_outputs)
    if result.is_doubtful:  # another process may have taken its memory, so only a second failure counts
        result = run_notebook(notebook, source, start, timeouts, filter_outputs)
    return frozenset(result.reduced)
