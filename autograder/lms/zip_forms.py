"""Whose each file in an LMS's zip is: Canvas, Moodle and Gradescope write that into the first part of its path.

Everything below that part has a name that a student chose, so nothing below it decides anything.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from autograder.base.errors import GradlabError
from autograder.base.text import join_names, make_readable
from autograder.lms.systems import System

NUMBERED = r"(?P<name>(?:(?!_\d+_)[^/])+?)_(?P<late>LATE_)?(?P<user>\d+)_"
CANVAS = re.compile(NUMBERED + r"(?P<file>\d+)_(?P<rest>[^/]+)")
CANVAS_PAGE = re.compile(NUMBERED + r"_?(?:text|link)\.html")  # what was typed instead of uploaded
MARK = "_assignsubmission_"
MOODLE = re.compile(rf"(?P<name>.+?)_(?P<participant>\d+){MARK}(?P<plugin>[a-z]+)(?:_(?P<rest>.*))?", re.DOTALL)
MOODLE_FILE = f"{MARK}file"
GRADESCOPE = "submission_metadata.yml"
MAX_FILES = 10_000  # of one student, as from the exchange
MAX_NAMED = 20  # entries that a refusal or a note looks at
MAX_SHOWN = 200  # characters of a name, which may have 65,535
AS_MADE = "\n    fix: give the zip as the LMS made it, or put each notebook at submitted/STUDENT/LAB/LAB.ipynb"


@dataclass(frozen=True)
class ZipEntry:
    """A file in the zip. parts: its path, without a slash at its beginning."""

    info: zipfile.ZipInfo
    parts: tuple[str, ...]

    @property
    def first(self) -> str:
        return self.parts[0] if self.parts else ""


@dataclass
class Pile:
    """One submission's files. name, lms_id: how the LMS calls its student. origin: how it calls the submission."""

    name: str
    lms_id: str
    origin: str
    files: dict[str, ZipEntry] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, name: str, entry: ZipEntry) -> None:
        """Keep this file, unless another of its name is nearer to the top. Of two that are as near, the later one."""
        before = self.files.get(name)
        if before is not None and len(before.parts) < len(entry.parts):
            self.left_out.append(entry.info.filename)
            return
        if before is not None:
            self.left_out.append(before.info.filename)
        self.files[name] = entry

    def finish(self, trouble: list[str]) -> dict[str, zipfile.ZipInfo]:
        """At most MAX_FILES, notebooks first. What is left out is named in trouble."""
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
        return {name: self.files[name].info for name in names[:MAX_FILES]}


def read_entries(infos: Iterable[zipfile.ZipInfo]) -> list[ZipEntry]:
    """Every file, but no folder."""
    return [
        ZipEntry(info, tuple(part for part in PurePosixPath(info.filename).parts if part.strip("/")))
        for info in infos
        if not info.is_dir()
    ]


def detect_system(entries: Sequence[ZipEntry]) -> System:
    """The one LMS whose form all of these have. Raises GradlabError where there is none, or more than one.

    A name can have both Canvas's and Moodle's form: a student of either may choose the end of it. The others decide.
    """
    canvas = {entry.first for entry in entries if _is_canvas(entry.first)}
    moodle = {entry.first for entry in entries if MOODLE.fullmatch(entry.first)}
    listed = [entry for entry in entries if entry.parts[-1:] == (GRADESCOPE,) and _is_list(entry, canvas | moodle)]
    odd = [entry for entry in entries if entry.first not in canvas | moodle]
    if moodle - canvas:
        others = [entry for entry in entries if entry.first in canvas - moodle and len(entry.parts) == 1]
        return _require_only(System.MOODLE, [*others, *listed])
    if canvas - moodle:
        return _require_only(System.CANVAS, odd)
    if canvas:
        raise GradlabError(f"the zip may be Canvas's or Moodle's: {_format_entry_names(entries)}{AS_MADE}")
    if not listed:
        raise GradlabError(
            "this is no download of Canvas, Moodle or Gradescope: no name in it has their form"
            f"{_format_example(entries)}{AS_MADE}"
        )
    top = find_top(listed)
    return _require_only(System.GRADESCOPE, [entry for entry in entries if entry.parts[: len(top)] != top])


