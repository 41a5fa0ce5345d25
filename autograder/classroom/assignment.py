"""An assignment of the course: the protocol that lab and stock assignments implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from autograder.classroom.answer_cells import AnswerCells
from autograder.classroom.submitted_folder import SubmittedFolder
from autograder.gradebook.labels import CellLabels
from autograder.grading.task import Settings, Task
from autograder.model.marks import MarkSheet
from autograder.model.result import Result

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


class Assignment(Protocol):
    """What grading a class needs from an assignment."""

    course: Path
    name: str

    @property
    def notebook_names(self) -> Sequence[str]:
        """The notebooks that students submit, without their suffix."""

    @property
    def labels(self) -> CellLabels:
        """How people name its graded cells."""

    @property
    def answers(self) -> AnswerCells:
        """Finds the answers that marks belong to."""

    @property
    def may_be_generated(self) -> bool:
        """Whether the instructor's own nbgrader may have put its cells into the gradebook."""

    def refuse_self_marking(self) -> None:
        """Raise GradlabError if students can't mark their own copies."""

    def refuse_settings(self, config: Mapping[str, Any]) -> None:
        """Raise GradlabError if nbgrader would give other marks with these settings than Gradlab gives."""

    def adjust_settings(self, settings: Settings, config: Mapping[str, Any]) -> Settings:
        """Return the settings with which submissions of this assignment are graded."""

    def list_unread_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        """Return a line for each reason why settings have no effect here.

        Args:
            defaults: The settings that configure() makes.
        """

    def list_unread_page_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        """Return a line for each reason why settings for nbgrader's feedback pages have no effect here."""

    def list_excluded(self, config: Mapping[str, Any], students: Sequence[str], gradebook: Gradebook) -> list[str]:
        """Return those of these students whom the configuration excludes."""

    def refuse_unfit_source(self, config: Mapping[str, Any]) -> None:
        """Raise GradlabError if the source can't be graded."""

    def load(self, gradebook: Gradebook, config: Mapping[str, Any]) -> None:
        """Read the source, once the gradebook has its cells."""

    def build_task(self, folder: SubmittedFolder, settings: Settings) -> Task:
        """Build the task to grade what is in this folder."""

    def read_marks(self, result: Result, submitted: datetime | None) -> MarkSheet:
        """Read the marks of a submission that was graded before."""
