"""A lab assignment: one that Gradlab's builder made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.classroom.answer_cells import AnswerCells, LabAnswers
from autograder.classroom.submitted_folder import SubmittedFolder
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.labels import CellLabels
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.grading.task import NotebookFile, Settings, Task
from autograder.intake.notebook_reading import RefusedSubmission, read_file
from autograder.intake.releases import read_release_bytes
from autograder.model.assignments import AssignmentKind
from autograder.model.marks import MarkSheet, compute_marks
from autograder.model.result import Result

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


class LabAssignment:
    """One notebook, whose checks run outside the student's process. Settings of stock nbgrader don't matter to it."""

    def __init__(self, course: Path, name: str) -> None:
        self.course, self.name = course, name
        self._source = self._releases = b""

    @property
    def notebook_names(self) -> Sequence[str]:
        return [self.name]

    @property
    def labels(self) -> CellLabels:
        return CellLabels(AssignmentKind.LAB)

    @property
    def answers(self) -> AnswerCells:
        return LabAnswers()

    @property
    def may_be_generated(self) -> bool:
        return False

    def refuse_self_marking(self) -> None:
        pass

    def refuse_settings(self, config: Mapping[str, Any]) -> None:
        pass

    def adjust_settings(self, settings: Settings, config: Mapping[str, Any]) -> Settings:
        return settings

    def list_unread_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        return []

    def list_unread_page_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        return []

    def list_excluded(self, config: Mapping[str, Any], students: Sequence[str], gradebook: Gradebook) -> list[str]:
        return []

    def refuse_unfit_source(self, config: Mapping[str, Any]) -> None:
        pass

    def load(self, gradebook: Gradebook, config: Mapping[str, Any]) -> None:
        self._source = (self.course / "source" / self.name / f"{self.name}.ipynb").read_bytes()
        self._releases = read_release_bytes(self.course, self.name)

    def build_task(self, folder: SubmittedFolder, settings: Settings) -> Task:
        team = f"Submitted by {folder.submitter}, for your team."
        try:
            content, notes = read_file(folder.path / f"{self.name}.ipynb")
            notes += [] if folder.submitter == folder.student else [team]
            file = NotebookFile(self.name, content, notes=tuple(notes))
        except RefusedSubmission as refused:
            file = NotebookFile(self.name, None, str(refused))
        return Task(
            self.name,
            folder.student,
            (file,),
            self._source,
            settings,
            files_digest=folder.files_digest,
            releases=self._releases,
        )

    def read_marks(self, result: Result, submitted: datetime | None) -> MarkSheet:
        path = get_autograded_path(self.course, self.name, result.student)
        return compute_marks(result, read_course_notebook(path), submitted)
