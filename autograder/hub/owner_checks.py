"""Checks of the system users who own a hub's courses: whom they share a group with, and whether they can grade."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Iterator

from autograder.base.file_owner import get_group_name, get_owner_name, has_account
from autograder.base.folder_readers import find_closed_folder, list_group_users, list_primary_users
from autograder.base.text import join_names
from autograder.hub.finding import Finding, format_command
from autograder.hub.owner_process import explain_closed_python, run_as_owner
from autograder.hub.settings import Hub, HubCourse
from autograder.sandbox import Isolation

PRINT_LEVEL = "from autograder.sandbox import *; print(find_strongest_level(find_layers()))"


def check_course_owner(hub: Hub, course: HubCourse) -> Iterator[Finding]:
    """Check who owns a course: its watch and its teachers' JupyterLab run as this user."""
    owner = get_owner_name(course.folder)
    if owner == "root":
        yield Finding(
            f"{course.folder} belongs to root, so its watch and its teachers' JupyterLab would run as root",
            _suggest_owner(course),
        )
        return
    if not has_account(course.folder):
        yield Finding(
            f"{course.folder} belongs to the user with the number {owner}, who has no account", _suggest_owner(course)
        )
        return
    if owner in {name for each in hub.courses for name in each.students}:
        yield Finding(f"{course.folder} belongs to {owner}, who is a student", "give it to another user, with chown -R")
    yield from _check_group(course, pwd.getpwuid(course.folder.stat().st_uid))


def has_sound_owner(hub: Hub, course: HubCourse) -> bool:
    """Return whether a course's owner is the right one, as far as it's known, and can enter its folder."""
    if any(check_course_owner(hub, course)):
        return False
    return find_closed_folder(course.folder, pwd.getpwuid(course.folder.stat().st_uid)) is None


def _check_group(course: HubCourse, owner: pwd.struct_passwd) -> Iterator[Finding]:
    """Check that the owner's group has no one else: the group can enter the folder with the submissions."""
    name = get_group_name(owner.pw_gid)
    if members := list_group_users(owner.pw_gid) - {owner.pw_name, "root"}:
        yield Finding(
            f"{join_names(sorted(members))} can read the submissions of {course.name}: the group {name} of "
            f"{owner.pw_name}, who owns the course, isn't only theirs",
            "\n".join(format_command(*command) for command in _separate_owner(course, owner.pw_name, name)),
        )


def _separate_owner(course: HubCourse, owner: str, group: str) -> Iterator[tuple[object, ...]]:
    """List commands after which the group that has the owner's name is the owner's, and has no one else.

    Args:
        course: The course.
        owner: Who owns it.
        group: The name of the owner's primary group.
    """
    if group != owner:
        yield "groupadd", "--force", owner
        yield "usermod", "--gid", owner, owner
        if course.gate.exists():
            yield "chgrp", owner, course.gate
    own = next((each for each in grp.getgrall() if each.gr_name == owner), None)
    if own is None:
        return
    for name in sorted({*own.gr_mem} - {owner, "root"}):
        yield "gpasswd", "-d", name, owner
    for name in sorted({*list_primary_users(own.gr_gid)} - {owner, "root"}):
        yield "groupadd", "--force", name
        yield "usermod", "--gid", name, name


def _suggest_owner(course: HubCourse) -> str:
    """Format commands that give the course to another user, who can enter the folders around it."""
    if (closed := find_closed_folder(course.folder)) and closed.stat().st_uid:
        return format_command("chown", "-R", f"{get_owner_name(closed)}:", course.folder)
    name = f"{course.name}-course"
    options = "--system --user-group --create-home --key HOME_MODE=0700 --shell /usr/sbin/nologin"
    commands = [f"useradd {options} {name}", format_command("chown", "-R", f"{name}:", course.folder)]
    return "\n".join([*commands, *([format_command("chmod", "o+x", closed)] if closed else [])])


def check_sandbox(course: HubCourse) -> Iterator[Finding]:
    """Check what `gradlab doctor` would report to the course's owner."""
    owner = get_owner_name(course.folder)
    # Root and a user without an account own no course, and if no user but root can run Python, another check says so.
    if owner == "root" or not has_account(course.folder) or explain_closed_python():
        return
    process = run_as_owner(course.folder, "-c", PRINT_LEVEL)
    level = process.stdout.strip()
    if process.returncode:
        yield Finding(f"{owner} can't run Gradlab: {process.stderr.strip()[-500:]}", "install it for all users")
    elif level != Isolation.FULL:
        yield Finding(
            f"this machine isolates submissions that {owner} grades at the level {level} only, not {Isolation.FULL}",
            f"su -s /bin/sh {owner} -c 'gradlab doctor' says what is missing; docs/sandbox.md says how to provide it",
        )
