"""Who may do what in a course's exchange: the modes and owners of its folders.

Two users meet there. The exchange's stores submissions, and the course's user writes labs and feedback pages. Each
reads what the other wrote, and neither can replace it. No one else passes the folder around them.
"""

from __future__ import annotations

import contextlib
import os
import pwd
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.hub.settings import Hub, HubCourse

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True)
class Owners:
    """The users of a course's exchange, and the group that only the course's user is in."""

    exchange: int
    course: int
    group: int


def find_owners(hub: Hub, course: HubCourse) -> Owners | None:
    """Find the users of a course's exchange; None in a demo, where one user does it all."""
    if hub.is_demo:
        return None
    status = course.folder.stat()
    return Owners(pwd.getpwnam(hub.exchange_user).pw_uid, status.st_uid, pwd.getpwuid(status.st_uid).pw_gid)


def prepare_exchange(course: HubCourse, owners: Owners | None) -> None:
    """Make the folders of a course's exchange, and set their modes and owners.

    Root does this in folders of other users, so no link is followed.
    """
    root, shared = (0, 0o1777) if owners else (None, 0o777)
    exchange, own = (owners.exchange, owners.course) if owners else (None, None)
    group = owners.group if owners else None
    with contextlib.ExitStack() as stack:
        top = stack.enter_context(_open_folder(course.gate.parent))
        gate = stack.enter_context(_make_folder(top, course.gate.name, 0o710 if owners else 0o700, exchange, group))
        # Nbgrader demands that everyone can write here. The gate keeps them out.
        place = stack.enter_context(_make_folder(gate, course.exchange.name, shared, root, group))
        folder = stack.enter_context(_make_folder(place, course.name, 0o755, root, group))
        for name, owner, mode in (
            ("outbound", own, 0o755),
            ("feedback", own, 0o755),
            ("inbound", exchange, 0o755),
            (".staging", exchange, 0o700),
        ):
            stack.enter_context(_make_folder(folder, name, mode, owner, group))


@contextlib.contextmanager
def _open_folder(path: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, FLAGS, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _make_folder(parent: int, name: str, mode: int, owner: int | None, group: int | None) -> Iterator[int]:
    """Make a folder below an open one, unless it's there.

    Args:
        owner: None to leave the owner and the group as they are.
    """
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    with _open_folder(name, parent) as descriptor:
        if owner is not None and group is not None:
            os.fchown(descriptor, owner, group)
        os.fchmod(descriptor, mode)
        yield descriptor
