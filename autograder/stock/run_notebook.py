"""Runs a notebook of a stock assignment: every cell in the student process, in order, tests included.

That gives the marks of stock nbgrader. If possible, tests are also decided outside the process, with a fork of it. A
cell whose tests pass only in its own process earns nothing, since a submission can fake the outcome there. The fork is
used before the cell runs: a process that has run it knows what the tests expect, and could pass that on in a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder.examiner.checked_outputs import MAX_OF_SUBMISSION, limit_outputs
from autograder.examiner.clock import Clock, Timeouts
from autograder.examiner.connection import Stopped
from autograder.examiner.process import StudentProcess
from autograder.examiner.submission_runner import Start, SubmissionRunner
from autograder.intake.cell_origin import get_short_name, get_shown_name
from autograder.model.metadata import get_cell_name
from autograder.model.notes import Note, NoteKind
from autograder.model.result import GradedCell
from autograder.rpc.global_state import GlobalState
from autograder.stock.assignment import StockNotebook
from autograder.stock.eligibility import StockSource, can_use_proxies, inspect_source
from autograder.stock.proxy_tests import ProxyDecision, decide
from autograder.stock.score import Score, score_cell
from autograder.stock.settings import get_cell_key
from labkit.cause import Cause
from labkit.outcome import Outcome

LABEL = "the tests of this cell"
PASSED_INSIDE = "it passed only in the submission's own process"
DECIDED_INSIDE = "decided in the submission's own process"
ONLY_INSIDE = "the course's own solution passes it only there"
PUT_SECONDS = 60.0
EXAMINER_SECONDS = 60.0  # of processor time that the tests of a cell may take in the grader
SHORT_SECONDS = 5.0  # the same limit, after tests of this notebook took too long
Filter = Callable[[NotebookNode], NotebookNode]


@dataclass(frozen=True)
class DecisionPlan:
    """How test cells are decided."""

    inside_cells: frozenset[str] = frozenset()
    """Cells that are decided only in the submission's own process; see worked_solution.py."""
    isolate: bool = False
    """Whether tests outside that process run in a child of the grader; see decide()."""


@dataclass
class NotebookRun:
    """The outcome of a notebook."""

    cells: list[GradedCell] = field(default_factory=list)
    notebook: str = ""
    notes: list[Note] = field(default_factory=list)
    remarks: list[Note] = field(default_factory=list)
    """For the instructor only."""
    stopped: dict[str, str] = field(default_factory=dict)
    """The limits that cells reached, or how they ended, by cell."""
    decisions: dict[str, ProxyDecision] = field(default_factory=dict)
    """The outcomes of tests outside the submission's own process, by cell."""
    reduced: set[str] = field(default_factory=set)
    """Cells that earn fewer points than in the submission's own process."""
    names: dict[str, str] = field(default_factory=dict)
    """Names by which a student finds each cell."""
    short_names: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, words: str, quiet: bool, kind: NoteKind = NoteKind.TEST) -> None:
        """Add a note about a cell: for the student as well, or only for the instructor."""
        note = Note(kind=kind, words=words, notebook=self.notebook, cell=self.short_names[name], shown=self.names[name])
        (self.remarks if quiet else self.notes).append(note)

    @property
    def is_doubtful(self) -> bool:
        """Whether a process reached a limit or was lost, so another run might end differently."""
        return bool(self.stopped) or any(each.cause for each in self.decisions.values())


def provide_files(start: Start, files: Sequence[tuple[str, bytes]]) -> Start:
    """Return a function that starts student processes for a course without labkit, with these files in their home."""

    def start_with_files() -> StudentProcess:
        process = start()
        process.restores = False
        process.put(files, PUT_SECONDS)
        return process

    return start_with_files


def run_notebook(
    notebook: NotebookNode,
    source: StockNotebook,
    start: Start,
    timeouts: Timeouts,
    filter_outputs: Filter,
    plan: DecisionPlan | None = None,
) -> NotebookRun:
    """Run and grade a repaired notebook, whose code cells get their outputs.

    Args:
        filter_outputs: Does what nbgrader does with outputs before it reads the score from them.
        plan: By default, every eligible test cell is decided outside the process.
    """
    result, code = (
        NotebookRun(notebook=source.name),
        [cell for cell in notebook.cells if cell.cell_type == "code"],
    )
    before = GlobalState().read()
    clock = Clock(timeouts)
    student = SubmissionRunner(start, clock)
    course_source = inspect_source(source)
    hidden = {cell.id: cell.has_hidden_part for cell in source.cells}
    quiet = _find_quiet_cells(code, hidden)
    scores: dict[str, Score] = {}
    try:
        _run_cells(code, student, course_source, result, clock, plan or DecisionPlan(), source)
        filtered = filter_outputs(nbformat.from_dict(notebook))
        for cell in filtered.cells:
            if is_automatic(cell):
                scores[get_cell_name(cell)] = score_cell(cell, result.stopped.get(get_cell_name(cell), ""))
    finally:
        GlobalState().apply(before)
        student.kill()
    _bound_outputs(code)
    for name, words in result.stopped.items():
        result.note(name, words, name in quiet, NoteKind.STOPPED)
    result.cells = [
        _grade_cell(
            cell,
            source.name,
            scores,
            result,
            hidden.get(get_cell_name(cell), False),
            get_cell_name(cell) in quiet,
        )
        for cell in code
        if is_automatic(cell)
    ]
    return result


