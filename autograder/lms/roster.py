"""Reads a roster: a CSV file as an LMS exports it, or with nbgrader's column names."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from nbgrader.api import Gradebook

from autograder.base.errors import GradlabError
from autograder.lms.learning_system import LearningSystem, load_systems
from autograder.lms.people import Person

# The headings, in lower case, that mean each field. If a file has several of them, the first counts.
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
        raise GradlabError(f"{path} is empty", fix="export the roster again")
    columns = _find_columns(path, systems, [name.strip().casefold().lstrip("\ufeff") for name in rows[0][1]])
    other_rows = {name for system in systems for name in system.other_rows}
    people: dict[str, Person] = {}
    problems: list[str] = []
    for line, row in rows[1:]:
        if not any(cell.strip() for cell in row) or row[0].strip() in other_rows:
            continue
        fields = {name: row[column].strip() for name, column in columns.items() if column < len(row)}
        try:
            person = _parse_person(path, line, fields)
            _refuse_duplicate(path, line, person, people)
        except GradlabError as error:
            problems.append(str(error))
        else:
            people[person.id] = person
    if problems:
        raise GradlabError("\n".join(problems))
    if not people:
        raise GradlabError(f"{path} lists no students", fix="export the roster again")
    return list(people.values())


def _refuse_duplicate(path: Path, line: int, person: Person, people: Mapping[str, Person]) -> None:
    if person.id in people:
        raise GradlabError(f"{path}, line {line}: {person.id!r} is listed twice", fix="remove a row")
    for other in people.values():
        if person.lms_id and person.lms_id == other.lms_id:
            raise GradlabError(
                f"{path}, line {line}: {person.id!r} has the same number as {other.id!r}, {person.lms_id}",
                fix="give each student their own number",
            )


def write_roster(gradebook: Gradebook, people: list[Person]) -> tuple[int, int]:
    """Add people to the gradebook, and keep others there. Returns how many are new, and how many were known."""
    known = {row.id for row in gradebook.students}
    for person in people:
        fields = person.model_dump(exclude={"id", "lms_id"}) | {"lms_user_id": person.lms_id}
        gradebook.update_or_create_student(person.id, **{name: value for name, value in fields.items() if value})
    return sum(p.id not in known for p in people), sum(p.id in known for p in people)


def _read_text(path: Path) -> str:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise GradlabError(
            f"{path} can't be read: {error.strerror}", fix="check the path, and whether you may read the file"
        ) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise GradlabError(f"{path}, line {line} isn't UTF-8", fix="save it as CSV UTF-8") from None


def _detect_delimiter(text: str) -> str:
    head = text.partition("\n")[0]
    return max(",;\t", key=head.count)


def _find_columns(path: Path, systems: Sequence[LearningSystem], heads: list[str]) -> dict[str, int]:
    """Return each column's index by its name in COLUMNS. If the headings are an LMS's, that LMS's columns count."""
    columns = {
        name: heads.index(heading)
        for name, headings in COLUMNS.items()
        for heading in [next((heading for heading in headings if heading in heads), None)]
        if heading is not None
    }
    for system in systems:
        if set(heads) >= set(system.roster.values()):
            columns |= {name: heads.index(heading) for name, heading in system.roster.items()}
    if "id" not in columns and "email" not in columns:
        raise GradlabError(
            f"{path}, line 1: no column identifies a student; the columns are {', '.join(heads)}",
            fix="name a column id, or email",
        )
    _refuse_misnamed_id(path, heads, columns)
    return columns


def _refuse_misnamed_id(path: Path, heads: list[str], columns: Mapping[str, int]) -> None:
    """Raise GradlabError if ids would be made of email addresses, and a column that means nothing may have the ids.

    A column with names is a sign of an export: some have no ids, and further columns about the course.
    """
    unknown = [head for number, head in enumerate(heads) if number not in columns.values() and head]
    if unknown and not columns.keys() & {"id", "name", "first_name", "last_name"}:
        known = ", ".join(f"{heads[number]} as {name}" for name, number in columns.items())
        raise GradlabError(
            f"{path}, line 1: no column has the students' ids: {known} was read, and {', '.join(unknown)} wasn't",
            fix="name the column with the ids id; or remove the others, so each id is what the address has before @",
        )


def _parse_person(path: Path, line: int, fields: dict[str, str]) -> Person:
    last, comma, first = fields.pop("name", "").partition(",")
    if comma:
        fields = {"last_name": last.strip(), "first_name": first.strip()} | fields
    elif last and "last_name" not in fields:
        first, _, last = last.rpartition(" ")
        fields |= {"first_name": first, "last_name": last}
    id_ = fields.get("id") or fields.get("email", "").partition("@")[0]
    if not id_:
        raise GradlabError(f"{path}, line {line}: this row has no id", fix="fill it in, or remove the row")
    if "/" in id_ or id_.startswith(".") or not id_.isprintable() or "+" in id_:
        raise GradlabError(
            f"{path}, line {line}: {id_!r} can't be an id, since a folder can't have that name",
            fix="write an id without / and + that doesn't begin with a dot",
        )
    return Person(**(fields | {"id": id_}))
