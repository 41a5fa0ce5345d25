"""The marks of a student's own copy, next to the labs, and help for students who are stuck.

A person who works alone has no instructor. So the worked solution of an exercise is shown after two marks below full,
and written answers are marked by the student, who sees the model answer first. In a class, students have no source/.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

from autograder.authoring.regions import strip_markers
from autograder.base.atomic_files import write_atomically
from autograder.base.errors import GradlabError
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.gradebook.submission_result import SubmissionResult
from autograder.model.assignments import require_source
from autograder.model.course import CellKind
from autograder.model.metadata import CellMetadata, read_cell_metadata
from autograder.rendering.prose import render_prose
from autograder.reports.exercise_cells import is_blank, read_letters
from autograder.reports.exercise_marks import build_exercise_marks
from autograder.reports.student_view import build_student_view
from labkit.lab_progress import WorkItem, WorkKind, WorkState
from labkit.mark_file import ExerciseMark, get_marks_path, read_marks
from labkit.notebook_progress import digest_sources, parse_progress
from labkit.untrusted_json import DAMAGED, read_notebook

TRIES = 2  # marks below full before the solution is shown
WRITTEN = (CellKind.EXERCISE, CellKind.QUESTION)


def build_marks(
    result: SubmissionResult, notebook: NotebookNode, content: bytes, before: Mapping[str, ExerciseMark]
) -> dict[str, ExerciseMark]:
    """Build the marks by exercise; none if JupyterLab can't read the notebook, and so can't show marks in it.

    Args:
        notebook: The autograded notebook.
        content: The notebook as the student saved it.
        before: The marks so far. Tries are counted on, and the student's own marks of unchanged answers are kept.
    """
    try:
        sources = digest_sources(json.loads(content))
    except DAMAGED:
        return {}
    view = build_student_view(result.exercises, is_own_copy=True)
    by_checks = [exercise for exercise in result.exercises if not exercise.by_hand]
    marks = build_exercise_marks(by_checks, view, notebook, sources)
    for exercise in by_checks:
        if mark := marks.get(exercise.name):
            is_try = not exercise.is_full and not is_blank(notebook, exercise)
            tries = _count_tries(is_try, mark.source, before.get(exercise.name))
            marks[exercise.name] = replace(mark, tries=tries)
    return select_own_marks(content, before) | marks


def select_own_marks(content: bytes, marks: Mapping[str, ExerciseMark]) -> dict[str, ExerciseMark]:
    """Return the marks that the student gave to answers which this notebook has unchanged."""
    try:
        sources = digest_sources(json.loads(content))
    except DAMAGED:
        return {}
    return {name: mark for name, mark in marks.items() if mark.is_own and mark.source == sources.get(name)}


def write_marks(notebook: Path, marks: Mapping[str, ExerciseMark]) -> None:
    """Write the marks of the notebook at this path. Raises OSError."""
    data = {name: asdict(mark) for name, mark in marks.items()}
    write_atomically(get_marks_path(notebook), json.dumps(data, indent=1))


def read_solution(course: Path, notebook: Path, name: str) -> str:
    """Return the worked solution of an exercise, or the model answer to a question as HTML.

    Raises:
        GradlabError: If it's too early for it: see TRIES. A question has to be answered first.
    """
    work = _find_work(notebook, name)
    if work.kind is WorkKind.QUESTION and work.state is WorkState.UNTOUCHED:
        raise GradlabError("Write your answer first. You'll learn more from the model answer then.")
    if work.kind is not WorkKind.QUESTION and work.tries < TRIES:
        raise GradlabError(f"The solution can be shown after {TRIES} different answers were marked below full marks.")
    cell, metadata = _read_source_cell(course, notebook, name)
    if metadata.kind is CellKind.QUESTION:
        return str(render_prose(_extract_model_answer(cell)))
    return strip_markers(cell.source).strip()


def read_model_answers(course: Path, notebook: Path, result: SubmissionResult, graded: NotebookNode) -> dict[str, str]:
    """Return the model answers to the questions that the student has answered, by question, as Markdown.

    Args:
        course: The course's folder.
        notebook: The path of the student's notebook, which names the lab.
        result: The result of the student's notebook.
        graded: The autograded notebook.
    """
    names = [e.name for e in result.exercises if e.by_hand and not is_blank(graded, e)]
    return {name: _extract_model_answer(_read_source_cell(course, notebook, name)[0]) for name in names}


def _extract_model_answer(cell: NotebookNode) -> str:
    """Return the model answer in a question's cell, without the question, if that's in the cell."""
    return str(cell.source).partition("### BEGIN SOLUTION")[2].partition("### END SOLUTION")[0].strip()


def read_key(course: Path, notebook: Path, name: str, question: str) -> list[dict[str, Any]]:
    """Return the statements of a quiz's question: {letter, true, reason as HTML}.

    Raises:
        GradlabError: If the saved notebook has no letters for this question, so there's nothing to compare.
    """
    try:
        letters = read_letters(nbformat.reads(notebook.read_text(encoding="utf-8"), as_version=4), name) or {}
    except (OSError, *DAMAGED):  # nbformat's errors are ValueErrors
        letters = {}
    if not letters.get(question):
        raise GradlabError("Select at least one statement first.")
    _, metadata = _read_source_cell(course, notebook, name)
    return [
        {"letter": each.letter, "true": each.true, "reason": str(render_prose(each.reason))}
        for each in metadata.quiz
        if each.question == question
    ]


def _read_source_cell(course: Path, notebook: Path, name: str) -> tuple[NotebookNode, CellMetadata]:
    """Return the cell that an exercise or question has in the instructor's notebook, and its metadata."""
    lab = notebook.stem
    require_source(course, lab)
    for cell in read_course_notebook(course / "source" / lab / f"{lab}.ipynb").cells:
        metadata = read_cell_metadata(cell)
        if metadata and metadata.kind in WRITTEN and metadata.exercise == name:
            return cell, metadata
    raise GradlabError("the course has no solution of this exercise", fix="run gradlab build in the course's folder")


def save_own_mark(notebook: Path, name: str, points: float) -> float:
    """Save the mark that a student gives to a written answer, and return it. Raises GradlabError."""
    work = _find_work(notebook, name)
    if work.kind is not WorkKind.QUESTION or work.state is WorkState.UNTOUCHED:
        raise GradlabError("Only a written answer can be marked by yourself, once it's written.")
    if not 0 <= points <= work.points:
        raise GradlabError(f"Choose a number of points from 0 to {work.points:g}.")
    source = digest_sources(read_notebook(notebook))[name]
    write_marks(notebook, {**read_marks(notebook), name: ExerciseMark(source, points, is_own=True)})
    return points


def _find_work(notebook: Path, name: str) -> WorkItem:
    try:
        progress = parse_progress(read_notebook(notebook), notebook.name, read_marks(notebook))
    except DAMAGED:
        progress = None
    work = next((work for work in progress.work if work.name == name), None) if progress else None
    if work is None:
        raise GradlabError("this exercise isn't in the saved notebook", fix="save the notebook and try again")
    return work


def _count_tries(is_try: bool, source: str, before: ExerciseMark | None) -> int:
    """Count the different answers below full marks so far.

    Args:
        is_try: Whether the student wrote this one, and it's below full marks.
        source: Its digest.
    """
    earlier = before.tries if before else 0
    is_new = before is None or before.source != source
    return earlier + (is_try and is_new)
