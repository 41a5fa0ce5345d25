"""Marks a student's own copy of a lab, with the whole grader but no gradebook, for people who work alone."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import is_grade, is_solution

from autograder.base.atomic_files import write_atomically
from autograder.base.errors import GradlabError
from autograder.base.processors import is_machine_busy
from autograder.classroom.assignment_kinds import open_assignment
from autograder.classroom.copy_marks import (
    build_marks,
    read_model_answers,
    select_own_marks,
    write_marks,
)
from autograder.classroom.grading_settings import read_settings
from autograder.classroom.interrupted_cells import drop_interrupted_cells
from autograder.forkserver.client import ForkServerClient
from autograder.forkserver.server_process import ForkServerProcess
from autograder.gradebook.gradebook_cells import GradebookCell
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_reader import build_result
from autograder.gradebook.submission_result import SubmissionResult
from autograder.gradebook.submission_rows import CellRow, SubmissionRow
from autograder.grading.grading_progress import ProgressListener
from autograder.grading.lab_submission import GradedSubmission, grade_lab_task
from autograder.grading.task import GradingSettings, NotebookFile, Task
from autograder.intake.notebook_reading import SubmissionRefusedError, read_file
from autograder.model.assignments import AssignmentKind, require_source
from autograder.model.marks import Mark
from autograder.model.metadata import get_cell_name, read_cell_metadata
from autograder.model.nbgrader_cells import is_by_hand
from autograder.model.notes import NoteKind
from autograder.model.result import ResultDocument
from autograder.reports.feedback import PageOptions, render_feedback_page
from autograder.sandbox import Isolation, find_layers, find_strongest_level
from autograder.workers.task_grading import ForkServers, Grader, grade_with_retries, make_process_settings
from labkit.cause import Cause
from labkit.mark_file import get_page_path, read_marks
from labkit.points import format_points

STUDENT = "your own copy"
PATIENCE = 4  # times the limit of a check, on a busy machine
WEAK_ISOLATION = (
    "This machine isolates your code at the level '{level}', not 'full'. That's fine for your own code, which you "
    "run here anyway. For other people's code, see gradlab doctor."
)


@dataclass(frozen=True, kw_only=True)
class CopyMark(Mark):
    """The mark of a student's own copy. Its points and its worth leave out answers that the student hasn't marked."""

    by_hand: float
    """What those answers are worth."""
    page: Path
    """The feedback page."""

    @property
    def message(self) -> str:
        mark = f"{format_points(self.points or 0.0)} of {format_points(self.worth + self.by_hand)} points"
        written = f"; written answers, not marked yet, are worth {format_points(self.by_hand)} of them"
        return mark + written if self.by_hand else mark


@dataclass(frozen=True)
class GradedCopy:
    """A student's own copy, as the grader graded it."""

    course: Path
    notebook: Path
    content: bytes
    """The file, as the student saved it."""
    graded: GradedSubmission
    autograded: NotebookNode

    def write(self) -> CopyMark:
        """Write the feedback page and the marks, which count the student's own. Raises GradlabError."""
        before = read_marks(self.notebook)
        own = {name: mark.points for name, mark in select_own_marks(self.content, before).items()}
        result = _build_result(self.graded, self.autograded, own)
        page = get_page_path(self.notebook)
        try:
            solutions = read_model_answers(self.course, self.notebook, result, self.autograded)
            options = PageOptions(solutions=solutions, is_own_copy=True)
            write_atomically(page, render_feedback_page(result, self.autograded, options))
            write_marks(self.notebook, build_marks(result, self.autograded, self.content, before))
        except OSError as error:
            raise GradlabError(
                f"the page of {self.notebook} can't be written: {error}",
                fix="make its folder writable, or free some space",
            ) from None
        by_hand = sum(e.worth for e in result.exercises if e.points is None)
        return CopyMark(result.points, result.worth - by_hand, by_hand > 0, by_hand=by_hand, page=page)


def read_course_settings(course: Path) -> GradingSettings:
    """Read how this course grades, with the strongest isolation that this machine offers if it can't offer `full`."""
    settings = read_settings(open_course(course).config)
    level = find_strongest_level(find_layers()) if settings.isolation is Isolation.FULL else settings.isolation
    return replace(settings, isolation=level)


