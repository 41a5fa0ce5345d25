"""What a class that was set a plain assignment hands in, as tasks, and what the gradebook takes of its source."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import nbformat

from autograder.assignments import list_source_notebooks, refuse_unknown_lab
from autograder.digest import digest
from autograder.errors import GradlabError
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.grading.stock_submission import compute_stock_marks
from autograder.grading.task import HandedInNotebook, Settings, Task
from autograder.intake.read import RefusedSubmission, read_file
from autograder.intake.safe_names import restore_path
from autograder.marks import Marks
from autograder.result import Result
from autograder.stock.assignment import StockAssignment
from autograder.timestamps import SECRET

MAX_FILE = 64 * 2**20  # bytes of one file beside a notebook that its cells can read, and of all of them


def build_stock_task(
    course: Path,
    assignment: StockAssignment,
    student: str,
    by: str,
    paths: Sequence[Path],
    files: str,
    settings: Settings,
) -> Task:
    """by: who handed in for this student. paths: what lies beside the notebooks. files: a digest of it."""
    name = assignment.name
    asked = [course / "submitted" / by / name / f"{notebook.name}.ipynb" for notebook in assignment.notebooks]
    beside, given, notes = read_companion_files(course, name, by, paths)
    handed_in = tuple(_read_submitted_notebook(path, asked) for path in asked)
    content = assignment.to_bytes()
    return Task(name, student, None, "", notes, files, content, settings, plain=handed_in, beside=beside, given=given)


def read_companion_files(
    course: Path, name: str, student: str, paths: Iterable[Path]
) -> tuple[tuple[tuple[str, bytes], ...], frozenset[str], tuple[str, ...]]:
    """(the files that cells may read, by their paths; which of them are the course's; what to tell of too large ones).

    The course's last. paths: those of list_companion_files().
    """
    folders = (course / "submitted" / student / name, course / "source" / name)
    found: dict[str, bytes] = {}
    given = set()
    large, size = [], 0
    paths = list(paths)
    own = {path.relative_to(folders[1]).as_posix() for path in paths if path.is_relative_to(folders[1])}
    for path in paths:
        folder = next(folder for folder in folders if path.is_relative_to(folder))
        where = path.relative_to(folder).as_posix()
        handed_in_as = restore_path(where) if folder == folders[0] else where
        if handed_in_as != where and not _has_conflict(handed_in_as, own):
            where = handed_in_as  # it runs where it can do no harm
        size += path.stat().st_size
        if size > MAX_FILE:
            large.append(where)
        elif path.name != SECRET:
            found[where] = path.read_bytes()
            given |= {where} if folder == folders[1] else set()
    words = f"Files over {MAX_FILE >> 20} MiB together were not there for your cells: {', '.join(large[:10])}."
    return tuple(found.items()), frozenset(given), (words,) if large else ()


def _has_conflict(path: str, given: Collection[str]) -> bool:
    """Whether a file at this path would be in the place of one of these, or of a folder with one, or below one."""
    return any(f"{each}/".startswith(f"{path}/") or path.startswith(f"{each}/") for each in given)


def _read_submitted_notebook(path: Path, asked: Sequence[Path]) -> HandedInNotebook:
    if not path.exists():
        return HandedInNotebook(path.stem, None, f"No notebook named {path.name} was handed in.")
    try:
        content, notes = read_file(path, asked)
    except RefusedSubmission as refused:
        return HandedInNotebook(path.stem, None, str(refused))
    return HandedInNotebook(path.stem, content, "", tuple(notes))


def read_stock_marks(course: Path, result: Result, submitted: object) -> Marks:
    """The marks of a plain submission that was graded before."""
    paths = {name: get_autograded_path(course, result.lab, result.student, name) for name in result.notebooks}
    notebooks = {name: nbformat.read(path, as_version=4) for name, path in paths.items()}
    return compute_stock_marks(result, notebooks, submitted)  # type: ignore[arg-type]


def digest_source(course: Path, name: str, *more: str) -> str:
    """Of all that the gradebook takes from source/NAME: notebooks, and what tests are made from."""
    folder = course / "source" / name
    made_from: Iterable[Path] = (folder / "autotests.yml", course / "autotests.yml")
    paths = [*list_source_notebooks(course, name), *(path for path in made_from if path.exists())]
    parts: list[str | bytes] = [part for path in paths for part in (path.name, path.read_bytes())]
    return digest(*parts, *more)


def require_source(course: Path, name: str) -> None:
    """Raise GradlabError where source/NAME holds no notebook."""
    refuse_unknown_lab(course, name)
    if not list_source_notebooks(course, name):
        raise GradlabError(f"no notebook in {course}/source/{name}: run gradlab build")
