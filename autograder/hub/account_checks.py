"""Checks of the system users of a hub: students, teachers and the exchange's user."""

from __future__ import annotations

import pwd
from collections.abc import Iterator
from pathlib import Path

from autograder.base.file_owner import get_group_name, get_owner_name
from autograder.base.folder_readers import find_closed_folder
from autograder.hub.finding import Finding, format_command
from autograder.hub.login_checks import check_logins
from autograder.hub.owner_checks import check_course_owner, check_sandbox
from autograder.hub.settings import HUB_FILE, Hub
from autograder.hub.user_rights import check_user_rights

SHARED_USERS = ("root", "nobody")  # other programs run as them
# Makes a user whose home no one else can read.
ADD_USER = ("useradd", "--create-home", "--key", "HOME_MODE=0700", "--shell", "/bin/bash")


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
    yield from check_user_rights(hub, accounts)
    for name in hub.users:
        if name in accounts and accounts[name].pw_uid:
            yield from _check_home(accounts[name])
    yield from check_logins(hub, accounts)
    yield from _check_exchange_user(hub, accounts)
    for course in hub.courses:
        yield from check_course_owner(hub, course)
        yield from check_sandbox(course)


def has_sound_exchange_user(hub: Hub) -> bool:
    """Return whether the exchange's user is the right one, as far as it's known."""
    return not any(_check_exchange_user(hub, {user.pw_name: user for user in pwd.getpwall()}))


def _check_home(user: pwd.struct_passwd) -> Iterator[Finding]:
    home = Path(user.pw_dir)
    if not home.is_dir():
        yield _find_missing_home(user, home)
    elif home.stat().st_uid != user.pw_uid:
        yield Finding(
            f"{home}, the home of {user.pw_name}, belongs to {get_owner_name(home)}",
            # Someone without a home of their own may have a folder of the system, which must not change hands.
            format_command("chown", "-R", f"{user.pw_name}:", home)
            if home.name == user.pw_name
            else f"give {user.pw_name} another home, with usermod --home",
        )
    elif home.stat().st_mode & 0o077:
        yield Finding(
            f"others can enter {home}, the home of {user.pw_name}, and read their work and the secrets of their "
            "submissions",
            format_command("chmod", "700", home),
        )


def _find_missing_home(user: pwd.struct_passwd, home: Path) -> Finding:
    """Return a warning: only this user's server can't start, and PAM may make the home when they log in."""
    made = home if home.name == user.pw_name else Path("/home", user.pw_name)
    commands = [format_command("install", "-d", "-o", user.pw_name, "-g", get_group_name(user.pw_gid), "-m", 700, made)]
    if made != home:  # as /nonexistent
        commands.append(format_command("usermod", "--home", made, user.pw_name))
    return Finding(f"{home}, the home of {user.pw_name}, doesn't exist", "\n".join(commands), blocks=False)


def _check_exchange_user(hub: Hub, accounts: dict[str, pwd.struct_passwd]) -> Iterator[Finding]:
    name = hub.exchange_user
    owners = {get_owner_name(course.folder) for course in hub.courses}
    if name not in accounts:
        yield Finding(
            f"there is no system user {name}, as which the exchange runs",
            format_command(*"useradd --system --shell /usr/sbin/nologin --home-dir /nonexistent".split(), name),
        )
    elif name in SHARED_USERS or name in owners or name in hub.users:
        others = "other programs do, too" if name in SHARED_USERS else "this user is a person or owns a course"
        yield Finding(
            f"the exchange runs as {name}, and {others}",
            f"set exchange_user in {HUB_FILE} to a user of its own, such as gradlab-exchange",
        )
    elif hub.exchange.exists() and (closed := find_closed_folder(hub.exchange / name, accounts[name])):
        yield Finding(
            f"{name}, as which the exchange runs, can't enter {closed}, so no one can submit",
            format_command("chmod", "o+x", closed),
        )
