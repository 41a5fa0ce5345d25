"""What a notebook binds to the course's names is undone before the checks run, and reported."""

import pytest

from autograder.examiner.examination import Step, examine_steps
from autograder.examiner.protected_names import select_protected_names
from autograder.examiner.time_budget import Timeouts
from autograder.forkserver.client import ForkServerClient
from autograder.model.course import StepKind

GIVEN = """
import torch
from labkit import check, probes

factor = 2
shown = torch.ones(3)

def scaled(x):
    return x * factor

@probes.probe
def asked(f, x):
    return f(scaled(x))
"""
RIGHT = "def double(x):\n    return 2 * x\n"
BLANK = "def double(x):\n    raise NotImplementedError\n"
CHECK = 'with check("doubles"):\n    assert asked(double, 3) == 12\nwith check("again"):\n    assert asked(double, 1) == 4\n'
CHECKS = (True, CHECK)


def grade_answer(fork_server: ForkServerClient, answer: str, after: str = "") -> tuple[list[bool], list[str]]:
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-double", StepKind.STUDENT, answer, exercise="double"),
        Step("added", StepKind.STUDENT, after),
        Step("check-double", StepKind.CHECK, CHECK),
    ]
    results = examine_steps(steps, fork_server.start_process, Timeouts())
    return [o.passed for o in results["check-double"].outcomes], [
        n for result in results.values() for n in result.changed_names
    ]


def test_names_that_checks_use_directly_or_indirectly_are_kept() -> None:
    cells = ((False, GIVEN), CHECKS, (False, "def other():\n    return factor\n"))
    assert select_protected_names(cells) == (("asked", "factor", "probes", "scaled"), (), ())


def test_local_names_of_checks_and_functions_are_not_kept() -> None:
    """A later cell that binds such a name would make the examiner fork the process before it, 40 ms each."""
    source = "import torch\nx = 1\ny = 2\ndef asked(f, x):\n    y = f(x)\n    return y\n"
    check = 'with check("asks"):\n    x = 3\n    assert [y for y in asked(double, x)] == [6]\n'
    assert select_protected_names(((False, source), (True, check), (False, "x = y = 5\n"))) == (("asked",), (), ())


def test_an_honest_notebook_changes_nothing(fork_server: ForkServerClient) -> None:
    assert grade_answer(fork_server, RIGHT, "import math\nshown = 3\ndef helper(x): return x\n") == ([True, True], [])


def test_a_redefined_probe_is_restored(fork_server: ForkServerClient) -> None:
    assert grade_answer(fork_server, BLANK, "def asked(f, x):\n    return 4 * x\n") == ([False, False], ["asked"])


def test_names_that_a_probe_uses_are_restored_too(fork_server: ForkServerClient) -> None:
    """By accident too: a cell for trying things may bind any name."""
    assert grade_answer(fork_server, RIGHT, "factor = 100\n") == ([True, True], ["factor"])
    assert grade_answer(fork_server, RIGHT, "def scaled(x):\n    return 0\n") == ([True, True], ["scaled"])


def test_a_patched_library_is_reported_and_a_patched_labkit_is_restored(fork_server: ForkServerClient) -> None:
    source = "import labkit.probes.probe_definition, torch, builtins\ntorch.relu = 1\nbuiltins.sum = max\nlabkit.probes.saved = 2\n"
    passed, changed = grade_answer(fork_server, RIGHT, source)
    assert passed == [True, True] and {"torch.relu", "builtins.sum", "labkit.probes.saved"} <= set(changed)


LIE = "def lie(f, x):\n    return 12 if x == 3 else 4\n"


@pytest.mark.parametrize(
    "after",
    [
        LIE + "asked.__wrapped__.__code__ = lie.__code__\n",
        LIE + "for cell in asked.__closure__:\n    if cell.cell_contents is asked.__wrapped__:\n"
        "        cell.cell_contents = lie\n",
        "scaled.__code__ = (lambda x: x * 4).__code__\n",
        "scaled.__defaults__ = (4,)\n",
    ],
    ids=["the code of a probe", "the closure of a probe", "the code of a helper", "defaults"],
)
def test_the_contents_of_a_course_function_are_restored_and_reported(fork_server: ForkServerClient, after: str) -> None:
    passed, changed = grade_answer(fork_server, BLANK, after)
    assert passed == [False, False]
    assert set(changed) <= {"asked", "scaled"}
    assert changed


def test_labkit_is_restored_before_a_given_cell_runs(fork_server: ForkServerClient) -> None:
    source = "import labkit.probes\nlabkit.probes.probe = lambda function: lambda f, x: 12 if x == 3 else 4\n"
    steps = [
        Step("first", StepKind.STUDENT, source),
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-double", StepKind.STUDENT, BLANK, exercise="double"),
        Step("check-double", StepKind.CHECK, CHECK),
    ]
    results = examine_steps(steps, fork_server.start_process, Timeouts())
    assert [o.passed for o in results["check-double"].outcomes] == [False, False]
    assert "labkit.probes.probe" in [name for result in results.values() for name in result.changed_names]


def test_the_names_are_as_they_were_at_each_check_cell(fork_server: ForkServerClient) -> None:
    """A given cell further down may rebind a name: the checks above it see the earlier value."""
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-double", StepKind.STUDENT, RIGHT, exercise="double"),
        Step("check-double", StepKind.CHECK, CHECK),
        Step("later", StepKind.GIVEN, "factor = 10\n"),
        Step(
            "exercise-triple",
            StepKind.STUDENT,
            "state = []\ndef triple(x):\n    state.append(1)\n    return 3 * x\n",
            exercise="triple",
        ),
        Step("check-triple", StepKind.CHECK, 'with check("triples"):\n    assert asked(triple, 1) == 30\n'),
    ]
    results = examine_steps(steps, fork_server.start_process, Timeouts())
    assert [o.passed for name in ("check-double", "check-triple") for o in results[name].outcomes] == [True] * 3
