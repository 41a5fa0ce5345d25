"""The examiner computes on one thread, and leaves its process as it was."""

from collections.abc import Iterator

import pytest
import torch

from autograder.examiner.examination import Step, examine_steps
from autograder.forkserver.client import ForkServerClient
from autograder.model.course import StepKind
from labkit.cause import NOT_WRITTEN, Cause

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


SCALE = "def scale(values, by, apply):\n    values[0] = by\n    return [apply(value) for value in values]\n"
CALLS = """
class Own:
    pass
with check("direct", "the first call"):
    values = torch.tensor([1.0, 2.0])
    got = scale(values, by=3, apply=torch.sin)
    assert len(got) == 3
with check("again", "the student's object is passed to it"):
    assert scale(values, by=4, apply=scale) == [], "not empty"
with check("other", "nothing was called"):
    assert 1 == 2
with check("value", "it passes"):
    assert len(scale(values, 5, torch.cos)) == 2
check.score("scale", points=1)
"""


def test_an_outcome_says_which_call_failed_with_its_arguments_before_and_after(fork_server: ForkServerClient) -> None:
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-scale", StepKind.STUDENT, SCALE, exercise="scale"),
        Step("check-scale", StepKind.CHECK, CALLS),
    ]
    outcomes = examine_steps(steps, fork_server.start_process)["check-scale"].outcomes
    assert [outcome.call for outcome in outcomes] == [
        "scale(tensor([1., 2.]), by=3, apply=<builtin_function_or_method sin>); "
        "after the call, argument 1 is tensor([3., 2.])",
        "scale(tensor([3., 2.]), by=4, apply=<an object of yours>); after the call, argument 1 is tensor([4., 2.])",
        "",
        "",
    ]


DOUBLE = "def double(x):\n    return x.view(-1) * 2 if x.is_contiguous() else x\n"
DOMAIN = """
reference = define_reference("double", "def double(x):\\n    return x.reshape(-1) * 2", {})
@domain(reference, "transposed")
def inputs(draw, edge):
    return (draw.apply_layout(torch.arange(6.0).view(2, 3), edge),)
"""
TRIALS = """
with check("trials", "other layouts"):
    inputs.assert_results(double, "", "transposed")
check.score("double", points=1)
"""


def test_of_several_calls_with_drawn_inputs_the_outcome_has_the_one_whose_result_is_wrong(
    fork_server: ForkServerClient,
) -> None:
    steps = [
        Step("setup", StepKind.GIVEN, f"{GIVEN}from labkit.domain import domain\n"),
        Step("exercise-double", StepKind.STUDENT, DOUBLE, exercise="double"),
        Step("check-double", StepKind.CHECK, f"from labkit.reference import define_reference\n{DOMAIN}{TRIALS}"),
    ]
    (outcome,) = examine_steps(steps, fork_server.start_process)["check-double"].outcomes
    assert outcome.call == (
        "double(x=<tensor([[0., 1., 2.], [3., 4., 5.]]) with strides (1, 2)>), with this kind of input: transposed"
    )


@pytest.mark.parametrize(
    ("answer", "seen", "cause"),
    [
        ("def double(x):\n    return 4 * half(x)", "it uses a function that isn't written yet", None),
        ("def double(x):\n    raise NotImplementedError()", NOT_WRITTEN, Cause.UNWRITTEN),
    ],
)
def test_an_answer_that_uses_an_unwritten_one_is_not_called_unwritten(
    fork_server: ForkServerClient, answer: str, seen: str, cause: Cause | None
) -> None:
    check = 'with check("two", "doubles"):\n    assert double(1) == 2\ncheck.score("double", points=1)\n'
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-half", StepKind.STUDENT, "def half(x):\n    raise NotImplementedError()", exercise="half"),
        Step("exercise-double", StepKind.STUDENT, answer, exercise="double"),
        Step("check-double", StepKind.CHECK, check, checked="double"),
    ]
    (outcome,) = examine_steps(steps, fork_server.start_process)["check-double"].outcomes
    assert (outcome.seen, outcome.cause, outcome.error) == (seen, cause, "NotImplementedError")
