"""Marks by hand are nbgrader's rows; items change them together; a newer mark causes a warning."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from nbgrader.api import Gradebook

from autograder.desk.course_desk import Desk, UnknownNameError, find_address, open_desk
from autograder.desk.marks import ConflictError, DeskMark, change_items, read_marks, read_rubric, save_mark
from autograder.desk.rubric import Item
from autograder.gradebook.cell_address import CellAddress
from autograder.gradebook.writer import write_marks
from autograder.model.marks import MarkSheet
from tests.desk.answered_class import CHECK, LAB, QUESTION

FULL = Item(id="00000001", text="right", points=3)
VAGUE = Item(id="00000002", text="vague", points=-1)
WORTH = 3.0
WAITS = DeskMark(worth=WORTH, needs_manual_grade=True)


@dataclass
class Reader:
    """A person's actions on one course and its gradebook."""

    desk: Desk
    gradebook: Any
    address: CellAddress

    def read_mark(self, student: str) -> DeskMark:
        return read_marks(self.gradebook, self.address, read_rubric(self.desk, self.address))[student]

    def save_mark(self, student: str, mark: DeskMark | None = None, **changes: Any) -> DeskMark:
        mark = mark or self.read_mark(student)
        return save_mark(self.desk, self.gradebook, self.address, student, replace(WAITS, **changes), mark.version)

    def replace_items(self, *items: Item, sure: bool = True) -> list[int]:
        """The numbers of marks for which it asked for confirmation."""
        counts: list[int] = []
        version = read_rubric(self.desk, self.address).version
        change_items(self.desk, self.gradebook, self.address, items, version, lambda n: bool(counts.append(n)) or sure)
        return counts

    def read_row(self, student: str) -> tuple[Any, ...]:
        """The row as another program reads it."""
        with Gradebook(self.desk.db_url) as gradebook:
            grade = gradebook.find_grade(self.address.cell, LAB, LAB, student)
            name = QUESTION if self.address.cell == QUESTION else "exercise-sum_of_squares"
            comment = gradebook.find_comment(name, LAB, LAB, student)
            return grade.manual_score, grade.needs_manual_grade, comment.manual_comment, grade.notebook.score


@pytest.fixture
def reader(course: Path) -> Iterator[Reader]:
    desk = open_desk(course)
    with Gradebook(desk.db_url) as gradebook:
        yield Reader(desk, gradebook, find_address(desk, gradebook, LAB, LAB, QUESTION))


def test_a_mark_and_a_comment_are_what_the_formgrader_writes(reader: Reader) -> None:
    assert reader.read_row("ada") == (None, True, None, 0.5)
    assert reader.save_mark("ada", points=2.5, comment="  Good.  ") == DeskMark(2.5, WORTH, comment="Good.")
    assert reader.read_row("ada") == (2.5, False, "Good.", 3.0)
    assert reader.save_mark("ada") == WAITS, "without points it waits again, and the comment is gone"
    assert reader.read_row("ada") == (None, True, None, 0.5)


def test_a_blank_answer_earns_zero_without_manual_marking(reader: Reader) -> None:
    assert reader.read_mark("eve").is_blank and not reader.read_mark("ada").is_blank
    assert reader.save_mark("eve", points=1.0).points == 1
    assert reader.save_mark("eve").is_blank


def test_items_give_points_and_a_typed_number_counts_without_items(reader: Reader) -> None:
    assert reader.replace_items(FULL, VAGUE) == []
    assert reader.save_mark("ada", chosen=(VAGUE.id, FULL.id)) == DeskMark(2, WORTH, chosen=(FULL.id, VAGUE.id))
    assert reader.read_row("ada")[:2] == (2, False)
    assert reader.save_mark("ada", points=0.25) == DeskMark(0.25, WORTH)
    assert read_rubric(reader.desk, reader.address).chosen == {}


@pytest.fixture
def marked_reader(reader: Reader) -> Reader:
    """ada and ben have both items, dan has one, and cleo has none. Then ben gets another mark in the formgrader."""
    reader.replace_items(FULL, VAGUE)
    for student in ("ada", "ben"):
        reader.save_mark(student, chosen=(FULL.id, VAGUE.id))
    reader.save_mark("cleo", points=2.0)
    reader.save_mark("dan", chosen=(FULL.id,))
    with Gradebook(reader.desk.db_url) as formgrader:
        formgrader.find_grade(QUESTION, LAB, LAB, "ben").manual_score = 1.75
        formgrader.db.commit()
    reader.gradebook.db.expire_all()
    return reader


