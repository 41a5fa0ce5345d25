"""Which users of a machine can enter a folder. Access control lists aren't read."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path


def describe_readers(folder: Path) -> str:
    """Describe which users, apart from its owner and root, can enter this folder; empty if there are none."""
    if not (open_to := _list_open_classes(folder)):
        return ""
    if "others" in open_to:
        return "everyone on this machine"
    status = folder.stat()
    owner = pwd.getpwuid(status.st_uid).pw_name
    return ", ".join(sorted(list_group_users(status.st_gid) - {owner, "root"}))


def list_group_users(number: int) -> set[str]:
    """List the users in the group with this number, by its own list or as their primary group."""
    listed = {name for group in grp.getgrall() if group.gr_gid == number for name in group.gr_mem}
    return listed | set(list_primary_users(number))


def list_primary_users(number: int) -> list[str]:
    """List the users whose primary group has this number. The group's own list doesn't have them."""
    return [user.pw_name for user in pwd.getpwall() if user.pw_gid == number]


def find_closed_program(program: Path, user: pwd.struct_passwd | None = None) -> Path | None:
    """Find what keeps a user from running a program: a folder on the way to it, or the file itself.

    Args:
        user: As for find_closed_folder.
    """
    return find_closed_folder(program, user) or (None if _can_enter(program.stat(), user) else program)


def find_closed_folder(path: Path, user: pwd.struct_passwd | None = None) -> Path | None:
    """Find the first folder on the way to this path that a user can't enter.

    Args:
        user: With no group but their own; None for users to whom nothing here belongs.
    """
    return next((each for each in reversed(path.parents) if not _can_enter(each.stat(), user)), None)


def _can_enter(folder: os.stat_result, user: pwd.struct_passwd | None) -> bool:
    """Return whether a user can enter a folder, or run a program: the same bits say so."""
    if user and folder.st_uid == user.pw_uid:
        return bool(folder.st_mode & stat.S_IXUSR)
    if user and folder.st_gid == user.pw_gid:
        return bool(folder.st_mode & stat.S_IXGRP)
    return bool(folder.st_mode & stat.S_IXOTH)


def _list_open_classes(folder: Path) -> set[str]:
    """List which of the classes `group` and `others` can reach this folder."""
    found = set()
    enter = {"group": stat.S_IXGRP | stat.S_IXOTH, "others": stat.S_IXOTH}
    mode = folder.stat().st_mode
    for name, own in (("group", stat.S_IXGRP), ("others", stat.S_IXOTH)):
        if mode & own and all(parent.stat().st_mode & enter[name] for parent in folder.parents):
            found.add(name)
    return found
