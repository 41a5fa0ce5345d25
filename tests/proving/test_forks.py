"""Work in a fork returns its result, and whatever ends it is an error that says why."""

import os
import time

import pytest

from autograder.proving.forks import ForkError, run_in_fork


def test_a_result_is_returned_and_nothing_else_changes() -> None:
    numbers = [1, 2]
    assert run_in_fork(lambda: (numbers.append(3), len(numbers))[1]) == 3
    assert numbers == [1, 2]


def raise_failure() -> None:
    raise ForkError("in its own words")


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (lambda: 1 / 0, "ZeroDivisionError: division by zero"),
        (raise_failure, "in its own words"),
        (object, "TypeError: Object of type object is not JSON serializable"),
        (lambda: os._exit(0), "the process died"),
    ],
)
def test_a_failure_is_an_error_that_says_why(work: object, message: str) -> None:
    with pytest.raises(ForkError, match=f"^{message}$"):
        run_in_fork(work)  # type: ignore[arg-type]


def test_work_that_never_ends_is_given_up() -> None:
    def work() -> None:
        while True:
            time.process_time()

    with pytest.raises(ForkError, match=r"no answer within 0\.1 s"):
        run_in_fork(work, 0.1)
