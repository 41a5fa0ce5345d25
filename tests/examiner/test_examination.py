"""The examiner computes on one thread, and leaves its process as it was."""

from collections.abc import Iterator

import pytest
import torch

from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServerClient
from autograder.model.course import StepKind

GIVEN = "import torch\nfrom labkit import check\n"
ANSWER = "def threads():\n    return torch.get_num_threads()\n"
CHECK = """
with check("here", "checks run on one thread"):
    assert torch.get_num_threads() == 1
with check("there", "an answer runs on one thread"):
    assert threads() == 1
"""


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_checks_and_answers_run_on_one_thread_whatever_the_process_had(fork_server: ForkServerClient) -> None:
    """Two threads that wait for each other made a right answer run into its time limit on a busy machine."""
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-threads", StepKind.STUDENT, ANSWER, exercise="threads"),
        Step("check-threads", StepKind.CHECK, CHECK),
    ]
    results = examine_steps(steps, fork_server.start_process)
    assert [outcome.passed for outcome in results["check-threads"].outcomes] == [True, True]
    assert torch.get_num_threads() == 2
