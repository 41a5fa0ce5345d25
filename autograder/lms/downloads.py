"""Submissions as Canvas, Moodle and Gradescope hand them out: one zip, whose names say whose each file is.

Nothing is extracted by its own path: each file's bytes go to submitted/STUDENT/LAB/ under the last part of its name.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from shlex import quote

import yaml

from autograder.assignments import assignments
from autograder.errors import GradlabError
from autograder.handed_in import SECRET, TIMESTAMP
from autograder.intake.read import MAX_BYTES
from autograder.lms.people import Person, find
from autograder.lms.systems import System
from autograder.whole_files import in_place_of, write_whole
from autograder.words import some

CANVAS = re.compile(r"(?P<name>[^_/]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<rest>[^/]+)")
MOODLE = re.compile(r"(?P<name>[^/]+?)_(?P<participant>\d+)_assignsubmission_file(?:_/|/|_)(?P<rest>.+)")
GRADESCOPE = "submission_metadata.yml"
COPY = re.compile(r"[-_ ]?\(?\d*\)?(?=\.ipynb$)")  # lab-1.ipynb, lab (2).ipynb: browsers and Canvas number copies
MARK = "_assignsubmission_file"  # stands once in Moodle's names: a student's own could look like a classmate's
MAX_FILES = 100_000
MAX_OF_STUDENT = 500_000_000  # bytes
MAX_NAME = 200  # bytes
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
    except (OSError, zipfile.BadZipFile) as error:
        raise GradlabError(f"{path} is no zip file: {error}") from None
    with archive:
        names = [info for info in archive.infolist() if not info.is_dir()]
        if len(names) > MAX_FILES:
            raise GradlabError(f"{path} holds more than {MAX_FILES:,} files")
        trouble: list[str] = []
        taken, origins = list[str](), _origins(course, lab)
        for download in _alone(_downloads(archive, names, people, trouble), trouble):
            try:
                _refuse_wrong(download, course, lab, replace)
                _write(archive, download, course, lab)
            except (GradlabError, OSError) as error:
                trouble.append(f"{download.person.id}: {error}")
                continue
            origins[download.person.id] = download.origin
            taken.append(download.person.id)
        if not taken and not trouble:
            raise GradlabError(
                f"{path} is no download of Canvas, Moodle or Gradescope: no name in it has their form"
                f"{''.join(f', for instance {info.filename!r}' for info in names[:1])}\n"
                "    fix: put each notebook at submitted/STUDENT/LAB/LAB.ipynb"
            )
        _keep_origins(course, lab, origins)
    return taken, trouble


def origins_of(course: Path, lab: str, system: System) -> dict[str, str]:
    """student -> what this system called the submission. Raises GradlabError where no download of it was collected."""
    form = CANVAS.fullmatch if system is System.CANVAS else re.compile(rf".+{MARK}_").fullmatch
    found = {student: name for student, name in _origins(course, lab).items() if form(name)}
    if not found:
        raise GradlabError(
            f"no download of {lab} from {system.title()} was collected, so nobody knows the names that it wants\n"
            f"    fix: gradlab collect {quote(lab)} ZIP first, or --zip csv, which names pages by student"
        )
    return found


def marked_late(course: Path, lab: str, taken: Collection[str]) -> list[str]:
    """Whom of these Canvas calls late, and of whom nothing says when the file came: its zip does not."""
    names = {student: CANVAS.fullmatch(origin) for student, origin in _origins(course, lab).items() if student in taken}
    late = sorted(student for student, found in names.items() if found and found["late"])
    return [student for student in late if not (course / "submitted" / student / lab / TIMESTAMP).exists()]


def _alone(downloads: Iterable[Download], trouble: list[str]) -> list[Download]:
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


def _downloads(
    archive: zipfile.ZipFile, names: Sequence[zipfile.ZipInfo], people: Sequence[Person], trouble: list[str]
) -> Iterator[Download]:
    groups: dict[str, tuple[dict[str, str], dict[str, zipfile.ZipInfo]]] = {}
    if metadata := _metadata(names):
        yield from _gradescope(archive, metadata, names, people, trouble)
        return
    is_canvas = any(CANVAS.fullmatch(PurePosixPath(info.filename).name) and not _moodle(info) for info in names)
    for info in names:
        found = CANVAS.fullmatch(PurePosixPath(info.filename).name) if is_canvas else _moodle(info)
        if found is None:
            continue
        if is_canvas:
            who, origin = {"name": found["name"], "lms_id": found["user"]}, PurePosixPath(info.filename).name
        else:
            who = {"name": found["name"], "lms_id": found["participant"]}
            origin = f"{found['name']}_{found['participant']}{MARK}_"
            if info.filename.count(MARK) > 1:
                trouble.append(f"{info.filename!r} is named like the submission of another: it was not taken")
                continue
        rest, system = found["rest"], "canvas" if is_canvas else "moodle"
        group = f"{who['name']} {who['lms_id']}"
        known, files = groups.setdefault(group, (who | {"origin": origin, "system": system}, {}))
        if rest.endswith(".ipynb"):
            known["origin"] = origin
        files[PurePosixPath(rest).name] = info
    for who, files in groups.values():
        try:
            yield Download(_of(people, who), files, who["origin"])
        except GradlabError as error:
            trouble.append(f"{who['origin']}: {error}{BY_HAND}")


def _moodle(info: zipfile.ZipInfo) -> re.Match[str] | None:
    """By the first part of its path that has Moodle's form: what is below was named by the student."""
    parts = PurePosixPath(info.filename).parts
    found = (MOODLE.fullmatch("/".join(parts[number:])) for number in range(len(parts)))
    return next(filter(None, found), None)