def grade_copy(
    course: Path,
    notebook: Path,
    settings: GradingSettings,
    fork_servers: ForkServers,
    server_process: ForkServerProcess | None = None,
    on_progress: ProgressListener | None = None,
    is_busy: Callable[[], bool] = is_machine_busy,
) -> GradedCopy:
    """Grade the notebook in this file.

    Args:
        notebook: The file.
        settings: How to grade it.
        fork_servers: Those that earlier marks have used; new ones are added.
        server_process: A running process that can become the first of them.
        on_progress: Called at the beginning of each step.
        is_busy: Whether other programs slow this machine down. Checks that run out of time then get more of it.

    Raises:
        GradlabError: If the file isn't a notebook of a lab of this course, or couldn't be graded.
    """
    lab = notebook.stem
    source = course / "source" / lab / f"{lab}.ipynb"
    require_source(course, lab)
    open_assignment(course, lab).refuse_self_marking()
    try:
        content, notes = read_file(notebook)
    except SubmissionRefusedError as error:
        raise GradlabError(f"{notebook} can't be read: {error}") from None
    except OSError as error:
        raise GradlabError(f"{notebook} can't be read: {error.strerror}", fix="make it readable for you") from None
    if settings.isolation is not Isolation.FULL:
        notes = [*notes, WEAK_ISOLATION.format(level=settings.isolation)]
    kept, skipped = drop_interrupted_cells(content)
    file = NotebookFile(lab, kept, notes=(*notes, *skipped))
    task = Task(lab, STUDENT, (file,), source.read_bytes(), settings)
    if server_process and not fork_servers:
        fork_servers[make_process_settings(task)] = ForkServerClient(
            make_process_settings(task), [course], server_process
        )
    graded = _grade(task, course, fork_servers, on_progress)
    if is_busy() and _has_run_out_of_time(graded.result):
        # Other programs slow down each step of the student's code. What was right a minute ago has to stay right.
        timeouts = replace(settings.timeouts, check=PATIENCE * settings.timeouts.check)
        patient_task = replace(task, settings=replace(settings, timeouts=timeouts))
        graded = _grade(patient_task, course, fork_servers, on_progress)
    return GradedCopy(course, notebook, content, graded, nbformat.reads(graded.notebooks[lab], as_version=4))


def _grade(
    task: Task, course: Path, fork_servers: ForkServers, on_progress: ProgressListener | None
) -> GradedSubmission:
    """Grade the copy. Raises GradlabError if it couldn't be graded."""
    grader: Grader = functools.partial(grade_lab_task, on_progress=on_progress)
    graded = grade_with_retries(task, [course], fork_servers, {AssignmentKind.LAB: grader})
    if not isinstance(graded, GradedSubmission):
        raise GradlabError(graded.reason)
    if graded.problem:
        raise GradlabError(
            f"grading your copy of {task.lab} failed:\n{graded.problem}", fix="run gradlab doctor, or report this"
        )
    return graded


def _has_run_out_of_time(result: ResultDocument) -> bool:
    """Return whether a check ran out of time, and no cell, which would only use up its time again."""
    if any(note.kind is NoteKind.STOPPED for note in result.notes):
        return False
    return any(outcome.cause is Cause.TIME for cell in result.cells for outcome in cell.checks)


def _build_result(
    graded: GradedSubmission, notebook: NotebookNode, own_points: Mapping[str, float]
) -> SubmissionResult:
    """Build the result as the gradebook would give it.

    Args:
        own_points: What the student gave to written answers, by question. The others have no points.
    """
    lab = graded.result.lab
    rows, cells = [], {}
    for cell in notebook.cells:
        metadata = read_cell_metadata(cell)
        if metadata is None or not is_grade(cell):
            continue
        name, by_hand = get_cell_name(cell), is_by_hand(cell.cell_type, is_solution(cell))
        auto = None if by_hand else graded.result.get_points(name) or 0.0
        manual = own_points.get(metadata.exercise) if by_hand else None
        is_unread = by_hand and manual is None
        rows.append(CellRow(lab, name, auto=auto, manual=manual, extra_credit=0.0, needs_manual_grade=is_unread))
        cells[lab, name] = GradebookCell(lab, name, metadata.points, by_hand)
    row = SubmissionRow(submitted=None, extension_end=None, seconds_late=0.0, penalty=0.0, cells=rows)
    return build_result(STUDENT, lab, row, graded.result, cells)
