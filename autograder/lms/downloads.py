"""Submissions as Canvas, Moodle and Gradescope hand them out: one zip, whose names say whose each file is.

Nothing is extracted by its own path: each file's bytes go to submitted/STUDENT/LAB/ under the last part of its name.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

import yaml

from autograder.errors import GradlabError
from autograder.intake.read import MAX_BYTES
from autograder.lms.people import Person, find

CANVAS = re.compile(r"(?P<name>[^_/]+)_(?P<late>LATE_)?(?P<user>\d+)_(?P<file>\d+)_(?P<rest>[^/]+)")
MOODLE = re.compile(r"(?P<name>[^_/]+)_(?P<participant>\d+)_assignsubmission_file(?:_/|_)(?P<rest>.+)")
GRADESCOPE = "submission_metadata.yml"
COPY = re.compile(r"[-_ ]?\(?\d*\)?(?=\.ipynb$)")  # lab-1.ipynb, lab (2).ipynb: browsers and Canvas number copies
MAX_FILES = 100_000
ORIGINS = "lms.json"  # in results/LAB/: student -> the name that the LMS wants back


@dataclass(frozen=True)
class Download:
    """One student's submission. origin: what the LMS calls it. when: UTC, where the LMS says so."""

    person: Person
    files: Mapping[str, zipfile.ZipInfo] = field(default_factory=dict)
    origin: str = ""
    when: datetime | None = None


def collect_zip(path: Path, course: Path, lab: str, people: Sequence[Person]) -> tuple[int, list[str]]:
    """(how many submissions were put into submitted/, what could not be, a line each).

    Raises GradlabError where the file is no such zip.
    """
    try:
        archive = zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise GradlabError(f"{path} is no zip file: {error}") from None
    with archive:
        names = [info for info in archive.infolist() if not info.is_dir()]
        if len(names) > MAX_FILES:
            raise GradlabError(f"{path} holds more than {MAX_FILES:,} files")
        trouble: list[str] = []
        taken, origins = 0, _origins(course, lab)
        for download in _downloads(archive, names, people, trouble):
            _write(archive, download, course, lab)
            origins[download.person.id] = download.origin
            taken += 1
        if not taken and not trouble:
            raise GradlabError(
                f"{path} is no download of Canvas, Moodle or Gradescope: no name in it has their form\n"
                "    fix: put each notebook at submitted/STUDENT/LAB/LAB.ipynb"
            )
        _keep_origins(course, lab, origins)
    return taken, trouble


def origins_of(course: Path, lab: str) -> dict[str, str]:
    """student -> what the LMS called the submission. Raises GradlabError where no download was collected."""
    found = _origins(course, lab)
    if not found:
        raise GradlabError(
            f"no download of {lab} was collected, so nobody knows the LMS's names: gradlab collect first"
        )
    return found


def _downloads(
    archive: zipfile.ZipFile, names: Sequence[zipfile.ZipInfo], people: Sequence[Person], trouble: list[str]
) -> Iterator[Download]:
    metadata = next((info for info in names if PurePosixPath(info.filename).name == GRADESCOPE), None)
    groups: dict[str, tuple[dict[str, str], dict[str, zipfile.ZipInfo]]] = {}
    if metadata:
        yield from _gradescope(archive, metadata, names, people, trouble)
        return
    for info in names:
        place = PurePosixPath(info.filename)
        moodle = MOODLE.fullmatch("/".join(place.parts[-2:])) or MOODLE.fullmatch(place.name)
        canvas = CANVAS.fullmatch(place.name)
        if moodle:
            who = {"name": moodle["name"], "lms_id": moodle["participant"]}
            origin = f"{moodle['name']}_{moodle['participant']}_assignsubmission_file_"
            rest = moodle["rest"]
        elif canvas:
            who = {"name": canvas["name"], "lms_id": canvas["user"]}
            origin, rest = place.name, canvas["rest"]
        else:
            continue
        group = f"{who['name']} {who['lms_id']}"
        known, files = groups.setdefault(group, (who | {"origin": origin}, {}))
        if rest.endswith(".ipynb"):
            known["origin"] = origin
        files[PurePosixPath(rest).name] = info
    for who, files in groups.values():
        origin = who.pop("origin")
        try:
            yield Download(_of(people, who), files, origin)
        except GradlabError as error:
            trouble.append(str(error))


def _of(people: Sequence[Person], who: Mapping[str, str]) -> Person:
    """By the LMS's number where the roster has that, else by name."""
    known = [person for person in people if person.lms_id == who["lms_id"]]
    return known[0] if len(known) == 1 else find(people, name=who["name"])


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
    for folder, entry in entries.items():
        files = {PurePosixPath(i.filename).name: i for i in names if folder in PurePosixPath(i.filename).parts[:-1]}
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


def _write(archive: zipfile.ZipFile, download: Download, course: Path, lab: str) -> None:
    """In place of what lay there. The only notebook is the lab's, whatever a browser or the LMS made of its name."""
    folder = course / "submitted" / download.person.id / lab
    folder.mkdir(parents=True, exist_ok=True)
    notebooks = [name for name in download.files if name.endswith(".ipynb")]
    for name, info in download.files.items():
        wanted = f"{lab}.ipynb" if notebooks == [name] or COPY.sub("", name) == f"{lab}.ipynb" else name
        new = folder / f".{wanted}.new"
        new.write_bytes(_bytes(archive, info))
        os.replace(new, folder / wanted)
    if download.when is not None:
        time = download.when.astimezone(UTC) if download.when.tzinfo else download.when
        (folder / "timestamp.txt").write_text(f"{time:%Y-%m-%d %H:%M:%S} UTC")


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
    path = course / "results" / lab / ORIGINS
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(origins, indent=1, ensure_ascii=False), encoding="utf-8")
