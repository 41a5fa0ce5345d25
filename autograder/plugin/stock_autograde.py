"""A stock assignment in nbgrader's own autograde, which goes through one notebook of a submission at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from autograder.base.errors import GradlabError
from autograder.classroom.stock_assignment import read_companion_files
from autograder.forkserver.client import ForkServer
from autograder.gradebook.autograded_folder import list_companion_files
from autograder.gradebook.writer import open_gradebook
from autograder.intake.files import normalize_folder
from autograder.intake.read import RefusedSubmission, read_file, read_notebook
from autograder.intake.repair import read_notes
from autograder.model.assignments import list_source_notebooks
from autograder.model.metadata import make_stock_name
from autograder.model.notes import Note, is_refused
from autograder.model.result import Result
from autograder.stock.assignment import StockNotebook, read_content
from autograder.stock.preprocess import build_blank, build_released_notebook, repair
from autograder.stock.settings import get_student_files
from autograder.submission.lab_submission import get_device_versions, read_preprocessor_settings
from autograder.submission.notebook_text import format_notebook
from autograder.submission.stock_submission import digest_answers, make_zero_cells, run_stock_notebook
from autograder.submission.task import Task, apply_stock_limits


def normalize_stock_folder(course: Path, folder: Path, notebooks: list[str]) -> None:
    """Make the folder one that can be copied, and keep only those notebooks that the assignment has."""
    names = [path.stem for path in list_source_notebooks(course, folder.name)]
    normalize_folder(folder, folder.name, names)
    asked = {Path(path).stem for path in notebooks} if len(names) > 1 else set(names)
    notebooks[:] = [str(folder / f"{name}.ipynb") for name in names if name in asked]


def find_stock_notebook(course: Path, ids: dict[str, str], config: Any) -> StockNotebook:
    """The assignment's notebook for the one that nbgrader grades. Raises GradlabError if the gradebook has none."""
    with open_gradebook(ids["db_url"]) as gradebook:
        for notebook in read_content(course, ids["assignment"], gradebook, config).notebooks:
            if notebook.name == ids["notebook"]:
                return notebook
    raise GradlabError(f"the gradebook knows no notebook {ids['notebook']}: run nbgrader generate_assignment first")


def sanitize_notebook(path: Path, own: StockNotebook) -> tuple[NotebookNode, list[Note]]:
    """The file as a notebook that can be graded, and what was put right."""
    try:
        content, notes = read_file(path, [other for other in path.parent.glob("*.ipynb") if other != path])
        return repair(read_notebook(content, notes), own)
    except RefusedSubmission as refused:
        return build_blank(own, str(refused))


def examine_notebook(
    notebook: NotebookNode, own: StockNotebook, ids: dict[str, str], course: Path, fork_server: ForkServer, grading: Any
) -> Result:
    """The result of one notebook, whose cells get their outputs here.

    Args:
        grading: Settings, configuration and ignored patterns.
    """
    settings, config, ignore = grading
    settings = apply_stock_limits(replace(settings, preprocessors=read_preprocessor_settings(config)), config)
    paths = list_companion_files(
        course, ids["assignment"], ids["student"], ignore, get_student_files(config, ids["assignment"])
    )
    files, given, told = read_companion_files(course, ids["assignment"], ids["student"], paths)
    whose = ids["assignment"], ids["student"]
    # This process grades the whole class, and no other can replace it: tests run in a child of it.
    task = Task(*whose, (), b"", settings, support_files=files, course_files=given, isolates_tests=True)
    notes = [*read_notes(notebook), *(Note(words=words, notebook=own.name) for words in told)]
    empty = is_refused(notes)
    os.environ["GRADLAB_DEVICE"] = settings.device
    file = f"{own.name}.ipynb", format_notebook(build_released_notebook(notebook, own)).encode()
    ran = None if empty else run_stock_notebook(notebook, own, fork_server, task, [file])
    return Result(
        lab=ids["assignment"],
        student=ids["student"],
        versions=get_device_versions(settings.device),
        isolation=tuple(fork_server.layers),
        notes=(*notes, *(ran.notes if ran else ())),
        remarks=tuple(ran.remarks if ran else ()),
        empty=empty,
        stopped=tuple(make_stock_name(own.name, ran.short_names[name]) for name in ran.stopped) if ran else (),
        answers=digest_answers({own.name: notebook}),
        cells=tuple(ran.cells if ran else make_zero_cells(notebook, own.name)),
        notebooks=(own.name,),
        missing=(own.name,) if empty else (),
    )


def merge_results(before: Result | None, now: Result, course: Path) -> Result:
    """The result document of a submission of which one notebook was just graded."""
    names = [path.stem for path in list_source_notebooks(course, now.lab)]
    if len(names) == 1:
        return now
    (name,) = now.notebooks
    if before is None or not before.notebooks:
        return now
    kept = [cell for cell in before.cells if not _is_cell_of(name, cell.id)]
    others = set(before.notebooks) - {name}
    missing = {each for each in before.missing if each != name} | set(now.missing)
    found = tuple(each for each in names if each in others or each == name)
    return now.model_copy(
        update={
            "notes": tuple(note for note in before.notes if note.notebook != name) + now.notes,
            "remarks": tuple(note for note in before.remarks if note.notebook != name) + now.remarks,
            "empty": missing == set(found),
            "stopped": tuple(cell for cell in before.stopped if not _is_cell_of(name, cell)) + now.stopped,
            "answers": {k: v for k, v in before.answers.items() if not _is_cell_of(name, k)} | now.answers,
            "cells": tuple(sorted([*kept, *now.cells], key=lambda cell: names.index(cell.id.split("/")[0]))),
            "notebooks": found,
            "missing": tuple(each for each in found if each in missing),
        }
    )


def drop_absent_notebooks(result: Result, present: Sequence[str]) -> Result:
    """The document without notebooks that this submission doesn't hold, for which nbgrader gave no points."""
    gone = [name for name in result.notebooks if name not in present]
    cells = tuple(cell for cell in result.cells if not any(_is_cell_of(name, cell.id) for name in gone))
    kept = tuple(name for name in result.notebooks if name not in gone)
    return result.model_copy(update={"cells": cells, "notebooks": kept})


def _is_cell_of(notebook: str, cell: str) -> bool:
    return cell.startswith(make_stock_name(notebook, ""))
