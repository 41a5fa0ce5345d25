"""The contents of a learning management system's zip of submissions: files, and whose they are.

The LMS writes the first part of each path. Everything below has a name that a student chose, so it decides nothing.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePosixPath

from autograder.base.errors import GradlabError
from autograder.base.text import join_names, make_readable
from autograder.lms.people import Submitter

MAX_FILES = 10_000  # of one student, as from the exchange
MAX_NAMED = 20  # entries that a refusal or a note looks at
MAX_SHOWN = 200  # characters of a name, which may have 65,535


@dataclass(frozen=True)
class ZipEntry:
    """A file in the zip."""

    archive: zipfile.ZipFile
    info: zipfile.ZipInfo
    parts: tuple[str, ...]
    """Its path, without a slash at its beginning."""

    @property
    def name(self) -> str:
        return self.info.filename

    @property
    def first(self) -> str:
        return self.parts[0] if self.parts else ""

    def read(self, most: int) -> bytes:
        """Its content, at most one byte more than `most`, which shows the caller that it's too large."""
        try:
            with self.archive.open(self.info) as file:
                return file.read(most + 1)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, zlib.error) as error:
            raise GradlabError(f"{self.name} in the zip cannot be read: {error}") from None


@dataclass
class Pile:
    """One submission's files."""

    origin: str
    """What the LMS calls the submission."""
    submitters: tuple[Submitter, ...] = ()
    """What the LMS says of the students who handed it in."""
    when: datetime | None = None
    """When, if the LMS says so; UTC if it has no zone."""
    late: bool = False
    """Whether the LMS calls it late."""
    files: dict[str, ZipEntry] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, name: str, entry: ZipEntry) -> None:
        """Keep this file, unless one of its name is nearer to the top. Of two that are equally near, keep the later."""
        before = self.files.get(name)
        if before is not None and len(before.parts) < len(entry.parts):
            self.left_out.append(entry.name)
            return
        if before is not None:
            self.left_out.append(before.name)
        self.files[name] = entry

    def finish(self, trouble: list[str]) -> dict[str, ZipEntry]:
        """The files, at most MAX_FILES, notebooks first. What is left out is named in `trouble`."""
        if self.left_out:
            trouble.append(
                f"{make_readable(self.origin)}: two files have one name; left out: {format_short_names(self.left_out)}"
            )
        names = list(self.files)
        if len(names) > MAX_FILES:
            names.sort(key=lambda name: not name.endswith(".ipynb"))
            trouble.append(
                f"{make_readable(self.origin)}: more than {MAX_FILES:,} files; "
                f"left out: {format_short_names(names[MAX_FILES:])}"
            )
        return {name: self.files[name] for name in names[:MAX_FILES]}


def list_entries(archive: zipfile.ZipFile) -> list[ZipEntry]:
    """Every file in the zip, without folders."""
    return [
        ZipEntry(archive, info, tuple(part for part in PurePosixPath(info.filename).parts if part.strip("/")))
        for info in archive.infolist()
        if not info.is_dir()
    ]


def report_rest(rest: Mapping[str, list[str]], trouble: list[str], why: str = "no files of a submission") -> None:
    """Name what was left out, in a line for each student, who may have handed in any number of files."""
    for whose, names in rest.items():
        trouble.append(f"{make_readable(whose[:MAX_SHOWN])}: {why}, so not taken: {format_short_names(names)}")


def format_short_names(names: Sequence[str]) -> str:
    """The first few names, each shortened."""
    shown = [
        make_readable(name) if len(name) <= MAX_SHOWN else f"{make_readable(name[:MAX_SHOWN])}..."
        for name in names[:MAX_NAMED]
    ]
    return join_names([*shown, *names[MAX_NAMED:]])
