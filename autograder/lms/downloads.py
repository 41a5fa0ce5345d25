"""Collects submissions from the zip that a learning management system makes of them: its names say whose each file is.

Nothing is extracted by its own path: each file's bytes go to submitted/STUDENT/LAB/ under the last part of its name.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC
from pathlib import Path
from shlex import quote

from autograder.base.atomic_files import replace_folder, write_atomically
from autograder.base.errors import GradlabError
from autograder.base.text import join_names, make_readable
from autograder.base.timestamps import SECRET, TIMESTAMP
from autograder.intake.read import MAX_BYTES
from autograder.intake.safe_names import make_safe_name
from autograder.lms.learning_system import LearningSystem, load_systems
from autograder.lms.people import Person, find_person
from autograder.lms.zip_entries import MAX_SHOWN, Pile, ZipEntry, format_short_names, list_entries
from autograder.model.assignments import list_assignments

COPY = re.compile(r"[-_ ]?\(?\d*\)?(?=\.ipynb$)")  # lab-1.ipynb, lab (2).ipynb: browsers and Canvas number copies
MAX_OF_STUDENT = 500_000_000  # bytes
MAX_NAME = 200  # bytes
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
NOT_THEIRS = (TIMESTAMP, SECRET)  # nbgrader's: the time that counts is not in a student's file
AS_MADE = "\n    fix: give the zip as the LMS made it, or put each notebook at submitted/STUDENT/LAB/LAB.ipynb"
BY_HAND = "\n    or put this one at submitted/STUDENT/LAB/LAB.ipynb yourself"
ORIGINS = ".lms.json"  # in results/LAB/: the name that the LMS wants back, by student


@dataclass(frozen=True)
class Download:
    """One student's submission."""

    person: Person
    pile: Pile
    files: Mapping[str, ZipEntry]

    @property
    def notebooks(self) -> list[str]:
        return [name for name in self.files if name.endswith(".ipynb")]


@dataclass(frozen=True)
class Collection:
    """The outcome of collecting a zip."""

    system: LearningSystem
    """The LMS that made it."""
    taken: list[str] = field(default_factory=list)
    """Students whose submissions were put into submitted/."""
    late: list[str] = field(default_factory=list)
    """Those of them whom the LMS calls late without saying when the submission came."""
    trouble: list[str] = field(default_factory=list)
    """What could not be taken, a line each."""


def collect_zip(path: Path, course: Path, lab: str, people: Sequence[Person], replace: bool = False) -> Collection:
    """Put the submissions in the zip into submitted/.

    Args:
        replace: Whether to replace submissions from the exchange, too.

    Raises:
        GradlabError: If the file is no such zip.
    """
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise GradlabError(f"there is no file {path}: give the zip that the LMS made of all submissions") from None
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError) as error:
        raise GradlabError(f"{path} is no zip file: {error}") from None
    with archive:
        entries = list_entries(archive)
        found, origins = Collection(detect_system(entries, load_systems())), _read_origins(course, lab)
        downloads = list(_iter_downloads(found.system.read_zip(entries, found.trouble), people, found.trouble))
        for download in _drop_ambiguous(downloads, found.trouble):
            student = download.person.id
            try:
                _refuse_wrong(download, course, lab, replace)
                left_out = _write(download, course, lab)
            except (GradlabError, OSError) as error:
                found.trouble.append(f"{student}: {error}")
                continue
            origins[student] = download.pile.origin
            found.taken.append(student)
            if download.pile.late and download.pile.when is None:
                found.late.append(student)
            if left_out:
                found.trouble.append(f"{student}: left out for their names: {format_short_names(left_out)}")
        _write_origins(course, lab, origins)
    return found


def detect_system(entries: Sequence[ZipEntry], systems: Sequence[LearningSystem]) -> LearningSystem:
    """The only LMS whose form all of these have. Raises GradlabError if there isn't one, or more than one.

    A name can have the forms of two, since a student may choose the end of it. The others decide.
    """
    makers = {entry: [system for system in systems if system.is_own and system.is_own(entry)] for entry in entries}
    certain = [found[0] for found in makers.values() if len(found) == 1]
    if not certain:
        if possible := sorted({f"{system.title}'s" for found in makers.values() for system in found}):
            named = format_short_names([entry.name for entry in entries])
            raise GradlabError(f"the zip may be {' or '.join(possible)}: {named}{AS_MADE}")
        *titles, last = [system.title for system in systems if system.is_own]
        raise GradlabError(
            f"this is no download of {', '.join(titles)} or {last}: no name in it has their form"
            f"{''.join(f', for instance {entry.name[:MAX_SHOWN]!r}' for entry in entries[:1])}{AS_MADE}"
        )
    system = certain[0]
    strangers = {*system.find_strangers(entries)}
    others = [entry.name for entry, found in makers.items() if entry in strangers or (found and system not in found)]
    if others:
        raise GradlabError(
            f"the zip mixes forms: some of it is as {system.title} makes it, and this is not: "
            f"{format_short_names(others)}{AS_MADE}"
        )
    return system


