"""A cell or a check that ends the student process costs itself alone: the same process goes on, or another in its place."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from autograder.examiner.examine import Step, examine
from autograder.forkserver.client import ForkServer
from labkit.outcome import Outcome

GIVEN = "import torch\nfrom labkit import assert_close, check\n"
CHECKS = """
with check("a vector"):
    assert_close(double(torch.tensor([1.0])), torch.tensor([2.0]))
with check("a matrix"):
    assert_close(double(torch.tensor([[3.5]])), torch.tensor([[7.0]]))
with check("a vector again"):
    assert_close(double(torch.tensor([2.0])), torch.tensor([4.0]))
"""
RIGHT = "def double(x):\n    return 2 * x\n"
ENDS = {
    "exits": "import os\nos._exit(0)",
    "becomes another program": "import os\nos.execv('/bin/true', ['true'])",
    "kills itself": "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
    "raises SystemExit": "raise SystemExit(1)",
}


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServer]:
    process = ForkServer()
    yield process
    process.close()


def outcomes_of(fork_server: ForkServer, before: str, answer: str, after: str) -> list[Outcome]:
    steps = [
        Step("setup", "given", GIVEN),
        Step("added-0", "student", before),
        Step("exercise-double", "student", answer, exercise="double"),
        Step("added-1", "student", after),
        Step("check-double", "check", CHECKS),
    ]
    return examine(steps, fork_server.student)["check-double"].outcomes


@pytest.mark.parametrize("name", ENDS)
def test_an_added_cell_that_ends_the_process_leaves_the_answer_its_points(fork_server: ForkServer, name: str) -> None:
    for cells in (("", RIGHT, ENDS[name]), (ENDS[name], RIGHT, "")):
        assert [o.passed for o in outcomes_of(fork_server, *cells)] == [True, True, True]


def test_a_check_that_ends_the_process_leaves_the_others_theirs(fork_server: ForkServer) -> None:
    answer = "def double(x):\n    import os\n    if x.dim() == 2:\n        os._exit(0)\n    return 2 * x"
    outcomes = outcomes_of(fork_server, "", answer, "")
    assert [o.passed for o in outcomes] == [True, False, True]
    assert "the Python process ended" in outcomes[1].seen
