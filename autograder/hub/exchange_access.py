"""Who may do what in a course's exchange: the modes and owners of its folders.

Two users meet there. The exchange's stores submissions, and the course's user writes labs and feedback pages. Each
reads what the other wrote, and the exchange's can't replace labs or pages. No one else passes the folder around them.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from autograder.hub.settings import Hub, HubCourse

FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


Owner = tuple[int, int]  # a user and a group


@dataclass(frozen=True)
class RequiredFolder:
    """A folder of a course's exchange, as it has to be."""

    path: Path
    mode: int
    owner: Owner | None
    """None if any will do: in a demo one user does it all, and a user who is missing can't own anything."""

    def is_in_order(self) -> bool:
        """Return whether it is as it has to be, or doesn't exist yet."""
        try:
            status = self.path.lstat()
        except FileNotFoundError:
            return True
        owner = self.owner or (status.st_uid, status.st_gid)
        return status.st_mode == stat.S_IFDIR | self.mode and (status.st_uid, status.st_gid) == owner


def list_exchange_folders(hub: Hub, course: HubCourse) -> list[RequiredFolder]:
    """List the folders of a course's exchange, each after the one around it."""
    gate = own = inbound = staging = root = None
    with contextlib.suppress(KeyError):  # a user is missing, and a check of the accounts says so
        if not hub.is_demo:
            exchange, owner = pwd.getpwnam(hub.exchange_user), pwd.getpwuid(course.folder.stat().st_uid)
            gate, own = (exchange.pw_uid, owner.pw_gid), (owner.pw_uid, owner.pw_gid)
            staging, root = (exchange.pw_uid, exchange.pw_gid), (0, 0)
            inbound = (owner.pw_uid, exchange.pw_gid)  # nbgrader demands that the course's user owns it
    folder = course.exchange_folder
    return [
        RequiredFolder(course.gate, 0o700 if hub.is_demo else 0o710, gate),
        # Nbgrader demands that everyone can write here. The gate keeps them out.
        RequiredFolder(course.exchange, 0o777 if hub.is_demo else 0o1777, root),
        RequiredFolder(folder, 0o755, own),
        RequiredFolder(folder / "outbound", 0o755, own),
        RequiredFolder(folder / "feedback", 0o755, own),
        RequiredFolder(folder / "inbound", 0o755 if hub.is_demo else 0o1775, inbound),
        RequiredFolder(folder / ".staging", 0o700, staging),
    ]


def prepare_exchange(folders: list[RequiredFolder]) -> None:
    """Make the folders of a course's exchange, and set their modes and owners.

    Root does this in folders of other users, so no link is followed.
    """
    with contextlib.ExitStack() as stack:
        top = folders[0].path.parent
        opened = {top: stack.enter_context(_open_folder(top))}
        for folder in folders:
            opened[folder.path] = stack.enter_context(_make_folder(opened[folder.path.parent], folder))


@contextlib.contextmanager
def _open_folder(path: Path | str, parent: int | None = None) -> Iterator[int]:
    descriptor = os.open(path, FLAGS, dir_fd=parent)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def _make_folder(parent: int, folder: RequiredFolder) -> Iterator[int]:
    """Make a folder below an open one, unless it's there, and set its mode and, if one is given, its owner."""
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder.path.name, 0o700, dir_fd=parent)
    with _open_folder(folder.path.name, parent) as descriptor:
        if folder.owner:
            os.fchown(descriptor, *folder.owner)
        os.fchmod(descriptor, folder.mode)
        yield descriptor
