"""When labs are due: for everyone, and for each student with an extension."""

from __future__ import annotations

from datetime import datetime

from nbgrader.api import Assignment, Gradebook, SubmittedAssignment
from sqlalchemy import select

from autograder.model.term import Term

EVERYONE = ""  # instead of a student


def read_due_dates(gradebook: Gradebook, term: Term) -> dict[str, dict[str, datetime]]:
    """Read when each lab with a due date is due, in naive UTC, by student. As for marks, term.toml's extensions win."""
    dues = gradebook.db.execute(select(Assignment.name, Assignment.duedate))
    dates = {lab: {EVERYONE: due} for lab, due in dues if due}
    granted = select(Assignment.name, SubmittedAssignment.student_id, SubmittedAssignment.extension)
    for lab, student, extension in gradebook.db.execute(granted.join(Assignment)):
        if extension and lab in dates:
            dates[lab][student] = dates[lab][EVERYONE] + extension
    gradebook.db.commit()  # no transaction stays open
    for lab, by_student in dates.items():
        for student, until in term.get_extensions(lab).items():
            by_student[student] = max(until, by_student[EVERYONE])
    return dates