def read_class_points(reader: Reader) -> list[float]:
    return [reader.read_row(student)[0] for student in ("ada", "ben", "cleo", "dan")]


MILDER = VAGUE.model_copy(update={"points": -0.5})


def test_a_changed_item_changes_no_mark_before_confirmation(marked_reader: Reader) -> None:
    assert marked_reader.replace_items(FULL, MILDER, sure=False) == [1]
    assert read_class_points(marked_reader) == [2, 1.75, 2, 3]


def test_a_changed_item_changes_its_marks_after_confirmation(marked_reader: Reader) -> None:
    assert marked_reader.replace_items(FULL, MILDER) == [1]
    assert read_class_points(marked_reader) == [2.5, 1.75, 2, 3]


def test_a_mark_from_the_formgrader_has_no_items_anymore(marked_reader: Reader) -> None:
    marked_reader.replace_items(FULL, MILDER)
    assert marked_reader.read_mark("ben").chosen == ()


def test_a_student_with_a_deleted_item_has_the_points_of_the_others(marked_reader: Reader) -> None:
    assert marked_reader.replace_items(FULL) == [1]
    assert read_class_points(marked_reader) == [3, 1.75, 2, 3]


def test_a_student_left_without_items_keeps_the_mark(marked_reader: Reader) -> None:
    marked_reader.replace_items(FULL)
    assert marked_reader.replace_items() == []
    assert read_class_points(marked_reader) == [3, 1.75, 2, 3]


def test_a_newer_mark_is_shown_before_it_can_be_overwritten(reader: Reader) -> None:
    mark = reader.read_mark("ada")
    reader.save_mark("ada", points=1.0)
    with pytest.raises(ConflictError, match="meanwhile"):
        reader.save_mark("ada", mark, points=3.0)
    reader.gradebook.db.rollback()
    assert reader.read_row("ada")[0] == 1
    assert reader.save_mark("ada", points=3.0).points == 3
    with pytest.raises(ConflictError, match="gone"):
        reader.save_mark("ada", chosen=("deadbeef",))


def test_a_changed_answer_waits_again_with_its_old_mark(reader: Reader) -> None:
    reader.save_mark("ada", points=1.0, comment="Why?")
    other = MarkSheet("ada", {QUESTION: None, CHECK: 0.5})
    write_marks(reader.gradebook, LAB, [other], lambda *_: None, {})
    assert reader.read_mark("ada") == DeskMark(1, WORTH, needs_manual_grade=True, comment="Why?")
    assert reader.save_mark("ada", points=1.0, comment="Why?").needs_manual_grade is False


def test_an_exercise_takes_a_mark_by_hand_and_gives_it_back_to_its_checks(reader: Reader) -> None:
    reader.address = find_address(reader.desk, reader.gradebook, LAB, LAB, CHECK)
    from_checks = DeskMark(worth=reader.address.worth, auto=0.5)
    assert reader.read_mark("ada") == from_checks
    reader.save_mark("ada", points=2.0, comment="A slip.")
    assert reader.read_row("ada") == (2, False, "A slip.", 2)
    assert reader.save_mark("ada") == from_checks


def test_the_late_penalty_follows_the_mark(reader: Reader) -> None:
    half = replace(reader.desk, penalty=lambda student, score, seconds: score / 2)
    reader.gradebook.update_or_create_assignment(LAB, duedate="2027-02-01 10:00 UTC")
    reader.desk = half
    reader.save_mark("ada", points=2.5)
    with Gradebook(half.db_url) as gradebook:
        assert gradebook.find_submission(LAB, "ada").late_submission_penalty == 1.5


def test_names_that_the_gradebook_does_not_know_are_refused(reader: Reader) -> None:
    for names in (("x", LAB, QUESTION), (LAB, "../x", QUESTION), (LAB, LAB, "../../etc/passwd")):
        with pytest.raises(UnknownNameError):
            find_address(reader.desk, reader.gradebook, *names)
    with pytest.raises(UnknownNameError):
        save_mark(reader.desk, reader.gradebook, reader.address, "../ada", WAITS, "")
