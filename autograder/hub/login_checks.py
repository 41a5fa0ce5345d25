"""Checks whether the users of a hub can log in with a password, by /etc/shadow. Accounts of a directory aren't there.

They're warnings: a class starts without the one student, and PAM may ask another place for passwords.
"""

from __future__ import annotations

import pwd
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from autograder.base.text import join_names
from autograder.hub.finding import Finding, format_command
from autograder.hub.settings import Hub

SHADOW = Path("/etc/shadow")
PASSWORD, LAST_CHANGE, EXPIRY = 1, 2, 7  # fields of a line
DAY_SECONDS = 86_400
CLOSED_SHELLS = ("nologin", "false")


def check_logins(hub: Hub, accounts: Mapping[str, pwd.struct_passwd]) -> Iterator[Finding]:
    """Check the accounts of the hub's users, unless they log in in another way than with PAM."""
    if hub.lti or _has_own_login(hub):
        return
    lines = [line.split(":") for line in _read_shadow()]
    users = {*hub.users} - {"root"}  # another check says that root can't be a user
    shadow = {line[0]: line for line in lines if len(line) > EXPIRY and line[0] in users}
    locked = [name for name, line in shadow.items() if line[PASSWORD].startswith("!") and line[PASSWORD].strip("!*")]
    unset = [name for name, line in shadow.items() if line[PASSWORD] and not line[PASSWORD].strip("!*")]
    empty = [name for name, line in shadow.items() if not line[PASSWORD]]
    today = time.time() // DAY_SECONDS
    expired = [name for name, line in shadow.items() if line[EXPIRY].isdigit() and int(line[EXPIRY]) <= today]
    old = [name for name, line in shadow.items() if line[LAST_CHANGE] == "0" and line[PASSWORD].strip("!*")]
    shells = {name: Path(accounts[name].pw_shell or "/bin/sh") for name in hub.users if name in accounts}
    closed = [name for name, shell in shells.items() if shell.name in CLOSED_SHELLS or not shell.exists()]
    for names, problem, command in (
        (empty, "with an empty password, so others may log in as them", ["passwd"]),
        (unset, "without a password, so they can't log in", ["passwd"]),
        (locked, "with a locked password, so they can't log in", ["usermod", "--unlock"]),
        (old, "with a password that has to be changed first, which the hub's page can't", ["passwd"]),
        (expired, "expired, so they can't log in", ["usermod", "--expiredate", ""]),
        (closed, "whose shell allows no login, so their terminals end at once", ["usermod", "--shell", "/bin/bash"]),
    ):
        if names:
            cure = "\n".join(format_command(*command, name) for name in names)
            yield Finding(f"accounts {problem}: {join_names(names)}", cure, blocks=False)


def _has_own_login(hub: Hub) -> bool:
    """Return whether jupyterhub_config.py sets another way to log in."""
    try:
        return "authenticator_class" in (hub.folder / "jupyterhub_config.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _read_shadow() -> list[str]:
    try:
        return SHADOW.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:  # as another user than root, or on a system without the file
        return []
