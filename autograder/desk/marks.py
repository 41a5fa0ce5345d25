"""Marks and comments by hand in nbgrader's tables: read, written, and changed with a rubric's items.

The last writer wins, but is first warned about what someone else wrote meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from nbgrader.api import Comment, Grade, SubmittedAssignment, SubmittedNotebook
from sqlalchemy import select

from autograder.base.digest import digest
from autograder.base.errors import GradlabError
from autograder.desk.place import Desk, GradedPlace, UnknownNameError
from autograder.desk.rubric import Item, Rubric, lock_rubrics, read_rubrics, replace_choice, replace_items, write_rubric
from autograder.gradebook.writer import apply_late_penalty, write_with_retries

AGAIN = "nothing was saved: save once more"
MAX_COMMENT = 10_000  # characters


class ConflictError(Exception):
    """Someone else wrote meanwhile."""


@dataclass(frozen=True)
class DeskMark:
    """A mark of one answer."""

    points: float | None
    """What a person gave, if anyone did."""
    auto: float | None
    """What checks gave, if there are any."""
    comment: str
    waits: bool
    """Whether a person has yet to read it."""
    chosen: tuple[str, ...] = ()
    """The rubric's items that gave these points; empty if they were typed, here or in the formgrader."""

    @property
    def version(self) -> str:
        """A digest of the mark, by which a writer notices that it changed."""
        return digest(repr((self.points, self.auto, self.comment, self.waits, self.chosen)))[:16]

    @property
    def blank(self) -> bool:
        """Whether the question is as it was handed out, and nbgrader gave it no points."""
        return self.points is None and self.auto == 0 and not self.waits


def read_rubric(desk: Desk, place: GradedPlace) -> Rubric:
    return read_rubrics(desk.course, place.lab).questions.get(place.key, Rubric())


def read_marks(gradebook: Any, place: GradedPlace, rubric: Rubric) -> dict[str, DeskMark]:
    """The mark of each student who handed this notebook in."""
    submitted = select(SubmittedAssignment.student_id).join(SubmittedAssignment.notebooks)
    comments: dict[str, str] = {}
    if place.comment_id:
        query = submitted.join(SubmittedNotebook.comments).where(Comment.cell_id == place.comment_id)
        comments = dict(gradebook.db.execute(query.add_columns(Comment.manual_comment)).all())
    columns = (Grade.manual_score, Grade.auto_score, Grade.needs_manual_grade)
    query = submitted.join(SubmittedNotebook.grades).where(Grade.cell_id == place.cell_id).add_columns(*columns)
    found = {}
    for student, points, auto, waits in gradebook.db.execute(query):
        known = points is not None and rubric.points(student, place.worth) == round(points, 4)
        chosen = rubric.chosen[student] if known else ()
        found[student] = DeskMark(points, auto, comments.get(student) or "", bool(waits), chosen)
    return found


def save(desk: Desk, gradebook: Any, place: GradedPlace, student: str, wanted: DeskMark, seen: str) -> DeskMark:
    """Write this mark: the points of its chosen items, or its own. Without either, what checks gave counts again.

    Args:
        seen: The version that the writer saw.

    Raises:
        ConflictError: If the mark has another version now.
        GradlabError: If it can't be written.
        UnknownNameError: If the gradebook doesn't know the student's answer.
    """
    with lock_rubrics(desk.course, place.lab):
        before = read_rubric(desk, place)
        if not set(wanted.chosen) <= {item.id for item in before.items}:
            raise ConflictError("An item that you chose is gone. Load the page again.")
        rubric = replace_choice(before, student, wanted.chosen)
        points = rubric.points(student, place.worth) if wanted.chosen else wanted.points

        def write() -> None:
            now = read_marks(gradebook, place, before).get(student)
            if now is None:
                raise UnknownNameError("the gradebook knows no such student here")
            if now.version != seen:
                raise ConflictError("This answer was marked meanwhile.")
            grade = _find_grade(gradebook, place, student)
            grade.manual_score = points
            grade.needs_manual_grade = points is None and grade.auto_score is None
            _write_comment(gradebook, place, student, wanted.comment)
            apply_late_penalty(gradebook, grade.notebook.assignment, desk.penalty)

        write_with_retries(gradebook, write, AGAIN)
        if rubric != before:
            write_rubric(desk.course, place.lab, place.key, rubric)
    return read_marks(gradebook, place, rubric)[student]


def change_items(
    desk: Desk, gradebook: Any, place: GradedPlace, items: tuple[Item, ...], seen: str, agreed: Callable[[int], bool]
) -> bool:
    """Replace the items, and update the marks that follow from them. Returns whether it was agreed to.

    A student who has no item left keeps the mark, as a typed one.

    Args:
        seen: The version that the writer saw.
        agreed: Called with the number of marks that change, if there are any.
    """
    with lock_rubrics(desk.course, place.lab):
        before = read_rubric(desk, place)
        if before.version != seen:
            raise ConflictError("Somebody else changed the items meanwhile. Load the page again.")
        after = replace_items(before, items)
        changed = _find_changed_points(gradebook, place, before, after)
        if changed and not agreed(len(changed)):
            return False

        def write() -> None:
            for student, points in _find_changed_points(gradebook, place, before, after).items():
                grade = _find_grade(gradebook, place, student)
                grade.manual_score = points
                apply_late_penalty(gradebook, grade.notebook.assignment, desk.penalty)

        write_with_retries(gradebook, write, AGAIN)
        write_rubric(desk.course, place.lab, place.key, after)
    return True


def _find_changed_points(gradebook: Any, place: GradedPlace, before: Rubric, after: Rubric) -> Mapping[str, float]:
    """The new points of each student whose mark follows from the items and changes."""
    found = {}
    for student, mark in read_marks(gradebook, place, before).items():
        points = after.points(student, place.worth) if mark.chosen else None
        if points is not None and points != before.points(student, place.worth):
            found[student] = points
    return found


def _find_row(gradebook: Any, kind: Any, cell_id: str, student: str) -> Any:
    """The row of this student's cell."""
    return gradebook.db.scalars(
        select(kind)
        .join(SubmittedNotebook, kind.notebook_id == SubmittedNotebook.id)
        .join(SubmittedAssignment, SubmittedNotebook.assignment_id == SubmittedAssignment.id)
        .where(kind.cell_id == cell_id, SubmittedAssignment.student_id == student)
    ).one()


def _find_grade(gradebook: Any, place: GradedPlace, student: str) -> Any:
    return _find_row(gradebook, Grade, place.cell_id, student)


def _write_comment(gradebook: Any, place: GradedPlace, student: str, text: str) -> None:
    if place.comment_id:
        _find_row(gradebook, Comment, place.comment_id, student).manual_comment = text.strip() or None
    elif text.strip():
        raise GradlabError("nbgrader keeps no comment for this cell: it has no answer of a student's")
