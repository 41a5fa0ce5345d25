"""Runs a notebook of a stock assignment: every cell in the student process, in order, tests included.

That gives the marks of stock nbgrader. If possible, tests are also decided outside the process, with a fork of it: a
cell whose tests pass only in its own process earns nothing, since there a submission can fake the outcome. The fork is
used before the cell runs: a process that has run it knows what the tests want, and could pass that on in a file.
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
from autograder.examiner.submission_code import Start, Student
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
ELSEWHERE = "it passed only in the submission's own process"
OWN_PROCESS = "decided in the submission's own process"
INSIDE = "the course's own solution does not pass it elsewhere"
PUT_SECONDS = 60.0
EXAMINER_SECONDS = 60.0  # of processor time that the tests of a cell may take in the grader
SHORT_SECONDS = 5.0  # the same limit, after tests of this notebook took too long
Filter = Callable[[NotebookNode], NotebookNode]


@dataclass(frozen=True)
class DecisionPlan:
    """How test cells are decided."""

    inside: frozenset[str] = frozenset()
    """Cells that only the submission's own process decides, see worked_solution.py."""
    isolate: bool = False
    """Whether tests outside that process run in a child of the grader, see decide()."""


@dataclass
class NotebookRun:
    """The outcome of a notebook."""

    cells: list[GradedCell] = field(default_factory=list)
    notebook: str = ""
    notes: list[Note] = field(default_factory=list)
    remarks: list[Note] = field(default_factory=list)
    """For the instructor only."""
    stopped: dict[str, str] = field(default_factory=dict)
    """The limits that cells ran into, or how they ended, by cell."""
    beside: dict[str, ProxyDecision] = field(default_factory=dict)
    """What tests gave outside the submission's own process, by cell."""
    lost: set[str] = field(default_factory=set)
    """Cells that earn fewer points than in the submission's own process."""
    names: dict[str, str] = field(default_factory=dict)
    """What a student finds each cell by."""
    short_names: dict[str, str] = field(default_factory=dict)

    def note(self, name: str, words: str, quiet: bool, kind: NoteKind = NoteKind.TEST) -> None:
        """Add a note about a cell: for the student as well, or only for the instructor."""
        note = Note(kind=kind, words=words, notebook=self.notebook, cell=self.short_names[name], shown=self.names[name])
        (self.remarks if quiet else self.notes).append(note)

    @property
    def is_doubtful(self) -> bool:
        """Whether a process ran into a limit or was lost: another run might end otherwise."""
        return bool(self.stopped) or any(each.stopped for each in self.beside.values())


def provide_files(start: Start, files: Sequence[tuple[str, bytes]]) -> Start:
    """What starts student processes of a course without labkit, with these files in their scratch home."""

    def start_with_files() -> StudentProcess:
        process = start()
        process.restores = False
        process.put(files, PUT_SECONDS)
        return process

    return start_with_files


def run_notebook(
    notebook: NotebookNode,
    course: StockNotebook,
    start: Start,
    timeouts: Timeouts,
    as_nbgrader_keeps: Filter,
    plan: DecisionPlan | None = None,
) -> NotebookRun:
    """The graded cells of a repaired notebook, whose code cells get their outputs here.

    Args:
        as_nbgrader_keeps: What nbgrader does with outputs before it reads the score from them.
        plan: Without one, every test cell that can be is decided outside the process.
    """
    ran, code = NotebookRun(notebook=course.name), [cell for cell in notebook.cells if cell.cell_type == "code"]
    before = GlobalState().read()
    clock = Clock(timeouts)
    student = Student(start, clock)
    look = inspect_source(course)
    hidden = {cell.id: cell.hides for cell in course.cells}
    quiet = _find_quiet_cells(code, hidden)
    scores: dict[str, Score] = {}
    try:
        _run_cells(code, student, look, ran, clock, plan or DecisionPlan(), course)
        kept = as_nbgrader_keeps(nbformat.from_dict(notebook))
        for cell in kept.cells:
            if is_automatic(cell):
                scores[get_cell_name(cell)] = score_cell(cell, ran.stopped.get(get_cell_name(cell), ""))
    finally:
        GlobalState().apply(before)
        student.kill()
    _bound_outputs(code)
    for name, why in ran.stopped.items():
        ran.note(name, why, name in quiet, NoteKind.STOPPED)
    ran.cells = [
        _grade_cell(
            cell, course.name, scores, ran, hidden.get(get_cell_name(cell), False), get_cell_name(cell) in quiet
        )
        for cell in code
        if is_automatic(cell)
    ]
    return ran


