"""Grading of one submission of a lab assignment: a notebook in, a result document out."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import nbformat
from nbformat import NotebookNode
from nbgrader.utils import compute_checksum

from autograder.base.device import Device
from autograder.base.digest import digest
from autograder.examiner.examination import StepResult, do_nothing, examine_steps
from autograder.examiner.output_filter import write_outputs
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.time_budget import Timeouts
from autograder.examiner.watchdog import limit_work
from autograder.forkserver.client import ForkServerClient
from autograder.grading.examiner_device import use_examiner_device
from autograder.grading.grading_progress import ProgressListener, report_steps
from autograder.grading.lab_cells import LabCell, parse_cells
from autograder.grading.notebook_text import format_notebook
from autograder.grading.output_preprocessors import apply_preprocessors
from autograder.grading.task import Task, compute_key, compute_part_digests
from autograder.intake.cell_origin import digest_answer, find_lab_answer
from autograder.intake.course_cell_names import describe_course_cell
from autograder.intake.notebook_reading import SubmissionRefusedError, read_notebook
from autograder.intake.releases import read_releases
from autograder.intake.repair import build_blank_notebook, repair_lab_notebook
from autograder.intake.submitted_cells import build_released_cell, is_answer
from autograder.model.fingerprint import collect_environment, get_versions
from autograder.model.marks import MarkSheet, compute_marks
from autograder.model.metadata import (
    get_cell_name,
    is_student_written,
)
from autograder.model.nbgrader_cells import has_nbgrader_metadata, write_checksum
from autograder.model.notes import Note, NoteKind, is_refused
from autograder.model.result import GradedCell, ResultDocument
from autograder.model.versions import Versions
from autograder.sandbox.gpu import list_gpus
from labkit.outcome import Blame, compute_earned
from labkit.verdict import Verdict

TOO_MUCH = "The notebook takes too long to read. Remove cells that aren't yours, and submit it again."


@dataclass(frozen=True)
class GradedSubmission:
    """The outcome of grading a submission."""

    result: ResultDocument
    marks: MarkSheet
    notebooks: Mapping[str, str]
    """Its notebooks by name, with the outputs of every cell, as nbgrader keeps them."""
    problem: str = ""
    """The error that grading raised, if the submission therefore counts as empty."""


def grade_lab_task(
    task: Task, fork_server: ForkServerClient, on_progress: ProgressListener | None = None
) -> GradedSubmission:
    """Grade one submission. The same task, layers and versions give the same bytes.

    Args:
        on_progress: Called at the beginning of each step.

    Raises:
        GradlabError: If no student process can be started, which is the machine's fault, not the submission's.
    """
    source_notebook, (file,) = _parse_source(task.source), task.notebooks
    try:
        if file.content is None:
            raise SubmissionRefusedError(file.refusal)
        with limit_work():
            repaired = repair_lab_notebook(
                read_notebook(file.content, file.notes), source_notebook, read_releases(task.releases)
            )
    except StoppedError:
        repaired = build_blank_notebook(source_notebook, TOO_MUCH)
    except SubmissionRefusedError as refused:
        repaired = build_blank_notebook(source_notebook, str(refused))
    notebook, settings = repaired.notebook, task.settings
    _add_checksums(notebook, _compute_checksums(task.source))
    submission = SubmissionFacts(task.lab, task.student, repaired.notes, task.earlier_cells, settings.device)
    result = grade_notebook(notebook, submission, fork_server, settings.timeouts, on_progress)
    notebook = apply_preprocessors(notebook, settings.preprocessors)
    layers = fork_server.layers
    result = result.model_copy(update={"key": compute_key(task, layers), "made_of": compute_part_digests(task, layers)})
    return GradedSubmission(result, compute_marks(result, notebook), {task.lab: format_notebook(notebook)})


@functools.lru_cache(maxsize=4)
def _parse_source(source: bytes) -> NotebookNode:
    """Parse a lab assignment's source notebook. Callers must not change it, since it's cached."""
    notebook: NotebookNode = nbformat.reads(source.decode(), as_version=4)
    return notebook


@dataclass(frozen=True)
class SubmissionFacts:
    """Facts about a submission besides its notebook."""

    lab: str
    student: str
    notes: Sequence[Note] = ()
    """Notes on what was repaired."""
    earlier_cells: Sequence[GradedCell] = ()
    """Cells of an earlier result, which count if their keys are still the same."""
    device: Device = Device.CPU


def grade_notebook(
    notebook: NotebookNode,
    submission: SubmissionFacts,
    fork_server: ForkServerClient,
    timeouts: Timeouts,
    on_progress: ProgressListener | None = None,
) -> ResultDocument:
    """Grade a repaired notebook, whose code cells get their outputs.

    Args:
        submission: Facts about the submission. Kept cells don't run again if their keys are still the same.
        on_progress: Called at the beginning of each step.

    Raises:
        GradlabError: If no student process can be started.
    """
    device = submission.device
    cells = parse_cells(notebook)
    keys = _compute_keys(cells, fork_server.layers, device)
    kept = {cell.id: cell for cell in submission.earlier_cells if cell.key and cell.key == keys.get(cell.id)}
    steps = [cell for cell in cells if cell.name not in kept]
    on_step = report_steps(steps, on_progress, timeouts.cell) if on_progress else do_nothing
    with use_examiner_device(device):
        results = examine_steps([cell.step for cell in steps], fork_server.start_process, timeouts, on_step)
    graded = []
    for cell in cells:
        if cell.is_graded:
            graded.append(kept.get(cell.name) or grade_cell(cell, results[cell.name], keys[cell.name]))
            write_outputs(cell.node, [_make_verdict_output(cell, graded[-1])], cell.number)
        else:
            write_outputs(cell.node, results[cell.name].outputs, cell.number)
    return ResultDocument(
        lab=submission.lab,
        student=submission.student,
        device=device,
        versions=get_device_versions(device),
        isolation=tuple(fork_server.layers),
        notes=(*submission.notes, *_note_limits(results, cells)),
        empty=is_refused(submission.notes),
        stopped=tuple(name for name, result in results.items() if result.stop_reason or _has_stopped_check(result)),
        answers=digest_answers(notebook.cells),
        changed=tuple(name for result in results.values() for name in result.changed_names),
        cells=tuple(graded),
    )


def digest_answers(cells: Sequence[NotebookNode]) -> dict[str, str]:
    """Return a digest of each answer as a person reads it: a manual mark stays valid while it's unchanged."""
    return {
        get_cell_name(cell): digest_answer([cells[each] for each in find_lab_answer(cells, place)])
        for place, cell in enumerate(cells)
        if is_student_written(cell)
    }


