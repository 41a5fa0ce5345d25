"""Runs a student's function in several processes joined by gloo, which are forks of the process that it lives in.

It needs fork, a writable temporary directory, and TCP over the loopback interface for gloo, which also reads
/sys/class/net. It uses no other network and no fixed port.
"""

from __future__ import annotations

import contextlib
import io
import math
import os
import pickle
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any, NamedTuple, cast

import torch

from labkit.probes.probe_definition import ProbeError, probe

MAX_RANKS = 8
GRACE = 2.0  # seconds that the other ranks get after one has failed
POLL_SECONDS = 0.5  # between two looks at how long the ranks waited for a processor


@probe
def ranks(f: Callable[..., Any], *args: Any, world_size: int = 2, seconds: float = 15.0) -> list[Any]:
    """Return [f(rank, world_size, *args) for each rank], each run in its own single-threaded process of one gloo group.

    Each process gets copies of f and args, and its changes to them stay there. Results are values; tensors are
    detached. Raises the exception of the first rank to fail; TimeoutError after `seconds`, extended by the time that
    ranks wait for a processor; RuntimeError if a process ended.
    """
    if not 1 <= world_size <= MAX_RANKS:
        raise ProbeError(f"world_size={world_size}: use 1 to {MAX_RANKS} ranks")
    import torch.distributed  # otherwise each fork would import it

    if not torch.distributed.is_gloo_available():
        raise ProbeError("this PyTorch has no gloo")
    with tempfile.TemporaryDirectory(prefix="ranks") as folder:
        pids, pipes = [], []
        try:
            for rank in range(world_size):
                pid, pipe = _start(f, args, rank, world_size, f"{folder}/store", seconds)
                pids.append(pid)
                pipes.append(pipe)
            answers = _gather(pids, pipes, seconds)
        finally:
            _end(pids, pipes)
    failed = [answer for answer in answers if answer.error is not None]
    if failed:
        # After one rank fails, the others lose their connection to it, and their errors say less.
        causes = [answer for answer in failed if answer.began] or failed
        raise cast(BaseException, min(causes, key=lambda answer: answer.when).error)
    return [answer.result for answer in answers]


class _Answer(NamedTuple):
    """A rank's answer."""

    result: Any = None
    error: BaseException | None = None
    when: float = math.inf
    """When the exception was raised, in seconds of the monotonic clock; infinity without an answer."""
    began: bool = True
    """False if the rank never reached f, or only waited, perhaps because another rank ended."""


def _start(f: Any, args: Any, rank: int, world_size: int, store: str, seconds: float) -> tuple[int, int]:
    """Start a process for this rank. Return its pid, and the descriptor from which its packed answer can be read."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    status = 1
    try:
        os.close(ours)
        sys.stdout = sys.stderr = io.StringIO()
        torch.set_num_threads(1)  # a thread pool doesn't survive the fork
        answer = _pack(_run(f, args, rank, world_size, store, seconds))
        with open(theirs, "wb") as pipe:
            pipe.write(answer)
        status = 0
    finally:
        os._exit(status)


def _run(f: Any, args: Any, rank: int, world_size: int, store: str, seconds: float) -> _Answer:
    """Join the group, run the function and return its answer. An exception is part of the answer."""
    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
    timeout = timedelta(seconds=20 * seconds)  # gloo's own error must not precede ours
    try:
        dist.init_process_group("gloo", f"file://{store}", timeout=timeout, rank=rank, world_size=world_size)
    except Exception as error:
        return _Answer(error=ProbeError(f"gloo doesn't start here: {error}"), when=time.monotonic(), began=False)
    try:
        result = f(rank, world_size, *args)
        dist.barrier()  # the first rank to end closes the group's connections
        return _Answer(torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), result))
    except BaseException as error:
        return _Answer(error=error, when=time.monotonic())


def _pack(answer: _Answer) -> bytes:
    try:
        packed = pickle.dumps(answer)
        pickle.loads(packed)
        return packed
    except Exception:
        error: Exception
        if answer.error is None:
            error = TypeError(f"a {type(answer.result).__name__} can't be sent from a rank")
        else:
            error = RuntimeError(f"{type(answer.error).__name__}: {str(answer.error)[:1000]}")
        return pickle.dumps(_Answer(error=error, when=min(answer.when, time.monotonic()), began=answer.began))


class _RankClock:
    """Measures seconds from its creation, without those that one of the processes waited, ready, for a processor."""

    def __init__(self, pids: list[int]) -> None:
        self._pids, self._waited, self._start = pids, 0.0, time.monotonic()

    def measure_unwaited_seconds(self) -> float:
        self._waited = max(self._waited, *map(_read_waited, self._pids))
        return time.monotonic() - self._start - self._waited


def _read_waited(pid: int) -> float:
    """Return the seconds that a process waited for a processor; 0 if it has ended or the system doesn't count them."""
    try:
        with open(f"/proc/{pid}/schedstat", "rb") as file:
            return int(file.read().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


def _gather(pids: list[int], pipes: list[int], seconds: float) -> list[_Answer]:
    """Collect each rank's answer. After the first failure the others get a moment: they may be waiting for it."""
    clock, end = _RankClock(pids), seconds
    chunks: dict[int, bytes] = dict.fromkeys(pipes, b"")
    answers: dict[int, _Answer] = {}
    while len(answers) < len(pipes):
        waiting = [pipe for pipe in pipes if pipe not in answers]
        left = end - clock.measure_unwaited_seconds()
        ready, _, _ = select.select(waiting, [], [], min(max(left, 0), POLL_SECONDS))
        if not ready and left > 0:
            continue
        if not ready:
            if any(answer.error is not None for answer in answers.values()):
                waited = _Answer(error=RuntimeError("a rank waited for another"), began=False)
                answers |= dict.fromkeys(waiting, waited)
                break
            raise TimeoutError(f"{len(waiting)} of {len(pipes)} ranks didn't end within {seconds:g} s")
        for pipe in ready:
            chunk = os.read(pipe, 1 << 20)
            chunks[pipe] += chunk
            if chunk:
                continue
            # The ranks are forks of this process, so what they wrote is as trustworthy as the process itself.
            ended = _Answer(error=RuntimeError("the process of a rank ended"))
            answers[pipe] = pickle.loads(chunks[pipe]) if chunks[pipe] else ended
            if answers[pipe].error is not None:
                end = min(end, clock.measure_unwaited_seconds() + GRACE)
    return [answers[pipe] for pipe in pipes]


def _end(pids: list[int], pipes: list[int]) -> None:
    for pipe in pipes:
        os.close(pipe)
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # if no one waits for children, the system reaps them
            os.waitpid(pid, 0)
