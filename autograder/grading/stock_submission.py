"""Grading of one submission of a stock assignment: notebooks in, one result document out, with nbgrader's marks."""

from __future__ import annotations

import functools
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from nbformat import NotebookNode
from nbgrader.utils import is_task

from autograder.base.digest import digest
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.watchdog import limit_work
from autograder.forkserver.client import ForkServerClient
from autograder.grading.examiner_device import use_examiner_device
from autograder.grading.lab_submission import TOO_MUCH, GradedSubmission, get_device_versions
from autograder.grading.notebook_text import format_notebook
from autograder.grading.output_preprocessors import apply_preprocessors
from autograder.grading.stock_marks import compute_stock_marks
from autograder.grading.task import GradingSettings, NotebookFile, Task, compute_key, compute_part_digests
from autograder.intake.cell_origin import digest_answer, find_stock_answer
from autograder.intake.notebook_reading import SubmissionRefusedError, read_notebook
from autograder.model.metadata import get_cell_name, is_student_written, make_stock_name
from autograder.model.nbgrader_cells import read_worth
from autograder.model.notes import Note
from autograder.model.result import GradedCell, ResultDocument
from autograder.stock.cell_grades import is_automatic
from autograder.stock.content import StockContent, StockNotebook
from autograder.stock.notebook_execution import provide_files, run_notebook
from autograder.stock.notebook_repair import build_blank_notebook, build_released_notebook, repair_stock_notebook
from autograder.stock.notebook_run import DecisionPlan, NotebookRun
from autograder.stock.proxy_incompatible_cells import find_proxy_incompatible_cells
from labkit.outcome import Outcome

_own_process_cells: dict[str, frozenset[str]] = {}  # of find_proxy_incompatible_cells(), each as costly as a submission


def grade_stock_task(task: Task, fork_server: ForkServerClient) -> GradedSubmission:
    """Grade one submission. Raises GradlabError if no student process can be started."""
    notebooks, cells, notes, remarks, missing, stopped = {}, [], [], [], [], []
    submitted = {each.name: each for each in task.notebooks}
    files = list(task.support_files)  # and its notebooks so far: a later one may run an earlier one
    for source in _parse_content(task.source).notebooks:
        notebook, repair_notes = _repair_notebook(source, submitted.get(source.name))
        notes += repair_notes
        if notebook is None:
            missing.append(source.name)
            notebook, _ = build_blank_notebook(source, "")
            cells += make_zero_cells(notebook, source.name)
        else:
            files.append((f"{source.name}.ipynb", format_notebook(build_released_notebook(notebook, source)).encode()))
            companions = CompanionFiles(files, task.course_files)
            run = run_stock_notebook(notebook, source, fork_server, task.settings, companions, task.isolates_tests)
            cells += run.cells
            notes += run.notes
            remarks += run.remarks
            stopped += [make_stock_name(source.name, run.short_names[name]) for name in run.stop_reasons]
        notebooks[source.name] = apply_preprocessors(notebook, task.settings.preprocessors)
    result = ResultDocument(
        lab=task.lab,
        student=task.student,
        key=compute_key(task, fork_server.layers),
        made_of=compute_part_digests(task, fork_server.layers),
        device=task.settings.device,
        versions=get_device_versions(task.settings.device),
        isolation=tuple(fork_server.layers),
        notes=(*(Note(words=message) for message in task.notes), *notes),
        remarks=tuple(remarks),
        empty=len(missing) == len(notebooks),
        stopped=tuple(stopped),
        answers=digest_answers(notebooks),
        cells=tuple(cells),
        notebooks=tuple(notebooks),
        missing=tuple(missing),
    )
    marks = compute_stock_marks(result, notebooks)  # first, since formatting takes a notebook apart
    return GradedSubmission(result, marks, {name: format_notebook(notebook) for name, notebook in notebooks.items()})


@dataclass(frozen=True)
class CompanionFiles:
    """What the cells of a notebook may read, this notebook and the earlier ones too."""

    contents: Sequence[tuple[str, bytes]]
    """Paths and contents."""
    course_paths: Container[str]
    """The paths of the course's own files."""

    @property
    def course_files(self) -> list[tuple[str, bytes]]:
        return [(path, content) for path, content in self.contents if path in self.course_paths]


def run_stock_notebook(
    notebook: NotebookNode,
    source: StockNotebook,
    fork_server: ForkServerClient,
    settings: GradingSettings,
    companions: CompanionFiles,
    isolates_tests: bool = False,
) -> NotebookRun:
    """Run a repaired notebook in its own student process, whose home contains the companion files.

    Args:
        source: The course's version of the notebook.
        fork_server: The fork server that starts the process.
        settings: How to grade it.
        isolates_tests: Whether tests outside the student process run in a child of this process.
    """
    start_process = functools.partial(fork_server.start_process, restores_names=False)  # the course has no labkit
    start, timeouts = provide_files(start_process, companions.contents), settings.timeouts

    def apply_limits(outputs: NotebookNode) -> NotebookNode:
        return apply_preprocessors(outputs, settings.preprocessors)

    course_files = companions.course_files
    parts = (part for path, content in course_files for part in (path, content))
    key = digest(source.model_dump_json(), repr(timeouts), *parts)
    with use_examiner_device(settings.device):
        if key not in _own_process_cells:
            _own_process_cells[key] = find_proxy_incompatible_cells(
                source, provide_files(start_process, course_files), timeouts, apply_limits
            )
        plan = DecisionPlan(_own_process_cells[key], isolates_tests)
        return run_notebook(notebook, source, start, timeouts, apply_limits, plan)


def make_zero_cells(notebook: NotebookNode, name: str) -> list[GradedCell]:
    """Make the graded cells of a notebook that wasn't submitted."""
    outcome = Outcome("tests", "the notebook", seen="it wasn't submitted, or couldn't be read")
    return [
        GradedCell(
            id=make_stock_name(name, get_cell_name(cell)),
            points=0.0,
            worth=read_worth(cell),
            checks=(outcome,),
        )
        for cell in notebook.cells
        if is_automatic(cell)
    ]


def digest_answers(notebooks: Mapping[str, NotebookNode]) -> dict[str, str]:
    """Return a digest of each answer as a person reads it: a manual mark stays valid while it's unchanged."""
    return {
        make_stock_name(name, get_cell_name(cell)): digest_answer(
            [notebook.cells[each] for each in find_stock_answer(notebook.cells, place)]
        )
        for name, notebook in notebooks.items()
        for place, cell in enumerate(notebook.cells)
        if is_student_written(cell) or is_task(cell)
    }


@functools.lru_cache(maxsize=4)
def _parse_content(source: bytes) -> StockContent:
    return StockContent.model_validate_json(source)


def _repair_notebook(source: StockNotebook, file: NotebookFile | None) -> tuple[NotebookNode | None, list[Note]]:
    """Return the notebook to grade, or None, and its notes."""
    if file is None or file.content is None:
        reason = file.refusal if file else f"No notebook named {source.name}.ipynb was submitted."
        return None, build_blank_notebook(source, reason)[1]
    try:
        with limit_work():
            return repair_stock_notebook(read_notebook(file.content, file.notes), source)
    except StoppedError:
        return None, build_blank_notebook(source, TOO_MUCH)[1]
    except SubmissionRefusedError as refused:
        return None, build_blank_notebook(source, str(refused))[1]
