"""Who may do what in a course's exchange: the modes and owners of its folders.

Two users meet there. The exchange's stores submissions, and the course's user writes labs and feedback pages. Each
reads what the other wrote, and the exchange's can't replace labs or pages. No one else passes the folder around them.
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


Owner = tuple[int, int]  # a user and a group


@dataclass(frozen=True)
class Owners:
    """The users who meet in a course's exchange, each with their group."""

    exchange: Owner
    course: Owner


def find_owners(hub: Hub, course: HubCourse) -> Owners | None:
    """Find the users of a course's exchange; None in a demo, where one user does it all."""
    if hub.is_demo:
        return None
    exchange, owner = pwd.getpwnam(hub.exchange_user), pwd.getpwuid(course.folder.stat().st_uid)
    return Owners((exchange.pw_uid, exchange.pw_gid), (owner.pw_uid, owner.pw_gid))


def prepare_exchange(course: HubCourse, owners: Owners | None) -> None:
    """Make the folders of a course's exchange, and set their modes and owners.

    Root does this in folders of other users, so no link is followed.
    """
    gate = own = inbound = staging = root = None
    if owners:
        gate, own, staging, root = (owners.exchange[0], owners.course[1]), owners.course, owners.exchange, (0, 0)
        inbound = (owners.course[0], owners.exchange[1])  # nbgrader demands that the course's user owns it
    with contextlib.ExitStack() as stack:
        top = stack.enter_context(_open_folder(course.gate.parent))
        place = stack.enter_context(_make_folder(top, course.gate.name, 0o710 if owners else 0o700, gate))
        # Nbgrader demands that everyone can write here. The gate keeps them out.
        exchange = stack.enter_context(_make_folder(place, course.exchange.name, 0o1777 if owners else 0o777, root))
        folder = stack.enter_context(_make_folder(exchange, course.name, 0o755, own))
        for name, mode, owner in (
            ("outbound", 0o755, own),
            ("feedback", 0o755, own),
            ("inbound", 0o1775 if owners else 0o755, inbound),
            (".staging", 0o700, staging),
        ):
            stack.enter_context(_make_folder(folder, name, mode, owner))


@contextlib.contextmanager
def _open_folder(path: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, FLAGS, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _make_folder(parent: int, name: str, mode: int, owner: Owner | None) -> Iterator[int]:
    """Make a folder below an open one, unless it's there, and set its mode and, if one is given, its owner."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)
    with _open_folder(name, parent) as descriptor:
        if owner:
            os.fchown(descriptor, *owner)
        os.fchmod(descriptor, mode)
        yield descriptor
