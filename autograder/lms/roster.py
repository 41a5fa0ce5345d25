"""Reads a roster: a CSV file as an LMS exports it, or with nbgrader's own names for columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.base.errors import GradlabError
from autograder.lms.learning_system import LearningSystem, load_systems
from autograder.lms.people import Person

# What a column is, by its heading in lower case. If there are several, the first one counts.
COLUMNS = {
    "id": ("id number", "sis login id", "username", "student id", "sid", "student_id", "login", "id"),
    "first_name": ("first_name", "first name", "given name"),
    "last_name": ("last_name", "last name", "surname", "family name"),
    "email": ("email", "email address", "e-mail"),
    "lms_id": ("lms_user_id", "lms_id", "canvas id", "user id", "participant"),
    "name": ("student", "name", "full name", "student name"),
}


def read_roster(path: Path) -> list[Person]:
    """Read a roster. Raises GradlabError with file, line and fix for every row that can't be used."""
    text = _read_text(path)
    systems = load_systems()
    reader = csv.reader(io.StringIO(text), delimiter=_detect_delimiter(text))
    rows = [(reader.line_num, row) for row in reader]
    if not rows:
        raise GradlabError(f"{path} is empty")
    places = _find_columns(path, systems, [name.strip().casefold().lstrip("\ufeff") for name in rows[0][1]])
    nobody = {name for system in systems for name in system.nobody}
    people: dict[str, Person] = {}
    trouble: list[str] = []
    for line, row in rows[1:]:
        if not any(cell.strip() for cell in row) or row[0].strip() in nobody:
            continue
        said = {name: row[place].strip() for name, place in places.items() if place < len(row)}
        try:
            person = _parse_person(path, line, said)
            _refuse_second(path, line, person, people)
        except GradlabError as error:
            trouble.append(str(error))
        else:
            people[person.id] = person
    if trouble:
        raise GradlabError("\n".join(trouble))
    if not people:
        raise GradlabError(f"{path} names nobody")
    return list(people.values())


def _refuse_second(path: Path, line: int, person: Person, people: Mapping[str, Person]) -> None:
    if person.id in people:
        raise GradlabError(f"{path}, line {line}: {person.id!r} stands there twice\n    fix: remove a row")
    for other in people.values():
        if person.lms_id and person.lms_id == other.lms_id:
            raise GradlabError(
                f"{path}, line {line}: {person.id!r} has the number {person.lms_id} of {other.id!r}\n"
                "    fix: give each student a number of their own"
            )


def write_roster(gradebook: Gradebook, people: list[Person]) -> tuple[int, int]:
    """Add people to the gradebook, and keep others there. Returns how many are new, and how many were known."""
    known = {student.id for student in gradebook.students}
    for person in people:
        said = person.model_dump(exclude={"id", "lms_id"}) | {"lms_user_id": person.lms_id}
        gradebook.update_or_create_student(person.id, **{name: value for name, value in said.items() if value})
    return sum(p.id not in known for p in people), sum(p.id in known for p in people)


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GradlabError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GradlabError(f"{path}, line {line} is no UTF-8\n    fix: save it as CSV UTF-8") from None


def _detect_delimiter(text: str) -> str:
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def _find_columns(path: Path, systems: Sequence[LearningSystem], heads: list[str]) -> dict[str, int]:
    places = {
        name: heads.index(known)
        for name, names in COLUMNS.items()
        for known in [next((each for each in names if each in heads), None)]
        if known is not None
    }
    for system in systems:
        if set(heads) >= set(system.roster.values()):
            places |= {name: heads.index(heading) for name, heading in system.roster.items()}
    if "id" not in places and "email" not in places:
        raise GradlabError(
            f"{path}, line 1: no column says who a student is; it has {', '.join(heads)}\n"
            "    fix: name a column id, or email"
        )
    return places


def _parse_person(path: Path, line: int, said: dict[str, str]) -> Person:
    last, comma, first = said.pop("name", "").partition(",")
    if comma:
        said = {"last_name": last.strip(), "first_name": first.strip()} | said
    elif last and "last_name" not in said:
        first, _, last = last.rpartition(" ")
        said |= {"first_name": first, "last_name": last}
    id_ = said.get("id") or said.get("email", "").partition("@")[0]
    if not id_:
        raise GradlabError(f"{path}, line {line}: this row has no id\n    fix: fill it in, or remove the row")
    if "/" in id_ or id_.startswith(".") or not id_.isprintable() or "+" in id_:
        raise GradlabError(f"{path}, line {line}: {id_!r} cannot be an id: it is a folder's name, without / and +")
    return Person(**(said | {"id": id_}))