def _metadata(names: Sequence[zipfile.ZipInfo]) -> zipfile.ZipInfo | None:
    """Gradescope's own, which lies above every submission: a student can hand in a file of this name, too."""
    found = [info for info in names if PurePosixPath(info.filename).name == GRADESCOPE and not _moodle(info)]
    return min(found, key=lambda info: len(PurePosixPath(info.filename).parts), default=None)


def _of(people: Sequence[Person], who: Mapping[str, str]) -> Person:
    """By the LMS's number where the roster has that, else by name. Moodle's number is another for each assignment."""
    known = [person for person in people if person.lms_id == who["lms_id"]]
    if len(known) == 1:
        return known[0]
    found = find(people, name=who["name"])
    if found.lms_id and who["system"] == "canvas":
        raise GradlabError(
            f"{who['name']!r} has the number {who['lms_id']}, and in the roster {found.id} has {found.lms_id}\n"
            "    fix: the roster's lms_user_id, where it is wrong"
        )
    return found


def _gradescope(
    archive: zipfile.ZipFile,
    metadata: zipfile.ZipInfo,
    names: Sequence[zipfile.ZipInfo],
    people: Sequence[Person],
    trouble: list[str],
) -> Iterator[Download]:
    try:
        said = yaml.safe_load(_bytes(archive, metadata))
        entries = {str(folder): entry for folder, entry in said.items() if isinstance(entry, dict)}
    except (yaml.YAMLError, AttributeError, UnicodeDecodeError) as error:
        raise GradlabError(f"{GRADESCOPE} cannot be read: {error}") from None
    above = PurePosixPath(metadata.filename).parent
    for folder, entry in entries.items():
        inside = [info for info in names if PurePosixPath(info.filename).is_relative_to(above / folder)]
        files = {PurePosixPath(info.filename).name: info for info in inside}
        for submitter in entry.get(":submitters") or []:
            try:
                found = find(
                    people,
                    id_=str(submitter.get(":sid") or ""),
                    email=str(submitter.get(":email") or ""),
                    name=str(submitter.get(":name") or ""),
                )
            except GradlabError as error:
                trouble.append(str(error))
                continue
            time = entry.get(":created_at")
            yield Download(found, files, folder, time if isinstance(time, datetime) else None)


def _refuse_wrong(download: Download, course: Path, lab: str, replace: bool) -> None:
    """Raise GradlabError where these files are no submission of this lab, or would take another one's place."""
    notebooks = download.notebooks
    if not notebooks:
        raise GradlabError(f"no notebook, only {some(sorted(download.files))}: what lies in submitted/ stays")
    named = [COPY.sub("", name).removesuffix(".ipynb") for name in notebooks]
    if set(named) <= assignments(course) - {lab}:
        raise GradlabError(f"{some(notebooks)} is of another lab: gradlab collect {named[0]} takes it")
    there = course / "submitted" / download.person.id / lab
    if not replace and (there / SECRET).exists():
        raise GradlabError("has a submission from the exchange, which stays (--replace takes the zip's)")


def _write(archive: zipfile.ZipFile, download: Download, course: Path, lab: str) -> None:
    """In place of what lay there. The only notebook is the lab's, whatever a browser or the LMS made of its name."""
    size = 0
    with in_place_of(course / "submitted" / download.person.id / lab) as new:
        new.mkdir(parents=True)
        for name, info in download.files.items():
            wanted = f"{lab}.ipynb" if download.notebooks == [name] or COPY.sub("", name) == f"{lab}.ipynb" else name
            if wanted in NOT_THEIRS or wanted in ("", ".", "..") or len(wanted.encode()) > MAX_NAME:
                continue
            content = _bytes(archive, info)
            size += len(content)
            if size > MAX_OF_STUDENT:
                raise GradlabError(f"these files are over {MAX_OF_STUDENT // 1_000_000} MB together")
            (new / wanted).write_bytes(content)
        if download.when is not None:
            time = download.when.astimezone(UTC) if download.when.tzinfo else download.when
            (new / TIMESTAMP).write_text(f"{time:%Y-%m-%d %H:%M:%S} UTC")


def _bytes(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """One byte more than what is refused for its size: the intake says so to the student."""
    try:
        with archive.open(info) as file:
            return file.read(MAX_BYTES + 1)
    except (zipfile.BadZipFile, RuntimeError, NotImplementedError, OSError, EOFError) as error:
        raise GradlabError(f"{info.filename} in the zip cannot be read: {error}") from None


def _origins(course: Path, lab: str) -> dict[str, str]:
    path = course / "results" / lab / ORIGINS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _keep_origins(course: Path, lab: str, origins: Mapping[str, str]) -> None:
    write_whole(course / "results" / lab / ORIGINS, json.dumps(origins, indent=1, ensure_ascii=False))
