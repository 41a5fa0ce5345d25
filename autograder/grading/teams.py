"""Whose folder in submitted/ counts for whom: a student's own, or the newest one of the team."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from autograder.errors import GradlabError
from autograder.forkserver.starting import submitted_students
from autograder.gradebook.roster import not_on_roster
from autograder.handed_in import time_in, utc_of_file
from autograder.term import FILE, Term


def handed_in_by(course: Path, lab: str, term: Term) -> dict[str, str]:
    """student -> who handed in what counts for that student, for everybody who has a submission of this lab."""
    found = {student: student for student in submitted_students(course, lab)}
    for team in term.team:
        if not team.holds_for(lab):
            continue
        times = {member: _when(course, lab, member) for member in team.members if member in found}
        if times:
            newest = max(times, key=lambda member: (times[member], member))
            found |= dict.fromkeys(team.members, newest)
    return found


def unknown_members(course: Path, term: Term, gradebook: Any, lab: str = "") -> list[str]:
    """Whom teams name, who are on no roster and handed in nothing, in words: a typo, which would get a mark.

    lab: only teams of this one.
    """
    return [
        f"{course / FILE}: team {team.name!r} names {member!r}, who is on no roster and handed in nothing\n"
        f"    fix: correct the name, or add this student: nbgrader db student add {member} --last-name NAME"
        for team in term.team
        if not lab or team.holds_for(lab)
        for member in not_on_roster(gradebook, team.members)
        if not (course / "submitted" / member).is_dir()
    ]


def refuse_unknown_members(course: Path, lab: str, term: Term, gradebook: Any) -> None:
    """Raise GradlabError where a team of this lab has such a member."""
    for words in unknown_members(course, term, gradebook, lab):
        raise GradlabError(words)


def _when(course: Path, lab: str, student: str) -> datetime:
    """When it was handed in, UTC; where no time came with it, when its folder last changed."""
    folder = course / "submitted" / student / lab
    return time_in(folder) or utc_of_file(folder.lstat().st_mtime)
