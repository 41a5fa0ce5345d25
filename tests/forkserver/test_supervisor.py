"""A run's processes are gone when the supervisor says so, even on a kernel that doesn't report their end."""

import errno
import functools
import os
import signal
import socket
import time
from collections.abc import Iterator

import pytest

from autograder.base.device import Device
from autograder.forkserver.supervisor import Supervisor
from autograder.sandbox import (
    Limits,
    choose_network,
    find_layers,
    find_runtime_paths,
    find_strongest_level,
    select_required_layers,
)
from autograder.sandbox.keeper import KEEPER
from autograder.sandbox.processes import is_alive, read_stat_fields
from tests.sandbox.supervision import measure_own_memory
from tests.waiting import wait_until

CHILDREN = 5
MEMORY = 400 << 20


@pytest.fixture
def supervisor() -> Iterator[Supervisor]:
    layers = select_required_layers(find_strongest_level(find_layers()))
    running = Supervisor(layers, Limits(), find_runtime_paths(), choose_network(layers), Device.CPU, _fork_and_wait)
    yield running
    running.stop_all()


def _fork_and_wait(control: int) -> None:
    os.write(control, b"in its sandbox")
    os.read(control, 1)
    for _ in range(CHILDREN):
        if os.fork() == 0:
            break
    os.write(control, b"!")
    time.sleep(3600)


@pytest.mark.parametrize("by_pidfd", [True, False], ids=["by pidfd", "looked for"])
def test_a_group_is_gone_when_it_was_killed_and_the_run_goes_on(
    by_pidfd: bool, supervisor: Supervisor, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not by_pidfd:
        monkeypatch.setattr(os, "pidfd_open", _refuse_pidfd)
    parent_end, child_end = socket.socketpair()
    with parent_end:
        pid, problem = supervisor.start(child_end.detach())
        assert isinstance(pid, int) and pid, problem
        assert parent_end.recv(64) == b"in its sandbox"
        supervisor.adopt(pid, "")
        parent_end.send(b"go on")
        byte_count = 0
        while byte_count < CHILDREN + 1:
            received = parent_end.recv(16)
            assert received, f"the run ended after {byte_count} bytes"
            byte_count += len(received)
        supervisor.adopt(pid, "check")
        forks = supervisor.running[pid].groups["check"]
        assert len(forks) == CHILDREN
        supervisor.kill_group(pid, "check")
        assert not [fork for fork in forks if (fields := read_stat_fields(fork)) and is_alive(fields)]
        assert supervisor.check_status(pid) == ["", None]


def _refuse_pidfd(pid: int, flags: int = 0) -> int:
    raise OSError(errno.ENOSYS, f"pidfd_open({pid}, {flags})")


def _fork_on_order(memory: int, control: int) -> None:
    """Fork a process for each order: "memory" makes it take this memory, anything else makes it wait."""
    os.write(control, b"in its sandbox")
    while order := os.read(control, 16):
        if os.fork() == 0:
            block = bytearray(b"x") * (memory if order == b"memory" else 1)
            os.write(control, b"!")
            time.sleep(3600)
            del block
    os._exit(3)


@pytest.mark.parametrize("keeps", [True, False], ids=["with a keeper", "with a uid"])
def test_a_run_that_holds_too_much_while_it_starts_is_ended(keeps: bool) -> None:
    layers = {KEEPER} if keeps else select_required_layers(find_strongest_level(find_layers()))
    running = Supervisor(
        frozenset(layers), Limits(), find_runtime_paths(), "local", Device.CPU, lambda _: time.sleep(3600)
    )
    parent_end, child_end = socket.socketpair()
    with parent_end:
        pid, problem = running.start(child_end.detach())
        assert isinstance(pid, int) and pid, problem
        running.limits = Limits(memory=1)
        wait_until(lambda: running.check_status(pid)[1] is not None, "the run is ended")
        assert running.check_status(pid) == ["memory", signal.SIGKILL]
        running.stop_all()


@pytest.fixture
def small_supervisor() -> Iterator[Supervisor]:
    layers = select_required_layers(find_strongest_level(find_layers()))
    own_memory = measure_own_memory()
    limits = Limits(memory=own_memory + MEMORY // 2)
    take = functools.partial(_fork_on_order, own_memory + MEMORY)
    running = Supervisor(layers, limits, find_runtime_paths(), choose_network(layers), Device.CPU, take)
    yield running
    running.stop_all()


@pytest.fixture
def run(small_supervisor: Supervisor) -> Iterator[tuple[int, socket.socket]]:
    parent_end, child_end = socket.socketpair()
    with parent_end:
        pid, problem = small_supervisor.start(child_end.detach())
        assert isinstance(pid, int) and pid, problem
        assert parent_end.recv(64) == b"in its sandbox"
        small_supervisor.adopt(pid, "")
        yield pid, parent_end


def _send_order(parent_end: socket.socket, word: bytes) -> None:
    parent_end.send(word)
    assert parent_end.recv(1) == b"!"


def test_the_limit_that_ended_a_fork_is_reported_once_and_not_for_later_failures(
    small_supervisor: Supervisor, run: tuple[int, socket.socket]
) -> None:
    pid, parent_end = run
    _send_order(parent_end, b"memory")
    small_supervisor.adopt(pid, "check")
    assert [small_supervisor.check_status(pid)[0] for _ in range(2)] == ["memory", ""]
    for begins in (small_supervisor.adopt, small_supervisor.kill_group):
        _send_order(parent_end, b"memory")
        small_supervisor.adopt(pid, "check")
        small_supervisor.poll()
        begins(pid, "check")
        assert small_supervisor.check_status(pid) == ["", None]


def test_a_program_that_holds_too_much_is_no_reason_for_the_end_of_its_run(
    small_supervisor: Supervisor, run: tuple[int, socket.socket]
) -> None:
    pid, parent_end = run
    _send_order(parent_end, b"memory")
    assert small_supervisor.check_status(pid) == ["", None]
    parent_end.shutdown(socket.SHUT_WR)
    wait_until(lambda: small_supervisor.check_status(pid)[1] is not None, "the run has ended")
    limit, status = small_supervisor.check_status(pid)
    assert limit == "" and isinstance(status, int)
    assert os.waitstatus_to_exitcode(status) == 3


def test_the_limit_that_ended_a_run_stays_its_reason(
    small_supervisor: Supervisor, run: tuple[int, socket.socket]
) -> None:
    pid, parent_end = run
    _send_order(parent_end, b"memory")
    small_supervisor.adopt(pid, "")
    small_supervisor.poll()
    assert [small_supervisor.check_status(pid)[0] for _ in range(2)] == ["memory"] * 2
