"""Runs a notebook of a stock assignment: every cell in the student process, in order, tests included.

That gives the marks of stock nbgrader. If possible, tests are also decided outside the process, with a fork of it. A
cell whose tests pass only in its own process earns nothing, since a submission can fake the outcome there. The fork is
used before the cell runs: a process that has run it knows what the tests expect, and could pass that on in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import nbformat
from nbformat import NotebookNode

from autograder.examiner.output_filter import MAX_OF_SUBMISSION, build_stopped_output, limit_outputs, write_outputs
from autograder.examiner.process import StudentProcess
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.submission_runner import ProcessFactory, SubmissionRunner
from autograder.examiner.time_budget import TimeBudget, Timeouts
from autograder.intake.cell_origin import get_short_name, get_shown_name
from autograder.model.metadata import get_cell_name
from autograder.model.notes import NoteKind
from autograder.rpc.global_state import GlobalState
from autograder.stock.cell_grades import find_undisclosed_cells, grade_cell, is_automatic
from autograder.stock.content import StockNotebook
from autograder.stock.notebook_run import DecisionPlan, NotebookRun
from autograder.stock.proxy_eligibility import can_use_proxies, inspect_course_source
from autograder.stock.proxy_tests import ProxyDecision, RunningSubmission, run_tests_on_proxies
from autograder.stock.score import Score, score_cell
from autograder.stock.settings import get_cell_key
from labkit.cause import Cause

PUT_SECONDS = 60.0
EXAMINER_SECONDS = 60.0  # of processor time that the tests of a cell may take in the grader
SHORT_SECONDS = 5.0  # the same limit, after tests of this notebook took too long
OutputFilter = Callable[[NotebookNode], NotebookNode]


def provide_files(start: ProcessFactory, files: Sequence[tuple[str, bytes]]) -> ProcessFactory:
    """Return a function that starts student processes with these files in their home."""

    def start_with_files() -> StudentProcess:
        process = start()
        process.put(files, PUT_SECONDS)
        return process

    return start_with_files


def run_notebook(
    notebook: NotebookNode,
    source: StockNotebook,
    start: ProcessFactory,
    timeouts: Timeouts,
    filter_outputs: OutputFilter,
    plan: DecisionPlan | None = None,
) -> NotebookRun:
    """Run and grade a repaired notebook, whose code cells get their outputs.

    Args:
        filter_outputs: Does what nbgrader does with outputs before it reads the score from them.
        plan: By default, every eligible test cell is decided outside the process.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    run = NotebookRun(
        notebook=source.name,
        names={get_cell_name(cell): get_shown_name(cell, get_cell_name(cell)) for cell in code},
        short_names={get_cell_name(cell): get_short_name(cell, get_cell_name(cell)) for cell in code},
    )
    before = GlobalState().read()
    budget = TimeBudget(timeouts)
    runner = SubmissionRunner(start, budget)
    plan = plan or DecisionPlan()
    submission = RunningSubmission(inspect_course_source(source), runner, budget, plan.isolates_tests)
    hidden = {cell.id: cell.has_hidden_part for cell in source.cells}
    undisclosed = find_undisclosed_cells(code, hidden)
    scores: dict[str, Score] = {}
    try:
        _run_cells(code, source, run, submission, plan.own_process_cells)
        filtered = filter_outputs(nbformat.from_dict(notebook))
        for cell in filtered.cells:
            if is_automatic(cell):
                scores[get_cell_name(cell)] = score_cell(cell, run.stop_reasons.get(get_cell_name(cell), ""))
    finally:
        GlobalState().apply(before)
        runner.kill()
    _limit_all_outputs(code)
    for name, message in run.stop_reasons.items():
        run.add_note(name, message, name in undisclosed, NoteKind.STOPPED)
    names = [(cell, get_cell_name(cell)) for cell in code if is_automatic(cell)]
    run.cells = [
        grade_cell(cell, scores[name], run, hidden.get(name, False), name in undisclosed) for cell, name in names
    ]
    return run


def _run_cells(
    code: Sequence[NotebookNode],
    source: StockNotebook,
    run: NotebookRun,
    submission: RunningSubmission,
    own_process_cells: Container[str],
) -> None:
    """Run every cell. Before a test cell runs, decide it outside the process if possible."""
    for number, cell in enumerate(code, start=1):
        name, key = get_cell_name(cell), get_cell_key(cell)
        if key in source.skipped:
            cell.outputs = []
            continue
        if is_automatic(cell) and can_use_proxies(cell.source, submission.source):
            was_slow = any(each.cause is Cause.GRADER for each in run.decisions.values())
            run.decisions[name] = (
                ProxyDecision(None, is_planned=True)
                if name in own_process_cells
                else _decide_in_fork(cell, submission, SHORT_SECONDS if was_slow else EXAMINER_SECONDS)
            )
        if reason := _run_cell(cell, number, submission.runner, source.cell_seconds.get(key)):
            run.stop_reasons[name] = reason


def _run_cell(cell: NotebookNode, number: int, runner: SubmissionRunner, seconds: float | None) -> str:
    """Run the cell, which gets its outputs. Returns the limit that it reached, or how it ended its process; else ""."""
    reason = ""
    try:
        outputs = runner.run(cell.source, number, seconds=seconds)
    except StoppedError as stopped:
        reason = str(stopped)
        outputs = [build_stopped_output(reason)]
    write_outputs(cell, outputs, number)
    return reason


def _decide_in_fork(cell: NotebookNode, submission: RunningSubmission, seconds: float) -> ProxyDecision:
    """Decide the cell's tests in a fork of the process, made before the cell runs."""
    name = get_cell_name(cell)
    try:
        submission.runner.add_replay_point(name)
        submission.runner.keep_state()
        return run_tests_on_proxies(cell, name, submission, seconds)
    except StoppedError as stopped:
        return ProxyDecision(None, str(stopped), stopped.reason.cause)


def _limit_all_outputs(code: Sequence[NotebookNode]) -> None:
    remaining = MAX_OF_SUBMISSION
    for cell in code:
        bounded, remaining = limit_outputs(list(cell.outputs), remaining)
        cell.outputs = [nbformat.from_dict(output) for output in bounded]
