"""Checks of a hub's courses: who can read them, whom their files belong to, their exchange and their gradebook."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from autograder.base.errors import GradlabError
from autograder.base.file_owner import get_owner_name, has_account
from autograder.base.folder_readers import describe_readers
from autograder.base.text import join_names
from autograder.hub.course_connection import format_lines, read_exchange
from autograder.hub.exchange_folder import RESERVE_BYTES
from autograder.hub.finding import Finding, format_command
from autograder.hub.gradebook_check import find_lost_gradebook, find_term_problem
from autograder.hub.owner_process import explain_closed_python
from autograder.hub.settings import HUB_FILE, Hub, HubCourse


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
        yield from _check_space(course)
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


def _check_space(course: HubCourse) -> Iterator[Finding]:
    """Check that the disks have room: below this, the exchange refuses submissions, and soon no mark can be saved."""
    exchange = next(each for each in (course.exchange, *course.exchange.parents) if each.exists())
    for folder, use in ((exchange, "submissions"), (course.folder, "marks")):
        if (free := shutil.disk_usage(folder).free) < RESERVE_BYTES:
            yield Finding(
                f"the disk with {folder} has only {free / 1e9:.1f} GB free for {use} of {course.name}",
                "free some space: at least 1 GB, and 0.3 GB for each student and term",
                blocks=False,
            )


def _check_owners(course: HubCourse) -> Iterator[Finding]:
    """Check what is at the top of the course's folder: root copies files there, and the watch couldn't write them."""
    owner = course.folder.stat().st_uid
    others = sorted(path for path in course.folder.iterdir() if path.lstat().st_uid != owner)
    if owner and others and has_account(course.folder):
        names = ", ".join(f"{path.name} ({get_owner_name(path)})" for path in others)
        yield Finding(
            f"in {course.folder}, files don't belong to {get_owner_name(course.folder)}, who owns the course: {names}",
            format_command("chown", "-R", f"{get_owner_name(course.folder)}:", course.folder),
        )


def _check_configuration(course: HubCourse) -> Iterator[Finding]:
    """Check what only the course's owner may run or open."""
    config = course.folder / "nbgrader_config.py"
    try:
        exchange = read_exchange(course.folder)
        lost = find_lost_gradebook(course.folder)
    except GradlabError as error:
        yield Finding(error.problem, error.fix)
        return
    if exchange.problem:
        yield Finding(f"the watch of {course.name} can't mark anything: {exchange.problem}", exchange.fix, blocks=False)
    if problem := find_term_problem(course.folder):
        yield Finding(problem, "correct it: until then, the course's watch marks nothing", blocks=False)
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
    if lost:
        yield Finding(
            f"{lost} has no marks, and {course.folder} has graded submissions: the gradebook is lost",
            f"install -o {get_owner_name(course.folder)} -m 600 BACKUP/{lost.name} {lost}\n"
            "or, without a backup, grade each lab again, as the course's owner: gradlab grade LAB",
        )
