"""Writes marks into nbgrader's gradebook: one writer, many submissions in one transaction.

It writes the rows that `nbgrader autograde` writes; manual scores, comments by hand and extra credit stay. A person has
to review a manual score only if the answer's text has changed, while nbgrader asks for it after every grading. If the
answer is now blank, there is nothing to read, and the score of the earlier text is removed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from nbgrader.api import Assignment, Comment, Grade, Gradebook, Student, SubmittedAssignment, SubmittedNotebook
from sqlalchemy.orm import selectinload

from autograder.gradebook.database import write_with_retries
from autograder.gradebook.extensions import set_extension
from autograder.model.marks import MarkSheet
from autograder.model.metadata import choose_name

ExtensionEnds = Mapping[str, datetime]  # when extensions end, UTC, by student
Penalty = Callable[[str, float, float], float | None]  # called with student, score and seconds late


def write_marks(
    gradebook: Gradebook, lab: str, sheets: Sequence[MarkSheet], penalty: Penalty, extension_ends: ExtensionEnds
) -> None:
    """Write the marks of these submissions, all of them or none.

    If another program has locked the gradebook, try again for a while.

    Args:
        sheets: One mark sheet for each submission.
        penalty: Returns the points to subtract from a late submission.
        extension_ends: When extensions end, by student.

    Raises:
        GradlabError: If the gradebook stays locked, or the disk is full.
    """
    write_with_retries(gradebook, lambda: _write_rows(gradebook, lab, sheets, penalty, extension_ends))


def _write_rows(
    gradebook: Gradebook, lab: str, sheets: Sequence[MarkSheet], penalty: Penalty, extension_ends: ExtensionEnds
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
        set_extension(submission, assignment.duedate, extension_ends.get(student))
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
    score, is_unchanged = sheet.scores[name], name in sheet.unchanged_answers
    grade.auto_score = score
    if not is_unchanged and sheet.blank.get(name) and score is not None:
        grade.manual_score = None
    if grade.manual_score is None:
        grade.needs_manual_grade = score is None
    elif not is_unchanged:
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
