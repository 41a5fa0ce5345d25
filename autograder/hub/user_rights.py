"""Checks of the hub's users for rights that a machine gives them: by user numbers that they share, and by groups."""

from __future__ import annotations

import grp
import pwd
from collections import defaultdict
from collections.abc import Iterator, Mapping

from autograder.base.text import join_names
from autograder.hub.finding import Finding, format_command
from autograder.hub.settings import HUB_FILE, Hub

# Debian's groups whose members can become root, or read what only root should.
POWERFUL = ("root", "sudo", "wheel", "admin", "adm", "disk", "shadow", "docker", "lxd", "libvirt")


def check_user_rights(hub: Hub, accounts: Mapping[str, pwd.struct_passwd]) -> Iterator[Finding]:
    """Check that users are different users of the machine, and that no student is more than that."""
    names = defaultdict(list)
    for user in accounts.values():
        names[user.pw_uid].append(user.pw_name)
    for number, sharing in names.items():
        if number == 0 and (roots := sorted({*sharing} & {*hub.users})):
            yield Finding(
                f"a user of the hub is the machine's root, with the number 0: {join_names(roots)}",
                f"remove each from {HUB_FILE} and its rosters, or give them another number, with usermod --uid",
            )
        elif len(sharing) > 1 and {*sharing} & {*hub.users}:
            yield Finding(
                f"{join_names(sorted(sharing))} have the same number, {number}, so they're one user of this machine",
                "give one of them another number, with usermod --uid, and their home to them",
            )
    students = {name for course in hub.courses for name in course.students}
    for group in grp.getgrall():
        if group.gr_name not in POWERFUL:
            continue
        primary = {user.pw_name for user in accounts.values() if user.pw_gid == group.gr_gid and user.pw_uid}
        if members := sorted({*group.gr_mem} & students):
            yield Finding(
                f"students in the group {group.gr_name}, with which they can read or change what isn't theirs: "
                f"{join_names(members)}",
                "\n".join(format_command("gpasswd", "-d", name, group.gr_name) for name in members),
            )
        if own := sorted(primary & students):
            yield Finding(
                f"students whose primary group is {group.gr_name}, with which they can read or change what isn't "
                f"theirs: {join_names(own)}",
                "\n".join(f"groupadd --force {name}\n{format_command('usermod', '--gid', name, name)}" for name in own),
            )
