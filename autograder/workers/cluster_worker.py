"""Functions that run in a cluster's worker, which gives each submission to the grader process of its thread.

A worker's threads can't grade themselves, since the examiner needs a main thread and changes torch's global state.
Nothing here imports torch: tasks and outcomes pass through as bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from autograder.base.errors import GradlabError, format_problem
from autograder.sandbox import Isolation

if TYPE_CHECKING:
    from autograder.model.fingerprint import Environment

START_SECONDS = 120.0  # a cold import of torch on a busy machine

GraderKey = tuple[Isolation, tuple[str, ...], str]  # isolation, secret folders, Gradlab's code
_local = threading.local()
_spare: dict[GraderKey, ClusterGrader] = {}  # started for an inspection, and kept for the first thread that needs one
_inspections: dict[GraderKey, Environment | str] = {}


class ClusterGrader:
    """A grader process.

    Attributes:
        environment: What it grades with.

    Raises:
        GradlabError: If this machine doesn't isolate as much as requested.
    """

    def __init__(self, isolation: Isolation, secret_folders: Sequence[str]) -> None:
        """Start the process, and wait until it says what it grades with."""
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "autograder.workers.cluster_grader_main",
                    str(theirs.fileno()),
                    isolation.value,
                    *secret_folders,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())
        reply = self._receive(START_SECONDS)
        environment = pickle.loads(reply) if reply else "a grader process didn't start; see the worker's log"
        if isinstance(environment, str):
            self.close()
            raise GradlabError(environment)
        self.environment: Environment = environment

    def grade(self, task: bytes, seconds: float) -> bytes | None:
        """Return the pickled outcome of a pickled task; None if the process ended or took longer than `seconds`."""
        with contextlib.suppress(OSError):  # the next line notices a process that has ended
            self.connection.send_bytes(task)
        return self._receive(seconds)

    def close(self) -> int:
        """Kill the process, and return its exit status."""
        self.process.kill()
        self.connection.close()
        return self.process.wait()

    def _receive(self, seconds: float) -> bytes | None:
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(seconds):
                return self.connection.recv_bytes()
        return None


def grade_on_worker(
    task: bytes, isolation: Isolation, secret_folders: Sequence[str], expected: Environment, seconds: float
) -> bytes | str:
    """Return the pickled outcome, or how this thread's grader process ended unexpectedly.

    Args:
        task: The pickled task.
        secret_folders: Folders that student processes must not see.
        expected: The environment of the other workers.
        seconds: How long the grader may take.

    Raises:
        GradlabError: If this worker doesn't grade as expected, because it joined after the others were inspected.
    """
    grader = _get_thread_grader(isolation, secret_folders, expected)
    outcome = grader.grade(task, seconds)
    if outcome is not None:
        return outcome
    _local.grader = None
    return f"exit status {grader.close()}"


async def inspect_worker(
    isolation: Isolation, secret_folders: Sequence[str], expected: Environment
) -> Environment | str:
    """Return what this worker grades with, or why it can't. It inspects once for each expected version of the code."""
    return await asyncio.to_thread(_inspect_worker, isolation, secret_folders, expected)


def describe_difference(environment: Environment, expected: Environment) -> str:
    """Describe how a worker's environment differs from the expected one; empty if it doesn't."""
    parts = environment.label_parts()
    differing = [
        f"{name} is {parts.get(name)} and must be {value}"
        for name, value in expected.label_parts().items()
        if parts.get(name) != value
    ]
    if not differing:
        return ""
    return format_problem(
        f"it would grade differently: {'; '.join(differing)}", "install the same version there, and restart it"
    )


def _inspect_worker(isolation: Isolation, secret_folders: Sequence[str], expected: Environment) -> Environment | str:
    key = _make_grader_key(isolation, secret_folders, expected)
    if key not in _inspections:
        try:
            grader = ClusterGrader(isolation, secret_folders)
        except GradlabError as error:
            return str(error)
        _inspections[key] = grader.environment
        if describe_difference(grader.environment, expected):
            grader.close()
        else:
            _spare[key] = grader
    return _inspections[key]


def _get_thread_grader(isolation: Isolation, secret_folders: Sequence[str], expected: Environment) -> ClusterGrader:
    """Return this thread's grader process, or a new one for other settings. Raises GradlabError if it differs."""
    key = _make_grader_key(isolation, secret_folders, expected)
    grader, grader_key = getattr(_local, "grader", None) or (None, None)
    if grader is None or grader_key != key:
        if grader is not None:
            grader.close()
        _local.grader = None
        grader = _spare.pop(key, None)
        if grader is None or grader.process.poll() is not None:
            grader = ClusterGrader(isolation, secret_folders)
    if problem := describe_difference(grader.environment, expected):
        grader.close()
        _local.grader = None
        raise GradlabError(problem)
    _local.grader = grader, key
    return grader


def _make_grader_key(isolation: Isolation, secret_folders: Sequence[str], expected: Environment) -> GraderKey:
    return isolation, tuple(secret_folders), expected.code
