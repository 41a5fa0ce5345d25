"""Exported grades run no formula in the program that opens them."""

import csv
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import pytest

from autograder.base.entry_points import list_names
from autograder.gradebook.lab_class import Column, LabClass, Member
from autograder.lms.learning_system import GROUP, LearningSystem, load_system
from autograder.lms.people import Person
from autograder.model.marks import Mark

PEOPLE = [
    Person(id="ada", first_name="Ada", last_name="Lovelace", email="ada@example.org", lms_id="71"),
    Person(id="grace", first_name="Grace", last_name="Hopper", email="grace@example.org", lms_id="72"),
    Person(id="eve", first_name="Eve", last_name="O, Neil", email="eve@example.org"),
]
LATE = 3 * 3600 + 25 * 60 + 7


def make_lab(name: str, *members: Member) -> LabClass:
    return LabClass(name, (Column("f", 10.0), Column("q", 5.0, by_hand=True)), members)


def make_member(student: str, f: float, q: float | None = None, penalty: float = 0.0, late: float = 0.0) -> Member:
    marks = {"f": Mark(f), "q": Mark(q, waits=q is None)}
    submitted = datetime(2027, 2, 1, 10, 0)
    return Member(student, "", True, True, marks=marks, penalty=penalty, late=late, submitted=submitted)


LABS = [
    make_lab("01_a", make_member("ada", 10, 5), make_member("grace", 7.25, 4, penalty=1.5, late=LATE), Member("eve")),
    make_lab("02_b", make_member("ada", 3), Member("grace", handed_in=True), Member("eve")),
]


def write_grades(system: LearningSystem, path: Path, labs: Sequence[LabClass] = LABS) -> list[dict[str, str]]:
    system.grades.write(path, PEOPLE, labs)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.parametrize("name", ["=1+1", "+49", "-x", "@sum", "\tx", "=HYPERLINK(1)"])
@pytest.mark.parametrize("system", list_names(GROUP))
def test_no_cell_begins_like_a_formula(name: str, system: str, tmp_path: Path) -> None:
    path = tmp_path / "grades.csv"
    load_system(system).grades.write(path, [Person(id=name, first_name=name, last_name=name)], LABS)
    with path.open(newline="", encoding="utf-8") as file:
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for row in csv.reader(file) for cell in row)
