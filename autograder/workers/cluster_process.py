"""What runs in a worker of a cluster: it hands each submission to a grader process, one for each of its threads.

A worker's threads can't grade, since the examiner needs a main thread and changes torch's global state.
Nothing here imports torch: a task and its outcome pass through as bytes.
"""

from __future__ import annotations

import asyncio
import contextlib
import pickle
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection

from autograder.base.errors import GradlabError

START_SECONDS = 120.0  # a cold import of torch on a busy machine

GraderKey = tuple[str, tuple[str, ...], str]  # isolation, secret folders, Gradlab's code
_of_thread = threading.local()
_spare: dict[GraderKey, Grader] = {}  # started for inspection, and kept for the first thread that needs one
_looks: dict[GraderKey, dict[str, str] | str] = {}


class Grader:
    """A grader process.

    Its `kind` is what it grades with, see model.fingerprint.describe_environment().
    Raises GradlabError if this machine doesn't isolate as much as is asked for.
    """

    def __init__(self, isolation: str, secret: Sequence[str]) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-P",
                    "-m",
                    "autograder.workers.cluster_process_main",
                    str(theirs.fileno()),
                    isolation,
                    *secret,
                ],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )
        self.connection = Connection(ours.detach())
        said = self._receive(START_SECONDS)
        kind = pickle.loads(said) if said else "a grader process did not start; the worker's log has more"
        if isinstance(kind, str):
            self.close()
            raise GradlabError(kind)
        self.kind: dict[str, str] = kind

    def grade(self, task: bytes, seconds: float) -> bytes | None:
        """The pickled outcome of a pickled task, or None if the process ended or took longer than that."""
        with contextlib.suppress(OSError):  # one that has ended is found by the next line
            self.connection.send_bytes(task)
        return self._receive(seconds)

    def close(self) -> int:
        """End the process, and return its exit status."""
        self.process.kill()
        self.connection.close()
        return self.process.wait()

    def _receive(self, seconds: float) -> bytes | None:
        with contextlib.suppress(EOFError, OSError):
            if self.connection.poll(seconds):
                return self.connection.recv_bytes()
        return None


def grade_on_worker(
    task: bytes, isolation: str, secret: Sequence[str], expected: Mapping[str, str], seconds: float
) -> bytes | str:
    """The pickled outcome, or how the grader process of this thread ended unexpectedly.

    Raises GradlabError if this worker doesn't grade as expected: it joined after the others were inspected.
    """
    grader = _get_thread_grader(isolation, secret, expected)
    outcome = grader.grade(task, seconds)
    if outcome is not None:
        return outcome
    _of_thread.grader = None
    return f"exit status {grader.close()}"


async def inspect_worker(isolation: str, secret: Sequence[str], expected: Mapping[str, str]) -> dict[str, str] | str:
    """What this worker grades with, or why it doesn't grade; inspected once for each expected version of the code."""
    return await asyncio.to_thread(_inspect_worker, isolation, secret, expected)


def describe_difference(kind: Mapping[str, str], expected: Mapping[str, str]) -> str:
    """How what a worker grades with differs from what is expected; empty if it doesn't."""
    differing = [
        f"{name} is {kind.get(name)} and must be {value}" for name, value in expected.items() if kind.get(name) != value
    ]
    if not differing:
        return ""
    return f"it would grade otherwise: {'; '.join(differing)}\n    fix: install the same there, and start it again"


def _inspect_worker(isolation: str, secret: Sequence[str], expected: Mapping[str, str]) -> dict[str, str] | str:
    wanted = _make_grader_key(isolation, secret, expected)
    if wanted not in _looks:
        try:
            grader = Grader(isolation, secret)
        except GradlabError as error:
            return str(error)
        _looks[wanted] = grader.kind
        if describe_difference(grader.kind, expected):
            grader.close()
        else:
            _spare[wanted] = grader
    return _looks[wanted]


def _get_thread_grader(isolation: str, secret: Sequence[str], expected: Mapping[str, str]) -> Grader:
    wanted = _make_grader_key(isolation, secret, expected)
    grader, serves = getattr(_of_thread, "grader", None) or (None, None)
    if grader is None or serves != wanted:
        if grader is not None:
            grader.close()
        _of_thread.grader = None
        grader = _spare.pop(wanted, None)
        if grader is None or grader.process.poll() is not None:
            grader = Grader(isolation, secret)
    if trouble := describe_difference(grader.kind, expected):
        grader.close()
        _of_thread.grader = None
        raise GradlabError(trouble)
    _of_thread.grader = grader, wanted
    return grader


def _make_grader_key(isolation: str, secret: Sequence[str], expected: Mapping[str, str]) -> GraderKey:
    return isolation, tuple(secret), expected.get("Gradlab's code", "")
