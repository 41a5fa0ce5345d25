"""Collects submissions from a zip that a learning management system made: names in it say whose each file is.

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
from autograder.base.errors import GradlabError, format_problem
from autograder.base.submission_files import SECRET, TIMESTAMP
from autograder.base.text import join_names, make_readable
from autograder.gradebook.submission_folders import get_submitted_path
from autograder.intake.notebook_reading import MAX_BYTES
from autograder.intake.safe_names import make_safe_name
from autograder.lms.learning_system import LearningSystem, load_systems
from autograder.lms.people import Person, find_person
from autograder.lms.zip_entries import MAX_SHOWN, SubmissionFiles, ZipEntry, format_short_names, list_entries
from autograder.model.assignments import list_assignments

COPY = re.compile(r"[-_ ]?\(?\d*\)?(?=\.ipynb$)")  # lab-1.ipynb, lab (2).ipynb: browsers and Canvas number copies
MAX_STUDENT_BYTES = 500_000_000
MAX_NAME = 200  # bytes
CONTROL = re.compile(r"[\x00-\x1f\x7f]")
RESERVED = (TIMESTAMP, SECRET)  # nbgrader's: a student's file can't say the time that counts
ZIP_FIX = format_problem("", "use the zip as the LMS made it, or put each notebook at submitted/STUDENT/LAB/LAB.ipynb")
MANUAL_FIX = "\n    or put this one at submitted/STUDENT/LAB/LAB.ipynb yourself"
ORIGINS = ".lms.json"  # in results/LAB/: the names that the LMS expects back, by student


@dataclass(frozen=True)
class Download:
    """One student's submission."""

    person: Person
    submission: SubmissionFiles
    files: Mapping[str, ZipEntry]

    @property
    def notebooks(self) -> list[str]:
        return [name for name in self.files if name.endswith(".ipynb")]


@dataclass(frozen=True)
class CollectionResult:
    """The outcome of collecting a zip."""

    system: LearningSystem
    """The LMS that made it."""
    collected: list[str] = field(default_factory=list)
    """Students whose submissions were put into submitted/."""
    late: list[str] = field(default_factory=list)
    """Those of them whom the LMS calls late without giving a time."""
    problems: list[str] = field(default_factory=list)
    """A line for each problem."""


def collect_zip(
    path: Path, course: Path, lab: str, people: Sequence[Person], replace: bool = False
) -> CollectionResult:
    """Put the submissions in the zip into submitted/.

    Args:
        replace: Whether to replace submissions from the exchange, too.

    Raises:
        GradlabError: If the file isn't such a zip.
    """
    try:
        archive = zipfile.ZipFile(path)
    except FileNotFoundError:
        raise GradlabError(f"there is no file {path}", fix="name the zip of all submissions from the LMS") from None
    except (OSError, zipfile.BadZipFile, UnicodeDecodeError, NotImplementedError) as error:
        raise GradlabError(f"{path} isn't a zip file: {error}", fix="download it again") from None
    with archive:
        entries = list_entries(archive)
        collection, origins = CollectionResult(detect_system(entries, load_systems())), _read_origins(course, lab)
        submissions = collection.system.group_files(entries, collection.problems)
        downloads = list(_iter_downloads(submissions, people, collection.problems))
        for download in _drop_ambiguous(downloads, collection.problems):
            student, submission = download.person.id, download.submission
            try:
                _refuse_wrong(download, course, lab, replace)
                skipped = _write(download, course, lab)
            except (GradlabError, OSError) as error:
                collection.problems.append(f"{student}: {error}")
                continue
            origins[student] = submission.origin
            collection.collected.append(student)
            if submission.late and submission.submitted is None:
                collection.late.append(student)
            if skipped:
                collection.problems.append(f"{student}: left out because of their names: {format_short_names(skipped)}")
        _write_origins(course, lab, origins)
    return collection


def detect_system(entries: Sequence[ZipEntry], systems: Sequence[LearningSystem]) -> LearningSystem:
    """Return the only LMS that can have named all of these. Raises GradlabError if there isn't exactly one.

    A name can have the forms of two, since a student may choose the end of it. The other names decide.
    """
    makers = {
        entry: [system for system in systems if system.can_have_named and system.can_have_named(entry)]
        for entry in entries
    }
    certain = [candidates[0] for candidates in makers.values() if len(candidates) == 1]
    if not certain:
        if possible := sorted({f"{system.title}'s" for candidates in makers.values() for system in candidates}):
            names = format_short_names([entry.name for entry in entries])
            raise GradlabError(f"the zip may be {' or '.join(possible)}: {names}{ZIP_FIX}")
        *titles, last = [system.title for system in systems if system.can_have_named]
        raise GradlabError(
            f"this isn't a download from {', '.join(titles)} or {last}: no name in it has their form"
            f"{''.join(f', for instance {entry.name[:MAX_SHOWN]!r}' for entry in entries[:1])}{ZIP_FIX}"
        )
    system = certain[0]
    foreign = {*system.find_foreign_files(entries)}
    others = [
        entry.name
        for entry, candidates in makers.items()
        if entry in foreign or (candidates and system not in candidates)
    ]
    if others:
        raise GradlabError(
            f"the zip mixes layouts: some entries are as {system.title} makes it, but this isn't: "
            f"{format_short_names(others)}{ZIP_FIX}"
        )
    return system


