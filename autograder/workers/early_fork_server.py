"""The fork server that `gradlab grade` starts first, so it warms up while the command imports its own libraries.

This file doesn't import torch, since everything waits for it.
"""

from __future__ import annotations

from pathlib import Path

from autograder.forkserver.server_process import ForkServerProcess, start_fork_server_process
from autograder.gradebook.result_documents import get_result_path
from autograder.gradebook.submission_folders import list_submitted_students
from autograder.student_process.imports import find_course_import_groups


def start_early_server(
    course: Path, lab: str, student: str, jobs: int, include_current: bool
) -> ForkServerProcess | None:
    """Start a fork server for the submissions to grade; None if each already has its result.

    Args:
        student: The only student to grade; empty for all who submitted.
        include_current: Whether to grade submissions that already have a result.
    """
    students = [student] if student else list_submitted_students(course, lab)
    if include_current or any(not get_result_path(course, lab, each).exists() for each in students):
        return start_fork_server_process(max(1, min(jobs, len(students))), find_course_import_groups(course, [lab]))
    return None
