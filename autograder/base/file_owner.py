"""The user and the group whom a file belongs to."""

from __future__ import annotations

import grp
import pwd
from pathlib import Path


def get_owner_name(path: Path) -> str:
    """Return the owner's name; the number of one who has no account, as after a restore on another machine."""
    return _get_user_name(path.lstat().st_uid)


def has_account(path: Path) -> bool:
    """Return whether the owner of this file is a user of this machine."""
    return _find_user_name(path.lstat().st_uid) is not None


def format_owner(user: int, group: int) -> str:
    """Format a user and a group as chown takes them: NAME:NAME, with the number of one who doesn't exist."""
    return f"{_get_user_name(user)}:{get_group_name(group)}"


def get_group_name(number: int) -> str:
    """Return the name of the group with this number; the number if it has none."""
    try:
        return grp.getgrgid(number).gr_name
    except KeyError:
        return str(number)


def _get_user_name(number: int) -> str:
    return _find_user_name(number) or str(number)


def _find_user_name(number: int) -> str | None:
    """Find the name of the account with this number; None if there is none."""
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return None
