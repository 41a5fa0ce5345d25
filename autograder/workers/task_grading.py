"""The work of every grader process, in a pool or on a cluster: serving tasks, and keeping fork servers."""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path

from autograder.base.errors import GradlabError
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.forkserver.server_process import start_fork_server_process
from autograder.grading.lab_submission import GradedSubmission, grade_lab_task
from autograder.grading.stock_submission import grade_stock_task
from autograder.grading.task import Task
from autograder.model.assignments import AssignmentKind
from autograder.sandbox.grader_limits import limit_memory_on
from autograder.student_process.imports import find_import_groups
from autograder.workers.compile_cache import prepare_compile_cache

TRIES = 2
STUCK_SECONDS = 600.0  # in addition to a submission's time; the examiner's own work is limited, and takes far less
UNGRADABLE = "Grading it failed twice, so it counts as an empty notebook. Please tell your instructor."

Grader = Callable[[Task, ForkServerClient], GradedSubmission]
GRADERS: dict[AssignmentKind, Grader] = {AssignmentKind.LAB: grade_lab_task, AssignmentKind.STOCK: grade_stock_task}
ForkServers = dict[ProcessSettings, ForkServerClient]  # see make_process_settings()


@dataclass(frozen=True)
class GradingFailure:
    """A reason why a submission couldn't be graded: a fault of the machine, or an error in the course."""

    reason: str


TaskResult = GradedSubmission | GradingFailure


def serve_tasks(connection: Connection, secret_folders: Sequence[Path], fork_servers: ForkServers) -> None:
    """Answer tasks until the other side hangs up, then end this process.

    Args:
        connection: Receives tasks, and sends outcomes.
        secret_folders: Folders that student processes must not see.
        fork_servers: Fork servers that are already started; new ones are added.
    """
    with contextlib.suppress(EOFError, OSError):
        while True:
            connection.send(grade_with_retries(connection.recv(), secret_folders, fork_servers))
    for fork_server in fork_servers.values():
        fork_server.hang_up()
    os._exit(0)  # an orderly exit with torch loaded takes most of a second


def take_tasks(tasks: Iterator[Task | None], limit: int) -> Iterator[Task]:
    """Take up to `limit` tasks, fewer if there are no more or a None arrives."""
    for _, task in zip(range(limit), tasks, strict=False):
        if task is None:
            return
        yield task


def make_process_settings(task: Task) -> ProcessSettings:
    """Make the settings of the processes that grade this task."""
    settings = task.settings
    cache = prepare_compile_cache(task.source) if task.kind is AssignmentKind.LAB else None
    return ProcessSettings(settings.isolation, settings.limits, settings.device, cache)


def plan_next_try(task: Task, tries: int, ending: str) -> Task | GradingFailure:
    """Return what to grade after this many tries that ended the grader; a GradingFailure after the last.

    Args:
        ending: How the grader ended.
    """
    if tries > TRIES:
        return GradingFailure(
            f"its grader ended {tries} times, most recently with {ending}: free memory on the machine that graded it, "
            "and run the same command again, or grade it by hand"
        )
    return list_fallback_tasks(task)[tries]


def list_fallback_tasks(task: Task) -> tuple[Task, Task, Task]:
    """List what to try in turn: the task, with its tests in a child of the grader, and as an empty submission."""
    return task, replace(task, isolates_tests=True), task.make_refused(UNGRADABLE)


def grade_with_retries(
    task: Task,
    secret_folders: Sequence[Path],
    fork_servers: ForkServers,
    graders: Mapping[AssignmentKind, Grader] = GRADERS,
) -> TaskResult:
    """Grade a task with one of these fork servers, or with a new one that is added to them.

    A submission that makes the grader itself raise is tried once more, then graded as an empty one, with the error as
    `problem`, so every submission gets a score. If the empty one raises too, the course or the machine is at fault, and
    the outcome is a GradingFailure.
    """
    log = ""
    for attempt in list_fallback_tasks(task):
        try:
            graded = _grade(attempt, secret_folders, fork_servers, graders[task.kind])
            return replace(graded, problem=log) if attempt is not task else graded
        except GradlabError as error:
            fork_server = fork_servers.get(make_process_settings(task))
            if fork_server is None or not fork_server.lost:
                return GradingFailure(str(error))
            log = log or traceback.format_exc()
        except Exception:
            log = log or traceback.format_exc()
            for each in fork_servers.values():
                each.mark_lost()
    return GradingFailure(log)


def _grade(task: Task, secret_folders: Sequence[Path], fork_servers: ForkServers, grader: Grader) -> GradedSubmission:
    fork_server = _get_fork_server(task, secret_folders, fork_servers)
    try:
        return _grade_with(fork_server, task, grader)
    except GradlabError:
        if not fork_server.lost:
            raise
        return _grade_with(_get_fork_server(task, secret_folders, fork_servers), task, grader)


def _grade_with(fork_server: ForkServerClient, task: Task, grader: Grader) -> GradedSubmission:
    with limit_memory_on(task.settings.device):
        return grader(task, fork_server)


def _get_fork_server(task: Task, secret_folders: Sequence[Path], fork_servers: ForkServers) -> ForkServerClient:
    key = make_process_settings(task)
    if key in fork_servers and fork_servers[key].lost:
        fork_servers.pop(key).hang_up()
    if key not in fork_servers:
        server_process = start_fork_server_process(1, find_import_groups([task.source]))
        fork_servers[key] = ForkServerClient(key, secret_folders, server_process)
    return fork_servers[key]
