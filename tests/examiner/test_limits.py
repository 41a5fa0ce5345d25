"""Each limit has its own reason, costs the exercise that hit it, and leaves the other exercises their points."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from autograder.examiner.examination import Step, StepResult, examine_steps
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.examiner.time_budget import Timeouts
from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.forkserver.server_process import start_fork_server_process
from autograder.model.course import StepKind
from autograder.sandbox import Limits, find_layers, find_strongest_level
from labkit.cause import Cause
from labkit.outcome import compute_earned

MIB = 1 << 20
LIMITS = Limits(
    memory=400 * MIB,
    disk=32 * MIB,
    files=200,
    file_size=8 * MIB,
    processes=60,
    descriptors=100,
    cpu_seconds=5,
    address_space=1600 * MIB,
)
PATIENCE = Timeouts(cell=300, check=300, submission=3600)  # no other limit is reached so late, however busy the machine
HURRY = Timeouts(cell=4, check=2, submission=3600)


def choose_timeouts(reason: str) -> Timeouts:
    """Choose short limits only if the reason is a time limit."""
    return HURRY if "time limit" in reason else PATIENCE


GIVEN = "import torch\nfrom labkit import check\n"
CHECKS = """
with check("doubles 1"):
    assert double(1) == 2
with check("doubles 2"):
    assert double(2) == 4
