"""Reads what a feedback page shows of submissions: marks from the gradebook, checks and notes from documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from nbgrader.api import Gradebook, MissingEntry

from autograder.base.errors import GradlabError
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.database import open_gradebook
from autograder.gradebook.excuses import Excused, find_excused
from autograder.gradebook.gradebook_cells import GradebookCell, is_extra_credit, read_gradebook_cells
from autograder.gradebook.labels import CellLabels, make_labels, make_sort_key
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.gradebook.result_documents import load_document
from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.gradebook.submission_rows import (
    CellKey,
    CellRow,
    SubmissionRow,
    read_comments,
    read_submission_rows,
    refuse_ungraded_lab,
)
from autograder.model.assignments import AssignmentKind
from autograder.model.metadata import get_cell_name
from autograder.model.result import GradedCell, ResultDocument
from autograder.model.term import Term, read_term

LAB_LABELS = CellLabels(AssignmentKind.LAB)
NO_COMMENTS: Mapping[CellKey, str] = {}


@dataclass(frozen=True)
class LabDecisions:
    """What the instructor decided about a student's lab in term.toml."""

    excused: Excused = field(default_factory=dict)
    """The excused checks."""
    extra_credit: Sequence[str] = ()
    """Exercises that are extra credit."""


NO_DECISIONS = LabDecisions()


def read_results(db_url: str, course: Path, lab: str, term: Term | None = None) -> list[SubmissionResult]:
    """Read the results of every graded submission of a lab, by student.

    Args:
        term: The instructor's decisions; read from the course if the caller hasn't.

    Raises:
        GradlabError: If the lab is unknown.
    """
    with open_gradebook(db_url) as gradebook:
        refuse_ungraded_lab(gradebook, course, lab)
        return sorted(
            _build_results(gradebook, course, lab, term=term), key=lambda result: make_sort_key(result.student)
        )


def read_result(db_url: str, course: Path, lab: str, student: str) -> SubmissionResult:
    """Read the result of one graded submission. Raises GradlabError if there isn't one."""
    with open_gradebook(db_url) as gradebook:
        return read_result_from(gradebook, course, lab, student)


def read_result_from(gradebook: Gradebook, course: Path, lab: str, student: str) -> SubmissionResult:
    """Find the result of one graded submission in an open gradebook. Raises GradlabError if there isn't one."""
    try:
        results = _build_results(gradebook, course, lab, [student])
    except MissingEntry:
        results = []
    if not results:
        raise GradlabError(f"the gradebook has no submission of {lab} by {student}", fix="grade it first")
    return results[0]


def read_due_date(db_url: str, lab: str) -> datetime | None:
    """Read when the lab is due, in naive UTC; None if it has no due date."""
    with open_gradebook(db_url) as gradebook:
        return next((assignment.duedate for assignment in gradebook.assignments if assignment.name == lab), None)


def _build_results(
    gradebook: Gradebook, course: Path, lab: str, students: Sequence[str] = (), term: Term | None = None
) -> list[SubmissionResult]:
    """Build the results of these students; without any, of all. Raises MissingEntry if the lab is unknown."""
    rows, comments = read_submission_rows(gradebook, lab, students), read_comments(gradebook, lab, students)
    cells, term = read_gradebook_cells(gradebook, lab), term or read_term(course)
    extra = term.lab(lab).extra_credit
    results = []
    for student, row in rows.items():
        in_order = replace(row, cells=_sort_cells(row.cells, course, lab, student))
        decisions = LabDecisions(term.get_excuses(lab, student), extra)
        document = load_document(course, lab, student)
        results.append(build_result(student, lab, in_order, document, cells, comments.get(student, {}), decisions))
    return results


def build_result(
    student: str,
    lab: str,
    row: SubmissionRow,
    document: ResultDocument | None,
    cells: Mapping[CellKey, GradebookCell],
    comments: Mapping[CellKey, str] = NO_COMMENTS,
    decisions: LabDecisions = NO_DECISIONS,
) -> SubmissionResult:
    """Build the result of a submission.

    Args:
        row: What the gradebook has, or would have. Its cells are in the order of the page.
        document: The result document, if there is one.
        cells: The graded cells of the assignment.
        comments: What a person, or else nbgrader, wrote about each cell.
        decisions: What the instructor decided about this student's lab.
    """
    labels = make_labels(document) if document else LAB_LABELS
    graded = {cell.id: cell for cell in document.cells} if document else {}
    exercises = [
        _build_exercise(
            cell,
            cells[cell.notebook, cell.name],
            graded.get(labels.join(cell.notebook, cell.name)),
            labels,
            comments.get((cell.notebook, cell.name), ""),
            decisions,
        )
        for cell in row.cells
    ]
    return SubmissionResult(
        student=student,
        lab=lab,
        points=round(max(row.points, 0), 4),
        worth=sum(
            cell.worth for cell in cells.values() if not is_extra_credit(labels, cell, 0.0, decisions.extra_credit)
        ),
        penalty=round(row.penalty, 4),
        needs_manual_grade=row.needs_manual_grade,
        exercises=tuple(exercises),
        notes=document.notes if document else (),
        changed_names=document.changed if document else (),
        submitted=row.submitted,
        seconds_late=row.seconds_late,
        notebooks=document.notebooks if document else (),
    )


def _build_exercise(
    row: CellRow,
    cell: GradebookCell,
    graded: GradedCell | None,
    labels: CellLabels,
    comment: str,
    decisions: LabDecisions,
) -> GradedCellResult:
    """Combine the gradebook's marks for a cell with the checks in the result document, if it has the cell."""
    course_worth = graded.worth if graded else 0.0
    is_stock = labels.kind is AssignmentKind.STOCK
    return GradedCellResult(
        name=labels.label(row.notebook, row.name),
        points=row.points,
        worth=cell.worth or course_worth,
        by_hand=cell.by_hand,
        comment=comment,
        checks=graded.checks if graded else (),
        needs_manual_grade=row.needs_manual_grade,
        excused=find_excused(labels, labels.join(row.notebook, row.name), decisions.excused),
        is_extra_credit=is_extra_credit(labels, cell, course_worth, decisions.extra_credit),
        notebook=row.notebook if is_stock else "",
        cell=row.name if is_stock else "",
        own_process=graded is not None and graded.own_process,
    )


def _sort_cells(rows: Sequence[CellRow], course: Path, lab: str, student: str) -> list[CellRow]:
    """Sort the cells by notebook and by their order in it; those that it lacks are last."""
    in_order = []
    for notebook in sorted({row.notebook for row in rows}):
        path = get_autograded_path(course, lab, student, notebook)
        order = [get_cell_name(cell) for cell in read_course_notebook(path).cells] if path.exists() else []
        in_order += sorted(
            (row for row in rows if row.notebook == notebook),
            key=lambda row: order.index(row.name) if row.name in order else len(order),
        )
    return in_order
