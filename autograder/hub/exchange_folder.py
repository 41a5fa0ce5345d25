"""A course's part of the exchange, in nbgrader's own folders, as the exchange service uses it.

The folder around them is open to the service's user and the course's only. Those are two users, so what the one writes
is readable for the other: `gradlab watch` and nbgrader's commands work on these folders.
Nothing here imports nbgrader, which would double the service's memory.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
import shutil
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, BinaryIO

from autograder.base.submission_files import SECRET, TIMESTAMP, read_small_text
from autograder.hub.course_pages import DUE_DATES, PAGES
from autograder.model.arrivals import CLOCK_TOLERANCE
from labext.folder_archive import pack_folder

MAX_SUBMISSIONS = 1_000  # of one student for a lab: gradlab watch reads no more
MAX_STUDENT_BYTES = 2_000_000_000  # of all submissions of one student in a course
RESERVE_BYTES = 1_000_000_000  # of the disk, which submissions may not fill
MAX_SECRET = 4096  # bytes; submissions that a course already had may have a longer one
TIME_FORMAT = "%Y-%m-%d %H:%M:%S.%f UTC"  # as nbgrader writes it
TRIES = 5  # to pack a lab that is being released


class SubmissionRefused(Exception):
    """A reason why a student's submission isn't stored."""


class LabUnsettledError(OSError):
    """The lab changed each time it was packed."""


@dataclass(frozen=True)
class PageFile:
    """A feedback page, as ExchangeClient's PageEntry."""

    lab: str
    name: str
    changed: int
    size: int


