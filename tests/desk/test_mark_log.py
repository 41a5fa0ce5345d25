"""Each mark on the desk keeps who gave it, and a mark that was changed elsewhere has no giver."""

import os
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.desk.course_desk import find_address, open_desk
from autograder.desk.mark_log import (
    GivenMark,
    add_given_marks,
    describe_giver,
    get_mark_log_path,
    read_given_marks,
)
from autograder.desk.marks import DeskMark, change_items, read_rubric, save_mark
from autograder.desk.rubric import Item
from autograder.gradebook.cell_address import CellAddress
from tests.desk.answered_class import LAB, QUESTION
from tests.desk.test_marks import FULL, WAITS, WORTH, Reader

MARK = DeskMark(2.0, WORTH)
WHEN = datetime(2027, 2, 1, 12, tzinfo=UTC)
GIVEN = GivenMark(when=WHEN, person="prof", question=QUESTION, student="ada", points=2.0)


@pytest.fixture
def reader(course: Path) -> Iterator[Reader]:
    desk = open_desk(course)
    with Gradebook(desk.db_url) as gradebook:
        yield Reader(desk, gradebook, find_address(desk, gradebook, LAB, LAB, QUESTION))


def save(reader: Reader, student: str, person: str, points: float | None = None, chosen: tuple[str, ...] = ()) -> None:
    mark = replace(WAITS, points=points, chosen=chosen)
    version = reader.read_mark(student).version
    save_mark(reader.desk, reader.gradebook, reader.address, student, mark, version, person)


def read_givers(course: Path, address: CellAddress) -> dict[str, tuple[str, float | None]]:
    return {name: (given.person, given.points) for name, given in read_given_marks(course, LAB, address.key).items()}


def test_the_last_person_who_gave_a_mark_is_kept(reader: Reader) -> None:
    save(reader, "ada", "prof", 1.0)
    save(reader, "ben", "", 2.0)
    save(reader, "ada", "assistant", 3.0)
    course = reader.desk.course
    assert read_givers(course, reader.address) == {"ada": ("assistant", 3.0), "ben": ("", 2.0)}
    assert len(get_mark_log_path(course, LAB).read_text().splitlines()) == 3, "the first mark stays on record"


def test_a_person_who_changes_an_item_gave_the_marks_that_follow(reader: Reader) -> None:
    reader.replace_items(FULL)
    save(reader, "ada", "prof", chosen=(FULL.id,))
    save(reader, "ben", "prof", 2.5)
    cheaper = Item(id=FULL.id, text=FULL.text, points=1)
    version = read_rubric(reader.desk, reader.address).version
    change_items(reader.desk, reader.gradebook, reader.address, (cheaper,), version, lambda number: True, "assistant")
    assert read_givers(reader.desk.course, reader.address) == {"ada": ("assistant", 1.0), "ben": ("prof", 2.5)}


@pytest.mark.parametrize(
    ("later", "words"),
    [
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "just now"),
        (timedelta(minutes=1), "1 minute ago"),
        (timedelta(minutes=119), "1 hour ago"),
        (timedelta(days=3), "3 days ago"),
    ],
)
def test_a_mark_says_who_gave_it_and_how_long_ago(later: timedelta, words: str) -> None:
    assert describe_giver(MARK, GIVEN, WHEN + later) == f"marked by prof, {words}"
    assert describe_giver(MARK, GIVEN.model_copy(update={"person": ""}), WHEN + later) == f"marked {words}"


@pytest.mark.parametrize(
    "mark", [replace(MARK, points=1.5), replace(MARK, points=None), replace(MARK, needs_manual_grade=True)]
)
def test_a_mark_that_is_another_one_now_has_no_giver(mark: DeskMark) -> None:
    assert describe_giver(mark, GIVEN, WHEN) == describe_giver(mark, None, WHEN) == ""


def test_a_line_that_a_crash_cut_off_hides_no_other(tmp_path: Path) -> None:
    add_given_marks(tmp_path, LAB, QUESTION, "prof", {"ada": 1.0})
    add_given_marks(tmp_path, LAB, QUESTION, "prof", {"ben": 2.0})
    path = get_mark_log_path(tmp_path, LAB)
    os.truncate(path, path.stat().st_size - 9)
    add_given_marks(tmp_path, LAB, QUESTION, "prof", {"cleo": 3.0})
    add_given_marks(tmp_path, LAB, "another", "assistant", {"ada": 0.0})
    last = read_given_marks(tmp_path, LAB, QUESTION)
    assert {name: given.points for name, given in last.items()} == {"ada": 1.0, "cleo": 3.0}
