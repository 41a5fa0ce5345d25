"""A stock assignment: one that was made for stock nbgrader."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.base.atomic_files import is_path_error
from autograder.base.errors import GradlabError
from autograder.base.submission_files import SECRET
from autograder.classroom.answer_cells import AnswerCells, StockAnswerCells
from autograder.classroom.assignment import Assignment
from autograder.classroom.submitted_folder import SubmittedFolder
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.labels import CellLabels
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.grading.stock_marks import compute_stock_marks
from autograder.grading.task import GradingSettings, NotebookFile, Task, apply_stock_limits
from autograder.intake.notebook_reading import SubmissionRefusedError, read_file
from autograder.intake.safe_names import restore_path
from autograder.model.assignments import AssignmentKind
from autograder.model.marks import MarkSheet
from autograder.model.result import ResultDocument
from autograder.stock.content import StockContent, read_content
from autograder.stock.settings import (
    get_student_files,
    is_left_out,
    list_unread_page_settings,
    list_unread_settings,
    refuse_mark_changing_settings,
)
from autograder.stock.source_check import refuse_unfit_source

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

MAX_FILE = 64 * 2**20  # bytes of one file next to a notebook that its cells can read, and of all such files


class StockAssignment(Assignment):
    """One or several notebooks, whose tests run as nbgrader runs them. nbgrader's own settings apply."""

    _content: StockContent
    _source: bytes

    @property
    def notebook_names(self) -> Sequence[str]:
        return [notebook.name for notebook in self._content.notebooks]

    @property
    def labels(self) -> CellLabels:
        return CellLabels(AssignmentKind.STOCK)

    @property
    def answers(self) -> AnswerCells:
        return StockAnswerCells()

    @property
    def may_be_generated(self) -> bool:
        return True

    def refuse_self_marking(self) -> None:
        raise GradlabError(
            f"{self.name} was made for stock nbgrader, and its tests may be hidden",
            fix="run nbgrader validate, which runs the visible ones",
        )

    def refuse_settings(self, config: Mapping[str, Any]) -> None:
        refuse_mark_changing_settings(config)

    def adjust_settings(self, settings: GradingSettings, config: Mapping[str, Any]) -> GradingSettings:
        return apply_stock_limits(settings, config)

    def list_unread_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        return list_unread_settings(config, defaults)

    def list_unread_page_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        return list_unread_page_settings(config, defaults)

    def list_excluded(self, config: Mapping[str, Any], students: Sequence[str], gradebook: Gradebook) -> list[str]:
        known = {row.id for row in gradebook.students}
        return [student for student in students if is_left_out(config, student, known)]

    def get_student_files(self, config: Mapping[str, Any]) -> Collection[str]:
        return get_student_files(config, self.name)

    def refuse_unfit_source(self, config: Mapping[str, Any]) -> None:
        refuse_unfit_source(self.course, self.name, config)

    def load(self, gradebook: Gradebook, config: Mapping[str, Any]) -> None:
        self._content = read_content(self.course, self.name, gradebook, config)
        self._source = self._content.to_bytes()

    def build_task(self, folder: SubmittedFolder, settings: GradingSettings) -> Task:
        paths = [folder.path / f"{name}.ipynb" for name in self.notebook_names]
        files, course_files, notes = read_companion_files(self.course, self.name, folder.submitter, folder.files)
        return Task(
            self.name,
            folder.student,
            tuple(_read_submitted_notebook(path, paths) for path in paths),
            self._source,
            settings,
            AssignmentKind.STOCK,
            notes,
            files_digest=folder.files_digest,
            support_files=files,
            course_files=course_files,
        )

    def read_marks(self, result: ResultDocument, submitted: datetime | None) -> MarkSheet:
        paths = {name: get_autograded_path(self.course, self.name, result.student, name) for name in result.notebooks}
        notebooks = {name: read_course_notebook(path) for name, path in paths.items()}
        return compute_stock_marks(result, notebooks, submitted)


def read_companion_files(
    course: Path, name: str, student: str, paths: Iterable[Path]
) -> tuple[tuple[tuple[str, bytes], ...], frozenset[str], tuple[str, ...]]:
    """Read the files next to a notebook, the course's last.

    Args:
        paths: What list_companion_files() returned.

    Returns:
        The files that cells may read, by path; which of them are the course's; a note about files that are too large.
    """
    folders = (course / "submitted" / student / name, course / "source" / name)
    files: dict[str, bytes] = {}
    course_files = set()
    large, size = [], 0
    paths = list(paths)
    source_files = {path.relative_to(folders[1]).as_posix() for path in paths if path.is_relative_to(folders[1])}
    for path in paths:
        folder = next(folder for folder in folders if path.is_relative_to(folder))
        relative = path.relative_to(folder).as_posix()
        original = restore_path(relative) if folder == folders[0] else relative
        if original != relative and not _has_conflict(original, source_files):
            relative = original  # cells run where such a file can do no harm
        size += path.stat().st_size
        if size > MAX_FILE:
            large.append(relative)
        elif path.name != SECRET:
            files[relative] = path.read_bytes()
            course_files |= {relative} if folder == folders[1] else set()
    note = f"Your files are over {MAX_FILE >> 20} MiB together, so your cells couldn't read: {', '.join(large[:10])}."
    return tuple(files.items()), frozenset(course_files), (note,) if large else ()


def _has_conflict(path: str, others: Collection[str]) -> bool:
    """Return whether a file at this path would replace one of the others or a folder that holds it, or be below it."""
    return any(f"{other}/".startswith(f"{path}/") or path.startswith(f"{other}/") for other in others)


def _read_submitted_notebook(path: Path, notebooks: Sequence[Path]) -> NotebookFile:
    try:
        path.stat()
    except OSError as error:
        if not is_path_error(error):  # path.exists() would be False too
            raise
        return NotebookFile(path.stem, None, f"No notebook named {path.name} was submitted.")
    try:
        content, notes = read_file(path, notebooks)
    except SubmissionRefusedError as refused:
        return NotebookFile(path.stem, None, str(refused))
    return NotebookFile(path.stem, content, "", tuple(notes))
