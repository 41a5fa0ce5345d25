"""Grades one submission of a plain assignment: its notebooks in, one result document out, with nbgrader's marks."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from datetime import datetime

from nbformat import NotebookNode
from nbgrader.utils import compute_checksum, determine_grade, is_grade, is_solution, is_task

from autograder.digest import digest
from autograder.examiner.connection import Stopped
from autograder.examiner.watchdog import bound_work
from autograder.forkserver.client import ForkServer
from autograder.gradebook.writer import Marks
from autograder.grading.notebook_text import notebook_text
from autograder.grading.one_submission import TOO_MUCH, Graded, limit_outputs, versions_on
from autograder.grading.task import HandedInNotebook, Task, key_of, made_of
from autograder.intake.handed_in_cells import beside, digest_answer, waits
from autograder.intake.read import Refused, read_notebook
from autograder.metadata import is_written, name_of, plain_name
from autograder.plain.assignment import PlainAssignment, PlainNotebook
from autograder.plain.preprocess import as_released, blank, repair
from autograder.plain.run_notebook import DecisionPlan, Ran, is_automatic, run_notebook, with_files
from autograder.plain.worked import decided_inside
from autograder.result import GradedCell, Result
from labkit.outcome import Outcome

TRIED: dict[str, frozenset[str]] = {}  # what decided_inside() said, once a process: it costs what a submission does


def grade_plain(task: Task, fork_server: ForkServer) -> Graded:
    """Grade one submission. Raises GradlabError where no student process can be started."""
    os.environ["GRADLAB_DEVICE"] = task.settings.device
    notebooks, cells, notes, remarks, missing, stopped = {}, [], [], [], [], []
    course = _assignment(task.course)
    handed_in = {each.name: each for each in task.plain}
    files: list[tuple[str, bytes]] = []  # its notebooks so far: a later one may run an earlier one
    for own in course.notebooks:
        notebook, said = _repaired(own, handed_in.get(own.name), task.refusal)
        notes += _named(said, own.name, course)
        if notebook is None:
            missing.append(own.name)
            notebook, _ = blank(own, "")
            cells += zeros(notebook, own.name)
        else:
            files.append((f"{own.name}.ipynb", notebook_text(as_released(notebook, own)).encode()))
            ran = run_one(notebook, own, fork_server, task, files)
            cells += ran.cells
            notes += _named(ran.notes, own.name, course)
            remarks += _named(ran.remarks, own.name, course)
            stopped += [plain_name(own.name, ran.short_names[name]) for name in ran.stopped]
        notebooks[own.name] = limit_outputs(notebook, task.settings.preprocessors)
    result = Result(
        lab=task.lab,
        student=task.student,
        key=key_of(task, fork_server.layers),
        made_of=made_of(task, fork_server.layers),
        device=task.settings.device,
        versions=versions_on(task.settings.device),
        isolation=tuple(fork_server.layers),
        notes=(*task.notes, *notes),
        remarks=tuple(remarks),
        empty=len(missing) == len(notebooks),
        stopped=tuple(stopped),
        answers=answers_of(notebooks),
        cells=tuple(cells),
        notebooks=tuple(notebooks),
        missing=tuple(missing),
    )
    marks = plain_marks(result, notebooks)  # first: to make it a text takes a notebook apart
    return Graded(result, marks, "", {name: notebook_text(notebook) for name, notebook in notebooks.items()})


def run_one(
    notebook: NotebookNode,
    own: PlainNotebook,
    fork_server: ForkServer,
    task: Task,
    notebooks: Sequence[tuple[str, bytes]] = (),
) -> Ran:
    """Run a repaired notebook in a student process of its own, in whose home the files beside it are.

    notebooks: this one and those before it, as files too.
    """
    start, timeouts = with_files(fork_server.student, [*task.beside, *notebooks]), task.settings.timeouts

    def as_kept(outputs: NotebookNode) -> NotebookNode:
        return limit_outputs(outputs, task.settings.preprocessors)

    given = [(path, content) for path, content in task.beside if path in task.given]
    parts = (part for path, content in given for part in (path, content))
    key = digest(own.model_dump_json(), repr(timeouts), *parts)
    if key not in TRIED:
        TRIED[key] = decided_inside(own, with_files(fork_server.student, given), timeouts, as_kept)
    return run_notebook(notebook, own, start, timeouts, as_kept, DecisionPlan(TRIED[key], task.isolates_tests))


def plain_marks(result: Result, notebooks: Mapping[str, NotebookNode], submitted: datetime | None = None) -> Marks:
    """notebooks: the autograded ones, by name. As nbgrader has it, nothing of a missing one waits for a person."""
    scores: dict[str, float | None] = {}
    worth, unanswered = {}, {}
    for notebook, content in notebooks.items():
        for cell in content.cells:
            name = plain_name(notebook, name_of(cell))
            if is_grade(cell) or is_task(cell):
                worth[name] = float(cell.metadata.nbgrader.points)
            if is_grade(cell):
                points = result.points_of(name)
                if points is None:
                    points = 0.0 if notebook in result.missing else _by_hand(cell)
                scores[name] = points
            elif is_task(cell) and notebook in result.missing:
                scores[name] = 0.0
            if is_solution(cell) or is_task(cell):
                as_released = cell.metadata.nbgrader.get("checksum") == compute_checksum(cell) and not waits(cell)
                unanswered[name] = as_released and not is_task(cell) and notebook not in result.missing
    return Marks(result.student, scores, unanswered, submitted, worth)


def _by_hand(cell: NotebookNode) -> float | None:
    """0 for an answer that is as it was handed out, else nothing yet: nbgrader's rule. Work beside it is read too."""
    if waits(cell):
        return None
    return determine_grade(cell)[0] if is_solution(cell) or cell.cell_type != "code" else None


def zeros(notebook: NotebookNode, name: str) -> list[GradedCell]:
    """What a notebook earns that was not handed in."""
    missed = Outcome("tests", "the notebook", seen="it was not handed in, or could not be read")
    return [
        GradedCell(
            id=plain_name(name, name_of(cell)),
            points=0.0,
            worth=float(cell.metadata.nbgrader.points),
            checks=(missed,),
        )
        for cell in notebook.cells
        if is_automatic(cell)
    ]


def answers_of(notebooks: Mapping[str, NotebookNode]) -> dict[str, str]:
    """A digest of each answer as a person reads it: a mark by hand holds as long as it stays the same."""
    return {
        plain_name(name, name_of(cell)): digest_answer([notebook.cells[each] for each in beside(notebook.cells, place)])
        for name, notebook in notebooks.items()
        for place, cell in enumerate(notebook.cells)
        if is_written(cell) or is_task(cell)
    }


@functools.lru_cache(maxsize=4)
def _assignment(course: bytes) -> PlainAssignment:
    return PlainAssignment.model_validate_json(course)


def _repaired(own: PlainNotebook, came: HandedInNotebook | None, refusal: str) -> tuple[NotebookNode | None, list[str]]:
    """(the notebook to grade or None, what to tell)."""
    if refusal or came is None or came.notebook is None:
        why = refusal or (came.refusal if came else f"No notebook named {own.name}.ipynb was handed in.")
        return None, blank(own, why)[1]
    try:
        with bound_work():
            return repair(read_notebook(came.notebook, came.notes), own)
    except Stopped:
        return None, blank(own, TOO_MUCH)[1]
    except Refused as refused:
        return None, blank(own, str(refused))[1]


def _named(notes: list[str], name: str, course: PlainAssignment) -> list[str]:
    return notes if len(course.notebooks) == 1 else [f"{name}: {note}" for note in notes]
