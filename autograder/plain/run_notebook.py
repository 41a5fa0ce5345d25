"""Runs a notebook of a plain assignment: every cell in the student process, in its order, tests among them.

That gives the marks of stock nbgrader. Tests that can be decided beside the process are, too, by a fork of it: a cell
whose tests pass only in its own process earns nothing, since there a submission can answer for them. The fork is asked
before the cell runs: a process that has run it knows what the tests want, and could tell its forks by a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder.examiner.checked_outputs import MAX_OF_SUBMISSION, within
from autograder.examiner.clock import Clock, Timeouts
from autograder.examiner.connection import Stopped
from autograder.examiner.process import StudentProcess
from autograder.examiner.submission_code import Start, Student
from autograder.intake.handed_in_cells import short_name, shown_name
from autograder.intake.notes import RAN_WITHOUT
from autograder.metadata import name_of
from autograder.plain.assignment import PlainNotebook
from autograder.plain.beside import Beside, decide
from autograder.plain.eligible import PlainSource, can_be_beside, look_at
from autograder.plain.score import Score, score_of
from autograder.plain.stock_settings import key_of
from autograder.result import GradedCell
from autograder.rpc.global_state import GlobalState
from labkit.outcome import Outcome

LABEL = "the tests of this cell"
OWN_PROCESS = "decided in the submission's own process"
INSIDE = "the course's own solution does not pass it elsewhere"
PUT_SECONDS = 60.0
Filter = Callable[[NotebookNode], NotebookNode]


@dataclass
class Ran:
    """What came of a notebook. stopped: by cell, the limit that it ran into, or how it ended. lost: cells that have
    fewer points than in the submission's own process. remarks: for the instructor alone. names, short_names: what a
    student finds each cell by.
    """

    cells: list[GradedCell] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    stopped: dict[str, str] = field(default_factory=dict)
    beside: dict[str, Beside] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    short_names: dict[str, str] = field(default_factory=dict)


def with_files(start: Start, files: Sequence[tuple[str, bytes]]) -> Start:
    """Student processes of a course without labkit, in whose scratch home these files lie."""

    def started() -> StudentProcess:
        process = start()
        process.restores = False
        process.put(files, PUT_SECONDS)
        return process

    return started


def run_notebook(
    notebook: NotebookNode,
    course: PlainNotebook,
    start: Start,
    timeouts: Timeouts,
    as_nbgrader_keeps: Filter,
    inside: Set[str] = frozenset(),
) -> Ran:
    """The graded cells of a repaired notebook, whose code cells get their outputs here.

    as_nbgrader_keeps: what nbgrader does with outputs before it looks at them for the score. inside: test cells that
    are not decided beside the process, see worked.py.
    """
    ran, code = Ran(), [cell for cell in notebook.cells if cell.cell_type == "code"]
    before = GlobalState().read()
    clock = Clock(timeouts)
    student = Student(start, clock)
    look = look_at(course)
    scores: dict[str, Score] = {}
    try:
        _run_cells(code, student, look, ran, clock, inside, course)
        kept = as_nbgrader_keeps(nbformat.from_dict(notebook))
        for cell in kept.cells:
            if is_automatic(cell):
                scores[name_of(cell)] = score_of(cell, ran.stopped.get(name_of(cell), ""))
    finally:
        GlobalState().apply(before)
        student.kill()
    _bound_outputs(code)
    hidden = {cell.id: cell.hides for cell in course.cells}
    ran.cells = [_graded(cell, course.name, scores, ran, hidden) for cell in code if is_automatic(cell)]
    _quiet_after_hidden(ran.cells)
    return ran


def is_automatic(cell: NotebookNode) -> bool:
    """Whether its own outputs give its points."""
    return cell.cell_type == "code" and is_grade(cell) and not is_solution(cell)


def _run_cells(
    code: Sequence[NotebookNode],
    student: Student,
    look: PlainSource,
    ran: Ran,
    clock: Clock,
    inside: Set[str],
    course: PlainNotebook,
) -> None:
    """Every cell's outputs, and before it, where its tests can be decided beside the process, what they give there."""
    for number, cell in enumerate(code, start=1):
        name, key = name_of(cell), key_of(cell)
        if key in course.skipped:
            cell.outputs = []
            continue
        if is_automatic(cell) and can_be_beside(cell.source, look):
            ran.beside[name] = Beside(None, INSIDE) if name in inside else _asked(cell, look, student, clock)
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
    ran.names = {name_of(cell): shown_name(cell, name_of(cell)) for cell in code}
    ran.short_names = {name_of(cell): short_name(cell, name_of(cell)) for cell in code}
    ran.notes = [f"{ran.names[name]}: {why}. {RAN_WITHOUT}" for name, why in ran.stopped.items()]


def _asked(cell: NotebookNode, look: PlainSource, student: Student, clock: Clock) -> Beside:
    """What its tests give in a fork of the process as it is before the cell runs."""
    name = name_of(cell)
    try:
        student.mark(name)
        student.keep()
        return decide(cell, name, look, student, clock)
    except Stopped as stopped:
        return Beside(None, str(stopped))


def _bound_outputs(code: Sequence[NotebookNode]) -> None:
    left = MAX_OF_SUBMISSION
    for cell in code:
        bounded, left = within(list(cell.outputs), left)
        cell.outputs = [nbformat.from_dict(output) for output in bounded]


def _graded(
    cell: NotebookNode,
    notebook: str,
    scores: Mapping[str, Score],
    ran: Ran,
    hidden: Mapping[str, bool],
) -> GradedCell:
    name, worth = name_of(cell), float(cell.metadata.nbgrader.points)
    score, beside = scores[name], ran.beside.get(name)
    points, why = score.points, score.why
    own = beside is None or beside.points is None
    if beside is not None and beside.points is not None and beside.points < points:
        points, why = beside.points, beside.why or "it passed only in the submission's own process"
        ran.lost.add(name)
        ran.notes.append(f"{ran.names[name]}: {why}.")
    if beside is not None and beside.points is None and beside.why != INSIDE:  # the page says where it was decided
        ran.notes.append(f"{ran.names[name]}: {OWN_PROCESS}, since {beside.why}.")
    if score.note:
        ran.notes.append(f"{ran.names[name]}: {score.note}.")
    if score.remark and points >= worth:
        ran.remarks.append(f"{name}: {score.remark}.")
    seen = why if hidden.get(name) or not score.message else score.message
    outcome = Outcome("tests", LABEL, passed=not why, seen=seen, hidden=hidden.get(name, False))
    return GradedCell(id=f"{notebook}/{name}", points=points, worth=worth, checks=(outcome,), own_process=own)


def _quiet_after_hidden(cells: list[GradedCell]) -> None:
    """From the first hidden test on, no text of an exception: the submission may have kept what the test passed in."""
    after = False
    for place, cell in enumerate(cells):
        (outcome,) = cell.checks
        after = after or outcome.hidden
        if after and not outcome.hidden and not outcome.passed:
            told: dict[str, Any] = outcome.as_dict() | {"seen": "it failed. Run this cell in your notebook to read why"}
            cells[place] = cell.model_copy(update={"checks": (Outcome(**told),)})
