"""A student process is charged for the time that it had, not for the time that a busy machine took from it."""

import socket
import time
from collections.abc import Iterator

import pytest

from autograder.examiner import effort
from autograder.examiner.effort import Effort, Used
from autograder.rpc.frames import ProtocolTimeout


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(effort, "LOOK_SECONDS", 0.02)


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours


def after(begun: float, ran: float, waited: float) -> list[Used]:
    """One process that runs and waits with these parts of the time."""
    elapsed = time.monotonic() - begun
    return [Used(1, ran * elapsed, waited * elapsed)]


def timed_out(silent: socket.socket, ran: float, waited: float) -> tuple[float, Effort]:
    begun = time.monotonic()
    bound = Effort(0.2, lambda: after(begun, ran, waited))
    with pytest.raises(ProtocolTimeout):
        bound.wait(silent)
    return time.monotonic() - begun, bound


def test_a_process_that_runs_has_its_seconds(silent: socket.socket) -> None:
    took, bound = timed_out(silent, ran=1.0, waited=0.0)
    assert 0.2 <= took < 0.6 and not bound.was_starved()


def test_a_process_that_sleeps_has_no_more(silent: socket.socket) -> None:
    took, bound = timed_out(silent, ran=0.0, waited=0.0)
    assert 0.2 <= took < 0.6 and not bound.was_starved()


def test_what_it_waited_for_a_processor_is_not_charged(silent: socket.socket) -> None:
    took, _ = timed_out(silent, ran=0.5, waited=0.5)
    assert 0.35 <= took <= effort.WALL * 0.2 + 0.3


def test_time_that_is_over_stays_over_though_the_kernel_adds_later_what_was_waited(silent: socket.socket) -> None:
    told = [Used(1, 0.2, 0.0)]
    bound = Effort(0.2, lambda: told)
    with pytest.raises(ProtocolTimeout):
        bound.wait(silent)
    told[0] = Used(1, 0.2, 10.0)
    assert bound.is_over()


def test_the_wall_clock_ends_it_and_says_that_the_machine_was_busy(silent: socket.socket) -> None:
    took, bound = timed_out(silent, ran=0.02, waited=0.98)
    assert took >= effort.WALL * 0.2 and bound.was_starved()


def test_many_processes_together_have_twice_the_seconds(silent: socket.socket) -> None:
    """However long they say they waited."""
    took, _ = timed_out(silent, ran=8.0, waited=0.9)
    assert took < 0.4


def test_an_answer_ends_the_wait() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.send(b"x")
        Effort(5.0, lambda: []).wait(ours)
