"""Reads results: points and penalties from nbgrader's gradebook, checks and notes from the result documents."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from shlex import quote
from typing import Any

import nbformat
from nbgrader.api import Gradebook, MissingEntry

from autograder.base.errors import GradlabError
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.excuses import Excused, find_excused
from autograder.gradebook.labels import CellLabels, make_labels, make_sort_key
from autograder.gradebook.store import load_result
from autograder.gradebook.submission_result import ExerciseResult, SubmissionResult
from autograder.gradebook.writer import open_gradebook
from autograder.model.assignments import refuse_unknown_lab
from autograder.model.course import Kind
from autograder.model.metadata import get_cell_name, make_cell_name, make_stock_name
from autograder.model.result import GradedCell, Result
from autograder.model.term import Term, read_term

LAB_LABELS = CellLabels(is_stock=False)


def read_results(db_url: str, course: Path, lab: str) -> list[SubmissionResult]:
    """Read the results of every graded submission of a lab, by student. Raises GradlabError if the lab is unknown."""
    with open_gradebook(db_url) as gradebook:
        try:
            submissions = gradebook.assignment_submissions(lab)
            gradebook.find_assignment(lab)
        except MissingEntry:
            refuse_unknown_lab(course, lab)
            raise GradlabError(f"no submission of {lab} is graded yet: run gradlab grade {quote(lab)} first") from None
        term = read_term(course)
        return sorted(
            (_build_result(s, course, lab, term) for s in submissions), key=lambda r: make_sort_key(r.student)
        )


def read_result(db_url: str, course: Path, lab: str, student: str) -> SubmissionResult:
    """Read the result of one graded submission. Raises GradlabError if there isn't one."""
    with open_gradebook(db_url) as gradebook:
        return find_result(gradebook, course, lab, student)


def find_result(gradebook: Gradebook, course: Path, lab: str, student: str) -> SubmissionResult:
    """Find the result of one graded submission in an open gradebook. Raises GradlabError if there isn't one."""
    try:
        return _build_result(gradebook.find_submission(lab, student), course, lab, read_term(course))
    except MissingEntry:
        raise GradlabError(f"the gradebook has no submission of {lab} by {student}: grade it first") from None


def read_due_date(db_url: str, lab: str) -> datetime | None:
    """Read when the lab is due, in naive UTC; None if it has no due date."""
    with open_gradebook(db_url) as gradebook:
        return next((assignment.duedate for assignment in gradebook.assignments if assignment.name == lab), None)


def _build_result(submission: Any, course: Path, lab: str, term: Term) -> SubmissionResult:
    student = submission.student_id
    penalty = submission.late_submission_penalty or 0.0
    document = load_result(course, lab, student)
    grades = [grade for submitted in submission.notebooks for grade in submitted.grades]
    comments = {c.name: c.comment or "" for submitted in submission.notebooks for c in submitted.comments}
    graded = {cell.id: cell for cell in document.cells} if document else {}
    excused = term.get_excuses(lab, student)
    if document and document.notebooks:
        exercises = _build_stock_exercises(submission, document, course, excused)
    else:
        order = read_cell_names(course / "autograded" / student / lab / f"{lab}.ipynb")
        grades.sort(key=lambda g: order.index(g.name) if g.name in order else len(order))
        exercises = [_build_exercise(g, graded.get(g.name), comments.get(g.name, ""), excused) for g in grades]
    return SubmissionResult(
        student=student,
        lab=lab,
        points=round(max(submission.score - penalty, 0), 4),
        worth=submission.max_score,
        penalty=round(penalty, 4),
        needs_manual_grade=submission.needs_manual_grade,
        exercises=tuple(exercises),
        notes=document.notes if document else (),
        changed=document.changed if document else (),
        submitted=submission.timestamp,
        late=submission.total_seconds_late,
        notebooks=document.notebooks if document else (),
    )


def _build_exercise(grade: Any, graded: GradedCell | None, comment: str, excused: Excused) -> ExerciseResult:
    points = grade.manual_score if grade.manual_score is not None else grade.auto_score
    return ExerciseResult(
        name=LAB_LABELS.label_id(grade.name),
        points=None if points is None else points + (grade.extra_credit or 0),
        worth=grade.max_score or (graded.worth if graded else 0.0),
        by_hand=grade.name.startswith(make_cell_name(Kind.QUESTION, "")),
        comment=comment,
        checks=graded.checks if graded else (),
        waits=bool(grade.needs_manual_grade),
        excused=find_excused(LAB_LABELS, grade.name, excused),
        extra=not grade.max_score and graded is not None and graded.worth > 0,
    )


def _build_stock_exercises(submission: Any, document: Result, course: Path, excused: Excused) -> list[ExerciseResult]:
    """Build the graded cells of a stock assignment, by notebook and in order."""
    cells, labels = {cell.id: cell for cell in document.cells}, make_labels(document)
    exercises = []
    for part in sorted(submission.notebooks, key=lambda part: part.name):
        order = read_cell_names(get_autograded_path(course, document.lab, document.student, part.name))
        comments = {comment.name: comment.comment or "" for comment in part.comments}
        for grade in sorted(part.grades, key=lambda g: order.index(g.name) if g.name in order else len(order)):
            cell = cells.get(make_stock_name(part.name, grade.name))
            update = {
                "name": labels.label(grade.name, part.name),
                "by_hand": cell is None and part.name not in document.missing,
                "notebook": part.name,
                "own_process": cell is not None and cell.own_process,
                "excused": find_excused(labels, make_stock_name(part.name, grade.name), excused),
            }
            exercise = _build_exercise(grade, cell, comments.get(grade.name, ""), excused)
            exercises.append(exercise.model_copy(update=update))
    return exercises


def read_cell_names(path: Path) -> list[str]:
    """Read the names of the cells of this notebook, in order; none if there is no such file."""
    notebook = read_notebook(path)
    return [get_cell_name(cell) for cell in notebook.cells] if notebook else []


def read_notebook(path: Path) -> Any:
    """Read the notebook in this file; None if there is no such file."""
    return nbformat.read(path, as_version=4) if path.exists() else None
