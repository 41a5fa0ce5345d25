"""An answer is tried like a submission: its code in a student process, the checks on proxies."""

import contextlib
import functools
import io
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch

from autograder.base.errors import SourceError
from autograder.examiner.execution import create_namespace, record_check_cell, run_cell
from autograder.examiner.process_time_limit import ProcessTimeLimit
from autograder.model.course import Exercise, Lab, LabEntry
from autograder.proving import answer_run, forks, unsandboxed_process
from autograder.proving.answer_result import AnswerResult
from autograder.proving.judge import judge_generated
from autograder.proving.workbench import RUNS, Workbench, compute_notebook_points, iter_workbenches
from autograder.rpc.random_states import seed_all
from autograder.sandbox.processes import read_stat_fields
from labkit.outcome import build_outcome, compute_earned
from tests.conftest import ROOT
from tests.lab_files import write_lab
from tests.waiting import wait_until

SOURCE = '''
# %% [markdown]
# # Doubles

# %% given
import torch
from labkit import assert_close, check

# %% exercise: double points=1
# ---- exercises/double.py
# %% exercise
def double(x: torch.Tensor) -> torch.Tensor:
    """Twice x."""
    ### BEGIN SOLUTION
    return x + x
    ### END SOLUTION

# %% promises
# Twice x -> one, two

# %% domain
# The inputs are picked by hand.

# %% checks
with check("one", "one doubles to two"):
    assert_close(double(torch.ones(1)), torch.tensor([2.0]))

# %% hidden checks
with check("two", "two doubles to four"):
    assert_close(double(torch.full((1,), 2.0)), torch.tensor([4.0]))
# ---- lab.py
# %% given
six = double(torch.tensor([3.0]))
shown: list = []

# %% exercise: Tally points=2
# ---- exercises/Tally.py
# %% given
def tally_of(*numbers):
    tally = Tally(0)
    return [tally.add(int(double(torch.tensor(n)))) for n in numbers]

# %% exercise
class Tally:
    """Counts."""
    def __init__(self, start: int) -> None:
        self.count = start
    ### BEGIN SOLUTION
    def add(self, n: int) -> int:
        self.count += n
        return self.count
    def above(self, n: int) -> bool:
        return self.count > n
    ### END SOLUTION

# %% promises
# Counts -> first, counts_on, given, above

# %% domain
# The inputs are picked by hand.

# %% checks
with check("first", "a tally of one number"):
    assert Tally(2).add(3) == 5

# %% hidden checks
with check("counts_on", "a tally counts on"):
    tally = Tally(1)
    tally.add(1)
    assert tally.add(2) == 4 and isinstance(tally, Tally)
with check("given", "the given cell's sums"):
    assert tally_of(1, 2) == [2, 6] and float(six) == 6
with check("above", "above"):
    assert Tally(5).above(4) is True
'''
GOOD_TALLY = """
class Tally:
    def __init__(self, start): self.all = [start]
    def add(self, n):
        self.all.append(n)
        return sum(self.all)
    def above(self, n): return sum(self.all) > n
"""
RESETS = """
class Tally:
    def __init__(self, start): self.start = start
    def add(self, n): return self.start + n
    def above(self, n): return self.start > n
"""
CHEATS = """
import labkit.comparison, torch
labkit.comparison.explain = assert_close = labkit.assert_close = lambda *_, **__: None
globals()["assert_close"] = assert_close
def double(x): return None
"""


def write_doubles_lab(folder: Path, source: str = SOURCE) -> Lab:
    return write_lab(folder, source.lstrip(), LabEntry(name="01_doubles", title="Doubles", minutes=1))


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    return write_doubles_lab(tmp_path)


def find_workbench(lab: Lab, exercise: str) -> Workbench:
    return next(b for b in iter_workbenches(lab) if b.exercise.name == exercise)


def iter_notebooks(lab: Lab) -> Iterator[tuple[Exercise, Callable[[str], AnswerResult]]]:
    """Each exercise, with a workbench where answers and checks share a process, as in a notebook.

    Valid until the next one is requested, like workbenches.
    """
    seed_all()
    namespace = create_namespace()
    exercises = {e.cell_id: e for e in lab.exercises}
    for cell in lab.cells:
        if exercise := exercises.get(cell.id):
            yield exercise, functools.partial(try_in_one_process, lab, exercise, namespace)
        if cell.kind.traits.step in RUNS:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
                run_cell(cell.source, namespace, f"<{cell.id}>")


