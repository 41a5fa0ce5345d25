"""Moodle: it imports grades by email address or ID number, and pages by *Upload multiple feedback files in a zip*."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autograder.lms.grades import Exporter, GradeTableFormat, format_points
from autograder.lms.learning_system import LearningSystem
from autograder.lms.people import Submitter
from autograder.lms.zip_entries import SubmissionFiles, ZipEntry, report_ignored

MARK = "_assignsubmission_"
FILE = re.compile(rf"(?P<name>.+?)_(?P<participant>\d+){MARK}(?P<plugin>[a-z]+)(?:_(?P<rest>.*))?", re.DOTALL)


def _group_files(entries: Sequence[ZipEntry], problems: list[str]) -> list[SubmissionFiles]:
    """Group uploaded files by name and number, without online texts and comments."""
    submissions: dict[tuple[str, str], SubmissionFiles] = {}
    ignored: dict[str, list[str]] = {}
    ambiguous: dict[str, list[str]] = {}
    for entry in entries:
        match = FILE.fullmatch(entry.first)
        if match is None:
            ignored.setdefault(entry.first, []).append(entry.name)
            continue
        key = (match["name"], match["participant"])
        origin = f"{key[0]}_{key[1]}{MARK}{match['plugin']}_"
        name = entry.parts[-1] if len(entry.parts) > 1 else match["rest"]
        if match["plugin"] != "file" or not name:
            ignored.setdefault(origin, []).append(entry.name)
        elif entry.name.count(MARK) > 1:
            ambiguous.setdefault(origin, []).append(entry.name)
        else:
            submitter = Submitter(name=key[0], number=key[1])  # the number differs for each assignment
            submissions.setdefault(key, SubmissionFiles(origin, (submitter,))).add(name, entry)
    report_ignored(ignored, problems)
    report_ignored(ambiguous, problems, "named like another student's submission")
    return list(submissions.values())


GRADES = GradeTableFormat(
    {"First name": "first_name", "Last name": "last_name", "ID number": "id", "Email address": "email"},
    {" (Real)": format_points},
)
MOODLE = LearningSystem(
    "Moodle",
    Exporter("moodle.csv", GRADES.write),
    can_have_named=lambda entry: bool(FILE.fullmatch(entry.first)),
    group_files=_group_files,
    is_origin=re.compile(rf".+{MARK}file_").fullmatch,
)
