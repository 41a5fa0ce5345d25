"""Grades a stock assignment in nbgrader's own autograde, which processes one notebook of a submission at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from autograder.base.errors import GradlabError
from autograder.classroom.stock_assignment import read_companion_files
from autograder.forkserver.client import ForkServerClient
from autograder.gradebook.autograded_folder import CopyRules, list_companion_files
from autograder.gradebook.database import open_gradebook
from autograder.grading.lab_submission import get_device_versions
from autograder.grading.notebook_text import format_notebook
from autograder.grading.stock_submission import CompanionFiles, digest_answers, make_zero_cells, run_stock_notebook
from autograder.grading.task import GradingSettings, apply_stock_limits
from autograder.intake.folder_normalization import normalize_folder
from autograder.intake.notebook_reading import SubmissionRefusedError, read_file, read_notebook
from autograder.intake.repair import read_notes
from autograder.model.assignments import list_source_notebooks
from autograder.model.metadata import make_stock_name, split_stock_name
from autograder.model.notes import Note, is_refused
from autograder.model.result import ResultDocument
from autograder.stock.content import StockNotebook, read_content
from autograder.stock.notebook_repair import build_blank_notebook, build_released_notebook, repair_stock_notebook
from autograder.stock.settings import get_student_files


@dataclass(frozen=True)
class StockGrading:
    """What is needed to grade one notebook of a stock assignment, besides the notebook and its source."""

    course: Path
    assignment: str
    student: str
    fork_server: ForkServerClient
    settings: GradingSettings
    config: Any
    """What nbgrader_config.py configures."""
    ignored_files: tuple[str, ...]
    """nbgrader's patterns for files that aren't copied."""


def normalize_stock_folder(course: Path, folder: Path, notebooks: list[str]) -> None:
    """Make the folder safe to copy, and keep only those notebooks that the assignment has.

    Args:
        notebooks: nbgrader's list of paths, changed in place to the notebooks to grade.
    """
    names = [path.stem for path in list_source_notebooks(course, folder.name)]
    normalize_folder(folder, folder.name, names)
    selected = {Path(path).stem for path in notebooks} if len(names) > 1 else set(names)
    notebooks[:] = [str(folder / f"{name}.ipynb") for name in names if name in selected]


def find_stock_notebook(course: Path, database: str, assignment: str, name: str, config: Any) -> StockNotebook:
    """Find the source of the notebook that nbgrader grades.

    Args:
        database: The gradebook's address.
        config: What nbgrader_config.py configures.

    Raises:
        GradlabError: If the gradebook doesn't have the notebook.
    """
    with open_gradebook(database) as gradebook:
        for notebook in read_content(course, assignment, gradebook, config).notebooks:
            if notebook.name == name:
                return notebook
    raise GradlabError(f"the gradebook has no notebook {name}", fix="run nbgrader generate_assignment first")


def sanitize_notebook(path: Path, source: StockNotebook) -> tuple[NotebookNode, list[Note]]:
    """Read the file as a notebook that can be graded, with notes about repairs."""
    try:
        content, notes = read_file(path, [other for other in path.parent.glob("*.ipynb") if other != path])
        return repair_stock_notebook(read_notebook(content, notes), source)
    except SubmissionRefusedError as refused:
        return build_blank_notebook(source, str(refused))


def examine_notebook(notebook: NotebookNode, source: StockNotebook, grading: StockGrading) -> ResultDocument:
    """Grade one notebook, and write the outputs into its cells."""
    course, assignment, student = grading.course, grading.assignment, grading.student
    fork_server, settings = grading.fork_server, apply_stock_limits(grading.settings, grading.config)
    rules = CopyRules(grading.ignored_files, get_student_files(grading.config, assignment))
    paths = list_companion_files(course, assignment, student, rules)
    files, course_paths, messages = read_companion_files(course, assignment, student, paths)
    notes = [*read_notes(notebook), *(Note(words=message, notebook=source.name) for message in messages)]
    empty = is_refused(notes)
    file = f"{source.name}.ipynb", format_notebook(build_released_notebook(notebook, source)).encode()
    companions = CompanionFiles([*files, file], course_paths)
    # This process grades the whole class and can't be replaced, so tests run in a child process.
    ran = (
        None if empty else run_stock_notebook(notebook, source, fork_server, settings, companions, isolates_tests=True)
    )
    return ResultDocument(
        lab=assignment,
        student=student,
        versions=get_device_versions(settings.device),
        isolation=tuple(fork_server.layers),
        notes=(*notes, *(ran.notes if ran else ())),
        remarks=tuple(ran.remarks if ran else ()),
        empty=empty,
        stopped=tuple(make_stock_name(source.name, ran.short_names[name]) for name in ran.stop_reasons) if ran else (),
        answers=digest_answers({source.name: notebook}),
        cells=tuple(ran.cells if ran else make_zero_cells(notebook, source.name)),
        notebooks=(source.name,),
        missing=(source.name,) if empty else (),
    )


def merge_results(before: ResultDocument | None, now: ResultDocument, course: Path) -> ResultDocument:
    """Merge the result of the notebook that was just graded into the submission's result document.

    Args:
        before: The document so far; None if there isn't one.
        now: The result of the one notebook.
    """
    names = [path.stem for path in list_source_notebooks(course, now.lab)]
    if len(names) == 1:
        return now
    (name,) = now.notebooks
    if before is None or not before.notebooks:
        return now
    other_cells = [cell for cell in before.cells if not _is_cell_of(name, cell.id)]
    missing = (set(before.missing) - {name}) | set(now.missing)
    notebooks = tuple(notebook for notebook in names if notebook in before.notebooks or notebook == name)
    return now.model_copy(
        update={
            "notes": tuple(note for note in before.notes if note.notebook != name) + now.notes,
            "remarks": tuple(note for note in before.remarks if note.notebook != name) + now.remarks,
            "empty": missing == set(notebooks),
            "stopped": tuple(cell for cell in before.stopped if not _is_cell_of(name, cell)) + now.stopped,
            "answers": {k: v for k, v in before.answers.items() if not _is_cell_of(name, k)} | now.answers,
            "cells": tuple(
                sorted([*other_cells, *now.cells], key=lambda cell: names.index(split_stock_name(cell.id)[0]))
            ),
            "notebooks": notebooks,
            "missing": tuple(notebook for notebook in notebooks if notebook in missing),
        }
    )


def drop_absent_notebooks(result: ResultDocument, present: Sequence[str]) -> ResultDocument:
    """Drop notebooks that the submission doesn't have, for which nbgrader gave no points."""
    absent = [name for name in result.notebooks if name not in present]
    cells = tuple(cell for cell in result.cells if not any(_is_cell_of(name, cell.id) for name in absent))
    notebooks = tuple(name for name in result.notebooks if name in present)
    return result.model_copy(update={"cells": cells, "notebooks": notebooks})


def _is_cell_of(notebook: str, cell: str) -> bool:
    return split_stock_name(cell)[0] == notebook