def try_in_one_process(lab: Lab, exercise: Exercise, namespace: dict[str, object], source: str) -> AnswerResult:
    def work() -> list[dict[str, object]]:
        run_cell(source, namespace, "<answer>")
        return [o.as_dict() for o in record_check_cell(lab.cell(exercise.check_id).source, namespace, "<checks>")]

    try:
        outcomes = tuple(build_outcome(o) for o in forks.run_in_fork(work))
    except forks.ForkError as failure:
        return AnswerResult(failure=str(failure))
    return AnswerResult(outcomes, compute_earned(outcomes, exercise.points))


def list_children() -> list[str]:
    return Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()


def list_descriptors() -> list[str]:
    """The open files of this process, except the folder that lists them."""
    links = (f"/proc/self/fd/{name}" for name in os.listdir("/proc/self/fd"))
    return sorted(os.readlink(link) for link in links if os.path.lexists(link))


def summarize_result(result: AnswerResult) -> object:
    """For a wrong answer only its marks: a call of a course function acts at once or not at all."""
    right = all(outcome.passed for outcome in result.outcomes)
    return result.points, result.failure, result.has_effect, right, [o.misconception for o in result.outcomes]


@pytest.mark.nightly
@pytest.mark.timeout(7200)
def test_answers_earn_the_same_through_the_examiner_and_in_one_process(labs: list[Lab]) -> None:
    torch.set_num_threads(1)
    for lab in labs:
        answers = [(exercise, answer) for exercise in lab.exercises for answer in exercise.answers]
        results = [
            workbench.try_source(answer.source)
            for workbench in iter_workbenches(lab)
            for answer in workbench.exercise.answers
        ]
        together = [try_it(answer.source) for exercise, try_it in iter_notebooks(lab) for answer in exercise.answers]
        for (exercise, answer), examined_result, single_process_result in zip(answers, results, together, strict=True):
            place = f"{lab.name}, {exercise.name}, {answer.label}"
            if answer.liar:  # in one process it deceives the checks
                assert examined_result.points <= single_process_result.points, place
            else:
                assert summarize_result(examined_result) == summarize_result(single_process_result), place


def test_the_code_of_an_answer_does_not_run_in_the_process_that_runs_the_checks(lab: Lab) -> None:
    _, try_together = next(iter_notebooks(lab))
    assert try_together(CHEATS).points == 1
    result = find_workbench(lab, "double").try_source(CHEATS)
    assert (result.points, result.failure) == (0, "")
    assert result.failed_checks == ("one", "two")


def test_classes_given_cells_and_earlier_exercises_are_there(lab: Lab) -> None:
    workbench = find_workbench(lab, "Tally")
    assert workbench.try_source(GOOD_TALLY).points == 2
    assert workbench.try_source(RESETS).failed_checks == ("counts_on", "given")
    assert find_workbench(lab, "double").try_blank().points == 0


def test_a_given_cell_that_fails_on_an_answer_is_named(lab: Lab) -> None:
    assert find_workbench(lab, "Tally").try_blank().failure == "NotImplementedError: "


def test_objects_whose_methods_always_return_one_value_are_tried(lab: Lab) -> None:
    workbench = find_workbench(lab, "Tally")
    results = workbench.try_generated()
    true = results["an object whose methods all return True"]
    first = results["an object whose methods repeat their first result"]
    assert true.failed_checks == ("first", "counts_on", "given")
    assert first.failed_checks == ("counts_on", "given")
    (problem,) = judge_generated(lab, workbench.exercise, "an object whose methods all return True", true)
    assert "earns 0.5 of 2 points" in problem and "it passes: 'above'" in problem


def test_a_check_that_only_asks_whether_the_result_is_true_is_refused(tmp_path: Path) -> None:
    comparison = "assert_close(double(torch.ones(1)), torch.tensor([2.0]))"
    with pytest.raises(SourceError, match="a truth test"):
        write_doubles_lab(tmp_path, SOURCE.replace(comparison, "assert double(torch.ones(1))"))


