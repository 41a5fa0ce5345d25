"""Checks of a hub's courses: who can read them, whom their files belong to, their exchange and their gradebook."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.base.file_owner import get_owner_name, has_account
from autograder.base.folder_readers import describe_readers
from autograder.base.text import join_names
from autograder.hub.course_connection import format_lines, read_exchange
from autograder.hub.exchange_checks import check_exchange
from autograder.hub.finding import Finding, format_command
from autograder.hub.owner_process import explain_closed_python
from autograder.hub.problem_processes import check_term
from autograder.hub.settings import HUB_FILE, Hub, HubCourse
from autograder.model.assignments import list_assignments

MAX_NAMES = 5  # files that a finding lists


def check_courses(hub: Hub) -> Iterator[Finding]:
    """Check the folder of each course."""
    for course in hub.courses:
        if readers := describe_readers(course.folder):
            yield Finding(
                f"{readers} can read {course.folder}, with its solutions, hidden checks and marks",
                format_command("chmod", "700", course.folder),
                blocks=not hub.is_demo,
            )
        if hub.lti is None:
            yield from _check_roles(course)
        yield from check_exchange(hub, course)
        yield from _check_labs(course)
        if not hub.is_demo:
            yield from _check_owners(course)
        # Otherwise, a check of the accounts or of the programs says so.
        if has_account(course.folder) and (hub.is_demo or not explain_closed_python()):
            yield from _check_configuration(course)


def _check_roles(course: HubCourse) -> Iterator[Finding]:
    """Check that no student can read hidden checks and give marks. It's only a warning: a teacher may try things."""
    for role, others in (("teacher", course.teachers), ("assistant", course.assistants)):
        if both := sorted({*course.students} & {*others}):
            yield Finding(
                f"students of {course.name} who are also {role}s, so they can read hidden checks or give themselves "
                f"marks: {join_names(both)}",
                f"remove each from {course.roster_file or 'students'} or from {role}s in {HUB_FILE}; to see what "
                "students see, they need a second account",
                blocks=False,
            )


def _check_labs(course: HubCourse) -> Iterator[Finding]:
    if not list_assignments(course.folder):
        yield Finding(
            f"{course.folder / 'source'} has no lab, so there is nothing to release",
            "copy the course's source/ into it; or run gradlab build there, as the course's owner",
            blocks=False,
        )


def _check_owners(course: HubCourse) -> Iterator[Finding]:
    """Check what is in the course's folder: root copies or grades there, and the watch can't write these files."""
    owner = course.folder.stat().st_uid
    if not owner or not has_account(course.folder):  # a check of the owner says so
        return
    others = list(islice(_iter_files_of_others(course.folder, owner), MAX_NAMES + 1))
    if others:
        names = [f"{path.relative_to(course.folder)} ({get_owner_name(path)})" for path in sorted(others[:MAX_NAMES])]
        yield Finding(
            f"in {course.folder}, files don't belong to {get_owner_name(course.folder)}, who owns the course: "
            f"{', '.join(names)}{', and more' if others[MAX_NAMES:] else ''}",
            format_command("chown", "-R", f"{get_owner_name(course.folder)}:", course.folder),
        )


def _iter_files_of_others(folder: Path, owner: int) -> Iterator[Path]:
    """Yield what belongs to another user; not what is below such a folder."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.stat(follow_symlinks=False).st_uid != owner:
                yield Path(entry.path)
            elif entry.is_dir(follow_symlinks=False):
                yield from _iter_files_of_others(Path(entry.path), owner)


def _check_configuration(course: HubCourse) -> Iterator[Finding]:
    """Check what only the course's owner may run or open."""
    config = course.folder / "nbgrader_config.py"
    try:
        exchange = read_exchange(course.folder)
        yield from check_term(course)
    except GradlabError as error:
        yield Finding(error.problem, error.fix)
        return
    if exchange.problem:
        yield Finding(f"the watch of {course.name} can't mark anything: {exchange.problem}", exchange.fix, blocks=False)
    if exchange.course_name != course.name:
        yield Finding(
            f"{config} calls the course {exchange.course_name!r}, and {HUB_FILE} calls it {course.name!r}",
            f"write [courses.{exchange.course_name}] in {HUB_FILE}"
            if not course.exchange_folder.exists()
            else f'write c.CourseDirectory.course_id = "{course.name}" again: submissions are stored under that name',
        )
    elif not exchange.is_served_by(course.exchange):
        yield Finding(
            f"{config} doesn't name the hub's exchange", f"add these lines to it:\n{format_lines(course.exchange)}"
        )