def require_origins(course: Path, lab: str, system: LearningSystem) -> dict[str, str]:
    """Return what this system called each submission, by student. Raises GradlabError if no download was collected."""
    is_origin = system.is_origin or bool
    origins = {student: name for student, name in _read_origins(course, lab).items() if is_origin(name)}
    if not origins:
        raise GradlabError(
            f"no download of {lab} from {system.title} was collected, so the names that it expects aren't known",
            fix=f"gradlab collect {quote(lab)} ZIP first, or --zip csv, which names pages by student",
        )
    return origins


def _drop_ambiguous(downloads: Iterable[Download], problems: list[str]) -> list[Download]:
    """Drop downloads that match the same student: a display name can be set to a classmate's."""
    by_student: dict[str, list[Download]] = {}
    for download in downloads:
        by_student.setdefault(download.person.id, []).append(download)
    for student, several in by_student.items():
        if len(several) > 1:
            names = ", ".join(repr(download.submission.origin) for download in several[:10])
            problems.append(
                format_problem(
                    f"{student} may be any of {names}, so none was collected", "gradlab roster, with lms_user_id"
                )
            )
    return [several[0] for several in by_student.values() if len(several) == 1]


def _iter_downloads(
    submissions: Iterable[SubmissionFiles], people: Sequence[Person], problems: list[str]
) -> Iterator[Download]:
    """Yield a download for each student of each submission."""
    for submission in submissions:
        files = submission.select_files(problems)
        if not submission.submitters:
            problems.append(f"{make_readable(submission.origin)}: the zip doesn't say whose it is{MANUAL_FIX}")
        for submitter in submission.submitters:
            try:
                yield Download(find_person(people, submitter), submission, files)
            except GradlabError as error:
                problems.append(f"{make_readable(submission.origin)}: {error}{MANUAL_FIX}")


def _refuse_wrong(download: Download, course: Path, lab: str, replace: bool) -> None:
    """Raise GradlabError if these files aren't a submission of this lab, or would replace another one."""
    notebooks = download.notebooks
    if not notebooks:
        raise GradlabError(
            f"no notebook, only {join_names(sorted(download.files))}: submitted/ is unchanged",
            fix=f"ask for {lab}.ipynb, or put it at submitted/{download.person.id}/{lab}",
        )
    labs = [COPY.sub("", name).removesuffix(".ipynb") for name in notebooks]
    if set(labs) <= list_assignments(course) - {lab}:
        raise GradlabError(
            f"{join_names(notebooks)} is of another lab", fix=f"collect it with gradlab collect {labs[0]}"
        )
    submitted = get_submitted_path(course, lab, download.person.id)
    if not replace and (submitted / SECRET).exists():
        raise GradlabError("has a submission from the exchange, which is kept", fix="--replace replaces it")


def _write(download: Download, course: Path, lab: str) -> list[str]:
    """Write the files, replacing earlier ones. Returns the names that were left out.

    A single notebook is the lab's, whatever a browser or the LMS made of its name.
    """
    size, notebooks, written, skipped = 0, download.notebooks, dict[str, str](), list[str]()
    with replace_folder(get_submitted_path(course, lab, download.person.id)) as new:
        new.mkdir(parents=True)
        for name, entry in download.files.items():
            target = f"{lab}.ipynb" if notebooks == [name] or COPY.sub("", name) == f"{lab}.ipynb" else name
            if target in (*RESERVED, "", ".", "..") or len(target.encode()) > MAX_NAME or CONTROL.search(target):
                skipped.append(name)
                continue
            target = make_safe_name(target, holds_notebook=True)
            content = entry.read(MAX_BYTES)
            size += len(content)
            if size > MAX_STUDENT_BYTES:
                raise GradlabError(
                    f"these files are over {MAX_STUDENT_BYTES // 1_000_000} MB together",
                    fix=f"put {lab}.ipynb and the files that it reads at submitted/{download.person.id}/{lab}",
                )
            if target in written:
                skipped.append(written[target])
            written[target] = name
            (new / target).write_bytes(content)
        if (time := download.submission.submitted) is not None:
            time = time.astimezone(UTC) if time.tzinfo else time
            (new / TIMESTAMP).write_text(f"{time:%Y-%m-%d %H:%M:%S} UTC")
    return skipped


def _read_origins(course: Path, lab: str) -> dict[str, str]:
    path = course / "results" / lab / ORIGINS
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _write_origins(course: Path, lab: str, origins: Mapping[str, str]) -> None:
    write_atomically(course / "results" / lab / ORIGINS, json.dumps(origins, indent=1, ensure_ascii=False))
