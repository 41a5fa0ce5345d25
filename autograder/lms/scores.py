"""Everyone's score in each lab, as an LMS keeps it in its own gradebook."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nbgrader.api import Assignment, Gradebook
from sqlalchemy import select

from autograder.gradebook.lab_columns import read_columns, read_labels
from autograder.gradebook.notebook_file import read_lab_title
from autograder.gradebook.student_answers import read_lab_source
from autograder.gradebook.submission_rows import read_submission_rows
from autograder.model.term import Term, read_term


@dataclass(frozen=True)
class LabScore:
    """A student's score in a lab."""

    lab: str
    title: str
    student: str
    points: float
    worth: float
    is_final: bool
    """Whether no person still has to read an answer."""


def list_scores(gradebook: Gradebook, course: Path) -> list[LabScore]:
    """List the scores that students may see: without practice labs, and labs whose hidden checks stay secret."""
    term = read_term(course)
    labs = [str(lab) for lab in gradebook.db.scalars(select(Assignment.name).order_by(Assignment.name))]
    shown = [lab for lab in labs if not term.lab(lab).practice and term.lab(lab).tell != "visible"]
    return [score for lab in shown for score in _list_lab_scores(gradebook, course, lab, term)]


def _list_lab_scores(gradebook: Gradebook, course: Path, lab: str, term: Term) -> list[LabScore]:
    labels, source = read_labels(gradebook, course, lab), read_lab_source(course, lab)
    columns = read_columns(gradebook, lab, labels, source.cells, term.lab(lab).extra_credit)
    worth = sum(column.worth for column in columns if not column.is_extra_credit)
    title = read_lab_title(course, lab)
    return [
        LabScore(lab, title, student, round(max(row.points, 0.0), 4), worth, not row.needs_manual_grade)
        for student, row in sorted(read_submission_rows(gradebook, lab).items())
        if worth > 0
    ]
