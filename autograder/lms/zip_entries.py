"""The contents of a learning management system's zip of submissions: files, and whose they are.

The LMS writes the first part of each path. A student chose everything after it, so that decides nothing.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from autograder.base.errors import GradlabError
from autograder.base.text import join_names, make_readable, truncate
from autograder.lms.people import Submitter

MAX_FILES = 10_000  # of one student, as from the exchange
MAX_NAMED = 20  # entries that a message considers
MAX_SHOWN = 200  # characters of a name, which may have 65,535


@dataclass(frozen=True)
class ZipEntry:
    """A file in the zip."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    parts: tuple[str, ...]
    """Its path, without a leading slash."""

    @property
    def name(self) -> str:
        return self.info.filename

    @property
    def first(self) -> str:
        return self.parts[0] if self.parts else ""

    def read(self, max_bytes: int) -> bytes:
        """Read at most one byte more than `max_bytes`, which shows the caller that the file is too large."""
        try:
            with self.archive.open(self.info) as file:
                return file.read(max_bytes + 1)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, zlib.error) as error:
            raise GradlabError(f"{self.name} in the zip can't be read: {error}", fix="download the zip again") from None


@dataclass
class SubmissionFiles:
    """The files of one submission."""

    origin: str
    """What the LMS calls the submission."""
    submitters: tuple[Submitter, ...] = ()
    """What the LMS says about the students who submitted it."""
    submitted: datetime | None = None
    """When it was submitted, if the LMS says so; UTC if it has no zone."""
    late: bool = False
    """Whether the LMS calls it late."""
    files: dict[str, ZipEntry] = field(default_factory=dict)
    duplicates: list[str] = field(default_factory=list)
    """Files that are left out, since another one has their name."""

    def add(self, name: str, entry: ZipEntry) -> None:
        """Add a file. Of two with the same name, keep the one that is nearer to the top, or else the later one."""
        before = self.files.get(name)
        if before is not None and len(before.parts) < len(entry.parts):
            self.duplicates.append(entry.name)
            return
        if before is not None:
            self.duplicates.append(before.name)
        self.files[name] = entry

    def select_files(self, problems: list[str]) -> dict[str, ZipEntry]:
        """Return the files, at most MAX_FILES, notebooks first, and append to `problems` what is left out."""
        if self.duplicates:
            problems.append(
                f"{make_readable(self.origin)}: two files have the same name; "
                f"left out: {format_short_names(self.duplicates)}"
            )
        names = list(self.files)
        if len(names) > MAX_FILES:
            names.sort(key=lambda name: not name.endswith(".ipynb"))
            problems.append(
                f"{make_readable(self.origin)}: more than {MAX_FILES:,} files; "
                f"left out: {format_short_names(names[MAX_FILES:])}"
            )
        return {name: self.files[name] for name in names[:MAX_FILES]}


def list_entries(archive: zipfile.ZipFile) -> list[ZipEntry]:
    """List every file in the zip, without folders."""
    return [
        ZipEntry(archive, info, tuple(part for part in PurePosixPath(info.filename).parts if part.strip("/")))
        for info in archive.infolist()
        if not info.is_dir()
    ]


def report_ignored(
    ignored: Mapping[str, list[str]], problems: list[str], reason: str = "not part of a submission"
) -> None:
    """Append a line about ignored files for each student, who may have submitted any number of files.

    Args:
        ignored: The names of ignored files, by student.
        problems: The list that gets the lines.
    """
    for student, names in ignored.items():
        problems.append(
            f"{make_readable(student[:MAX_SHOWN])}: {reason}, so not collected: {format_short_names(names)}"
        )


def format_short_names(names: Sequence[str]) -> str:
    """Join the first few names, each shortened."""
    shown = [truncate(make_readable(name), MAX_SHOWN, "...") for name in names[:MAX_NAMED]]
    return join_names([*shown, *names[MAX_NAMED:]])
