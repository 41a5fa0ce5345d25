"""Executors, which grade submissions: on this machine, or as another package implements it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from autograder.base.device import Device, DeviceChoice
from autograder.base.entry_points import load_entry_point
from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.forkserver.server_process import ForkServerProcess
from autograder.grading.task import GradingSettings, Task
from autograder.sandbox import Isolation, list_layer_names, select_required_layers
from autograder.workers.pool import Pool, grade_all
from autograder.workers.task_grading import TaskResult

GROUP = "gradlab.executors"


class Executor(Protocol):
    """An executor of tasks. An entry point names a class, which is called with address, device and wait."""

    @property
    def device(self) -> DeviceChoice:
        """The device that submissions run on."""

    def choose_device(self) -> Device:
        """Return the device, with AUTO resolved. Raises GradlabError if it isn't available."""

    def list_layer_names(self, settings: GradingSettings, secret_folders: Iterable[Path]) -> list[str]:
        """Find the layers of the sandbox that submissions get. Raises GradlabError if it can't grade."""

    def grade(
        self, tasks: Iterator[Task | None], settings: GradingSettings, secret_folders: Iterable[Path], stop: StopRequest
    ) -> Iterator[tuple[Task, TaskResult]]:
        """Grade the tasks, taking only as many at a time as there is room for, and yield each when it's done.

        Args:
            tasks: The tasks. None means that there is no task now, but there may be one later: ask again while
                something is being graded, and return when nothing is. take_tasks() in task_grading.py helps.
            settings: The settings for all of them.
            secret_folders: Folders that student processes must not see.
            stop: Set it to abandon what is being graded.
        """


@dataclass(frozen=True)
class LocalExecutor:
    """An executor that grades on this machine."""

    jobs: int = 1
    """How many submissions are graded at a time."""
    device: DeviceChoice = DeviceChoice.CPU
    server_process: ForkServerProcess | None = None
    """A fork server that is already started; see start_early_server()."""
    pool: Pool | None = None
    """Workers that outlive a call of grade()."""
    layer_names: dict[Isolation, list[str]] = field(default_factory=dict, repr=False, compare=False)
    """Those found so far. Trying them takes longer than many a mark, and a pool's fork servers keep theirs."""

    def choose_device(self) -> Device:
        return choose_device(self.device)

    def list_layer_names(self, settings: GradingSettings, secret_folders: Iterable[Path]) -> list[str]:
        level = settings.isolation
        if level not in self.layer_names:
            self.layer_names[level] = list_layer_names(select_required_layers(level))
        return self.layer_names[level]

    def grade(
        self, tasks: Iterator[Task | None], settings: GradingSettings, secret_folders: Iterable[Path], stop: StopRequest
    ) -> Iterator[tuple[Task, TaskResult]]:
        return grade_all(tasks, settings, self.jobs, secret_folders, stop, self.server_process, self.pool)


def make_executor(name: str, address: str, device: DeviceChoice, wait: float = 60.0) -> Executor:
    """Make the executor with this name.

    Args:
        address: The address of the cluster, in the executor's own form.
        device: The device to grade on.
        wait: Seconds to wait for a worker.

    Raises:
        GradlabError: If no installed package provides it.
    """
    executor: Executor = load_entry_point(GROUP, name, type)(address, device=device, wait=wait)
    return executor


def choose_device(device: DeviceChoice) -> Device:
    """Return the device, resolving AUTO without asking a driver. Raises GradlabError if it isn't available here."""
    gpus = sorted(Path("/dev").glob("nvidia[0-9]*"))
    if device is DeviceChoice.AUTO:
        return Device.CUDA if gpus else Device.CPU
    if device is DeviceChoice.CUDA and not gpus:
        raise GradlabError(
            "--device cuda, but this machine has no GPU (/dev/nvidia0)", fix="use --device cpu or --cluster"
        )
    return Device(device)
