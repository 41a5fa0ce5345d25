"""Decides which submission in submitted/ counts for a student: their own, or the newest one of their team."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from autograder.base.timestamps import convert_file_time, read_time
from autograder.gradebook.submission_folders import get_submitted_path, list_submitted_students
from autograder.model.term import Term


@dataclass(frozen=True)
class CountingSubmission:
    """The submission that counts for a student."""

    submitter: str
    """Who submitted it: the student, or a member of the same team."""
    submitted: datetime | None
    """When it was submitted, in naive UTC; None if nbgrader kept no time."""


def find_counting_submissions(course: Path, lab: str, term: Term) -> dict[str, CountingSubmission]:
    """Find the submission that counts, for each student who submitted this lab or whose team did."""
    counting = {
        student: CountingSubmission(student, read_time(get_submitted_path(course, lab, student)))
        for student in list_submitted_students(course, lab)
    }
    for team in term.team:
        if team.is_for_lab(lab) and (newest := find_newest_submission(course, lab, team.members)):
            counting |= dict.fromkeys(team.members, newest)
    return counting


def find_newest_submission(course: Path, lab: str, students: Iterable[str]) -> CountingSubmission | None:
    """Find the newest submission of these students; None if none of them submitted this lab."""
    folders = {student: get_submitted_path(course, lab, student) for student in students}
    times = {student: read_time(folder) for student, folder in folders.items() if os.path.lexists(folder)}
    if not times:
        return None

    def make_key(student: str) -> tuple[datetime, str]:
        """Without a timestamp, a submission is as new as the last change of its folder."""
        return times[student] or convert_file_time(folders[student].lstat().st_mtime), student

    newest = max(times, key=make_key)
    return CountingSubmission(newest, times[newest])


def find_counting_times(course: Path, lab: str, term: Term) -> dict[str, datetime | None]:
    """Find when the counting submission was submitted, for each student with a folder in submitted/."""
    counting = find_counting_submissions(course, lab, term)
    return {student: counting[student].submitted for student in list_submitted_students(course, lab)}
