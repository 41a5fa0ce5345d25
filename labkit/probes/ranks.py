"""A student's function in several processes at once, joined by gloo: forks of the process that it lives in.

Needs: fork, a temporary directory that can be written, and TCP over the loopback interface for gloo, which also reads
/sys/class/net. No other network, no fixed port.
"""

from __future__ import annotations

import contextlib
import io
import os
import pickle
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from labkit.probes.dispatch import ProbeError, probe

MAX_RANKS = 8
GRACE = 2.0  # seconds that the other ranks have, once one has failed


@probe
def ranks(f: Callable[..., Any], *args: Any, world_size: int = 2, seconds: float = 15.0) -> list[Any]:
    """[f(rank, world_size, *args) for each rank], each in a process of its own, one thread, in one gloo group.

    f and args are copied into each process: what it does to them stays there. Results are values, tensors detached.
    Raises what the first rank to fail raised; TimeoutError after `seconds`; RuntimeError where a process ended.
    """
    if not 1 <= world_size <= MAX_RANKS:
        raise ProbeError(f"{world_size} ranks: from 1 to {MAX_RANKS} are possible")
    import torch.distributed  # before the forks, which would each import it

    if not torch.distributed.is_gloo_available():
        raise ProbeError("this PyTorch has no gloo")
    with tempfile.TemporaryDirectory(prefix="ranks") as folder:
        pids, pipes = [], []
        try:
            for rank in range(world_size):
                pid, pipe = _start(f, args, rank, world_size, f"{folder}/store", seconds)
                pids.append(pid)
                pipes.append(pipe)
            answers = _gather(pipes, seconds)
        finally:
            _end(pids, pipes)
    failed = [error for result, error in answers if error is not None]
    if failed:
        raise next((e for e in failed if not isinstance(e, _Lost)), failed[0])
    return [result for result, _ in answers]


class _Lost(RuntimeError):
    """A rank that gave no answer: another one's exception, where there is one, says more."""


def _start(f: Any, args: Any, rank: int, world_size: int, store: str, seconds: float) -> tuple[int, int]:
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid:
        os.close(theirs)
        return pid, ours
    status = 1
    try:
        os.close(ours)
        sys.stdout = sys.stderr = io.StringIO()
        torch.set_num_threads(1)  # a thread pool does not survive the fork
        answer = _packed(_run(f, args, rank, world_size, store, seconds))
        with open(theirs, "wb") as pipe:
            pipe.write(answer)
        status = 0
    finally:
        os._exit(status)


def _run(f: Any, args: Any, rank: int, world_size: int, store: str, seconds: float) -> tuple[Any, Any]:
    """(result, None) or (None, exception)."""
    import torch.distributed as dist

    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    os.environ.setdefault("TP_SOCKET_IFNAME", "lo")
    wait = timedelta(seconds=seconds)
    try:
        dist.init_process_group("gloo", f"file://{store}", timeout=wait, rank=rank, world_size=world_size)
    except Exception as error:
        return None, ProbeError(f"gloo does not start here: {error}")
    try:
        result = f(rank, world_size, *args)
        dist.barrier()  # the first to end takes the group's connections along
        return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), result), None
    except BaseException as error:
        return None, error


def _packed(answer: tuple[Any, Any]) -> bytes:
    try:
        packed = pickle.dumps(answer)
        pickle.loads(packed)
        return packed
    except Exception:
        error = answer[1]
        if error is None:
            return pickle.dumps((None, TypeError(f"a {type(answer[0]).__name__} cannot leave its rank")))
        return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {str(error)[:1000]}")))


def _gather(pipes: list[int], seconds: float) -> list[tuple[Any, Any]]:
    """The answer of each rank. After the first failure the others have a moment left: they may wait for it."""
    end = time.monotonic() + seconds
    chunks: dict[int, bytes] = {pipe: b"" for pipe in pipes}
    answers: dict[int, tuple[Any, Any]] = {}
    while len(answers) < len(pipes):
        waiting = [pipe for pipe in pipes if pipe not in answers]
        ready, _, _ = select.select(waiting, [], [], max(end - time.monotonic(), 0))
        if not ready:
            if any(error is not None for _, error in answers.values()):
                answers |= {pipe: (None, _Lost("a rank waited for another")) for pipe in waiting}
                break
            raise TimeoutError(f"{len(waiting)} of {len(pipes)} ranks did not end within {seconds:g} s")
        for pipe in ready:
            chunk = os.read(pipe, 1 << 20)
            chunks[pipe] += chunk
            if chunk:
                continue
            # What the ranks wrote is this process' own, or a fork's of it: as trustworthy as itself, and no more.
            answers[pipe] = pickle.loads(chunks[pipe]) if chunks[pipe] else (None, _Lost("the process of a rank ended"))
            if answers[pipe][1] is not None:
                end = min(end, time.monotonic() + GRACE)
    return [answers[pipe] for pipe in pipes]


def _end(pids: list[int], pipes: list[int]) -> None:
    for pipe in pipes:
        os.close(pipe)
    for pid in pids:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(OSError):  # where nobody waits for children, the system takes them away itself
            os.waitpid(pid, 0)
