"""Whose folder in submitted/ counts for whom: a student's own, or the newest one of the team."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from autograder.forkserver.starting import submitted_students
from autograder.handed_in import time_in, utc_of_file
from autograder.term import Term


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


def _when(course: Path, lab: str, student: str) -> datetime:
    """When it was handed in, UTC; where no time came with it, when its folder last changed."""
    folder = course / "submitted" / student / lab
    return time_in(folder) or utc_of_file(folder.lstat().st_mtime)
