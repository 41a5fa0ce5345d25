"""Canvas: its gradebook's export is both roster and form of grades; pages return under the names of submitted files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from autograder.lms.grades import Exporter, GradeTable, format_points
from autograder.lms.learning_system import LearningSystem
from autograder.lms.people import Submitter
from autograder.lms.zip_entries import Pile, ZipEntry, report_rest

NUMBERED = r"(?P<name>(?:(?!_\d+_)[^/])+?)_(?P<late>LATE_)?(?P<user>\d+)_"
FILE = re.compile(NUMBERED + r"(?P<file>\d+)_(?P<rest>[^/]+)")
PAGE = re.compile(NUMBERED + r"_?(?:text|link)\.html")  # what was typed instead of uploaded


def _is_own(entry: ZipEntry) -> bool:
    return bool(FILE.fullmatch(entry.first) or PAGE.fullmatch(entry.first))


def _group_files(entries: Sequence[ZipEntry], trouble: list[str]) -> list[Pile]:
    """A pile for each name and number, without what Canvas wrote itself, or a student put into a folder."""
    piles: dict[tuple[str, str], Pile] = {}
    rest: dict[str, list[str]] = {}
    for entry in entries:
        found = FILE.fullmatch(entry.first)
        if found is None or len(entry.parts) > 1:
            page = found or PAGE.fullmatch(entry.first)
            rest.setdefault(f"{page['name']}_{page['user']}" if page else entry.first, []).append(entry.name)
            continue
        key = (found["name"], found["user"])
        if key not in piles or found["rest"].endswith(".ipynb"):
            pile = piles.setdefault(key, Pile("", (Submitter(name=key[0], number=key[1], lasting=True),)))
            pile.origin, pile.late = entry.first, bool(found["late"])
        piles[key].add(found["rest"], entry)
    report_rest(rest, trouble)
    return list(piles.values())


def _name_pages(origin: str, pages: Sequence[Path]) -> list[str]:
    """Names by which Canvas recognises pages: that of the submitted file; several pages add their own at the end."""
    stem = PurePosixPath(origin).stem
    return [f"{stem}{f'-{page.stem}' if len(pages) > 1 else ''}.html" for page in pages]


GRADES = GradeTable(
    {"Student": "sortable_name", "ID": "lms_id", "SIS User ID": "", "SIS Login ID": "id", "Section": ""},
    {"": format_points},
    worth_row="    Points Possible",
)
CANVAS = LearningSystem(
    "Canvas",
    Exporter("canvas.csv", GRADES.write),
    roster={"name": "student", "id": "sis login id", "lms_id": "id"},
    nobody=("Points Possible", "Student, Test"),  # each column's points, and the student that teachers play
    is_own=_is_own,
    find_strangers=lambda entries: [entry for entry in entries if not _is_own(entry)],
    read_zip=_group_files,
    is_origin=FILE.fullmatch,
    name_pages=_name_pages,
)