class ExchangeFolder:
    """The folder of one course, EXCHANGE/COURSE."""

    def __init__(self, folder: Path) -> None:
        self.outbound, self.inbound, self.feedback = (folder / name for name in ("outbound", "inbound", "feedback"))
        self.pages = folder / "pages"
        """The course's own, which its user copies here, and when labs are due."""
        self.staging = folder / ".staging"
        """Submissions that aren't complete; on the same file system as inbound."""
        self._lock, self._last_time = threading.Lock(), datetime.fromtimestamp(0, UTC)

    def prepare(self) -> None:
        """Make the folders, and remove what a killed service left."""
        shutil.rmtree(self.staging, ignore_errors=True)
        for folder, mode in ((self.staging, 0o700), (self.inbound, 0o755)):
            if not folder.is_dir():
                folder.mkdir(parents=True)
                folder.chmod(mode)

    def list_labs(self) -> list[str]:
        """List the released labs."""
        with contextlib.suppress(FileNotFoundError), os.scandir(self.outbound) as entries:
            return sorted(
                each.name for each in entries if each.is_dir(follow_symlinks=False) and not each.name.startswith(".")
            )
        return []

    def list_course_pages(self) -> dict[str, str]:
        """List what changes with each of the course's own pages, by its name."""
        versions = {}
        for name in PAGES:
            with contextlib.suppress(FileNotFoundError):
                versions[name] = hashlib.sha256((self.pages / name).read_bytes()).hexdigest()
        return versions

    def read_due_dates(self, student: str) -> dict[str, str]:
        """Read when labs are due for this student, as ISO times, by lab. What isn't known isn't shown."""
        with contextlib.suppress(OSError, ValueError):
            dates = json.loads((self.pages / DUE_DATES).read_text(encoding="utf-8"))
            return {lab: by_student.get(student, by_student[""]) for lab, by_student in dates.items()}
        return {}

    def list_release_times(self) -> dict[str, int]:
        """List what changes when a lab is released again: its folder's change time in nanoseconds, by lab."""
        times = {}
        for lab in self.list_labs():
            with contextlib.suppress(FileNotFoundError):
                times[lab] = (self.outbound / lab).stat().st_ctime_ns
        return times

    def compute_version(self, lab: str) -> str:
        """Compute what changes with every file of a released lab."""
        digest = hashlib.sha256()
        for path in sorted((self.outbound / lab).rglob("*")):
            status = path.lstat()
            digest.update(f"{path.relative_to(self.outbound)}\0{status.st_size}\0{status.st_mtime_ns}\0".encode())
        return digest.hexdigest()

    def pack_lab(self, lab: str) -> BinaryIO:
        """Pack a released lab into an archive. Raises OSError if it's being replaced."""
        for _ in range(TRIES):
            archive: Any = tempfile.TemporaryFile()  # noqa: SIM115 - the caller closes it
            before = self.compute_version(lab)
            with contextlib.suppress(OSError):
                pack_folder(self.outbound / lab, archive)
                if before == self.compute_version(lab):
                    archive.seek(0)
                    return archive  # type: ignore[no-any-return]
            archive.close()
        raise LabUnsettledError(f"{lab} is being released")

    def refuse_excess(self, student: str, lab: str) -> None:
        """Raise SubmissionRefused if this student, or the disk, can't take another submission."""
        if "+" in student or "/" in student or student.startswith(".") or not student.isprintable():
            raise SubmissionRefused(
                f"the exchange can't store submissions of a user called {student}: ask your instructor for another name"
            )
        if sum(1 for _ in self._iter_submissions(student, lab)) >= MAX_SUBMISSIONS:
            raise SubmissionRefused(f"you have submitted {lab} {MAX_SUBMISSIONS:,} times already")
        sizes = (path.lstat().st_size for folder in self._iter_submissions(student) for path in folder.rglob("*"))
        if sum(sizes) > MAX_STUDENT_BYTES:
            raise SubmissionRefused("your submissions have filled your space in the exchange: ask your instructor")
        if self.is_full():
            raise SubmissionRefused("the exchange's disk is full: ask your instructor")

    def is_full(self) -> bool:
        """Return whether the disk takes no more submissions."""
        return shutil.disk_usage(self.inbound).free < RESERVE_BYTES

    def store(self, folder: Path, student: str, lab: str) -> dict[str, str]:
        """Move a complete submission into the inbox, where it survives a crash from now on.

        Args:
            folder: Its files, in `staging`.

        Returns:
            The receipt, as ExchangeClient's Receipt.
        """
        time = self._draw_time(student, lab)
        timestamp, secret = f"{time:{TIME_FORMAT}}", secrets.token_hex(64)
        for name, text in ((TIMESTAMP, timestamp), (SECRET, secret)):
            (folder / name).write_text(text, encoding="utf-8")
        _share_files(folder)
        os.rename(folder, self.inbound / f"{student}+{lab}+{timestamp}+{secrets.token_urlsafe(9)}")
        _flush_path(self.inbound)
        return {"student": student, "timestamp": timestamp, "secret": secret}

    def list_pages(self, student: str, lab: str) -> list[PageFile]:
        """List the feedback pages of this student's own submissions of a lab."""
        pages = []
        for folder in self._iter_submissions(student, lab):
            secret = read_small_text(folder / SECRET, MAX_SECRET)
            for notebook in folder.glob("*.ipynb") if secret else ():
                name = compute_page_name(str(secret), notebook.stem)
                path = self.get_page_path(name)
                if os.access(path, os.R_OK):  # one page with a wrong mode doesn't keep the others back
                    status = path.stat()
                    pages.append(PageFile(lab, name, status.st_mtime_ns, status.st_size))
        return pages

    def get_page_path(self, name: str) -> Path:
        return self.feedback / f"{name}.html"

    def _iter_submissions(self, student: str, lab: str | None = None) -> Iterator[Path]:
        """Yield the folders of this student's submissions; no name of another student passes for theirs."""
        with os.scandir(self.inbound) as entries:
            for entry in entries:
                parts = entry.name.split("+")
                if parts[0] == student and (lab is None or parts[1:2] == [lab]):
                    yield Path(entry.path)

    def _draw_time(self, student: str, lab: str) -> datetime:
        """Return the time, so a student's later submission has a later one, and no two have the same.

        This holds if the clock was set back, unless it was so far ahead that the earlier time doesn't count yet.
        """
        with self._lock:
            now = datetime.now(UTC)
            earlier = [self._last_time, *map(_read_time, self._iter_submissions(student, lab))]
            newest = max((time for time in earlier if time <= now + CLOCK_TOLERANCE), default=now)
            self._last_time = max(now, newest + timedelta(microseconds=1))
            return self._last_time


def compute_page_name(secret: str, notebook: str) -> str:
    """Compute the name of a submission's feedback page, as nbgrader.utils.notebook_hash does."""
    return hashlib.md5(secret.encode() + notebook.encode(), usedforsecurity=False).hexdigest()


def _read_time(folder: Path) -> datetime:
    """Read the time in a submission's name; the earliest one if there is none."""
    with contextlib.suppress(ValueError, IndexError):
        return datetime.strptime(folder.name.split("+")[2], TIME_FORMAT).replace(tzinfo=UTC)
    return datetime.min.replace(tzinfo=UTC)


def _share_files(folder: Path) -> None:
    """Let the course's user read everything in this folder, and wait until the disk has it."""
    for place, _, names in os.walk(folder):
        for name in names:
            _flush_path(Path(place, name), 0o644)
        _flush_path(Path(place), 0o755)


def _flush_path(path: Path, mode: int | None = None) -> None:
    """Wait until the disk has this file or folder, with this mode."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if mode is not None:
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
