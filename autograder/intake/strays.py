"""Entries of submitted/ that won't be graded: files and folders in the wrong place, and ids that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

from autograder.base.submission_files import SECRET
from autograder.base.text import join_names
from autograder.model.assignments import list_assignments

EXPECTED_PATH = "submitted/STUDENT/LAB/LAB.ipynb"


def find_strays(course: Path, roster: Collection[str] = ()) -> list[str]:
    """List what in submitted/ won't be graded, and ids that look alike, with a line for each.

    Args:
        roster: The ids on the roster, if there is one.
    """
    assignments = list_assignments(course)
    lines, students = [], []
    for folder in sorted((course / "submitted").glob("*")):
        if not folder.is_dir():
            lines.append(f"submitted/{folder.name} isn't a student's folder and was ignored")
            continue
        students.append(folder.name)
        folders = sorted(path.name for path in folder.iterdir() if path.is_dir())
        unknown = [name for name in folders if name not in assignments]
        if unknown:
            verdict = "which isn't an assignment" if len(unknown) == 1 else "which aren't assignments"
            lines.append(
                f"submitted/{folder.name}/ contains {join_names(unknown)}, {verdict}: "
                f"submissions belong in {EXPECTED_PATH}"
            )
        elif not folders:
            files = sorted(path.name for path in folder.iterdir())
            content = f"{join_names(files)} but no submission" if files else "no submission"
            lines.append(f"submitted/{folder.name}/ contains {content}: submissions belong in {EXPECTED_PATH}")
    return lines + _find_similar_ids(course, students, roster)


def _find_similar_ids(course: Path, students: Sequence[str], roster: Collection[str]) -> list[str]:
    """List ids that look the same to a person. Two ids on the roster are two students."""
    groups: dict[str, list[str]] = {}
    for student in sorted({*students, *roster}):
        groups.setdefault(unicodedata.normalize("NFKC", student).casefold().strip(), []).append(student)
    lines = []
    for ids in groups.values():
        known, unenrolled = [i for i in ids if i in roster], [i for i in ids if i not in roster]
        if known:
            lines += [_suggest_fix(course, student, known) for student in unenrolled if student in students]
        elif len(ids) > 1:
            lines.append(f"{' and '.join(ids)} look like one student: each gets a separate mark")
    return lines


def _suggest_fix(course: Path, stranger: str, roster_ids: Sequence[str]) -> str:
    """Say what to do if the stranger is a student on the roster."""
    summary, student = f"{stranger} submitted, but the roster has {' and '.join(roster_ids)}", roster_ids[0]
    assignments = [path.name for path in sorted((course / "submitted" / stranger).iterdir()) if path.is_dir()]
    if any((course / "submitted" / stranger / name / SECRET).exists() for name in assignments):
        return (
            f"{summary}: if they're the same student, change the roster's id to {stranger}, the login in the exchange"
        )
    target = course / "submitted" / student
    if both := [name for name in assignments if (target / name).exists()]:
        names = join_names(both)
        return f"{summary}, who also submitted {names}: if they're the same student, keep one folder of each lab"
    files = (
        f"submitted/{stranger}/* submitted/{student}/"
        if target.exists()
        else f"submitted/{stranger} submitted/{student}"
    )
    return f"{summary}: if they're the same student, mv {files}, and nbgrader db student remove {stranger} --force"
