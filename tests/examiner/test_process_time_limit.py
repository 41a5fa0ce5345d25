"""A student process is charged for the time that it had, not for time lost on a busy machine."""

import socket
from collections.abc import Iterator

import pytest

from autograder.examiner import process_time_limit
from autograder.examiner.process_time_limit import CpuTime, ProcessTimeLimit
from autograder.rpc.frames import ProtocolTimeout


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_time_limit, "LOOK_SECONDS", 0.001)


@pytest.fixture
def idle_socket() -> Iterator[socket.socket]:
    examiner_end, student_end = socket.socketpair()
    with examiner_end, student_end:
        yield examiner_end


class Machine:
    """A clock that advances by a tenth of a second whenever it's read, and one process that gets parts of that time.

    ran, waited: the parts in which it runs and waits for a processor. own_time: the part in which the examiner waits.
    """

    def __init__(self, ran: float, waited: float, own_time: float = 0.0) -> None:
        self.now, self.ran, self.waited, self.own = 0.0, ran, waited, own_time

    def own_wait(self) -> float:
        return self.own * self.now

    def clock(self) -> float:
        self.now += 0.1
        return self.now

    def meter(self) -> list[CpuTime]:
        return [CpuTime(1, self.ran * self.now, self.waited * self.now)]


def wait_until_over(
    idle_socket: socket.socket, ran: float, waited: float, own_time: float = 0.0
) -> tuple[float, ProcessTimeLimit]:
    """(seconds of the machine's clock until ten are over, the bound)."""
    machine = Machine(ran, waited, own_time)
    bound = ProcessTimeLimit(10.0, machine.meter, clock=machine.clock, own_wait=machine.own_wait)
    with pytest.raises(ProtocolTimeout):
        bound.wait(idle_socket)
    return machine.now, bound


def test_a_process_that_runs_has_its_seconds(idle_socket: socket.socket) -> None:
    took, bound = wait_until_over(idle_socket, ran=1.0, waited=0.0)
    assert took == pytest.approx(10, abs=0.5) and not bound.was_starved()


def test_the_examiners_own_waiting_is_not_charged_to_the_process(idle_socket: socket.socket) -> None:
    """It answers a check's callbacks, and on a busy machine it waits for that as the process waits for its own turn."""
    took, bound = wait_until_over(idle_socket, ran=0.2, waited=0.4, own_time=0.4)
    assert took == pytest.approx(50, abs=3) and not bound.was_starved()


def test_a_process_that_sleeps_has_no_more(idle_socket: socket.socket) -> None:
    took, bound = wait_until_over(idle_socket, ran=0.0, waited=0.0)
    assert took == pytest.approx(10, abs=0.5) and not bound.was_starved()


def test_waiting_for_a_processor_is_not_charged(idle_socket: socket.socket) -> None:
    for share in (1 / 2, 1 / 5, 1 / 9):
        took, bound = wait_until_over(idle_socket, ran=share, waited=1 - share)
        assert took == pytest.approx(10 / share, rel=0.1) and not bound.was_starved()


def test_a_limit_shorter_than_a_look_counts_like_any_other(
    idle_socket: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_time_limit, "LOOK_SECONDS", 20.0)
    machine = Machine(ran=1 / 5, waited=4 / 5)
    bound = ProcessTimeLimit(10.0, machine.meter, clock=machine.clock, own_wait=machine.own_wait)
    machine.now += 10
    assert not bound.is_over()
    machine.now += 50
    assert bound.is_over()


def test_an_expired_limit_stays_expired_when_the_kernel_reports_waiting_later(idle_socket: socket.socket) -> None:
    machine = Machine(ran=1.0, waited=0.0)
    bound = ProcessTimeLimit(10.0, machine.meter, clock=machine.clock, own_wait=machine.own_wait)
    with pytest.raises(ProtocolTimeout):
        bound.wait(idle_socket)
    machine.waited = 1.0
    assert bound.is_over()


def test_the_wall_clock_ends_it_and_says_that_the_machine_was_busy(idle_socket: socket.socket) -> None:
    took, bound = wait_until_over(idle_socket, ran=0.02, waited=0.98)
    assert took == pytest.approx(process_time_limit.WALL * 10, rel=0.1) and bound.was_starved()


def test_processes_that_keep_each_other_waiting_are_not_the_machines_fault(idle_socket: socket.socket) -> None:
    took, bound = wait_until_over(idle_socket, ran=0.15, waited=0.98)
    assert took == pytest.approx(process_time_limit.WALL * 10, rel=0.1) and not bound.was_starved()


def test_many_processes_together_have_twice_the_seconds(idle_socket: socket.socket) -> None:
    """Whatever waiting time they report."""
    took, _ = wait_until_over(idle_socket, ran=8.0, waited=0.9)
    assert took == pytest.approx(20 / 8, abs=1)


def test_the_time_left_for_the_whole_submission_ends_it_before_its_own_limit(idle_socket: socket.socket) -> None:
    machine = Machine(ran=1.0, waited=0.0)
    with pytest.raises(ProtocolTimeout):
        ProcessTimeLimit(10.0, machine.meter, clock_limit=3.0, clock=machine.clock, own_wait=machine.own_wait).wait(
            idle_socket
        )
    assert machine.now == pytest.approx(3, abs=0.5)


def test_an_answer_ends_the_wait() -> None:
    examiner_end, student_end = socket.socketpair()
    with examiner_end, student_end:
        student_end.send(b"x")
        ProcessTimeLimit(5.0, lambda: []).wait(examiner_end)
