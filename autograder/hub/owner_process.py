"""Python in a process of the user who owns a course, for what root mustn't do itself."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

CANNOT_RUN = 126  # as a shell's exit status


def run_as_owner(course: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run this interpreter with these arguments as the course's owner; as the current user unless that's root."""
    command, variables, owner = [sys.executable, *arguments], dict(os.environ), course.stat().st_uid
    uid: int | None = None
    gid: int | None = None
    if os.geteuid() == 0 and owner != 0:
        user = pwd.getpwuid(owner)
        uid, gid = owner, user.pw_gid
        variables |= {"HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name}
    try:
        return subprocess.run(
            command,
            user=uid,
            group=gid,
            extra_groups=None if uid is None else [],
            cwd="/",
            env=variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
    except PermissionError as error:  # the owner can't run this interpreter
        return subprocess.CompletedProcess(command, CANNOT_RUN, "", str(error))
