"""Reads what a feedback page shows of submissions: marks from the gradebook, checks and notes from documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograder.base.errors import GradlabError
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.excuses import Excused, find_excused
from autograder.gradebook.lab_columns import read_worth
from autograder.gradebook.labels import CellLabels, make_labels, make_sort_key
from autograder.gradebook.notebook_file import read_notebook
from autograder.gradebook.store import load_result
from autograder.gradebook.submission_result import ExerciseResult, SubmissionResult
from autograder.gradebook.submission_rows import (
    CellKey,
    CellRow,
    SubmissionRow,
    read_comments,
    read_submission_rows,
    refuse_ungraded,
)
from autograder.gradebook.writer import open_gradebook
from autograder.model.assignments import AssignmentKind
from autograder.model.course import Kind
from autograder.model.metadata import get_cell_name, make_cell_name, make_stock_name
from autograder.model.result import GradedCell, Result
from autograder.model.term import read_term

LAB_LABELS = CellLabels(AssignmentKind.LAB)


def read_results(db_url: str, course: Path, lab: str) -> list[SubmissionResult]:
    """Read the results of every graded submission of a lab, by student. Raises GradlabError if the lab is unknown."""
    with open_gradebook(db_url) as gradebook:
        refuse_ungraded(gradebook, course, lab)
        return sorted(_build_results(gradebook, course, lab), key=lambda result: make_sort_key(result.student))


def read_result(db_url: str, course: Path, lab: str, student: str) -> SubmissionResult:
    """Read the result of one graded submission. Raises GradlabError if there isn't one."""
    with open_gradebook(db_url) as gradebook:
        return find_result(gradebook, course, lab, student)


def find_result(gradebook: Gradebook, course: Path, lab: str, student: str) -> SubmissionResult:
    """Find the result of one graded submission in an open gradebook. Raises GradlabError if there isn't one."""
    try:
        results = _build_results(gradebook, course, lab, [student])
    except MissingEntry:
        results = []
    if not results:
        raise GradlabError(f"the gradebook has no submission of {lab} by {student}: grade it first")
    return results[0]


def read_due_date(db_url: str, lab: str) -> datetime | None:
    """Read when the lab is due, in naive UTC; None if it has no due date."""
    with open_gradebook(db_url) as gradebook:
        return next((assignment.duedate for assignment in gradebook.assignments if assignment.name == lab), None)


def _build_results(
    gradebook: Gradebook, course: Path, lab: str, students: Sequence[str] = ()
) -> list[SubmissionResult]:
    """Build the results of these students; without any, of all. Raises MissingEntry if the lab is unknown."""
    rows = read_submission_rows(gradebook, lab, students)
    worth, comments, term = read_worth(gradebook, lab), read_comments(gradebook, lab, students), read_term(course)
    results = []
    for student, row in rows.items():
        document, excused = load_result(course, lab, student), term.get_excuses(lab, student)
        facts = get_autograded_path(course, lab, student), worth, comments.get(student, {}), excused
        if document and document.kind is AssignmentKind.STOCK:
            exercises = _build_stock_exercises(row, document, *facts)
        else:
            exercises = _build_lab_exercises(row, document, *facts)
        results.append(
            SubmissionResult(
                student=student,
                lab=lab,
                points=round(max(row.points, 0), 4),
                worth=sum(worth.values()),
                penalty=round(row.penalty, 4),
                needs_manual_grade=row.waits,
                exercises=tuple(exercises),
                notes=document.notes if document else (),
                changed=document.changed if document else (),
                submitted=row.submitted,
                late=row.seconds_late,
                notebooks=document.notebooks if document else (),
            )
        )
    return results


def _build_lab_exercises(
    row: SubmissionRow,
    document: Result | None,
    path: Path,
    worth: Mapping[CellKey, float],
    comments: Mapping[CellKey, str],
    excused: Excused,
) -> list[ExerciseResult]:
    """Build the graded cells of a lab, in order.

    Args:
        row: What the gradebook has.
        document: The result document, if there is one.
        path: The autograded notebook.
        worth: What each cell is worth in the gradebook.
        comments: What a person, or else nbgrader, wrote about each cell.
        excused: The excused checks.
    """
    graded = {cell.id: cell for cell in document.cells} if document else {}
    return [
        _build_exercise(cell, graded.get(cell.name), worth, comments, excused) for cell in _sort_cells(row.cells, path)
    ]


def _build_stock_exercises(
    row: SubmissionRow,
    document: Result,
    path: Path,
    worth: Mapping[CellKey, float],
    comments: Mapping[CellKey, str],
    excused: Excused,
) -> list[ExerciseResult]:
    """Build the graded cells of a stock assignment, by notebook and in order. Arguments are as above."""
    graded, labels = {cell.id: cell for cell in document.cells}, make_labels(document)
    exercises = []
    for notebook in sorted({cell.notebook for cell in row.cells}):
        in_notebook = [cell for cell in row.cells if cell.notebook == notebook]
        for cell in _sort_cells(in_notebook, path.with_name(f"{notebook}.ipynb")):
            stock_name = make_stock_name(notebook, cell.name)
            graded_cell = graded.get(stock_name)
            update = {
                "name": labels.label(cell.name, notebook),
                "by_hand": graded_cell is None and notebook not in document.missing,
                "notebook": notebook,
                "own_process": graded_cell is not None and graded_cell.own_process,
                "excused": find_excused(labels, stock_name, excused),
            }
            exercise = _build_exercise(cell, graded_cell, worth, comments, excused)
            exercises.append(exercise.model_copy(update=update))
    return exercises


def _build_exercise(
    cell: CellRow,
    graded: GradedCell | None,
    worth: Mapping[CellKey, float],
    comments: Mapping[CellKey, str],
    excused: Excused,
) -> ExerciseResult:
    key = cell.notebook, cell.name
    return ExerciseResult(
        name=LAB_LABELS.label_id(cell.name),
        points=cell.points,
        worth=worth[key] or (graded.worth if graded else 0.0),
        by_hand=cell.name.startswith(make_cell_name(Kind.QUESTION, "")),
        comment=comments.get(key, ""),
        checks=graded.checks if graded else (),
        waits=cell.waits,
        excused=find_excused(LAB_LABELS, cell.name, excused),
        extra=not worth[key] and graded is not None and graded.worth > 0,
    )


def _sort_cells(cells: Sequence[CellRow], path: Path) -> list[CellRow]:
    """Sort the cells by their order in this notebook; those that it lacks are last."""
    order = [get_cell_name(cell) for cell in read_notebook(path).cells] if path.exists() else []
    return sorted(cells, key=lambda cell: order.index(cell.name) if cell.name in order else len(order))
