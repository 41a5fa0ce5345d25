"""Checks of the system users of a hub: students, teachers, the exchange's user and the courses' owners."""

from __future__ import annotations

import grp
import pwd
from collections.abc import Iterator
from pathlib import Path

from autograder.base.file_owner import get_owner_name
from autograder.base.folder_readers import find_closed_folder
from autograder.hub.finding import Finding, format_command
from autograder.hub.owner_process import run_as_owner
from autograder.hub.settings import HUB_FILE, Hub, HubCourse
from autograder.sandbox import Isolation

# Makes a user whose home no one else can read.
ADD_USER = ("useradd", "--create-home", "--key", "HOME_MODE=0700", "--shell", "/bin/bash")
PRINT_LEVEL = "from autograder.sandbox import *; print(find_strongest_level(find_layers()))"


def check_accounts(hub: Hub) -> Iterator[Finding]:
    """Check the users without whom a hub doesn't start, or who could read what they shouldn't. A demo has none."""
    if hub.is_demo:
        return
    accounts = {user.pw_name: user for user in pwd.getpwall()}
    missing = [name for name in hub.users if name not in accounts]
    if missing and not hub.creates_accounts:
        yield Finding(
            f"there is no system user for {', '.join(missing)}",
            f"for name in {' '.join(missing)}; do {' '.join(ADD_USER)} $name; done\n"
            f"or write create_accounts = true in {HUB_FILE}",
        )
    for name in hub.users:
        if name in accounts:
            yield from _check_home(accounts[name])
    yield from _check_exchange_user(hub, accounts)
    for course in hub.courses:
        yield from _check_course_owner(hub, course, accounts)


def _check_home(user: pwd.struct_passwd) -> Iterator[Finding]:
    home = Path(user.pw_dir)
    if user.pw_uid == 0:
        yield Finding("root can't be a user of the hub", f"remove root from {HUB_FILE}")
    elif home.is_dir() and home.stat().st_uid != user.pw_uid:
        yield Finding(
            f"{home}, the home of {user.pw_name}, belongs to {get_owner_name(home)}",
            # Someone without a home of their own may have a folder of the system, which must not change hands.
            format_command("chown", "-R", f"{user.pw_name}:", home)
            if home.name == user.pw_name
            else f"give {user.pw_name} another home, with usermod --home",
        )
    elif home.is_dir() and home.stat().st_mode & 0o077:
        yield Finding(
            f"others can enter {home}, the home of {user.pw_name}, and read their work and the secrets of their "
            "submissions",
            format_command("chmod", "700", home),
        )


def _check_exchange_user(hub: Hub, accounts: dict[str, pwd.struct_passwd]) -> Iterator[Finding]:
    name = hub.exchange_user
    owners = {get_owner_name(course.folder) for course in hub.courses}
    if name not in accounts:
        yield Finding(
            f"there is no system user {name}, as which the exchange runs",
            format_command(*"useradd --system --shell /usr/sbin/nologin --home-dir /nonexistent".split(), name),
        )
    elif name == "root" or name in owners or name in hub.users:
        yield Finding(
            f"the exchange runs as {name}, who is also {'root' if name == 'root' else 'a person or owns a course'}",
            f"write a user of its own as exchange_user in {HUB_FILE}",
        )


def _check_course_owner(hub: Hub, course: HubCourse, accounts: dict[str, pwd.struct_passwd]) -> Iterator[Finding]:
    owner = get_owner_name(course.folder)
    if owner == "root":
        yield Finding(
            f"{course.folder} belongs to root, so its watch and its teachers' JupyterLab would run as root",
            _suggest_owner(course),
        )
        return
    if owner not in accounts:
        yield Finding(
            f"{course.folder} belongs to the user with the number {owner}, who has no account", _suggest_owner(course)
        )
        return
    if owner in {name for each in hub.courses for name in each.students}:
        yield Finding(f"{course.folder} belongs to {owner}, who is a student", "give it to another user, with chown -R")
    group = grp.getgrgid(accounts[owner].pw_gid)
    members = {*group.gr_mem, *(user.pw_name for user in accounts.values() if user.pw_gid == group.gr_gid)} - {owner}
    if members:
        yield Finding(
            f"{', '.join(sorted(members))} can read the submissions of {course.name}: they're in {group.gr_name}, the "
            f"group of {owner}, who owns the course",
            f"{format_command('groupadd', '--force', owner)}\n{format_command('usermod', '--gid', owner, owner)}",
        )
    yield from _check_sandbox(course, owner)


def _suggest_owner(course: HubCourse) -> str:
    """Format commands that give the course to another user, who can enter the folders around it."""
    if (closed := find_closed_folder(course.folder)) and closed.stat().st_uid:
        return format_command("chown", "-R", f"{get_owner_name(closed)}:", course.folder)
    name = f"{course.name}-course"
    options = "--system --user-group --create-home --key HOME_MODE=0700 --shell /usr/sbin/nologin"
    commands = [f"useradd {options} {name}", format_command("chown", "-R", f"{name}:", course.folder)]
    return "\n".join([*commands, *([format_command("chmod", "o+x", closed)] if closed else [])])


def _check_sandbox(course: HubCourse, owner: str) -> Iterator[Finding]:
    """Check what `gradlab doctor` would report to the course's owner."""
    process = run_as_owner(course.folder, "-c", PRINT_LEVEL)
    level = process.stdout.strip()
    if process.returncode:
        yield Finding(f"{owner} can't run Gradlab: {process.stderr.strip()[-500:]}", "install it for all users")
    elif level != Isolation.FULL:
        yield Finding(
            f"this machine isolates submissions that {owner} grades at the level {level} only, not {Isolation.FULL}",
            f"su -s /bin/sh {owner} -c 'gradlab doctor' says what is missing; docs/sandbox.md says how to provide it",
        )
