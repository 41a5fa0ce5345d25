"""Moodle: grades are imported by address or ID number, and pages by *Upload multiple feedback files in a zip*."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.lms.grades import Exporter, GradeTable, format_points
from autograder.lms.learning_system import LearningSystem
from autograder.lms.people import Submitter
from autograder.lms.zip_entries import Pile, ZipEntry, report_rest

MARK = "_assignsubmission_"
FILE = re.compile(rf"(?P<name>.+?)_(?P<participant>\d+){MARK}(?P<plugin>[a-z]+)(?:_(?P<rest>.*))?", re.DOTALL)


def _group_files(entries: Sequence[ZipEntry], trouble: list[str]) -> list[Pile]:
    """A pile for each name and number, with uploaded files only: no online text, no comments."""
    piles: dict[tuple[str, str], Pile] = {}
    rest: dict[str, list[str]] = {}
    alike: dict[str, list[str]] = {}
    for entry in entries:
        found = FILE.fullmatch(entry.first)
        if found is None:
            rest.setdefault(entry.first, []).append(entry.name)
            continue
        key = (found["name"], found["participant"])
        origin = f"{key[0]}_{key[1]}{MARK}{found['plugin']}_"
        name = entry.parts[-1] if len(entry.parts) > 1 else found["rest"]
        if found["plugin"] != "file" or not name:
            rest.setdefault(origin, []).append(entry.name)
        elif entry.name.count(MARK) > 1:
            alike.setdefault(origin, []).append(entry.name)
        else:  # the number differs for each assignment
            piles.setdefault(key, Pile(origin, (Submitter(name=key[0], number=key[1]),))).add(name, entry)
    report_rest(rest, trouble)
    report_rest(alike, trouble, "named like the submission of another")
    return list(piles.values())


GRADES = GradeTable(
    {"First name": "first_name", "Last name": "last_name", "ID number": "id", "Email address": "email"},
    {" (Real)": format_points},
)
MOODLE = LearningSystem(
    "Moodle",
    Exporter("moodle.csv", GRADES.write),
    is_own=lambda entry: bool(FILE.fullmatch(entry.first)),
    read_zip=_group_files,
    is_origin=re.compile(rf".+{MARK}file_").fullmatch,
)