"""
ADD = "def add(a, b):\n    return a + b\n"
ADDS = 'with check("adds"):\n    assert add(2, 3) == 5\n'
EAT = "blocks = []\nwhile True:\n    blocks.append(bytearray(20_000_000))\n"
FORKS = (
    "import os, time\nfor _ in range(500):\n    if os.fork() == 0:\n        time.sleep(36000)\n        os._exit(0)\n"
)
FILES = "kept = [open('/dev/null') for _ in range(500)]\n"
LONG_FILE = "with open('long', 'wb') as file:\n    file.write(bytes(20_000_000))\n"
DISK = "for n in range(20):\n    with open(str(n), 'wb') as file:\n        file.write(bytes(4_000_000))\n"
STUBBORN = "import time\nwhile True:\n    try:\n        time.sleep(60)\n    except BaseException:\n        pass\n"
BUSY = "while True:\n    pass\n"
EXIT = "import os\nos._exit(3)\n"
KILLED = "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n"
FAMILY = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(os.getpid(), signal.SIGKILL)\n"


@pytest.fixture(scope="module")
def fork_server() -> Iterator[ForkServerClient]:
    process = ForkServerClient(
        ProcessSettings(find_strongest_level(find_layers()), LIMITS), server_process=start_fork_server_process(1, ())
    )
    yield process
    process.close()


def indent(source: str) -> str:
    return "".join(f"    {line}\n" for line in source.splitlines())


def run_submission(
    fork_server: ForkServerClient, answer: str, before: str = "", timeouts: Timeouts = PATIENCE, after: str = ""
) -> dict[str, StepResult]:
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("added-0", StepKind.STUDENT, before),
        Step("exercise-double", StepKind.STUDENT, answer, exercise="double"),
        *([Step("added-1", StepKind.STUDENT, after)] if after else []),
        Step("check-double", StepKind.CHECK, CHECKS),
        Step("exercise-add", StepKind.STUDENT, ADD, exercise="add"),
        Step("check-add", StepKind.CHECK, ADDS),
    ]
    return examine_steps(steps, fork_server.start_process, timeouts)


IN_A_CELL = {
    "memory": (EAT, "the memory limit"),
    "hangs": (STUBBORN, "the time limit of 4 s for a cell"),
    "exits": (EXIT, "exit status 3"),
    "killed": (KILLED, "SIGTERM"),
}


@pytest.mark.parametrize("name", IN_A_CELL)
def test_a_cell_that_ends_its_process_says_why_and_costs_nothing_else(fork_server: ForkServerClient, name: str) -> None:
    if name == "killed" and "pid namespace" in fork_server.layers:
        pytest.skip("the first process of a pid namespace gets no signal from inside it")
    source, reason = IN_A_CELL[name]
    timeouts = choose_timeouts(reason)
    results = run_submission(fork_server, "def double(x):\n    return 2 * x\n", before=source, timeouts=timeouts)
    assert reason in results["added-0"].stop_reason
    assert reason in str(results["added-0"].outputs)
    assert compute_earned(results["check-double"].outcomes, 2) == 2
    assert compute_earned(results["check-add"].outcomes, 1) == 1


ENDS = (EXIT, "import os\nos.execv('/bin/true', ['true'])", KILLED.replace("TERM", "KILL"), "raise SystemExit(1)")


@pytest.mark.parametrize("source", ENDS)
def test_an_added_cell_that_ends_the_process_leaves_the_answer_before_it_its_points(
    fork_server: ForkServerClient, source: str
) -> None:
    for cells in ({"before": source}, {"after": source}):
        results = run_submission(fork_server, "def double(x):\n    return 2 * x\n", **cells)
        assert compute_earned(results["check-double"].outcomes, 2) == 2
        assert compute_earned(results["check-add"].outcomes, 1) == 1


IN_A_CHECK = {
    "memory": (EAT, "the memory limit"),
    "processes": (FORKS, "the limit on processes and threads"),
    "open files": (FILES, "the limit on open files"),
    "a long file": (LONG_FILE, "the limit on the size of a file"),
    "the disk": (DISK, "the limit on disk space"),
    "hangs": (STUBBORN, "the time limit of 2 s for a check"),
    "is busy": (BUSY, "the time limit of 2 s for a check"),
    "exits": (EXIT, "ended during this check"),
    "is killed": (KILLED, "ended during this check"),
    "kills its parent": (FAMILY, "during this check"),
}


@pytest.mark.parametrize("name", IN_A_CHECK)
def test_an_answer_that_hits_a_limit_in_a_check_says_which_and_costs_that_check(
    fork_server: ForkServerClient, name: str
) -> None:
    source, reason = IN_A_CHECK[name]
    answer = f"def double(x):\n    if x == 1:\n{indent(indent(source))}    return 2 * x\n"
    results = run_submission(fork_server, answer, timeouts=choose_timeouts(reason))
    first, second = results["check-double"].outcomes
    assert not first.passed
    assert reason in first.seen
    assert first.blame == "process"
    assert second.passed, second.seen
    assert compute_earned(results["check-add"].outcomes, 1) == 1


def test_a_limit_in_every_check_of_an_exercise_leaves_the_next_exercise_its_points(
    fork_server: ForkServerClient,
) -> None:
    for source in (EAT, FAMILY, FORKS):
        results = run_submission(fork_server, f"def double(x):\n{indent(source)}    return 2 * x\n")
        assert compute_earned(results["check-double"].outcomes, 2) == 0
        assert compute_earned(results["check-add"].outcomes, 1) == 1


def test_a_cell_keeps_what_it_printed_up_to_the_bound_and_says_that_more_was_cut(fork_server: ForkServerClient) -> None:
    picture = "from IPython.display import Image, display\nfor _ in range(9):\n    display(Image(bytes(600_000), format='png'))\n"
    floods = {
        "text": "print('x' * 5_000_000)",
        "lines": "print('x\\n' * 200_000)",
        "pieces": "import sys\nfor _ in range(5_000):\n    print(1)\n    print(2, file=sys.stderr)\n",
        "pictures": picture,
        "values": "from IPython.display import display\nfor n in range(5_000):\n    display(n)\n",
    }
    for name, source in floods.items():
        results = run_submission(fork_server, "def double(x):\n    return 2 * x\n", before=source)
        outputs = str(results["added-0"].outputs)
        assert len(outputs) < 3_000_000, name
        assert "the limit on output was reached" in outputs, name
        assert compute_earned(results["check-double"].outcomes, 2) == 2


def test_cells_that_use_up_the_time_leave_the_exercises_before_them_their_points(fork_server: ForkServerClient) -> None:
    endless = "import time\ntime.sleep(36000)\n"
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-add", StepKind.STUDENT, ADD, exercise="add"),
        Step("check-add", StepKind.CHECK, ADDS),
        Step("exercise-double", StepKind.STUDENT, "def double(x):\n    return 2 * x\n", exercise="double"),
        Step("added-0", StepKind.STUDENT, endless),
        Step("added-1", StepKind.STUDENT, endless),
        Step("check-double", StepKind.CHECK, CHECKS),
    ]
    results = examine_steps(steps, fork_server.start_process, Timeouts(cell=36000, check=9, submission=12))
    assert results["added-0"].stop_reason == "the time limit of 8 s for all cells was reached"
    assert results["added-1"].stop_reason
    assert compute_earned(results["check-add"].outcomes, 1) == 1


def test_a_process_that_cannot_be_forked_costs_the_cell_that_made_it_so(fork_server: ForkServerClient) -> None:
    answer = "def double(x):\n    return 2 * x\nimport os\nos.register_at_fork(before=lambda: os._exit(1))\n"
    results = run_submission(fork_server, answer)
    assert "exit status 1" in results["exercise-double"].stop_reason
    assert compute_earned(results["check-double"].outcomes, 2) == 0
    assert compute_earned(results["check-add"].outcomes, 1) == 1


def test_an_earlier_limit_is_not_the_reason_for_a_later_failure(fork_server: ForkServerClient) -> None:
    eats_in_a_child = f"import os\nif os.fork() == 0:\n{indent(EAT)}os.wait()\n"
    results = run_submission(fork_server, "import os\nos._exit(3)", before=eats_in_a_child)
    assert "exit status 3" in results["exercise-double"].stop_reason


def test_a_program_that_a_cell_has_started_serves_every_check(fork_server: ForkServerClient) -> None:
    starts = "import subprocess\nhelper = subprocess.Popen(['/bin/sleep', '36000'])\n"
    answer = "def double(x):\n    import os\n    os.kill(helper.pid, 0)\n    return 2 * x\n"
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("added-0", StepKind.STUDENT, starts),
        Step("exercise-double", StepKind.STUDENT, answer, exercise="double"),
        Step("check-double", StepKind.CHECK, CHECKS),
        Step("check-again", StepKind.CHECK, CHECKS),
    ]
    results = examine_steps(steps, fork_server.start_process, PATIENCE)
    for check in ("check-double", "check-again"):
        assert compute_earned(results[check].outcomes, 2) == 2


def test_a_signal_without_a_name_is_reported_by_its_number(fork_server: ForkServerClient) -> None:
    if "pid namespace" in fork_server.layers:
        pytest.skip("the first process of a pid namespace gets no signal from inside it")
    results = run_submission(
        fork_server, "def double(x):\n    return 2 * x\n", before="import os\nos.kill(os.getpid(), 40)"
    )
    assert "signal 40" in results["added-0"].stop_reason


def test_outputs_that_cannot_be_encoded_are_reported_and_end_nothing(fork_server: ForkServerClient) -> None:
    cell = "x = []\nx.append(x)\ndisplay({'application/json': x, 'text/plain': 'round'}, raw=True)\n"
    results = run_submission(fork_server, "def double(x):\n    return 2 * x\n", before=cell)
    assert "can't be shown" in str(results["added-0"].outputs)
    assert compute_earned(results["check-double"].outcomes, 2) == 2


def test_processes_that_a_check_starts_are_gone_at_its_end(fork_server: ForkServerClient) -> None:
    daemon = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(36000)\n    os._exit(0)\n"
    count = (
        "import os\ndef add(a, b):\n    pids = [n for n in os.listdir('/proc') if n.isdigit()]\n"
        "    return sum(') Z ' not in open(f'/proc/{n}/stat').read() for n in pids)\n"
    )
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step(
            "exercise-double",
            StepKind.STUDENT,
            f"def double(x):\n{indent(daemon)}    return 2 * x\n",
            exercise="double",
        ),
        Step("check-double", StepKind.CHECK, CHECKS),
        Step("exercise-add", StepKind.STUDENT, count, exercise="add"),
        Step(
            "check-add",
            StepKind.CHECK,
            # A killed process stays on the list until it gets its next turn.
            "import time\n"
            'with check("only the process, and perhaps its fork, is there"):\n'
            "    assert any(add(1, 1) <= 2 or time.sleep(0.1) for _ in range(100)), str(add(1, 1))\n",
        ),
    ]
    results = examine_steps(steps, fork_server.start_process, PATIENCE)
    assert [o.passed for o in results["check-double"].outcomes] == [True, True]
    assert results["check-add"].outcomes[0].passed, results["check-add"].outcomes[0].seen


def test_a_default_device_that_a_student_sets_changes_nothing_for_values_that_pass(
    fork_server: ForkServerClient,
) -> None:
    results = run_submission(
        fork_server, "def double(x):\n    return 2 * x\n", before="torch.set_default_device('meta')"
    )
    assert compute_earned(results["check-double"].outcomes, 2) == 2


def test_half_a_character_in_a_result_is_reported_and_ends_nothing(fork_server: ForkServerClient) -> None:
    results = run_submission(fork_server, "def double(x):\n    return 'a\\ud800' if x == 1 else 2 * x\n")
    first, second = results["check-double"].outcomes
    assert not first.passed and "a check can't read this result" in first.seen
    assert second.passed


def test_exit_in_a_cell_is_reported_and_ends_nothing(fork_server: ForkServerClient) -> None:
    results = run_submission(fork_server, "def double(x):\n    return 2 * x\n", before="exit()")
    assert "a notebook goes on after exit()" in str(results["added-0"].outputs)
    assert compute_earned(results["check-double"].outcomes, 2) == 2


def test_a_function_that_ran_out_of_time_has_less_for_its_other_checks(fork_server: ForkServerClient) -> None:
    checks = "".join(f'with check("number {n}"):\n    assert double({n}) == {2 * n}\n' for n in range(5))
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-double", StepKind.STUDENT, f"def double(x):\n{indent(BUSY)}", exercise="double"),
        Step("check-double", StepKind.CHECK, checks),
        Step("exercise-add", StepKind.STUDENT, ADD, exercise="add"),
        Step("check-add", StepKind.CHECK, ADDS),
    ]
    results = examine_steps(steps, fork_server.start_process, HURRY)
    assert [o.seen for o in results["check-double"].outcomes] == [
        "the time limit of 2 s for a check was reached",
        *["the time limit of 1 s for a check was reached"] * 4,
    ]
    assert results["check-add"].outcomes[0].passed


def test_all_values_that_one_check_receives_share_a_bound(
    fork_server: ForkServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each item is small, and a check that keeps them all would fill the examiner's memory."""
    monkeypatch.setattr("autograder.examiner.check_connection.MAX_BYTES", 1_000_000)
    answer = "def double(x):\n    return (torch.zeros(20_000) for _ in range(x))\n"
    checks = 'with check("few"):\n    list(double(3))\nwith check("many"):\n    list(double(100))\n'
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN),
        Step("exercise-double", StepKind.STUDENT, answer, exercise="double"),
        Step("check-double", StepKind.CHECK, checks),
    ]
    few, many = examine_steps(steps, fork_server.start_process, PATIENCE)["check-double"].outcomes
    assert few.passed
    assert not many.passed
    assert many.blame == "process"


