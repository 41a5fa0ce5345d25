"""A pool of worker processes on this machine, each with its own fork server.

If a worker dies or is stuck, its submission is tried again, and the others aren't affected.
"""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from autograder.base.stop_request import StopRequest
from autograder.forkserver.client import ForkServerClient, ProcessSettings, start_fork_servers
from autograder.forkserver.server_process import ForkServerProcess, start_fork_server_process
from autograder.grading.task import GradingSettings, Task
from autograder.student_process.imports import find_import_groups
from autograder.workers.task_grading import (
    STUCK_SECONDS,
    GradingFailure,
    TaskResult,
    make_process_settings,
    plan_next_try,
    serve_tasks,
    take_tasks,
)

POLL_SECONDS = 0.2


@dataclass
class Worker:
    """A worker process and its current task."""

    process: BaseProcess
    connection: Connection
    task: Task | None = None
    tries: int = 0
    since: float = 0.0
    """When it began the task, by time.monotonic()."""


def grade_all(
    tasks: Iterable[Task | None],
    settings: GradingSettings,
    jobs: int,
    secret_folders: Iterable[Path],
    stop: StopRequest,
    server_process: ForkServerProcess | None = None,
    pool: Pool | None = None,
) -> Iterator[tuple[Task, TaskResult]]:
    """Grade the tasks, taking only as many at a time as there are jobs, and yield each when it's done.

    Args:
        tasks: The tasks, and None; see Executor.
        settings: The settings for all of them.
        jobs: How many submissions are graded at a time.
        secret_folders: Folders that student processes must not see.
        stop: Set it to abandon what is being graded.
        server_process: A fork server that is already started, for at least as many jobs.
        pool: Workers that outlive this call, to use instead of new ones.

    Raises:
        GradlabError: If no fork server can start; see ForkServerClient.
    """
    remaining = iter(tasks)
    first = list(take_tasks(remaining, len(pool.workers) if pool else jobs))
    if not first:
        return
    is_temporary = pool is None
    if pool is None:
        server_process = server_process or start_fork_server_process(
            len(first), find_import_groups(task.source for task in first)
        )
        pool = Pool(
            make_process_settings(first[0]),
            settings.timeouts.submission,
            tuple(secret_folders),
            len(first),
            server_process,
        )
    try:
        for task in first:
            pool.assign(task)
        while pool.is_busy() and not stop.is_set():
            for task, outcome in pool.collect():
                for following in take_tasks(remaining, 1):
                    pool.assign(following)
                yield task, outcome
            for following in take_tasks(remaining, pool.count_idle()):
                pool.assign(following)
    finally:
        if is_temporary:
            pool.close()
        while not is_temporary and pool.is_busy() and not stop.is_set():
            pool.collect()  # discard outcomes that no one needs, so the next caller doesn't get them


class Pool:
    """Workers that grade one task each at a time. Only one thread may use a pool."""

    def __init__(
        self,
        process_settings: ProcessSettings,
        seconds: float,
        secret_folders: tuple[Path, ...],
        jobs: int,
        server_process: ForkServerProcess | None,
    ) -> None:
        """Start the workers.

        Args:
            seconds: The time limit of a submission. A worker that takes STUCK_SECONDS longer counts as stuck.
            secret_folders: Folders that student processes must not see.
            server_process: A fork server that is already started, for at least as many jobs.
        """
        self.process_settings, self.seconds, self.secret_folders = process_settings, seconds, secret_folders
        self.context = multiprocessing.get_context("fork")
        torch.set_num_threads(1)  # no threads before a fork
        fork_servers = start_fork_servers(jobs, process_settings, secret_folders, server_process)
        self.first_fork_server = fork_servers[0]
        gc.freeze()  # a collection would touch, and thus copy, memory that the forks share
        self.workers = [self._start_worker(fork_server, fork_servers) for fork_server in fork_servers]
        for fork_server in fork_servers:
            fork_server.close_socket_copy()

    def is_busy(self) -> bool:
        return any(worker.task for worker in self.workers)

    def count_idle(self) -> int:
        return sum(worker.task is None for worker in self.workers)

    def assign(self, task: Task, tries: int = 0) -> None:
        """Assign the task to an idle worker."""
        number = next(n for n, worker in enumerate(self.workers) if worker.task is None)
        if not self.workers[number].process.is_alive():
            self.workers[number] = self._start_worker(None, ())
        worker = self.workers[number]
        worker.task, worker.tries, worker.since = task, tries, time.monotonic()
        with contextlib.suppress(OSError):  # collect() notices a worker that has just died
            worker.connection.send(task)

    def collect(self) -> list[tuple[Task, TaskResult]]:
        """Collect the tasks that were graded or finally failed since the last call. Waits for up to POLL_SECONDS."""
        finished = []
        ready = wait([worker.connection for worker in self.workers if worker.task], POLL_SECONDS)
        for worker in self.workers:
            task = worker.task
            if task and worker.connection in ready:
                worker.task = None
                try:
                    finished.append((task, worker.connection.recv()))
                except (EOFError, OSError):
                    finished += self._retry(worker, task)
            elif task and is_stuck(worker, self.seconds):
                worker.process.kill()  # the next call notices
        return finished

    def close(self) -> None:
        """Kill all workers, with the processes that they started."""
        for worker in self.workers:
            worker.process.kill()
            worker.process.join()
            worker.connection.close()
        self.first_fork_server.close()

    def _retry(self, worker: Worker, task: Task) -> list[tuple[Task, GradingFailure]]:
        """Retry the submission of a worker that died, as plan_next_try() says. Return a failure after the last try."""
        worker.process.kill()
        worker.process.join()
        following = plan_next_try(task, worker.tries + 1, f"exit status {worker.process.exitcode}")
        if isinstance(following, GradingFailure):
            return [(task, following)]
        self.assign(following, worker.tries + 1)
        return []

    def _start_worker(self, fork_server: ForkServerClient | None, others: Iterable[ForkServerClient]) -> Worker:
        ours, theirs = self.context.Pipe()
        inherited = [ours, *[w.order_socket for w in others if w is not fork_server]]
        process = self.context.Process(
            target=_work, args=(theirs, inherited, fork_server, self.process_settings, self.secret_folders), daemon=True
        )
        process.start()
        theirs.close()
        return Worker(process, ours)


def is_stuck(worker: Worker, seconds: float) -> bool:
    """Return whether its task takes longer than these seconds and the grader's own work allow."""
    return time.monotonic() - worker.since > seconds + STUCK_SECONDS


def _work(
    connection: Connection,
    inherited: list[Any],
    fork_server: ForkServerClient | None,
    process_settings: ProcessSettings,
    secret_folders: tuple[Path, ...],
) -> None:
    """Answer tasks until the pool is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the pool handles Ctrl-C
    for other in inherited:
        other.close()  # otherwise it wouldn't notice the end of the pool or of another worker
    serve_tasks(connection, secret_folders, {} if fork_server is None else {process_settings: fork_server})