@functools.cache
def get_device_versions(device: Device) -> Versions:
    """Return the versions used for grading on this device. Cached, since asking the driver starts a program."""
    return get_versions() if device is Device.CPU else get_versions().model_copy(update={"gpu": ", ".join(list_gpus())})


def _add_checksums(notebook: NotebookNode, checksums: Mapping[str, str]) -> None:
    """Add the checksums that nbgrader uses to recognise unchanged answers."""
    for cell in notebook.cells:
        if has_nbgrader_metadata(cell) and (checksum := checksums.get(get_cell_name(cell))) is not None:
            write_checksum(cell, checksum)


@functools.lru_cache(maxsize=4)
def _compute_checksums(source: bytes) -> dict[str, str]:
    """Compute the checksums of a lab assignment's cells as handed out, by name."""
    return {
        get_cell_name(cell): compute_checksum(build_released_cell(cell) if is_answer(cell) else cell)
        for cell in _parse_source(source).cells
        if has_nbgrader_metadata(cell)
    }


def _compute_keys(cells: Sequence[LabCell], layers: Sequence[str], device: Device) -> dict[str, str]:
    """Return a digest, for each check cell, of everything that its outcomes depend on."""
    code = [part for cell in cells if not cell.is_graded for part in (cell.name, cell.source)]
    shared = digest(*code, device.value, *collect_environment(layers).label_parts().values())
    return {cell.name: digest(shared, cell.source, str(cell.metadata.points)) for cell in cells if cell.is_graded}


def grade_cell(cell: LabCell, result: StepResult, key: str) -> GradedCell:
    metadata = cell.metadata
    hidden = {check.id for check in metadata.checks if check.hidden}
    visible = {check.id for check in metadata.checks if not check.hidden}
    outcomes = [
        replace(o, hidden=o.id in hidden, difference=o.difference if o.id in visible else None) for o in result.outcomes
    ]
    points = compute_earned(result.outcomes, metadata.points)
    return GradedCell(id=cell.name, key=key, points=points, worth=metadata.points, checks=tuple(outcomes))


def _has_stopped_check(result: StepResult) -> bool:
    """Return whether a check of this cell reached a limit or lost its process."""
    return any(outcome.blame is Blame.PROCESS for outcome in result.outcomes)


def _make_verdict_output(cell: LabCell, graded: GradedCell) -> NotebookNode:
    verdict = Verdict(cell.metadata.exercise, list(graded.checks), graded.worth, graded.points, folds=False)
    data = NotebookNode(verdict._repr_mimebundle_())
    return NotebookNode(output_type="execute_result", metadata=NotebookNode(), data=data, execution_count=cell.number)


def _note_limits(results: dict[str, StepResult], cells: Sequence[LabCell]) -> list[Note]:
    """Note which cells were stopped, under names that the student knows."""
    nodes = {cell.name: cell.node for cell in cells}
    stopped = {name: results[name].stop_reason for name in nodes if name in results and results[name].stop_reason}
    return [
        Note(kind=NoteKind.STOPPED, words=reason, cell=name, shown=describe_course_cell(name, nodes))
        for name, reason in stopped.items()
    ]
