"""Finds what in submitted/ counts for no one: folders and files in the wrong place, ids that look alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from pathlib import Path

from autograder.base.text import join_names
from autograder.base.timestamps import SECRET
from autograder.model.assignments import list_assignments

PLACE = "submitted/STUDENT/LAB/LAB.ipynb"


def find_strays(course: Path, roster: Collection[str] = ()) -> list[str]:
    """What in submitted/ nobody will grade, and ids that look alike, a line each.

    roster: ids that it names, where there is one.
    """
    known = list_assignments(course)
    found, students = [], []
    for folder in sorted((course / "submitted").glob("*")):
        if not folder.is_dir():
            found.append(f"submitted/{folder.name} is no student's folder, and was left alone")
            continue
        students.append(folder.name)
        inside = sorted(path.name for path in folder.iterdir() if path.is_dir())
        unknown = [name for name in inside if name not in known]
        if unknown:
            found.append(
                f"submitted/{folder.name}/ holds {join_names(unknown)}, which is no assignment: "
                f"a submission lies in {PLACE}"
            )
        elif not inside:
            files = sorted(path.name for path in folder.iterdir())
            holds = f"{join_names(files)}, and no submission" if files else "no submission"
            found.append(f"submitted/{folder.name}/ holds {holds}: one lies in {PLACE}")
    return found + _find_alike(course, students, roster)


def _find_alike(course: Path, students: Sequence[str], roster: Collection[str]) -> list[str]:
    """Ids that differ in nothing that a person sees. Two that the roster names are two students."""
    groups: dict[str, list[str]] = {}
    for student in sorted({*students, *roster}):
        groups.setdefault(unicodedata.normalize("NFKC", student).casefold().strip(), []).append(student)
    found = []
    for ids in groups.values():
        named, strangers = [i for i in ids if i in roster], [i for i in ids if i not in roster]
        if named:
            found += [_suggest_fix(course, student, named) for student in strangers if student in students]
        elif len(ids) > 1:
            found.append(f"{' and '.join(ids)} look like one student: each gets a mark of its own")
    return found


def _suggest_fix(course: Path, stranger: str, named: Sequence[str]) -> str:
    """What to do if the stranger is a student on the roster."""
    told, (own, meant) = f"{stranger} handed in, and the roster has {' and '.join(named)}", (stranger, named[0])
    labs = [path.name for path in sorted((course / "submitted" / own).iterdir()) if path.is_dir()]
    if any((course / "submitted" / own / lab / SECRET).exists() for lab in labs):
        return f"{told}: the exchange goes by logins, so if that is one student, the roster's id must be {own}"
    there = course / "submitted" / meant
    if both := [lab for lab in labs if (there / lab).exists()]:
        return f"{told}, who handed in {join_names(both)}, too: if that is one student, keep one folder of each lab"
    files = f"submitted/{own}/* submitted/{meant}/" if there.exists() else f"submitted/{own} submitted/{meant}"
    return f"{told}: if that is one student, mv {files}, and nbgrader db student remove {own} --force"