def _find_quiet_cells(code: Sequence[NotebookNode], hidden: Mapping[str, bool]) -> frozenset[str]:
    """Return the names of the first cell with hidden tests and of all cells after it.

    A submission may have kept what hidden tests passed in. So for these cells a student's page shows nothing that the
    submission could vary at will: no text, no number, no status, and not which of them stopped.
    """
    names = [get_cell_name(cell) for cell in code]
    first = next((place for place, name in enumerate(names) if hidden.get(name)), len(names))
    return frozenset(names[first:])


def is_automatic(cell: NotebookNode) -> bool:
    """Return whether the cell's own outputs give its points."""
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)


def _run_cells(
    code: Sequence[NotebookNode],
    student: SubmissionRunner,
    course_source: StockSource,
    result: NotebookRun,
    clock: Clock,
    plan: DecisionPlan,
    source: StockNotebook,
) -> None:
    """Run every cell. Before a test cell runs, decide it outside the process if possible."""
    for number, cell in enumerate(code, start=1):
        name, key = get_cell_name(cell), get_cell_key(cell)
        if key in source.skipped:
            cell.outputs = []
            continue
        if is_automatic(cell) and can_use_proxies(cell.source, course_source):
            seconds = (
                SHORT_SECONDS
                if any(each.cause is Cause.GRADER for each in result.decisions.values())
                else EXAMINER_SECONDS
            )
            decide_tests = partial(
                decide, facts=course_source, student=student, clock=clock, seconds=seconds, isolate=plan.isolate
            )
            result.decisions[name] = (
                ProxyDecision(None, ONLY_INSIDE)
                if name in plan.inside_cells
                else _decide_in_fork(cell, student, decide_tests)
            )
        cell.execution_count = number
        try:
            cell.outputs = [
                nbformat.from_dict(output)
                for output in student.run(cell.source, number, seconds=source.limits.get(key))
            ]
        except Stopped as stopped:
            result.stopped[name] = str(stopped)
            error = {"output_type": "error", "ename": "Stopped", "evalue": str(stopped), "traceback": [str(stopped)]}
            cell.outputs = [nbformat.from_dict(error)]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    result.names = {get_cell_name(cell): get_shown_name(cell, get_cell_name(cell)) for cell in code}
    result.short_names = {get_cell_name(cell): get_short_name(cell, get_cell_name(cell)) for cell in code}


def _decide_in_fork(
    cell: NotebookNode, student: SubmissionRunner, decide_tests: Callable[[NotebookNode, str], ProxyDecision]
) -> ProxyDecision:
    """Decide the cell's tests in a fork of the process, made before the cell runs."""
    name = get_cell_name(cell)
    try:
        student.mark_state(name)
        student.keep_state()
        return decide_tests(cell, name)
    except Stopped as stopped:
        return ProxyDecision(None, str(stopped), stopped.reason.cause)


def _bound_outputs(code: Sequence[NotebookNode]) -> None:
    remaining = MAX_OF_SUBMISSION
    for cell in code:
        bounded, remaining = limit_outputs(list(cell.outputs), remaining)
        cell.outputs = [nbformat.from_dict(output) for output in bounded]


def _grade_cell(
    cell: NotebookNode, notebook: str, scores: Mapping[str, Score], result: NotebookRun, hidden: bool, quiet: bool
) -> GradedCell:
    """Grade a test cell.

    Args:
        quiet: Whether it has hidden tests, or follows a cell that has.
    """
    name, worth = get_cell_name(cell), float(cell.metadata.nbgrader.points)
    score, decision = scores[name], result.decisions.get(name)
    points, reason = score.points, score.reason
    own_process = decision is None or decision.points is None
    if decision is not None and decision.points is not None and decision.points < points:
        points, reason = decision.points, decision.reason or PASSED_INSIDE
        result.reduced.add(name)
        result.note(name, reason, quiet)
    if decision is not None and decision.points is None and decision.reason != ONLY_INSIDE:  # shown on the page anyway
        result.note(name, f"{DECIDED_INSIDE}, since {decision.reason}", quiet)
    if score.note:
        result.note(name, score.note, quiet)
    if score.remark and points >= worth:
        result.note(name, score.remark, quiet=True)
    seen = reason if quiet or not score.message else score.message
    outcome = Outcome("tests", LABEL, passed=not reason, seen=seen, hidden=hidden)
    return GradedCell(id=f"{notebook}/{name}", points=points, worth=worth, checks=(outcome,), own_process=own_process)