def test_a_cell_of_the_students_under_the_id_of_a_given_one_runs_in_the_student_process_only(
    fork_server: ForkServerClient,
) -> None:
    """Whatever the intake lets through, only cells that the course calls given run with the checks."""
    steps = [
        Step("setup", StepKind.GIVEN, GIVEN + "limit = 3\n"),
        Step("setup", StepKind.STUDENT, "limit = 1000\ndef check(*args, **kwargs): raise SystemExit\n"),
        Step("exercise-add", StepKind.STUDENT, ADD, exercise="add"),
        Step("check-add", StepKind.CHECK, 'with check("the course\'s limit"):\n    assert add(1, 2) == limit\n'),
    ]
    assert examine_steps(steps, fork_server.start_process, PATIENCE)["check-add"].outcomes[0].passed


REMEMBERS = """
import os, time
time.sleep({pause})
def double(x):
    if os.path.exists("kept"):
        raise ValueError(open("kept").read())
    if x == 2:
        open("kept", "w").write("a check passed in 2")
        if not os.fork():
            time.sleep(36000)
        while True:
            pass
    return 2 * x
"""


@pytest.mark.parametrize("pause", [0, 2.5], ids=["the process serves", "forks serve"])
def test_checks_run_again_in_a_process_that_remembers_nothing(
    fork_server: ForkServerClient, pause: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a hidden check's inputs could reach a visible one, whose text a student reads."""
    monkeypatch.setattr(ProcessTimeLimit, "was_starved", ProcessTimeLimit.is_over)
    results = run_submission(fork_server, REMEMBERS.format(pause=pause), timeouts=replace(HURRY, cell=20))
    first, second = results["check-double"].outcomes
    assert first.passed and not second.passed
    assert second.cause is Cause.BUSY and "ValueError" not in second.error
    assert compute_earned(results["check-add"].outcomes, 1) == 1
