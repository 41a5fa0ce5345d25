"""The user whom a file belongs to."""

from __future__ import annotations

import pwd
from pathlib import Path


def get_owner_name(path: Path) -> str:
    """Return the owner's name; the number of one who has no account, as after a restore on another machine."""
    number = path.lstat().st_uid
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return str(number)


def has_account(path: Path) -> bool:
    """Return whether the owner of this file is a user of this machine."""
    return path.lstat().st_uid in {user.pw_uid for user in pwd.getpwall()}
