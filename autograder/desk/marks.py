"""Reads and writes marks and comments by hand in nbgrader's tables, and updates them when a rubric's items change.

The last writer wins, but is first warned about what someone else wrote in the meantime.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from nbgrader.api import Comment, Grade, Gradebook, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from autograder.base.digest import digest
from autograder.base.errors import GradlabError
from autograder.desk.course_desk import Desk, UnknownNameError
from autograder.desk.mark_log import add_given_marks
from autograder.desk.rubric import Item, Rubric, lock_rubrics, read_rubrics, replace_choice, replace_items, write_rubric
from autograder.gradebook.cell_address import CellAddress
from autograder.gradebook.database import write_with_retries
from autograder.gradebook.writer import apply_late_penalty
from autograder.model.marks import Mark

RETRY = "nothing was saved: save once more"
MAX_COMMENT = 10_000  # characters

Row = TypeVar("Row", Grade, Comment)


class ConflictError(Exception):
    """Raised when someone else changed the mark in the meantime."""


@dataclass(frozen=True, kw_only=True)
class DeskMark(Mark):
    """The mark of one answer, with the points that a person gave."""

    auto: float | None = None
    """Points from checks, if there are any."""
    comment: str = ""
    chosen: tuple[str, ...] = ()
    """The rubric's items that gave these points; empty if they were typed, here or in the formgrader."""

    @property
    def version(self) -> str:
        """A digest of the mark, which shows a writer that it changed."""
        return digest(repr((self.points, self.auto, self.comment, self.needs_manual_grade, self.chosen)))[:16]

    @property
    def is_blank(self) -> bool:
        """Whether the answer is unchanged since it was handed out, so nbgrader gave it no points."""
        return self.points is None and self.auto == 0 and not self.needs_manual_grade


def read_rubric(desk: Desk, address: CellAddress) -> Rubric:
    return read_rubrics(desk.course, address.lab).questions.get(address.key, Rubric())


def read_marks(gradebook: Gradebook, address: CellAddress, rubric: Rubric) -> dict[str, DeskMark]:
    """Read the mark of each student who submitted this notebook.

    Args:
        rubric: The question's rubric. A student's chosen items count only if the points are what they give.
    """
    comments: dict[str, str] = {}
    if address.comment_id:
        written = select(SubmittedAssignment.student_id, Comment.manual_comment).join(SubmittedAssignment.notebooks)
        written = written.join(SubmittedNotebook.comments).where(Comment.cell_id == address.comment_id)
        comments = {student: comment or "" for student, comment in gradebook.db.execute(written)}
    grades = select(
        SubmittedAssignment.student_id, Grade.manual_score, Grade.auto_score, Grade.needs_manual_grade
    ).join(SubmittedAssignment.notebooks)
    grades = grades.join(SubmittedNotebook.grades).where(Grade.cell_id == address.cell_id)
    marks = {}
    for student, points, auto, needs_manual_grade in gradebook.db.execute(grades):
        is_from_items = points is not None and rubric.points(student, address.worth) == round(points, 4)
        chosen = rubric.chosen[student] if is_from_items else ()
        marks[student] = DeskMark(
            points, address.worth, bool(needs_manual_grade), auto=auto, comment=comments.get(student, ""), chosen=chosen
        )
    return marks


def save_mark(
    desk: Desk,
    gradebook: Gradebook,
    address: CellAddress,
    student: str,
    mark: DeskMark,
    seen_version: str,
    person: str = "",
) -> DeskMark:
    """Write this mark: the points of its chosen items, or its own. Without either, points from checks count again.

    Args:
        seen_version: The version that the writer saw.
        person: Who gives it; empty if no one knows.

    Raises:
        ConflictError: If the mark has another version now.
        GradlabError: If it can't be written.
        UnknownNameError: If the gradebook doesn't know the student's answer.
    """
    with lock_rubrics(desk.course, address.lab):
        before = read_rubric(desk, address)
        if not set(mark.chosen) <= {item.id for item in before.items}:
            raise ConflictError("An item that you chose is gone. Load the page again.")
        rubric = replace_choice(before, student, mark.chosen)
        points = rubric.points(student, address.worth) if mark.chosen else mark.points

        def write() -> None:
            now = read_marks(gradebook, address, before).get(student)
            if now is None:
                raise UnknownNameError("the gradebook has no such student here")
            if now.version != seen_version:
                raise ConflictError("Someone else marked this answer meanwhile.")
            grade = _find_grade(gradebook, address, student)
            grade.manual_score = points
            grade.needs_manual_grade = points is None and grade.auto_score is None
            _write_comment(gradebook, address, student, mark.comment)
            apply_late_penalty(gradebook, grade.notebook.assignment, desk.penalty)

        write_with_retries(gradebook, write, RETRY)
        if rubric != before:
            write_rubric(desk.course, address.lab, address.key, rubric)
        add_given_marks(desk.course, address.lab, address.key, person, {student: points})
    return read_marks(gradebook, address, rubric)[student]


def change_items(
    desk: Desk,
    gradebook: Gradebook,
    address: CellAddress,
    items: tuple[Item, ...],
    seen_version: str,
    confirm: Callable[[int], bool],
    person: str = "",
) -> bool:
    """Replace the items, and update the marks that follow from them. Returns whether that was confirmed.

    A student who has no item left keeps the mark, as a typed one.

    Args:
        seen_version: The version that the writer saw.
        confirm: Called with the number of marks that change, if there are any.
        person: Who changes them; empty if no one knows.
    """
    with lock_rubrics(desk.course, address.lab):
        before = read_rubric(desk, address)
        if before.version != seen_version:
            raise ConflictError("Someone else changed the items meanwhile. Load the page again.")
        after = replace_items(before, items)
        changed = _find_changed_points(gradebook, address, before, after)
        if changed and not confirm(len(changed)):
            return False

        def write() -> None:
            nonlocal changed
            changed = _find_changed_points(gradebook, address, before, after)
            for student, points in changed.items():
                grade = _find_grade(gradebook, address, student)
                grade.manual_score = points
                apply_late_penalty(gradebook, grade.notebook.assignment, desk.penalty)

        write_with_retries(gradebook, write, RETRY)
        write_rubric(desk.course, address.lab, address.key, after)
        add_given_marks(desk.course, address.lab, address.key, person, changed)
    return True


def _find_changed_points(
    gradebook: Gradebook, address: CellAddress, before: Rubric, after: Rubric
) -> Mapping[str, float]:
    """Return the new points of each student whose mark follows from the items and changes."""
    changed = {}
    for student, mark in read_marks(gradebook, address, before).items():
        points = after.points(student, address.worth) if mark.chosen else None
        if points is not None and points != before.points(student, address.worth):
            changed[student] = points
    return changed


def _find_row(gradebook: Gradebook, kind: type[Row], cell_id: str, student: str) -> Row:
    return gradebook.db.scalars(
        select(kind)
        .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .where(kind.cell_id == cell_id, SubmittedAssignment.student_id == student)
    ).one()


def _find_grade(gradebook: Gradebook, address: CellAddress, student: str) -> Grade:
    return _find_row(gradebook, Grade, address.cell_id, student)


def _write_comment(gradebook: Gradebook, address: CellAddress, student: str, text: str) -> None:
    if address.comment_id:
        _find_row(gradebook, Comment, address.comment_id, student).manual_comment = text.strip() or None
    elif text.strip():
        raise GradlabError(
            "nbgrader keeps no comment for this cell, since students don't answer in it: remove the comment, and save"
        )
