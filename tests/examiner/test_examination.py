"""The examiner computes on one thread, and leaves its process as it was."""

from collections.abc import Iterator

import pytest
import torch

from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServerClient
from autograder.model.course import StepKind
from labkit.cause import Cause

GIVEN = "import torch\nfrom labkit import check\n"
ANSWER = "def threads():\n    return torch.get_num_threads()\n"
CHECK = """
with check("here", "checks run on one thread"):
    assert torch.get_num_threads() == 1
with check("there", "an answer runs on one thread"):
    assert threads() == 1
"""


LAST = """
with check("value", "the sum is right"):
    assert add(1, 2).bit_length() == 2
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


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (
            "def add(a, b):\n    total = a + b\nreturn total",
            "SyntaxError in line 3 of your cell: 'return' outside function",
        ),
        (
            "def add(a, b):\n    total = a + b\nyield total",
            "SyntaxError in line 3 of your cell: 'yield' outside function",
        ),
        ("def add(a, b):\n    pass\nbreak", "SyntaxError in line 3 of your cell: 'break' outside loop"),
        (
            "def add(a, b):\n    return await a",
            "SyntaxError in line 2 of your cell: 'await' outside async function",
        ),
        (
            "%matplotlib inline\ndef add(a, b):\n    pass\nnonlocal total",
            "SyntaxError in line 4 of your cell: nonlocal declaration not allowed at module level",
        ),
        ("def add(a, b)\n    return a + b", "SyntaxError in line 1 of your cell: expected ':'"),
    ],
)
def test_a_failed_check_names_the_syntax_error_of_its_exercise(
    fork_server: ForkServerClient, answer: str, seen: str
) -> None:
    """The shell runs the statements above such an error, so the function may be defined, without its last line."""
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-add", StepKind.STUDENT, answer, exercise="add"),
        Step("check-add", StepKind.CHECK, LAST, checked="add"),
    ]
    (outcome,) = examine_steps(steps, fork_server.start_process)["check-add"].outcomes
    assert (outcome.passed, outcome.seen, outcome.cause, outcome.error) == (False, seen, Cause.SYNTAX, "")


def test_a_right_answer_above_a_syntax_error_keeps_its_points_and_a_command_is_none(
    fork_server: ForkServerClient,
) -> None:
    for line in ("return 3", "%time add(1, 2)", "!true", "await __import__('asyncio').sleep(0)"):
        steps = [
            Step("setup", StepKind.GIVEN, GIVEN),
            Step("exercise-add", StepKind.STUDENT, f"def add(a, b):\n    return a + b\n{line}", exercise="add"),
            Step("check-add", StepKind.CHECK, LAST, checked="add"),
        ]
        (outcome,) = examine_steps(steps, fork_server.start_process)["check-add"].outcomes
        assert outcome.passed, line
