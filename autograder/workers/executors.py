"""Where submissions are graded: by processes of this machine, or by an executor that a package brings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Protocol

from autograder.base.entry_points import load
from autograder.base.errors import GradlabError
from autograder.forkserver.server_process import ServerProcess
from autograder.sandbox import list_layer_names, require
from autograder.submission.lab_submission import GradedSubmission
from autograder.submission.task import Settings, Task
from autograder.workers.pool import Pool, grade_all
from autograder.workers.worker import Failure

GROUP = "gradlab.executors"


class Executor(Protocol):
    """Where submissions are graded. An entry point names a class that is called with address, device and wait."""

    @property
    def device(self) -> str:
        """What labkit.device() returns there: "cpu", "cuda", or "auto"."""

    def choose_device(self) -> str:
        """The device, with "auto" resolved."""

    def find_layers(self, settings: Settings, secret: Iterable[Path]) -> list[str]:
        """The layers of the sandbox that submissions get. Raises GradlabError if it can't grade."""

    def grade(
        self, tasks: Iterator[Task | None], settings: Settings, secret: Iterable[Path], stop: Event
    ) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        """Grade the tasks, of which it takes only as many at a time as it has room for, and yield each as it's done.

        Args:
            tasks: None among them means that there is no task now, but may be one later.
            settings: What all of them are graded with.
            secret: Folders that must not exist for student processes.
            stop: Set to abandon what is being graded.
        """


@dataclass(frozen=True)
class LocalExecutor:
    """An executor that grades on this machine."""

    jobs: int = 1
    """How many submissions are graded at a time."""
    device: str = "cpu"
    ahead: ServerProcess | None = None
    """A fork server that is already started, see start_ahead()."""
    pool: Pool | None = None
    """Workers that outlive a call of grade()."""

    def choose_device(self) -> str:
        return choose_device(self.device)

    def find_layers(self, settings: Settings, secret: Iterable[Path]) -> list[str]:
        return list_layer_names(require(settings.isolation))

    def grade(
        self, tasks: Iterator[Task | None], settings: Settings, secret: Iterable[Path], stop: Event
    ) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
        return grade_all(tasks, settings, self.jobs, secret, stop, self.ahead, self.pool)


def make_executor(name: str, address: str, device: str, wait: float = 60.0) -> Executor:
    """The executor of this name. Raises GradlabError if no installed package brings it."""
    executor: Executor = load(GROUP, name, type)(address, device=device, wait=wait)
    return executor


def choose_device(device: str) -> str:
    """The device, with "auto" resolved without asking a driver. Raises GradlabError if this machine doesn't have it."""
    found = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if device == "auto":
        return "cuda" if found else "cpu"
    if device == "cuda" and not found:
        raise GradlabError(
            "--device cuda, and this machine has no GPU (/dev/nvidia0)\n    fix: --device cpu, or --cluster"
        )
    return device
