"""Checks of a course's exchange: its folders, what is published in it, and the room on its disk."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from autograder.base.file_owner import format_owner
from autograder.hub.account_checks import has_sound_exchange_user
from autograder.hub.exchange_access import RequiredFolder, list_exchange_folders
from autograder.hub.exchange_folder import RESERVE_BYTES
from autograder.hub.finding import Finding, format_command
from autograder.hub.hub_lock import is_locked
from autograder.hub.owner_checks import has_sound_owner
from autograder.hub.settings import Hub, HubCourse


def check_exchange(hub: Hub, course: HubCourse) -> Iterator[Finding]:
    """Check the exchange of a course."""
    yield from _check_space(course)
    folders = list_exchange_folders(hub, course)
    # Otherwise, another check says which user is the wrong one.
    if not hub.is_demo and not (has_sound_owner(hub, course) and has_sound_exchange_user(hub)):
        folders = [replace(folder, owner=None) for folder in folders]
    if is_locked(hub.folder) and (missing := next((each for each in folders if not each.path.exists()), None)):
        yield Finding(
            f"{missing.path} is missing, so no one can submit while the hub runs",
            "put it back, or stop the hub and start it again, which makes it",
        )
        return
    for folder in folders:
        if not folder.is_in_order():
            yield _find_disorder(folder)
    if not hub.is_demo:
        yield from _check_published(course)


def _check_space(course: HubCourse) -> Iterator[Finding]:
    """Check that the disks have room: below this, the exchange refuses submissions, and soon no mark can be saved."""
    exchange = next(each for each in (course.exchange, *course.exchange.parents) if each.exists())
    for folder, use in ((exchange, "submissions"), (course.folder, "marks")):
        if (free := shutil.disk_usage(folder).free) < RESERVE_BYTES:
            yield Finding(
                f"the disk with {folder} has only {free / 1e9:.1f} GB free for {use} of {course.name}",
                "free some space: at least 1 GB, and 0.3 GB for each student and term",
                blocks=False,
            )


def _find_disorder(folder: RequiredFolder) -> Finding:
    status = folder.path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return Finding(
            f"{folder.path} isn't a folder, and the exchange needs one there",
            f"move it away, then run {format_command('mkdir', folder.path)} and check again",
        )
    owner = folder.owner or (status.st_uid, status.st_gid)
    now, wanted = format_owner(status.st_uid, status.st_gid), format_owner(*owner)
    commands = [("chown", wanted, folder.path), ("chmod", f"{folder.mode:o}", folder.path)]
    return Finding(
        f"{folder.path} has mode {stat.S_IMODE(status.st_mode):o} and owner {now}; the exchange needs it to have "
        f"mode {folder.mode:o} and owner {wanted}",
        "\n".join(format_command(*command) for command in commands),
    )


def _check_published(course: HubCourse) -> Iterator[Finding]:
    """Check that the exchange's user can read labs and feedback pages, for which they must be open to others."""
    for name, use in (("outbound", "labs"), ("feedback", "feedback pages")):
        folder = course.exchange_folder / name
        if closed := next(_iter_closed(folder), None):
            yield Finding(
                f"the exchange can't read {closed}, so students don't get all {use} of {course.name}",
                format_command("chmod", "-R", "o=rX", folder),
            )


def _iter_closed(folder: Path) -> Iterator[Path]:
    """Yield what others can't read, unless it's gone in the meantime."""
    for place, names, files in os.walk(folder):
        for name, wanted in (*((name, 0o5) for name in names), *((name, 0o4) for name in files)):
            with contextlib.suppress(FileNotFoundError):
                if Path(place, name).lstat().st_mode & wanted != wanted:
                    yield Path(place, name)
