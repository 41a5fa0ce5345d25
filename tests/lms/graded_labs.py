"""Two graded labs, and their grades as an LMS reads them."""

import csv
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.lms.learning_system import LearningSystem
from autograder.lms.people import Person
from autograder.model.marks import Mark

PEOPLE = [
    Person(id="ada", first_name="Ada", last_name="Lovelace", email="ada@example.org", lms_id="71"),
    Person(id="grace", first_name="Grace", last_name="Hopper", email="grace@example.org", lms_id="72"),
    Person(id="eve", first_name="Eve", last_name="O, Neil", email="eve@example.org"),
]

LATE = 3 * 3600 + 25 * 60 + 7


def make_lab(name: str, *members: Member) -> ClassResults:
    return ClassResults(name, (Column("f", 10.0), Column("q", 5.0, by_hand=True)), members)


def make_member(
    student: str, f: float, q: float | None = None, penalty: float = 0.0, seconds_late: float = 0.0
) -> Member:
    marks = {"f": Mark(f), "q": Mark(q, needs_manual_grade=q is None)}
    submitted = datetime(2027, 2, 1, 10, 0)
    return Member(student, "", True, True, marks=marks, penalty=penalty, seconds_late=seconds_late, submitted=submitted)


LABS = [
    make_lab(
        "01_a", make_member("ada", 10, 5), make_member("grace", 7.25, 4, penalty=1.5, seconds_late=LATE), Member("eve")
    ),
    make_lab("02_b", make_member("ada", 3), Member("grace", has_submitted=True), Member("eve")),
]


def write_grades(system: LearningSystem, path: Path, labs: Sequence[ClassResults] = LABS) -> list[dict[str, str]]:
    system.grades.write(path, PEOPLE, labs)
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