@pytest.fixture
def impatient_workbench(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> Workbench:
    monkeypatch.setattr(answer_run, "CHECK_SECONDS", 1.0)
    monkeypatch.setattr(unsandboxed_process, "CELL_SECONDS", 1.0)
    monkeypatch.setattr(ProcessTimeLimit, "was_starved", lambda self: False)  # on a busy machine, it is
    return find_workbench(lab, "double")


@pytest.mark.parametrize(
    ("source", "failure"),
    [
        ("import os\ndef double(x): os._exit(0)", "the Python process ended during this check"),
        ("import os\nos._exit(0)", "the Python process ended"),
        ("def double(x):\n    while True: pass", "the time limit of 1 s for a check was reached"),
        ("while True: pass", "no answer within 1 s"),
        ("undefined", "NameError: name 'undefined' is not defined"),
    ],
)
def test_an_answer_that_ends_its_process_or_never_ends_is_a_failure(
    impatient_workbench: Workbench, source: str, failure: str
) -> None:
    assert impatient_workbench.try_source(source).failure == failure


def test_answers_after_a_failure_are_tried_as_before(impatient_workbench: Workbench) -> None:
    assert impatient_workbench.try_source("import os\ndef double(x): os._exit(0)").failure
    assert impatient_workbench.try_source("def double(x): return undefined").failed_checks == ("one", "two")
    assert impatient_workbench.try_source("while True: pass").failure
    assert impatient_workbench.try_source("def double(x): return 2 * x").points == 1


def try_all(folder: Path) -> None:
    """Try all answers of a lab in their own process; an open descriptor at the end is an error."""
    answer_run.CHECK_SECONDS = 2.0  # a busy machine needs more than half a second for answers that end
    lab = write_doubles_lab(folder)
    before = list_descriptors(), list_children()
    for workbench in iter_workbenches(lab):
        assert len(list_children()) == len(before[1]) + 1
        workbench.try_source("import os\ndef double(x): os._exit(0)")
        workbench.try_source("def double(x):\n    while True: pass")
        workbench.try_generated()
        workbench.find_constant_parameters()
    del workbench
    assert sum(compute_notebook_points(lab, {}).values()) == 0
    after = list_descriptors(), list_children()
    assert after == before, (after, before)


@pytest.mark.nightly
def test_no_process_and_no_descriptor_is_left(tmp_path: Path) -> None:
    """In its own process: objects of other tests open and close files at any time."""
    code = "import sys, pathlib, tests.proving.test_answer_run as t; t.try_all(pathlib.Path(sys.argv[1]))"
    process = subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, capture_output=True, text=True)
    assert process.returncode == 0, process.stderr


def test_processes_that_an_answer_starts_end_with_its_trial(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = tmp_path / "pid"
    workbench = find_workbench(lab, "double")
    endless = f"import subprocess\nopen({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '36000']).pid))"
    workbench.try_source(f"{endless}\ndef double(x): return x + x")
    pid = int(note.read_text())
    # A process that was killed ends when it gets its next turn.
    wait_until(lambda: read_stat_fields(pid)[:1] in ([], ["Z"]), "the answer's process has ended")


def test_trials_run_one_thread_in_each_process(lab: Lab) -> None:
    count = "import torch\ndef double(x):\n    assert torch.get_num_threads() == 1\n    return x + x"
    torch.set_num_threads(2)
    try:
        workbench = find_workbench(lab, "double")
        assert workbench.try_source(count).points == 1
        assert forks.run_in_fork(torch.get_num_threads) == 1
    finally:
        torch.set_num_threads(1)


def test_a_whole_notebook_continues_after_a_check_that_ended_the_process(lab: Lab) -> None:
    ends = "import os\ndef double(x):\n    if x.is_floating_point() and x == 2: os._exit(0)\n    return x + x"
    points = compute_notebook_points(lab, {"double": ends, "Tally": GOOD_TALLY})
    assert points == {"double": 0.5, "Tally": 2}
    assert compute_notebook_points(lab, {"double": "def double(x): return 2 * x", "Tally": GOOD_TALLY}) == {
        "double": 1,
        "Tally": 2,
    }


def test_a_cell_of_the_lab_that_raises_is_named_with_its_line(tmp_path: Path) -> None:
    lab = write_doubles_lab(tmp_path, SOURCE.replace("shown: list = []", "shown = [][0]"))
    with pytest.raises(SourceError) as caught:
        find_workbench(lab, "Tally")
    assert "IndexError" in caught.value.problem
    assert (tmp_path / "lab.py").read_text().splitlines()[caught.value.line - 1] == "# %% given"
