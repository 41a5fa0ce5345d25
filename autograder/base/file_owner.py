"""The user whom a file belongs to."""

from __future__ import annotations

import contextlib
import grp
import pwd
from pathlib import Path


def get_owner_name(path: Path) -> str:
    """Return the owner's name; the number of one who has no account, as after a restore on another machine."""
    return _find_name(path) or str(path.lstat().st_uid)


def has_account(path: Path) -> bool:
    """Return whether the owner of this file is a user of this machine."""
    return _find_name(path) is not None


def format_owner(user: int, group: int) -> str:
    """Format a user and a group as chown takes them: NAME:NAME, with the number of one who doesn't exist."""
    names = [str(user), str(group)]
    with contextlib.suppress(KeyError):
        names[0] = pwd.getpwuid(user).pw_name
    with contextlib.suppress(KeyError):
        names[1] = grp.getgrgid(group).gr_name
    return ":".join(names)


def _find_name(path: Path) -> str | None:
    """Find the name of the owner's account; None if there is none."""
    try:
        return pwd.getpwuid(path.lstat().st_uid).pw_name
    except KeyError:
        return None
