"""A lab assignment: one that Gradlab's builder made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from autograder.classroom.answer_cells import AnswerCells, LabAnswerCells
from autograder.classroom.assignment import Assignment
from autograder.classroom.submitted_folder import SubmittedFolder
from autograder.gradebook.autograded_folder import get_autograded_path
from autograder.gradebook.labels import CellLabels
from autograder.gradebook.notebook_file import read_course_notebook
from autograder.grading.task import GradingSettings, NotebookFile, Task
from autograder.intake.notebook_reading import SubmissionRefusedError, read_file
from autograder.intake.releases import read_release_bytes
from autograder.model.assignments import AssignmentKind
from autograder.model.marks import MarkSheet, compute_marks
from autograder.model.result import ResultDocument

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


class LabAssignment(Assignment):
    """One notebook, whose checks run outside the student's process. Settings of stock nbgrader don't matter to it."""

    _source: bytes
    _releases: bytes

    @property
    def notebook_names(self) -> Sequence[str]:
        return [self.name]

    @property
    def labels(self) -> CellLabels:
        return CellLabels(AssignmentKind.LAB)

    @property
    def answers(self) -> AnswerCells:
        return LabAnswerCells()

    def load(self, gradebook: Gradebook, config: Mapping[str, Any]) -> None:
        self._source = (self.course / "source" / self.name / f"{self.name}.ipynb").read_bytes()
        self._releases = read_release_bytes(self.course, self.name)

    def build_task(self, folder: SubmittedFolder, settings: GradingSettings) -> Task:
        """Build the task. If the notebook can't be read, the task has the reason instead of its content."""
        team = f"Submitted by {folder.submitter}, for your team."
        try:
            content, notes = read_file(folder.path / f"{self.name}.ipynb")
            notes += [] if folder.submitter == folder.student else [team]
            file = NotebookFile(self.name, content, notes=tuple(notes))
        except SubmissionRefusedError as refused:
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

    def read_marks(self, result: ResultDocument, submitted: datetime | None) -> MarkSheet:
        path = get_autograded_path(self.course, self.name, result.student)
        return compute_marks(result, read_course_notebook(path), submitted)
