"""The grader's work on a student's value is bounded in time, even inside one C function, and in memory."""

import math
import os
import resource

import psutil
import pytest

from autograder.sandbox.grader_limits import call_in_child, limit_process


def test_an_endless_c_function_ends_its_process() -> None:
    def work() -> str:
        with limit_process(seconds=1):
            return str(math.factorial(10**9))

    assert call_in_child(work, lost="lost") == "lost"


def test_endless_memory_is_an_error_and_the_process_continues() -> None:
    def work() -> str:
        with limit_process(seconds=60, memory=2**30), pytest.raises(MemoryError):
            bytearray(2**32)
        return f"still here: {len(bytearray(2**20))}"

    assert call_in_child(work, lost="lost") == f"still here: {2**20}"


def test_the_limits_are_as_before_afterwards() -> None:
    before = resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_AS)
    with limit_process(seconds=60):
        pass
    assert (resource.getrlimit(resource.RLIMIT_CPU), resource.getrlimit(resource.RLIMIT_AS)) == before


def test_a_child_that_ends_in_the_middle_is_lost_and_leaves_nothing() -> None:
    before = psutil.Process().children()
    assert call_in_child(lambda: os._exit(3), lost="lost") == "lost"
    assert psutil.Process().children() == before
