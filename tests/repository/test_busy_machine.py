"""`make nightly` runs the tests during busy loops, and leaves none of them running."""

import os
import sys

import psutil
import pytest

from scripts.busy_machine import LOOP, main


def list_loops() -> list[int]:
    return [child.pid for child in psutil.Process(os.getpid()).children() if LOOP in child.cmdline()]


COUNT = f"""
import os, sys, psutil
loops = [child for child in psutil.Process(os.getppid()).children() if {LOOP!r} in child.cmdline()]
sys.exit(len(loops))
"""


@pytest.mark.parametrize("count", [0, 2])
def test_a_command_runs_next_to_loops_that_end_with_it(count: int) -> None:
    assert main(count, [sys.executable, "-c", COUNT]) == count
    assert list_loops() == []
