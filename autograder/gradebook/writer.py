"""Writes marks into nbgrader's gradebook: one writer, many submissions in one transaction.

It writes the rows that `nbgrader autograde` writes; manual scores, comments by hand and extra credit stay. A person has
to review a manual score only if the answer's text has changed, while nbgrader asks for it after every grading. If the
answer is now blank, there is nothing to read, and the score of the earlier text is removed.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from nbgrader.api import Assignment, Comment, Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError
from sqlalchemy.orm import selectinload

from autograder.base.errors import GradlabError
from autograder.gradebook.excuses import Excused, compute_points, find_excused
from autograder.gradebook.extensions import set_extension
from autograder.gradebook.labels import make_labels
from autograder.gradebook.schema_version import patch_version_lookup
from autograder.model.marks import MarkSheet
from autograder.model.metadata import choose_name, get_answer_name

if TYPE_CHECKING:
    from autograder.model.result import Result

WAITS = (0.5, 1.0, 2.0, 4.0, 8.0)  # seconds between tries, besides the five seconds that SQLite itself waits each time
RETRY = "finished results are kept, so run the same command again"
Extended = Mapping[str, datetime]  # when extensions end, UTC, by student
Penalty = Callable[[str, float, float], float | None]  # called with student, score and seconds late


def apply_decisions(sheet: MarkSheet, result: Result, excused: Excused, before: Result | None) -> MarkSheet:
    """Apply the decisions for this student to the marks: excused checks, and marks by hand that still hold.

    Args:
        excused: The excused checks.
        before: The submission's earlier result.
    """
    scores, labels = dict(sheet.scores), make_labels(result)
    for cell in result.cells:
        scores[cell.id] = compute_points(labels, cell, excused)
    for name in scores:
        if result.get_points(name) is None and find_excused(labels, name, excused) is not None:
            scores[name] = sheet.worth[name]
    same = frozenset(name for name in scores if before and is_same_answer(name, before, result))
    return replace(sheet, scores=scores, same=same)


def is_same_answer(name: str, before: Result, now: Result) -> bool:
    """Return whether the answer that this graded cell is about is unchanged.

    If it's unclear which answer that is, return whether all answers are unchanged.

    Args:
        name: The graded cell's id in result documents.
        before: The submission's earlier result.
        now: Its new result.
    """
    answer = get_answer_name(name)
    if answer in now.answers and answer not in before.answers:  # the cell was renamed
        return now.answers[answer] in {text for cell, text in before.answers.items() if cell not in now.answers}
    if answer in now.answers:
        return before.answers.get(answer) == now.answers[answer]
    return bool(now.answers) and before.answers == now.answers


@contextlib.contextmanager
def open_gradebook(db_url: str, course_id: str = "default_course") -> Iterator[Gradebook]:
    """Open the gradebook, an SQLite file or a PostgreSQL database.

    Raises GradlabError if no database answers there.
    """
    patch_version_lookup()
    try:
        gradebook = Gradebook(db_url, course_id)
    except (ImportError, ArgumentError, DatabaseError) as error:
        cause = getattr(error, "orig", None) or error
        if isinstance(error, OperationalError) and _is_locked(error):
            raise GradlabError(_describe_trouble(error, "then run the same command again")) from None
        raise GradlabError(
            f"the gradebook {_hide_password(db_url)} can't be opened: {cause}",
            fix=(
                "correct c.CourseDirectory.db_url in nbgrader_config.py; PostgreSQL needs pip install 'psycopg[binary]'"
            ),
        ) from None
    with gradebook:
        yield gradebook


def _hide_password(db_url: str) -> str:
    try:
        return make_url(db_url).render_as_string(hide_password=True)
    except ArgumentError:
        return "in c.CourseDirectory.db_url"


def write_marks(
    gradebook: Gradebook, lab: str, sheets: Sequence[MarkSheet], penalty: Penalty, extended: Extended
) -> None:
    """Write the marks of these submissions, all of them or none.

    If another program has locked the gradebook, try again for a while.

    Args:
        sheets: One mark sheet for each submission.
        penalty: Returns the points to subtract from a late submission.
        extended: When extensions end, by student.

    Raises:
        GradlabError: If the gradebook stays locked, or the disk is full.
    """
    write_with_retries(gradebook, lambda: _write_rows(gradebook, lab, sheets, penalty, extended))


def write_with_retries(gradebook: Gradebook, write: Callable[[], None], advice: str = RETRY) -> None:
    """Write in a separate transaction, and try again for a while if another program has locked the gradebook.

    Args:
        write: What to do.
        advice: What the user can do if that doesn't help.
    """
    for wait in (*WAITS, None):
        try:
            with gradebook.db.no_autoflush:  # a row that is flushed before it's complete would be lost
                write()
            gradebook.db.commit()
            return
        except OperationalError as error:
            gradebook.db.rollback()
            if wait is None or not _is_locked(error):
                raise GradlabError(_describe_trouble(error, advice)) from None
            time.sleep(wait)


def _is_locked(error: OperationalError) -> bool:
    return _get_sqlite_code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)


def _get_sqlite_code(error: OperationalError) -> int | None:
    """Return SQLite's primary code for the error, which is the lowest byte; None for another database."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return None if code is None else code & 0xFF


