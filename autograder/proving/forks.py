"""Runs a function in a fork of this process and returns its result as JSON."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
from collections.abc import Callable
from typing import Any

import torch

from autograder.examiner.process_time_limit import LOOK_SECONDS, CpuTime, ProcessTimeLimit
from autograder.sandbox.processes import measure_seconds


class ForkError(Exception):
    """The fork died, didn't reply in time, or reported a failure."""


def run_in_fork(work: Callable[[], Any], seconds: float = 120.0) -> Any:
    """Call `work()` in a fork and return its result, so it can't change this process.

    The result must be JSON. Output of the fork is discarded.

    Args:
        seconds: The time limit on an idle machine, see examiner.process_time_limit.

    Raises:
        ForkError: If it raises, dies or is too slow.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        _run_child(work, reading, writing)
    os.close(writing)
    try:
        return _receive_reply(reading, child, seconds)
    finally:
        os.close(reading)
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _run_child(work: Callable[[], Any], reading: int, writing: int) -> None:
    """Do the work in the child, write its result or error to the pipe, and end the process: this never returns."""
    status = 1
    try:
        torch.set_num_threads(1)  # a fork that starts its own OpenMP threads hangs
        os.close(reading)
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        try:
            reply = json.dumps({"result": work()})
        except ForkError as failure:
            reply = json.dumps({"error": str(failure)})
        except BaseException as error:
            reply = json.dumps({"error": f"{type(error).__name__}: {error}"})
        with os.fdopen(writing, "w", encoding="utf-8") as pipe:
            pipe.write(reply)
        status = 0
    finally:
        os._exit(status)


def _receive_reply(reading: int, child: int, seconds: float) -> Any:
    """Return the child's result. Raises ForkError if the work raised, the child died, or it took too many seconds."""
    time_limit = ProcessTimeLimit(seconds, lambda: [CpuTime(child, *measure_seconds(child))])
    chunks = []
    poll = select.poll()  # select() knows no descriptor above 1023
    poll.register(reading, select.POLLIN)
    while True:
        while not poll.poll(1000 * min(LOOK_SECONDS, seconds)):
            if time_limit.is_over():
                raise ForkError(f"no answer within {seconds:g} s")
        chunk = os.read(reading, 1 << 16)
        if not chunk:
            break
        chunks.append(chunk)
    if not chunks:
        raise ForkError("the process died")
    reply = json.loads(b"".join(chunks))
    if "error" in reply:
        raise ForkError(reply["error"])
    return reply["result"]
