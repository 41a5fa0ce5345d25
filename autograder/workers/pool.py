"""Grades many submissions side by side: a few worker processes, each with a fork server of its own.

A worker that dies or is stuck costs one submission a second try, and nobody else anything.
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
    """A worker process, and what it is busy with since when, by time.monotonic."""

    process: Any
    connection: Connection
    task: Task | None = None
    tries: int = 0
    since: float = 0.0


def grade_all(
    tasks: Iterable[Task | None],
    settings: Settings,
    jobs: int,
    secret: Iterable[Path],
    stop: Event,
    ahead: ServerProcess | None = None,
    pool: Pool | None = None,
) -> Iterator[tuple[Task, GradedSubmission | Failure]]:
    """Grade the tasks, of which only as many are taken at a time as there are jobs, and give each as it is done.

    tasks: None where there is none now, and may be one when something has been graded, or a moment later.
    secret: folders that must not exist for student processes. stop: set it to let go what is being graded. ahead: a
    fork server that waits, for as many jobs at least. pool: one that stays, in place of a new one. Raises GradlabError
    as ForkServer does.
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
            pool.done()  # of no use to anybody any more, and not the next caller's


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
        """To a worker that has nothing to do."""
        number = next(n for n, worker in enumerate(self.workers) if worker.task is None)
        if not self.workers[number].process.is_alive():
            self.workers[number] = self._start_worker(None, ())
        worker = self.workers[number]
        worker.task, worker.tries, worker.since = task, tries, time.monotonic()
        with contextlib.suppress(OSError):  # one that died just now is found by done()
            worker.connection.send(task)

    def done(self) -> list[tuple[Task, GradedSubmission | Failure]]:
        """What has been graded since the last call, or has failed for good. Waits for a while."""
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
        """What next_try() says for the submission of a worker that died."""
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
    """Whether it is busy with one submission for longer than that and all that its grader does may take."""
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
        other.close()  # else nobody would see that the pool, or another worker, has hung up
    answer_tasks(connection, secret, {} if fork_server is None else {purpose: fork_server})


def _take_tasks(waiting: Iterator[Task | None], most: int) -> Iterator[Task]:
    """At most so many; fewer where there are no more now."""
    for _, task in zip(range(most), waiting, strict=False):
        if task is None:
            return
        yield task
