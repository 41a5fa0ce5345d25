"""A plain assignment in nbgrader's own autograde, which goes through one notebook of a submission at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

from autograder.errors import GradlabError
from autograder.forkserver.client import ForkServer
from autograder.gradebook.autograded import files_beside
from autograder.gradebook.writer import opened
from autograder.grading.notebook_text import notebook_text
from autograder.grading.one_submission import preprocessors_in, versions_on
from autograder.grading.plain_class import read_beside
from autograder.grading.plain_submission import answers_of, run_one, zeros
from autograder.grading.task import Task, with_stock_limits
from autograder.intake.files import settle
from autograder.intake.notes import counts_as_empty
from autograder.intake.read import Refused, read_file, read_notebook
from autograder.intake.repair import notes_of
from autograder.metadata import plain_name
from autograder.plain.assignment import PlainNotebook, read_assignment, source_notebooks
from autograder.plain.preprocess import as_released, blank, repair
from autograder.plain.stock_settings import own_files
from autograder.result import Result


def settle_plain(course: Path, folder: Path, notebooks: list[str]) -> None:
    """Make the folder one that can be copied, and keep of its notebooks those that the assignment has."""
    names = [path.stem for path in source_notebooks(course, folder.name)]
    settle(folder, folder.name, names)
    asked = {Path(path).stem for path in notebooks} if len(names) > 1 else set(names)
    notebooks[:] = [str(folder / f"{name}.ipynb") for name in names if name in asked]


def own_notebook(course: Path, ids: dict[str, str], config: Any) -> PlainNotebook:
    """The assignment's, for the notebook that nbgrader is at. Raises GradlabError where the gradebook knows none."""
    with opened(ids["db_url"]) as gradebook:
        for notebook in read_assignment(course, ids["assignment"], gradebook, config).notebooks:
            if notebook.name == ids["notebook"]:
                return notebook
    raise GradlabError(f"the gradebook knows no notebook {ids['notebook']}: run nbgrader generate_assignment first")


def sanitized(path: Path, own: PlainNotebook) -> tuple[NotebookNode, list[str]]:
    """What is in this file, as a notebook that can be graded; and what was put right."""
    try:
        content, notes = read_file(path, [other for other in path.parent.glob("*.ipynb") if other != path])
        return repair(read_notebook(content, notes), own)
    except Refused as refused:
        return blank(own, str(refused))


def examined(
    notebook: NotebookNode, own: PlainNotebook, ids: dict[str, str], course: Path, fork_server: ForkServer, grading: Any
) -> Result:
    """The result of one notebook, whose cells get their outputs here. grading: (settings, configuration, ignored)."""
    settings, config, ignore = grading
    settings = with_stock_limits(replace(settings, preprocessors=preprocessors_in(config)), config)
    paths = files_beside(course, ids["assignment"], ids["student"], ignore, own_files(config, ids["assignment"]))
    beside, given, told = read_beside(course, ids["assignment"], ids["student"], paths)
    whose = ids["assignment"], ids["student"]
    # This process grades the whole class, and no other takes its place: tests run in a child of it.
    task = Task(*whose, None, "", (), "", b"", settings, beside=beside, given=given, isolates_tests=True)
    notes = [*notes_of(notebook), *told]
    empty = counts_as_empty(notes)
    os.environ["GRADLAB_DEVICE"] = settings.device
    file = f"{own.name}.ipynb", notebook_text(as_released(notebook, own)).encode()
    ran = None if empty else run_one(notebook, own, fork_server, task, [file])
    return Result(
        lab=ids["assignment"],
        student=ids["student"],
        versions=versions_on(settings.device),
        isolation=tuple(fork_server.layers),
        notes=(*notes, *(ran.notes if ran else ())),
        remarks=tuple(ran.remarks if ran else ()),
        empty=empty,
        stopped=tuple(plain_name(own.name, ran.short_names[name]) for name in ran.stopped) if ran else (),
        answers=answers_of({own.name: notebook}),
        cells=tuple(ran.cells if ran else zeros(notebook, own.name)),
        notebooks=(own.name,),
        missing=(own.name,) if empty else (),
    )


def joined(before: Result | None, now: Result, course: Path) -> Result:
    """One result document of a submission of which one notebook has been graded just now."""
    names = [path.stem for path in source_notebooks(course, now.lab)]
    if len(names) == 1:
        return now
    (name,) = now.notebooks
    notes, remarks = (tuple(f"{name}: {each}" for each in said) for said in (now.notes, now.remarks))
    if before is None or not before.notebooks:
        return now.model_copy(update={"notes": notes, "remarks": remarks})
    kept = [cell for cell in before.cells if not _is_of(name, cell.id)]
    others = set(before.notebooks) - {name}
    missing = {each for each in before.missing if each != name} | set(now.missing)
    found = tuple(each for each in names if each in others or each == name)
    return now.model_copy(
        update={
            "notes": tuple(note for note in before.notes if not note.startswith(f"{name}: ")) + notes,
            "remarks": tuple(each for each in before.remarks if not each.startswith(f"{name}: ")) + remarks,
            "empty": missing == set(found),
            "stopped": tuple(cell for cell in before.stopped if not _is_of(name, cell)) + now.stopped,
            "answers": {k: v for k, v in before.answers.items() if not _is_of(name, k)} | now.answers,
            "cells": tuple(sorted([*kept, *now.cells], key=lambda cell: names.index(cell.id.split("/")[0]))),
            "notebooks": found,
            "missing": tuple(each for each in found if each in missing),
        }
    )


def without_others(result: Result, present: Sequence[str]) -> Result:
    """The document without notebooks that this submission does not hold: nbgrader has given them nothing."""
    gone = [name for name in result.notebooks if name not in present]
    cells = tuple(cell for cell in result.cells if not any(_is_of(name, cell.id) for name in gone))
    kept = tuple(name for name in result.notebooks if name not in gone)
    return result.model_copy(update={"cells": cells, "notebooks": kept})


def _is_of(notebook: str, cell: str) -> bool:
    return cell.startswith(plain_name(notebook, ""))
