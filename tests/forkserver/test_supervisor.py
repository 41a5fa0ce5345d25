"""A run's processes are gone when the supervisor says so, also on a kernel that does not tell when one ends."""

import errno
import os
import socket
import time
from collections.abc import Iterator

import pytest

from autograder.forkserver.supervisor import Runs
from autograder.sandbox import Limits, available, network_for, require, runtime_paths, strongest_level
from autograder.sandbox.processes import alive, stat_fields

CHILDREN = 5


@pytest.fixture
def runs() -> Iterator[Runs]:
    layers = require(strongest_level(available()))
    running = Runs(layers, Limits(), runtime_paths(), network_for(layers), "cpu", _fork_and_wait)
    yield running
    running.stop_all()


def _fork_and_wait(control: int) -> None:
    os.write(control, b"in its sandbox")
    os.read(control, 1)
    for _ in range(CHILDREN):
        if os.fork() == 0:
            break
    os.write(control, b"!")
    time.sleep(60)


@pytest.mark.parametrize("told", [True, False], ids=["told", "looked for"])
def test_a_group_is_gone_when_it_was_killed_and_the_run_goes_on(
    told: bool, runs: Runs, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not told:
        monkeypatch.setattr(os, "pidfd_open", _unknown_to_the_kernel)
    ours, theirs = socket.socketpair()
    with ours:
        pid, trouble = runs.start(theirs.detach())
        assert isinstance(pid, int) and pid, trouble
        assert ours.recv(64) == b"in its sandbox"
        runs.adopt(pid, "")
        ours.send(b"go on")
        came = 0
        while came < CHILDREN + 1:
            came += len(ours.recv(16))
        runs.adopt(pid, "check")
        forks = runs.running[pid].groups["check"]
        assert len(forks) == CHILDREN
        runs.kill_group(pid, "check")
        assert not [fork for fork in forks if (fields := stat_fields(fork)) and alive(fields)]
        assert runs.status(pid) == ["", None]


def _unknown_to_the_kernel(pid: int, flags: int = 0) -> int:
    raise OSError(errno.ENOSYS, f"pidfd_open({pid}, {flags})")
