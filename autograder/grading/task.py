"""Tasks: all that grading one submission needs, as bytes, since workers may not share the caller's file system."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pydantic import PositiveFloat

from autograder.base.device import Device
from autograder.base.digest import digest
from autograder.examiner.time_budget import Timeouts
from autograder.model.assignments import AssignmentKind
from autograder.model.fingerprint import COMPANIONS, LAB, RELEASES, SHORT, SUBMISSION, collect_environment
from autograder.model.result import GradedCell
from autograder.model.strict_model import StrictModel
from autograder.sandbox import Isolation, Limits, parse_isolation
from autograder.stock.settings import get_cell_seconds


@dataclass(frozen=True)
class GradingSettings:
    """How submissions are graded."""

    isolation: Isolation = Isolation.FULL
    limits: Limits = field(default_factory=Limits)
    timeouts: Timeouts = field(default_factory=Timeouts)
    device: Device = Device.CPU
    preprocessors: dict[str, Any] = field(default_factory=dict)
    """nbgrader's settings for the outputs of cells, by class name."""


class ExamineSettings(StrictModel, strict=True):
    """What `c.Examine` in nbgrader_config.py sets."""

    isolation: str = "full"
    """The least isolation to accept: a level that gradlab doctor lists."""
    memory_gib: PositiveFloat = Limits.memory / 2**30
    """Memory of a submission's processes together."""
    gpu_memory_gib: PositiveFloat = Limits.gpu_memory / 2**30
    """The same on a GPU."""
    cell_seconds: PositiveFloat = Timeouts.cell
    check_seconds: PositiveFloat = Timeouts.check
    submission_seconds: PositiveFloat = Timeouts.submission


USUAL = ExamineSettings()


def make_settings(
    examine: ExamineSettings = USUAL, device: Device = Device.CPU, preprocessors: dict[str, Any] | None = None
) -> GradingSettings:
    """Make settings for grading from those of the course.

    Args:
        examine: What c.Examine sets.
        preprocessors: nbgrader's settings for the outputs of cells, by class name.

    Raises:
        GradlabError: If there's no such level of isolation.
    """
    timeouts = Timeouts(examine.cell_seconds, examine.check_seconds, examine.submission_seconds)
    memory, processor = int(examine.memory_gib * 2**30), max(Limits.cpu_seconds, int(timeouts.submission))
    space = 2 * memory if device is Device.CPU else None  # CUDA maps more than the memory
    gpu_memory = int(examine.gpu_memory_gib * 2**30)
    limits = Limits(memory=memory, address_space=space, cpu_seconds=processor, gpu_memory=gpu_memory)
    return GradingSettings(parse_isolation(examine.isolation), limits, timeouts, device, preprocessors or {})


def apply_stock_limits(settings: GradingSettings, config: Mapping[str, Any]) -> GradingSettings:
    """Apply c.Execute.timeout to the settings, for a stock assignment, unless c.Examine.cell_seconds is set."""
    seconds = None if "cell_seconds" in config.get("Examine", {}) else get_cell_seconds(config)
    return settings if seconds is None else replace(settings, timeouts=replace(settings.timeouts, cell=seconds))


@dataclass(frozen=True)
class NotebookFile:
    """One notebook of a submission, as it was submitted."""

    name: str
    content: bytes | None
    """None if the intake refused it, or if it's missing."""
    refusal: str = ""
    """Why it was refused, in words for the student."""
    notes: tuple[str, ...] = ()
    """What the student should know about the file."""


@dataclass(frozen=True)
class Task:
    """One submission to grade."""

    lab: str
    student: str
    notebooks: tuple[NotebookFile, ...]
    source: bytes
    """A lab assignment's source notebook, or a stock assignment's content."""
    settings: GradingSettings
    kind: AssignmentKind = AssignmentKind.LAB
    notes: tuple[str, ...] = ()
    """What the student should know about the folder."""
    earlier_cells: tuple[GradedCell, ...] = ()
    """Cells of an earlier result, which count if their keys are still the same."""
    releases: bytes = b""
    """See intake.releases."""
    files_digest: str = ""
    """A digest of the other files in the folder."""
    support_files: tuple[tuple[str, bytes], ...] = ()
    """Paths and contents of files that cells may read; cells of a lab assignment read none."""
    course_files: frozenset[str] = frozenset()
    """The paths of those that are the course's."""
    isolates_tests: bool = False
    """Whether tests outside the student process run in a child of the grader, since they ended the grader before."""

    def make_refused(self, reason: str) -> Task:
        """Return the task as an empty submission, refused for this reason."""
        return replace(self, notebooks=tuple(replace(each, content=None, refusal=reason) for each in self.notebooks))


def _digest_task(task: Task) -> dict[str, str]:
    """Compute digests of the task's parts, by the names that people see when a part changes."""
    submitted: list[str | bytes] = [*task.notes]
    for each in task.notebooks:
        submitted += [each.name, each.content or b"", each.refusal, *each.notes]
    return {
        SUBMISSION: digest(*submitted),
        COMPANIONS: digest(task.files_digest),
        LAB: digest(task.source),
        RELEASES: digest(task.releases),
        "the settings": digest(json.dumps(asdict(task.settings), sort_keys=True, default=str)),
    }


def compute_key(task: Task, layers: Sequence[str]) -> str:
    """Compute a digest of everything that a task's result depends on: equal keys mean equal results."""
    environment = collect_environment(layers).label_parts()
    return digest(task.lab, task.student, *environment.values(), *_digest_task(task).values())


def compute_part_digests(task: Task, layers: Sequence[str]) -> dict[str, str]:
    """Compute short digests of the key's parts. Those that differ show why a submission is graded again."""
    return collect_environment(layers).label_parts() | {
        name: value[:SHORT] for name, value in _digest_task(task).items()
    }