def _find_quiet_cells(code: Sequence[NotebookNode], hidden: Mapping[str, bool]) -> frozenset[str]:
    """The names of the first cell with hidden tests and of those after it.

    A submission may have kept what those tests passed in. So for these cells a student's page shows nothing that the
    submission could vary at will: no text, no number, no status, and not which of them stopped.
    """
    names = [get_cell_name(cell) for cell in code]
    first = next((place for place, name in enumerate(names) if hidden.get(name)), len(names))
    return frozenset(names[first:])


def is_automatic(cell: NotebookNode) -> bool:
    """Whether its own outputs give its points."""
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)


def _run_cells(
    code: Sequence[NotebookNode],
    student: Student,
    look: StockSource,
    ran: NotebookRun,
    clock: Clock,
    plan: DecisionPlan,
    course: StockNotebook,
) -> None:
    """Run every cell; before it runs, decide its tests outside the process if that is possible."""
    for number, cell in enumerate(code, start=1):
        name, key = get_cell_name(cell), get_cell_key(cell)
        if key in course.skipped:
            cell.outputs = []
            continue
        if is_automatic(cell) and can_use_proxies(cell.source, look):
            seconds = (
                SHORT_SECONDS if any(each.stopped is Cause.GRADER for each in ran.beside.values()) else EXAMINER_SECONDS
            )
            asked = partial(decide, course=look, student=student, clock=clock, seconds=seconds, isolate=plan.isolate)
            ran.beside[name] = (
                ProxyDecision(None, INSIDE) if name in plan.inside else _decide_in_fork(cell, student, asked)
            )
        cell.execution_count = number
        try:
            cell.outputs = [
                nbformat.from_dict(output)
                for output in student.run(cell.source, number, seconds=course.limits.get(key))
            ]
        except Stopped as stopped:
            ran.stopped[name] = str(stopped)
            error = {"output_type": "error", "ename": "Stopped", "evalue": str(stopped), "traceback": [str(stopped)]}
            cell.outputs = [nbformat.from_dict(error)]
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
    ran.names = {get_cell_name(cell): get_shown_name(cell, get_cell_name(cell)) for cell in code}
    ran.short_names = {get_cell_name(cell): get_short_name(cell, get_cell_name(cell)) for cell in code}


def _decide_in_fork(
    cell: NotebookNode, student: Student, decide_tests: Callable[[NotebookNode, str], ProxyDecision]
) -> ProxyDecision:
    """What the cell's tests give in a fork of the process, made before the cell runs."""
    name = get_cell_name(cell)
    try:
        student.mark(name)
        student.keep()
        return decide_tests(cell, name)
    except Stopped as stopped:
        return ProxyDecision(None, str(stopped), stopped.reason.cause)


def _bound_outputs(code: Sequence[NotebookNode]) -> None:
    left = MAX_OF_SUBMISSION
    for cell in code:
        bounded, left = limit_outputs(list(cell.outputs), left)
        cell.outputs = [nbformat.from_dict(output) for output in bounded]


def _grade_cell(
    cell: NotebookNode, notebook: str, scores: Mapping[str, Score], ran: NotebookRun, hidden: bool, quiet: bool
) -> GradedCell:
    """A test cell's points and outcome.

    Args:
        quiet: Whether it has hidden tests, or comes after some.
    """
    name, worth = get_cell_name(cell), float(cell.metadata.nbgrader.points)
    score, beside = scores[name], ran.beside.get(name)
    points, why = score.points, score.why
    own = beside is None or beside.points is None
    if beside is not None and beside.points is not None and beside.points < points:
        points, why = beside.points, beside.why or ELSEWHERE
        ran.lost.add(name)
        ran.note(name, why, quiet)
    if beside is not None and beside.points is None and beside.why != INSIDE:  # the page says where it was decided
        ran.note(name, f"{OWN_PROCESS}, since {beside.why}", quiet)
    if score.note:
        ran.note(name, score.note, quiet)
    if score.remark and points >= worth:
        ran.note(name, score.remark, quiet=True)
    seen = why if quiet or not score.message else score.message
    outcome = Outcome("tests", LABEL, passed=not why, seen=seen, hidden=hidden)
    return GradedCell(id=f"{notebook}/{name}", points=points, worth=worth, checks=(outcome,), own_process=own)