def require_origins(course: Path, lab: str, system: LearningSystem) -> dict[str, str]:
    """What this system called each student's submission. Raises GradlabError if no download of it was collected."""
    is_origin = system.is_origin or bool
    found = {student: name for student, name in _read_origins(course, lab).items() if is_origin(name)}
    if not found:
        raise GradlabError(
            f"no download of {lab} from {system.title} was collected, so nobody knows the names that it wants\n"
            f"    fix: gradlab collect {quote(lab)} ZIP first, or --zip csv, which names pages by student"
        )
    return found


def _drop_ambiguous(downloads: Iterable[Download], trouble: list[str]) -> list[Download]:
    """Drop downloads that match the same student: a display name can be set to a classmate's."""
    found: dict[str, list[Download]] = {}
    for download in downloads:
        found.setdefault(download.person.id, []).append(download)
    for student, several in found.items():
        if len(several) > 1:
            names = ", ".join(repr(each.pile.origin) for each in several[:10])
            trouble.append(
                f"{student} may be any of {names}: none was taken\n    fix: gradlab roster, with lms_user_id"
            )
    return [several[0] for several in found.values() if len(several) == 1]


def _iter_downloads(piles: Iterable[Pile], people: Sequence[Person], trouble: list[str]) -> Iterator[Download]:
    """A download for each student of each submission."""
    for pile in piles:
        files = pile.finish(trouble)
        if not pile.submitters:
            trouble.append(f"{make_readable(pile.origin)}: the zip does not say whose it is{BY_HAND}")
        for submitter in pile.submitters:
            try:
                yield Download(find_person(people, submitter), pile, files)
            except GradlabError as error:
                trouble.append(f"{make_readable(pile.origin)}: {error}{BY_HAND}")


def _refuse_wrong(download: Download, course: Path, lab: str, replace: bool) -> None:
    """Raise GradlabError if these files aren't a submission of this lab, or would replace another one."""
    notebooks = download.notebooks
    if not notebooks:
        raise GradlabError(f"no notebook, only {join_names(sorted(download.files))}: what lies in submitted/ stays")
    named = [COPY.sub("", name).removesuffix(".ipynb") for name in notebooks]
    if set(named) <= list_assignments(course) - {lab}:
        raise GradlabError(f"{join_names(notebooks)} is of another lab: gradlab collect {named[0]} takes it")
    there = course / "submitted" / download.person.id / lab
    if not replace and (there / SECRET).exists():
        raise GradlabError("has a submission from the exchange, which stays (--replace takes the zip's)")


def _write(download: Download, course: Path, lab: str) -> list[str]:
    """Write the files, replacing what was there. Returns the names that were left out.

    A single notebook is the lab's, whatever a browser or the LMS made of its name.
    """
    size, only, written, left_out = 0, download.notebooks, dict[str, str](), list[str]()
    with replace_folder(course / "submitted" / download.person.id / lab) as new:
        new.mkdir(parents=True)
        for name, entry in download.files.items():
            wanted = f"{lab}.ipynb" if only == [name] or COPY.sub("", name) == f"{lab}.ipynb" else name
            if wanted in (*NOT_THEIRS, "", ".", "..") or len(wanted.encode()) > MAX_NAME or CONTROL.search(wanted):
                left_out.append(name)
                continue
            wanted = make_safe_name(wanted, starts=True)
            content = entry.read(MAX_BYTES)
            size += len(content)
            if size > MAX_OF_STUDENT:
                raise GradlabError(f"these files are over {MAX_OF_STUDENT // 1_000_000} MB together")
            if wanted in written:
                left_out.append(written[wanted])
            written[wanted] = name
            (new / wanted).write_bytes(content)
        if (time := download.pile.when) is not None:
            time = time.astimezone(UTC) if time.tzinfo else time
            (new / TIMESTAMP).write_text(f"{time:%Y-%m-%d %H:%M:%S} UTC")
    return left_out


def _read_origins(course: Path, lab: str) -> dict[str, str]:
    path = course / "results" / lab / ORIGINS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write_origins(course: Path, lab: str, origins: Mapping[str, str]) -> None:
    write_atomically(course / "results" / lab / ORIGINS, json.dumps(origins, indent=1, ensure_ascii=False))
