"""Kernel limits for the grader's own work with values from a student.

A signal handler of Python has to wait for the running C function, and a regular expression, a factorial or a long text
made from a student's value can take hours. The kernel doesn't wait.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from autograder.sandbox.rlimits import read_mapped_bytes

MEMORY = 4 * 2**30  # bytes beyond what the process has mapped already

T = TypeVar("T")


@contextlib.contextmanager
def limit_process(seconds: int, memory: int = MEMORY) -> Iterator[None]:
    """Limit this process in a with block: too much memory raises MemoryError, too much time ends the process.

    Args:
        seconds: Processor time.
        memory: Bytes of address space beyond what it has now.
    """
    used = resource.getrusage(resource.RUSAGE_SELF)
    bounds = {
        resource.RLIMIT_CPU: int(used.ru_utime + used.ru_stime) + 1 + seconds,
        resource.RLIMIT_CORE: 0,  # else a process that exceeds its time would dump all its memory into a file
    }
    with _limit(bounds | {resource.RLIMIT_AS: read_mapped_bytes() + memory}):
        yield


def limit_memory_on(device: str) -> contextlib.AbstractContextManager[None]:
    """Limit the memory of this process in a with block. No limit if it uses a GPU, whose driver maps any amount."""
    return _limit({resource.RLIMIT_AS: read_mapped_bytes() + MEMORY} if device == "cpu" else {})


@contextlib.contextmanager
def _limit(bounds: Mapping[int, int]) -> Iterator[None]:
    before = {kind: resource.getrlimit(kind) for kind in bounds}
    try:
        for kind, bound in bounds.items():
            soft, hard = before[kind]
            resource.setrlimit(kind, (bound if soft == resource.RLIM_INFINITY else min(bound, soft), hard))
        yield
    finally:
        for kind, limits in before.items():
            resource.setrlimit(kind, limits)


def call_in_child(work: Callable[[], T], lost: T) -> T:
    """Call `work` in a fork of this process and return its result, or `lost` if the fork ends before that."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(reader)
            with open(writer, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(writer)
    try:
        with open(reader, "rb") as pipe:
            answer = pipe.read()
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    try:
        return pickle.loads(answer)  # type: ignore[no-any-return]  # our own fork wrote it
    except (EOFError, pickle.UnpicklingError):
        return lost