def find_top(entries: Sequence[ZipEntry]) -> tuple[str, ...]:
    """The folder that Gradescope's list is in: the zip itself, or its only folder."""
    lists = [entry for entry in entries if entry.parts[-1:] == (GRADESCOPE,) and len(entry.parts) <= 2]
    return min(lists, key=lambda entry: len(entry.parts)).parts[:-1]


def group_canvas_files(entries: Sequence[ZipEntry], trouble: list[str]) -> list[Pile]:
    """A pile for each name and number. What Canvas wrote itself, or a student put into a folder, is none of them."""
    piles: dict[tuple[str, str], Pile] = {}
    rest: dict[str, list[str]] = {}
    for entry in entries:
        found = CANVAS.fullmatch(entry.first)
        if found is None or len(entry.parts) > 1:
            page = found or CANVAS_PAGE.fullmatch(entry.first)
            rest.setdefault(f"{page['name']}_{page['user']}" if page else entry.first, []).append(entry.info.filename)
            continue
        key = (found["name"], found["user"])
        pile = piles.setdefault(key, Pile(*key, origin=entry.first))
        if found["rest"].endswith(".ipynb"):
            pile.origin = entry.first
        pile.add(found["rest"], entry)
    report_rest(rest, trouble)
    return list(piles.values())


def group_moodle_files(entries: Sequence[ZipEntry], trouble: list[str]) -> list[Pile]:
    """A pile for each name and number, of the files that were handed in as files: no online text, no comments."""
    piles: dict[tuple[str, str], Pile] = {}
    rest: dict[str, list[str]] = {}
    alike: dict[str, list[str]] = {}
    for entry in entries:
        found = MOODLE.fullmatch(entry.first)
        if found is None:
            rest.setdefault(entry.first, []).append(entry.info.filename)
            continue
        key = (found["name"], found["participant"])
        origin = f"{key[0]}_{key[1]}{MARK}{found['plugin']}_"
        name = entry.parts[-1] if len(entry.parts) > 1 else found["rest"]
        if found["plugin"] != "file" or not name:
            rest.setdefault(origin, []).append(entry.info.filename)
        elif entry.info.filename.count(MARK) > 1:
            alike.setdefault(origin, []).append(entry.info.filename)
        else:
            piles.setdefault(key, Pile(*key, origin=origin)).add(name, entry)
    report_rest(rest, trouble)
    report_rest(alike, trouble, "named like the submission of another")
    return list(piles.values())


def report_rest(rest: dict[str, list[str]], trouble: list[str], why: str = "no files of a submission") -> None:
    """Name what was not taken, in a line for each student: there may be as many files as a student likes."""
    for whose, names in rest.items():
        trouble.append(f"{make_readable(whose[:MAX_SHOWN])}: {why}, so not taken: {format_short_names(names)}")


def format_short_names(names: Sequence[str]) -> str:
    """The first few, each shortened."""
    shown = [
        make_readable(name) if len(name) <= MAX_SHOWN else f"{make_readable(name[:MAX_SHOWN])}..."
        for name in names[:MAX_NAMED]
    ]
    return join_names([*shown, *names[MAX_NAMED:]])


def _is_canvas(first: str) -> bool:
    return bool(CANVAS.fullmatch(first) or CANVAS_PAGE.fullmatch(first))


def _is_list(entry: ZipEntry, named: set[str]) -> bool:
    """Gradescope's own: at the top of the zip or of a folder that no student has."""
    return len(entry.parts) <= 2 and entry.first not in named


def _require_only(system: System, others: Sequence[ZipEntry]) -> System:
    if others:
        raise GradlabError(
            f"the zip mixes forms: some of it is as {system.title()} makes it, and this is not: "
            f"{_format_entry_names(others)}{AS_MADE}"
        )
    return system


def _format_entry_names(entries: Sequence[ZipEntry]) -> str:
    return format_short_names([entry.info.filename for entry in entries])


def _format_example(entries: Sequence[ZipEntry]) -> str:
    return "".join(f", for instance {entry.info.filename[:MAX_SHOWN]!r}" for entry in entries[:1])
