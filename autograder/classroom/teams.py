"""Finds the folder in submitted/ that counts for a student: their own, or the team's newest one."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from autograder.base.timestamps import convert_file_time, read_time
from autograder.intake.submitted_folders import list_submitted_students
from autograder.model.term import Term


def find_submitters(course: Path, lab: str, term: Term) -> dict[str, str]:
    """Find who handed in the submission that counts, for each student who has a submission of this lab."""
    submitters = {student: student for student in list_submitted_students(course, lab)}
    for team in term.team:
        if not team.is_for_lab(lab):
            continue
        times = {member: _read_submitted_time(course, lab, member) for member in team.members if member in submitters}
        if times:
            newest = max(times, key=lambda member: (times[member], member))
            submitters |= dict.fromkeys(team.members, newest)
    return submitters


def _read_submitted_time(course: Path, lab: str, student: str) -> datetime:
    """Read when it was handed in, in UTC; without a timestamp, when its folder last changed."""
    folder = course / "submitted" / student / lab
    return read_time(folder) or convert_file_time(folder.lstat().st_mtime)
