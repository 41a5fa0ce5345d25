"""Submissions as Canvas, Moodle and Gradescope hand them out: one zip, whose names say whose each file is.

Nothing is extracted by its own path: each file's bytes go to submitted/STUDENT/LAB/ under the last part of its name.
"""

from __future__ import annotations

import json
import re
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from shlex import quote

from autograder.base.atomic_files import replace_folder, write_atomically
from autograder.base.errors import GradlabError
from autograder.base.text import join_names, make_readable
from autograder.base.timestamps import SECRET, TIMESTAMP
from autograder.intake.read import MAX_BYTES
from autograder.intake.safe_names import make_safe_name
from autograder.lms.gradescope_list import MAX_LIST, read_list
from autograder.lms.people import Person, find_person
from autograder.lms.systems import System
from autograder.lms.zip_forms import (
    CANVAS,
    GRADESCOPE,
    MOODLE_FILE,
    Pile,
    ZipEntry,
    detect_system,
    find_top,
    format_short_names,
    group_canvas_files,
    group_moodle_files,
    read_entries,
    report_rest,
)
from autograder.model.assignments import list_assignments

COPY = re.compile(r"[-_ ]?\(?\d*\)?(?=\.ipynb$)")  # lab-1.ipynb, lab (2).ipynb: browsers and Canvas number copies
MAX_OF_STUDENT = 500_000_000  # bytes
MAX_NAME = 200  # bytes
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NOT_THEIRS = (TIMESTAMP, SECRET)  # nbgrader's: the time that counts is not in a student's file
BY_HAND = "\n    or put this one at submitted/STUDENT/LAB/LAB.ipynb yourself"
ORIGINS = ".lms.json"  # in results/LAB/, no student's: student -> the name that the LMS wants back


@dataclass(frozen=True)
class Download:
    """One student's submission. origin: what the LMS calls it. when: UTC, where the LMS says so."""

    person: Person
    files: Mapping[str, zipfile.ZipInfo] = field(default_factory=dict)
    origin: str = ""
    when: datetime | None = None

    @property
    def notebooks(self) -> list[str]:
        return [name for name in self.files if name.endswith(".ipynb")]


def collect_zip(
    path: Path, course: Path, lab: str, people: Sequence[Person], replace: bool = False
) -> tuple[list[str], list[str]]:
    """(whose submissions were put into submitted/, what could not be, a line each).

    replace: also what the exchange brought. Raises GradlabError where the file is no such zip.
    """
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise GradlabError(f"there is no file {path}: give the zip that the LMS made of all submissions") from None
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError) as error:
        raise GradlabError(f"{path} is no zip file: {error}") from None
    with archive:
        entries = read_entries(archive.infolist())
        system = detect_system(entries)
        trouble: list[str] = []
        taken, origins = list[str](), _read_origins(course, lab)
        for download in _drop_ambiguous(_iter_downloads(system, archive, entries, people, trouble), trouble):
            try:
                _refuse_wrong(download, course, lab, replace)
                left_out = _write(archive, download, course, lab)
            except (GradlabError, OSError) as error:
                trouble.append(f"{download.person.id}: {error}")
                continue
            origins[download.person.id] = download.origin
            taken.append(download.person.id)
            if left_out:
                trouble.append(f"{download.person.id}: left out for their names: {format_short_names(left_out)}")
        _write_origins(course, lab, origins)
    return taken, trouble


def require_origins(course: Path, lab: str, system: System) -> dict[str, str]:
    """student -> what this system called the submission. Raises GradlabError where no download of it was collected."""
    form = CANVAS.fullmatch if system is System.CANVAS else re.compile(rf".+{MOODLE_FILE}_").fullmatch
    found = {student: name for student, name in _read_origins(course, lab).items() if form(name)}
    if not found:
        raise GradlabError(
            f"no download of {lab} from {system.title()} was collected, so nobody knows the names that it wants\n"
            f"    fix: gradlab collect {quote(lab)} ZIP first, or --zip csv, which names pages by student"
        )
    return found


def list_marked_late(course: Path, lab: str, taken: Collection[str]) -> list[str]:
    """Whom of these Canvas calls late, and of whom nothing says when the file came: its zip does not."""
    names = {
        student: CANVAS.fullmatch(origin) for student, origin in _read_origins(course, lab).items() if student in taken
    }
    late = sorted(student for student, found in names.items() if found and found["late"])
    return [student for student in late if not (course / "submitted" / student / lab / TIMESTAMP).exists()]


def _drop_ambiguous(downloads: Iterable[Download], trouble: list[str]) -> list[Download]:
    """Those whose student nobody else was taken for: a display name can be set to a classmate's."""
    found: dict[str, list[Download]] = {}
    for download in downloads:
        found.setdefault(download.person.id, []).append(download)
    for student, several in found.items():
        if len(several) > 1:
            names = ", ".join(repr(each.origin) for each in several[:10])
            trouble.append(
                f"{student} may be any of {names}: none was taken\n    fix: gradlab roster, with lms_user_id"
            )
    return [several[0] for several in found.values() if len(several) == 1]


