"""Grades many submissions side by side: a few worker processes, each with its own fork server.

A worker that dies or is stuck costs one submission a second try, and doesn't affect the others.
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
from pathlib import Path
from threading import Event
from typing import Any

import torch

from autograder.forkserver.client import ForkServer, Purpose, start_fork_servers
from autograder.forkserver.imports import find_groups
from autograder.forkserver.server_process import ServerProcess, start_server
from autograder.submission.lab_submission import GradedSubmission
from autograder.submission.task import Settings, Task
from autograder.workers.worker import STUCK_SECONDS, Failure, answer_tasks, make_purpose, plan_next_try

LOOK_SECONDS = 0.2


@dataclass
class Worker:
    """A worker process, and what it is busy with."""

    process: Any
    connection: Connection
    task: Task | None = None
    tries: int = 0
    since: float = 0.0
    """When it began, by time.monotonic()."""


def grade_all(
    tasks: Iterable[Task | None],
    settings: Settings,
    jobs: int,
    secret: Iterable[Path],
    stop: Event,
    ahead: ServerProcess | None = None,
    pool: Pool | None = None,
) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
    """Grade the tasks, of which it takes only as many at a time as there are jobs, and yield each as it's done.

    Raises GradlabError as ForkServer does.

    Args:
        tasks: None among them means that there is no task now, but may be one when something has been graded, or later.
        settings: What all of them are graded with.
        jobs: How many submissions are graded at a time.
        secret: Folders that must not exist for student processes.
        stop: Set to abandon what is being graded.
        ahead: A fork server that is already started, for at least as many jobs.
        pool: Workers that outlive this call, instead of new ones.
    """
    waiting = iter(tasks)
    first = list(_take_tasks(waiting, len(pool.workers) if pool else jobs))
    if not first:
        return
    kept = pool
    if pool is None:
        ahead = ahead or start_server(len(first), find_groups(task.source for task in first))
        pool = Pool(make_purpose(first[0]), settings.timeouts.submission, tuple(secret), len(first), ahead)
    try:
        for task in first:
            pool.give(task)
        while pool.is_busy() and not stop.is_set():
            for task, outcome in pool.done():
                for following in _take_tasks(waiting, 1):
                    pool.give(following)
                yield task, outcome
            for following in _take_tasks(waiting, pool.free()):
                pool.give(following)
    finally:
        if kept is None:
            pool.close()
        while kept and pool.is_busy() and not stop.is_set():
            pool.done()  # no longer of any use, and not for the next caller


class Pool:
    """Workers that take a task each. Used by one thread."""

    def __init__(
        self, purpose: Purpose, seconds: float, secret: tuple[Path, ...], jobs: int, ahead: ServerProcess | None
    ) -> None:
        self.purpose, self.seconds, self.secret = purpose, seconds, secret
        self.fork = multiprocessing.get_context("fork")
        torch.set_num_threads(1)  # nothing parallel before a fork
        fork_servers = start_fork_servers(jobs, purpose, secret, ahead)
        self.first = fork_servers[0]
        gc.freeze()  # a collection would touch, and so copy, what the forks share
        self.workers = [self._start_worker(fork_server, fork_servers) for fork_server in fork_servers]
        for fork_server in fork_servers:
            fork_server.orders.close()

    def is_busy(self) -> bool:
        return any(worker.task for worker in self.workers)

    def free(self) -> int:
        return sum(worker.task is None for worker in self.workers)

    def give(self, task: Task, tries: int = 0) -> None:
        """Give the task to an idle worker."""
        number = next(n for n, worker in enumerate(self.workers) if worker.task is None)
        if not self.workers[number].process.is_alive():
            self.workers[number] = self._start_worker(None, ())
        worker = self.workers[number]
        worker.task, worker.tries, worker.since = task, tries, time.monotonic()
        with contextlib.suppress(OSError):  # done() finds a worker that died just now
            worker.connection.send(task)

    def done(self) -> list[tuple[Task, GradedSubmission | Failure]]:
        """The tasks that were graded since the last call, or failed for good. Waits for a while."""
        found = []
        ready = wait([worker.connection for worker in self.workers if worker.task], LOOK_SECONDS)
        for worker in self.workers:
            task = worker.task
            if task and worker.connection in ready:
                worker.task = None
                try:
                    found.append((task, worker.connection.recv()))
                except (EOFError, OSError):
                    found += self._retry(worker, task)
            elif task and is_stuck(worker, self.seconds):
                worker.process.kill()  # its end is seen at the next look
        return found

    def close(self) -> None:
        """End every worker at once, with the processes that it started."""
        for worker in self.workers:
            worker.process.kill()
            worker.process.join()
            worker.connection.close()
        self.first.close()

    def _retry(self, worker: Worker, task: Task) -> list[tuple[Task, Failure]]:
        """Try the submission of a worker that died as plan_next_try() says; its failure if there is no next try."""
        worker.process.kill()
        worker.process.join()
        following = plan_next_try(task, worker.tries + 1, worker.process.exitcode)
        if isinstance(following, Failure):
            return [(task, following)]
        self.give(following, worker.tries + 1)
        return []

    def _start_worker(self, fork_server: ForkServer | None, others: Iterable[ForkServer]) -> Worker:
        ours, theirs = self.fork.Pipe()
        foreign = [ours, *[w.orders for w in others if w is not fork_server]]
        process = self.fork.Process(
            target=_work, args=(theirs, foreign, fork_server, self.purpose, self.secret), daemon=True
        )
        process.start()
        theirs.close()
        return Worker(process, ours)


def is_stuck(worker: Worker, seconds: float) -> bool:
    """Whether one submission has kept it busy for longer than these seconds and its grader's own work may take."""
    return time.monotonic() - worker.since > seconds + STUCK_SECONDS


def _work(
    connection: Connection,
    foreign: list[Any],
    fork_server: ForkServer | None,
    purpose: Purpose,
    secret: tuple[Path, ...],
) -> None:
    """Answer tasks until the pool is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the pool's
    for other in foreign:
        other.close()  # otherwise the end of the pool, or of another worker, would go unnoticed
    answer_tasks(connection, secret, {} if fork_server is None else {purpose: fork_server})


def _take_tasks(waiting: Iterator[Task | None], most: int) -> Iterator[Task]:
    """At most this many of the tasks; fewer if there are no more now."""
    for _, task in zip(range(most), waiting, strict=False):
        if task is None:
            return
        yield task