def _describe_trouble(error: OperationalError, advice: str) -> str:
    if _is_locked(error):
        return f"another program has locked the gradebook: close it (the formgrader, or another nbgrader); {advice}"
    if _get_sqlite_code(error) == sqlite3.SQLITE_FULL:
        return f"the gradebook can't be written, since the disk is full: free some space; {advice}"
    return f"the gradebook can't be written: {error.orig}; {advice}"


def _write_rows(
    gradebook: Gradebook, lab: str, sheets: Sequence[MarkSheet], penalty: Penalty, extended: Extended
) -> None:
    """Write the marks into the open transaction, and add students and submissions that the gradebook doesn't have."""
    assignment = gradebook.find_assignment(lab)
    students = [sheet.student for sheet in sheets]
    submissions = {row.student_id: row for row in _load_submissions(gradebook, lab, students)}
    student_rows = {row.id: row for row in gradebook.db.query(Student).filter(Student.id.in_(students))}
    for sheet in sheets:
        student = sheet.student
        if student not in student_rows:
            student_rows[student] = Student(id=student)
            gradebook.db.add(student_rows[student])
        submission = submissions.get(student) or _create_submission(gradebook, assignment, student_rows[student])
        if sheet.submitted is not None:
            submission.timestamp = sheet.submitted
        set_extension(submission, assignment.duedate, extended.get(student))
        for notebook in submission.notebooks:
            _fill_in(notebook, sheet)
        apply_late_penalty(gradebook, submission, penalty)


def apply_late_penalty(gradebook: Gradebook, submission: SubmittedAssignment, penalty: Penalty) -> None:
    """Apply the penalty for lateness to the current marks."""
    for notebook in submission.notebooks:
        notebook.late_submission_penalty = None
    if submission.total_seconds_late > 0:
        gradebook.db.flush()
        for notebook in submission.notebooks:
            gradebook.db.refresh(notebook, ["score"])
            points = penalty(submission.student_id, notebook.score, submission.total_seconds_late)
            notebook.late_submission_penalty = None if points is None else min(max(points, 0), notebook.score)


def _load_submissions(
    gradebook: Gradebook, lab: str, students: Sequence[str] | None = None
) -> list[SubmittedAssignment]:
    """Load submissions with all their rows, in a few queries."""
    notebooks: Any = selectinload(SubmittedAssignment.notebooks)
    query = gradebook.db.query(SubmittedAssignment).filter(
        SubmittedAssignment.assignment_id == gradebook.find_assignment(lab).id
    )
    if students is not None:
        query = query.filter(SubmittedAssignment.student_id.in_(students))
    grades = notebooks.selectinload(SubmittedNotebook.grades).selectinload(Grade.cell)
    comments = notebooks.selectinload(SubmittedNotebook.comments).selectinload(Comment.cell)
    return list(query.options(grades, comments))


def _create_submission(gradebook: Gradebook, assignment: Assignment, student_row: Student) -> SubmittedAssignment:
    """Create a submission with a row for each cell, as Gradebook.add_submission does."""
    submission = SubmittedAssignment(assignment=assignment, student=student_row)
    for notebook in assignment.notebooks:
        submitted = SubmittedNotebook(notebook=notebook, assignment=submission)
        for cell in (*notebook.grade_cells, *notebook.task_cells):
            Grade(cell=cell, notebook=submitted)
        for cell in (*notebook.solution_cells, *notebook.task_cells):
            Comment(cell=cell, notebook=submitted)
    gradebook.db.add(submission)
    return submission


def set_score(grade: Grade, sheet: MarkSheet, name: str) -> None:
    """Set this row's score to the one that the sheet has under this name."""
    score, same = sheet.scores[name], name in sheet.same
    grade.auto_score = score
    if not same and sheet.blank.get(name) and score is not None:
        grade.manual_score = None
    if grade.manual_score is None:
        grade.needs_manual_grade = score is None
    elif not same:
        grade.needs_manual_grade = True


def _fill_in(notebook: SubmittedNotebook, sheet: MarkSheet) -> None:
    for grade in notebook.grades:
        name = choose_name(sheet.scores, notebook.name, grade.cell.name)
        if name in sheet.scores:
            set_score(grade, sheet, name)
    for comment in notebook.comments:
        name = choose_name(sheet.blank, notebook.name, comment.cell.name)
        if name in sheet.blank:
            comment.auto_comment = "No response." if sheet.blank[name] else None
