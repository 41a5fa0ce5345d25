"""Canvas: its gradebook export is both roster and form of grades; pages are named after the submitted files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from autograder.lms.grades import Exporter, GradeTableFormat, format_points
from autograder.lms.learning_system import LearningSystem
from autograder.lms.people import Submitter
from autograder.lms.zip_entries import SubmissionFiles, ZipEntry, report_ignored

NUMBERED = r"(?P<name>(?:(?!_\d+_)[^/])+?)_(?P<late>LATE_)?(?P<user>\d+)_"
FILE = re.compile(NUMBERED + r"(?P<file>\d+)_(?P<rest>[^/]+)")
PAGE = re.compile(NUMBERED + r"_?(?:text|link)\.html")  # typed text instead of an uploaded file


def _can_have_named(entry: ZipEntry) -> bool:
    return bool(FILE.fullmatch(entry.first) or PAGE.fullmatch(entry.first))


def _group_files(entries: Sequence[ZipEntry], problems: list[str]) -> list[SubmissionFiles]:
    """Group files by name and number, without those that Canvas wrote itself or that a student put into a folder."""
    submissions: dict[tuple[str, str], SubmissionFiles] = {}
    ignored: dict[str, list[str]] = {}
    for entry in entries:
        file = FILE.fullmatch(entry.first)
        if file is None or len(entry.parts) > 1:
            match = file or PAGE.fullmatch(entry.first)
            ignored.setdefault(f"{match['name']}_{match['user']}" if match else entry.first, []).append(entry.name)
            continue
        key = (file["name"], file["user"])
        if key not in submissions or file["rest"].endswith(".ipynb"):
            submitter = Submitter(name=key[0], number=key[1], is_number_permanent=True)
            submission = submissions.setdefault(key, SubmissionFiles("", (submitter,)))
            submission.origin, submission.late = entry.first, bool(file["late"])
        submissions[key].add(file["rest"], entry)
    report_ignored(ignored, problems)
    return list(submissions.values())


def _name_pages(origin: str, pages: Sequence[Path]) -> list[str]:
    """Name pages as Canvas recognises them: like the submitted file; several pages add their own names at the end."""
    stem = PurePosixPath(origin).stem
    return [f"{stem}{f'-{page.stem}' if len(pages) > 1 else ''}.html" for page in pages]


GRADES = GradeTableFormat(
    {"Student": "sortable_name", "ID": "lms_id", "SIS User ID": "", "SIS Login ID": "id", "Section": ""},
    {"": format_points},
    worth_row="    Points Possible",
)
CANVAS = LearningSystem(
    "Canvas",
    Exporter("canvas.csv", GRADES.write),
    roster={"name": "student", "id": "sis login id", "lms_id": "id"},
    other_rows=("Points Possible", "Student, Test"),  # each column's points, and the test student
    can_have_named=_can_have_named,
    find_foreign_files=lambda entries: [entry for entry in entries if not _can_have_named(entry)],
    group_files=_group_files,
    is_origin=FILE.fullmatch,
    name_pages=_name_pages,
)
