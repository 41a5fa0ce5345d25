"""An assignment of the course: one protocol, which labs and stock assignments implement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Protocol

from autograder.model.marks import Marks
from autograder.model.result import Result
from autograder.submission.task import Settings, Task


@dataclass(frozen=True)
class SubmittedFolder:
    """The folder that counts as one student's submission."""

    student: str
    submitter: str
    """Who handed it in: the student, or a member of the same team."""
    path: Path
    files: Sequence[Path]
    """The files in it besides the notebooks."""
    files_digest: str
    """A digest of their names, sizes and times."""


class Assignment(Protocol):
    """What grading a class asks of an assignment."""

    course: Path
    name: str

    @property
    def notebook_names(self) -> Sequence[str]:
        """The notebooks that students hand in, without their suffix."""

    def refuse_settings(self, config: Mapping[str, Any]) -> None:
        """Raise GradlabError if these settings would give other marks than Gradlab gives."""

    def adjust_settings(self, settings: Settings, config: Mapping[str, Any]) -> Settings:
        """How submissions of this assignment are graded."""

    def list_unread_settings(self, config: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
        """A line for each reason why settings have no effect here.

        Args:
            usual: The settings that configure() makes.
        """

    def list_unread_page_settings(self, config: Mapping[str, Any], usual: Mapping[str, Any]) -> list[str]:
        """A line for each reason why settings for nbgrader's feedback pages have no effect here, likewise."""

    def list_left_out(self, config: Mapping[str, Any], students: Sequence[str], gradebook: Any) -> list[str]:
        """Those of these students whom the configuration leaves out."""

    def refuse_unfit(self, config: Mapping[str, Any]) -> None:
        """Raise GradlabError if the source can't be graded."""

    def load(self, gradebook: Any, config: Mapping[str, Any]) -> None:
        """Read the source, once the gradebook has its cells."""

    def build_task(self, folder: SubmittedFolder, settings: Settings) -> Task:
        """What there is to grade in this folder."""

    def read_marks(self, result: Result, submitted: datetime | None) -> Marks:
        """The marks of a submission that was graded before."""