def _iter_downloads(
    system: System, archive: zipfile.ZipFile, entries: Sequence[ZipEntry], people: Sequence[Person], trouble: list[str]
) -> Iterator[Download]:
    if system is System.GRADESCOPE:
        yield from _iter_gradescope(archive, entries, people, trouble)
        return
    for pile in (group_canvas_files if system is System.CANVAS else group_moodle_files)(entries, trouble):
        try:
            person = _match_person(people, pile, system)
        except GradlabError as error:
            trouble.append(f"{pile.origin}: {error}{BY_HAND}")
            continue
        yield Download(person, pile.finish(trouble), pile.origin)


def _match_person(people: Sequence[Person], pile: Pile, system: System) -> Person:
    """By the LMS's number where the roster has that, else by name. Moodle's number is another for each assignment."""
    known = [person for person in people if person.lms_id == pile.lms_id]
    if len(known) == 1:
        return known[0]
    found = find_person(people, name=pile.name)
    if found.lms_id and system is System.CANVAS:
        raise GradlabError(
            f"{pile.name!r} has the number {pile.lms_id}, and in the roster {found.id} has {found.lms_id}\n"
            "    fix: the roster's lms_user_id, where it is wrong"
        )
    return found


def _iter_gradescope(
    archive: zipfile.ZipFile, entries: Sequence[ZipEntry], people: Sequence[Person], trouble: list[str]
) -> Iterator[Download]:
    """By the list alone, and by the folders beside it: what is in these, a student named."""
    top = find_top(entries)
    listing = next(entry for entry in entries if entry.parts == (*top, GRADESCOPE))
    listed = read_list(_read_bytes(archive, listing.info, MAX_LIST))
    piles = {folder: Pile("", "", folder) for folder in listed}
    rest: dict[str, list[str]] = {}
    for entry in entries:
        below = entry.parts[len(top) :]
        if len(below) > 1 and below[0] in piles:
            piles[below[0]].add(below[-1], entry)
        elif entry is not listing:
            rest.setdefault("".join(below[:1]), []).append(entry.info.filename)
    report_rest(rest, trouble)
    for folder, said in listed.items():
        files = piles[folder].finish(trouble)
        if not said.submitters:
            trouble.append(f"{make_readable(folder)}: {GRADESCOPE} does not say whose it is{BY_HAND}")
        for submitter in said.submitters:
            try:
                found = find_person(people, id_=submitter.id_, email=submitter.email, name=submitter.name)
            except GradlabError as error:
                trouble.append(str(error))
                continue
            yield Download(found, files, folder, said.when)


def _refuse_wrong(download: Download, course: Path, lab: str, replace: bool) -> None:
    """Raise GradlabError where these files are no submission of this lab, or would take another one's place."""
    notebooks = download.notebooks
    if not notebooks:
        raise GradlabError(f"no notebook, only {join_names(sorted(download.files))}: what lies in submitted/ stays")
    named = [COPY.sub("", name).removesuffix(".ipynb") for name in notebooks]
    if set(named) <= list_assignments(course) - {lab}:
        raise GradlabError(f"{join_names(notebooks)} is of another lab: gradlab collect {named[0]} takes it")
    there = course / "submitted" / download.person.id / lab
    if not replace and (there / SECRET).exists():
        raise GradlabError("has a submission from the exchange, which stays (--replace takes the zip's)")


def _write(archive: zipfile.ZipFile, download: Download, course: Path, lab: str) -> list[str]:
    """In place of what was there; return the names that were left out.

    The only notebook is the lab's, whatever a browser or the LMS made of its name.
    """
    size, only, written, left_out = 0, download.notebooks, dict[str, str](), list[str]()
    with replace_folder(course / "submitted" / download.person.id / lab) as new:
        new.mkdir(parents=True)
        for name, info in download.files.items():
            wanted = f"{lab}.ipynb" if only == [name] or COPY.sub("", name) == f"{lab}.ipynb" else name
            if wanted in (*NOT_THEIRS, "", ".", "..") or len(wanted.encode()) > MAX_NAME or CONTROL.search(wanted):
                left_out.append(name)
                continue
            wanted = make_safe_name(wanted, starts=True)
            content = _read_bytes(archive, info, MAX_BYTES)
            size += len(content)
            if size > MAX_OF_STUDENT:
                raise GradlabError(f"these files are over {MAX_OF_STUDENT // 1_000_000} MB together")
            if wanted in written:
                left_out.append(written[wanted])
            written[wanted] = name
            (new / wanted).write_bytes(content)
        if download.when is not None:
            time = download.when.astimezone(UTC) if download.when.tzinfo else download.when
            (new / TIMESTAMP).write_text(f"{time:%Y-%m-%d %H:%M:%S} UTC")
    return left_out


def _read_bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """One byte more than what is refused for its size: the intake says so to the student."""
    try:
        with archive.open(info) as file:
            return file.read(most + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError, zlib.error) as error:
        raise GradlabError(f"{info.filename} in the zip cannot be read: {error}") from None


def _read_origins(course: Path, lab: str) -> dict[str, str]:
    path = course / "results" / lab / ORIGINS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write_origins(course: Path, lab: str, origins: Mapping[str, str]) -> None:
    write_atomically(course / "results" / lab / ORIGINS, json.dumps(origins, indent=1, ensure_ascii=False))
