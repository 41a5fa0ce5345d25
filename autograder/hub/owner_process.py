"""Python in a process of the user who owns a course, for what root mustn't do itself."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

from autograder.base.errors import GradlabError
from autograder.base.file_owner import has_account
from autograder.base.folder_readers import find_closed_folder, find_closed_program

CANNOT_RUN = 126  # as a shell's exit status
INSTALL_FOR_ALL = (
    "install Gradlab in an environment below /opt, with a Python that every user can run; if that's where it is, let "
    "every user enter the folder, with chmod o+rx"
)


def explain_closed_python(user: pwd.struct_passwd | None = None) -> str:
    """Explain what keeps a user from running Gradlab as this process does; empty if nothing does.

    Args:
        user: With no group but their own; None for users to whom nothing here belongs.
    """
    for program in (Path(sys.executable), Path(sys.executable).resolve()):
        if closed := find_closed_program(program, user):
            return f"{program}, since only its owner can {'run' if closed == program else 'enter'} {closed}"
    closed = find_closed_folder(Path(__file__), user)
    return f"{__file__}, since only its owner can enter {closed}" if closed else ""


def choose_owner(course: Path) -> dict[str, Any]:
    """Return the options of a process that runs as the course's owner; as the current user unless that's root."""
    variables, owner = dict(os.environ), course.stat().st_uid
    if os.geteuid() != 0 or owner == 0:
        return {"env": variables}
    if not has_account(course):
        raise GradlabError(
            f"{course} belongs to the user with the number {owner}, who has no account",
            fix=f"give it to a user of this machine: chown -R NAME: {course}",
        )
    user = pwd.getpwuid(owner)
    variables |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
    return {"user": owner, "group": user.pw_gid, "extra_groups": [], "env": variables}


def run_as_owner(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with these arguments as the course's owner; as the current user unless that's root."""
    command = [sys.executable, *arguments]
    try:
        return subprocess.run(
            command,
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            **choose_owner(course),
        )
    except PermissionError as error:  # the owner can't run this interpreter
        return subprocess.CompletedProcess(command, CANNOT_RUN, "", str(error))
