"""Which users of a machine can enter a folder."""

from __future__ import annotations

import grp
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
    group, owner = grp.getgrgid(status.st_gid), pwd.getpwuid(status.st_uid).pw_name
    members = {*group.gr_mem, *(user.pw_name for user in pwd.getpwall() if user.pw_gid == status.st_gid)}
    return ", ".join(sorted(members - {owner, "root"}))


def _list_open_classes(folder: Path) -> set[str]:
    """List which of the classes `group` and `others` can reach this folder. Access control lists aren't read."""
    found = set()
    enter = {"group": stat.S_IXGRP | stat.S_IXOTH, "others": stat.S_IXOTH}
    mode = folder.stat().st_mode
    for name, own in (("group", stat.S_IXGRP), ("others", stat.S_IXOTH)):
        if mode & own and all(parent.stat().st_mode & enter[name] for parent in folder.parents):
            found.add(name)
    return found
