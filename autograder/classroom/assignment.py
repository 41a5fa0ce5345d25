"""An assignment of the course: what lab and stock assignments have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autograder.classroom.answer_cells import AnswerCells
from autograder.classroom.submitted_folder import SubmittedFolder
from autograder.gradebook.labels import CellLabels
from autograder.grading.task import GradingSettings, Task
from autograder.model.marks import MarkSheet
from autograder.model.result import ResultDocument

if TYPE_CHECKING:
    from nbgrader.api import Gradebook


class Assignment(ABC):
    """What grading a class needs from an assignment. By default, nbgrader's own settings don't matter to it."""

    def __init__(self, course: Path, name: str) -> None:
        self.course, self.name = course, name

    @property
    @abstractmethod
    def notebook_names(self) -> Sequence[str]:
        """The notebooks that students submit, without their suffix."""

    @property
    @abstractmethod
    def labels(self) -> CellLabels:
        """How people name its graded cells."""

    @property
    @abstractmethod
    def answers(self) -> AnswerCells:
        """Finds the answers that marks belong to."""

    @abstractmethod
    def load(self, gradebook: Gradebook, config: Mapping[str, Any]) -> None:
        """Read the source, once the gradebook has its cells. Only then can tasks be built."""

    @abstractmethod
    def build_task(self, folder: SubmittedFolder, settings: GradingSettings) -> Task:
        """Build the task to grade what is in this folder."""

    @abstractmethod
    def read_marks(self, result: ResultDocument, submitted: datetime | None) -> MarkSheet:
        """Read the marks of a submission that was graded before."""

    @property
    def may_be_generated(self) -> bool:
        """Whether the instructor's own nbgrader may have put its cells into the gradebook."""
        return False

    def refuse_self_marking(self) -> None:
        """Raise GradlabError if students can't mark their own copies."""

    def refuse_unfit_source(self, config: Mapping[str, Any]) -> None:
        """Raise GradlabError if the source can't be graded."""

    def refuse_settings(self, config: Mapping[str, Any]) -> None:
        """Raise GradlabError if nbgrader would give other marks with these settings than Gradlab gives."""

    def adjust_settings(self, settings: GradingSettings, config: Mapping[str, Any]) -> GradingSettings:
        """Return the settings with which submissions of this assignment are graded."""
        return settings

    def list_unread_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        """Return a line for each reason why settings have no effect here.

        Args:
            config: What nbgrader_config.py configures.
            defaults: The settings that configure() makes.
        """
        return []

    def list_unread_page_settings(self, config: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
        """Return a line for each reason why settings for nbgrader's feedback pages have no effect here."""
        return []

    def list_excluded(self, config: Mapping[str, Any], students: Sequence[str], gradebook: Gradebook) -> list[str]:
        """Return which of these students the configuration excludes."""
        return []

    def get_student_files(self, config: Mapping[str, Any]) -> Collection[str]:
        """Return the files that students write, which the course's files of the same name don't replace."""
        return ()
