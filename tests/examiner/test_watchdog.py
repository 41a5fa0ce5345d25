"""A check that keeps the examiner busy endlessly loses only itself."""

import signal
import threading
from typing import Any

import pytest

from autograder.examiner.course_cells import run_checks, run_given
from autograder.examiner.stopped_error import StoppedError

BUSY = """
from labkit import check
with check("first"):
    pass
with check("without end"):
    while True:
        pass
with check("last"):
    pass
"""


class DeadConnection:
    """A connection that no check here uses."""

    def begin_check(self) -> None: ...

    def ask(self, request: Any, callbacks: Any) -> Any:
        raise AssertionError(request)


def test_a_busy_check_ends_and_the_next_one_runs() -> None:
    before = signal.getsignal(signal.SIGPROF)
    outcomes = run_checks(BUSY, "<c>", {}, [], DeadConnection(), seconds=0.2)
    assert [o.passed for o in outcomes] == [True, False, True]
    assert outcomes[1].seen == "working with this result took too long"
    assert outcomes[1].blame == "process"
    assert signal.getsignal(signal.SIGPROF) is before
    assert signal.getitimer(signal.ITIMER_PROF) == (0, 0)


def test_a_given_cell_that_never_ends_is_abandoned() -> None:
    with pytest.raises(StoppedError, match="took too long"):
        run_given("while True:\n    pass", "<g>", {}, [], DeadConnection(), seconds=0.2)


def test_checks_run_in_other_threads_too() -> None:
    outcomes = []
    quick = BUSY.replace("while True", "while False")
    thread = threading.Thread(target=lambda: outcomes.extend(run_checks(quick, "<c>", {}, [], DeadConnection())))
    thread.start()
    thread.join()
    assert [o.passed for o in outcomes] == [True, True, True]
