"""A fork server forks student processes in which honest labs work, and leaves nothing running."""

import contextlib
import os
import sys
from pathlib import Path

import nbformat
import psutil
import pytest

from autograder.base.errors import GradlabError
from autograder.examiner.examination import Step, examine_steps
from autograder.examiner.stopped_error import StoppedError
from autograder.examiner.submission_runner import SubmissionRunner
from autograder.examiner.time_budget import TimeBudget, Timeouts
from autograder.forkserver import client
from autograder.forkserver.client import ForkServerClient, ProcessSettings, refuse_readable_secrets
from autograder.forkserver.server_process import start_fork_server_process
from autograder.model.course import StepKind
from autograder.nbgrader_plugin import converters
from autograder.sandbox import Limits, find_layers, find_strongest_level
from autograder.student_process.imports import COMPILER, EVERYTHING, find_course_import_groups
from tests.waiting import wait_until

LEVEL = find_strongest_level(find_layers())
HONEST = {
    "a data loader with workers": (
        "import torch\nfrom torch.utils.data import DataLoader, TensorDataset\n"
        "print(sum(float(b.sum()) for (b,) in DataLoader(TensorDataset(torch.arange(8.)), 2, num_workers=2)))",
        "28.0",
    ),
    "a program and its exit status": (
        "import subprocess\nprint(subprocess.run(['/bin/sh', '-c', 'exit 3']).returncode)",
        "3",
    ),
    "a figure": (
        "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.savefig('f.png')\nimport os\nprint(os.path.getsize('f.png') > 1000)",
        "True",
    ),
    "a checkpoint": ("import torch\ntorch.save({'a': 1}, 'c.pt')\nprint(torch.load('c.pt'))", "{'a': 1}"),
    "a compiled function": (
        "import torch\nprint(torch.compile(lambda x: x + 1, backend='eager')(torch.ones(1)).item())",
        "2.0",
    ),
    "backward and an optimizer": (
        "import torch\nm = torch.nn.Linear(2, 1)\no = torch.optim.Adam(m.parameters())\n"
        "m(torch.ones(1, 2)).sum().backward()\no.step()\nprint('stepped')",
        "stepped",
    ),
    "a module of its own": ("open('mine.py', 'w').write('x = 7')\nimport mine\nprint(mine.x)", "7"),
    "threads": (
        "from concurrent.futures import ThreadPoolExecutor\nprint(sum(ThreadPoolExecutor(4).map(abs, [-1, -2])))",
        "3",
    ),
}


def test_worked_labs_pass_in_the_sandbox(fork_server: ForkServerClient) -> None:
    steps = [Step(name, StepKind.STUDENT, source) for name, (source, _) in HONEST.items()]
    results = examine_steps(steps, fork_server.start_process)
    for name, (_, printed) in HONEST.items():
        assert printed in str(results[name].outputs), (name, results[name].outputs)


FIGURES = {
    "left open": "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('a $x^2$')",
    "shown": "figure, axes = plt.subplots()\naxes.plot([2, 1])\nplt.show()\nprint(plt.get_backend())",
    "by its name": "figure",
    "of labkit": "import torch\nfrom labkit import show_strides\nshow_strides(torch.ones(2, 3))",
}


def test_a_figure_is_shown_alike_whether_its_library_was_imported_ahead_or_by_the_cell(
    fork_server: ForkServerClient,
) -> None:
    steps = [Step(name, StepKind.STUDENT, source) for name, source in FIGURES.items()]
    with contextlib.closing(
        ForkServerClient(ProcessSettings(LEVEL), server_process=start_fork_server_process(1, ()))
    ) as light:
        first, second = (examine_steps(steps, server.start_process) for server in (fork_server, light))
    for name in FIGURES:
        assert "image/" in str(first[name].outputs)
        assert first[name].outputs == second[name].outputs, name


def test_honest_labs_work_without_rarely_used_imports() -> None:
    with contextlib.closing(
        ForkServerClient(ProcessSettings(LEVEL), server_process=start_fork_server_process(1, ()))
    ) as light:
        loaded = (
            "import sys\nprint([n for n in ('sklearn', 'sympy', 'torch._dynamo', 'matplotlib') if n in sys.modules])"
        )
        steps = [Step("loaded", StepKind.STUDENT, loaded)]
        steps += [Step(name, StepKind.STUDENT, source) for name, (source, _) in HONEST.items()]
        results = examine_steps(steps, light.start_process)
    assert "[]" in str(results["loaded"].outputs)
    for name, (_, printed) in HONEST.items():
        assert printed in str(results[name].outputs), (name, results[name].outputs)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch\nx = torch.ones(2)", set()),
        ("from torch import optim", {"compiler"}),
        ("@torch.compile\ndef f(x): return x", {"compiler"}),
        ("from sklearn.datasets import load_digits", {"sklearn"}),
        ("from sklearn.datasets import load_digits\nfrom torch.func import vmap", {"compiler", "sklearn"}),
        ("import matplotlib.pyplot as plt", {"figures"}),
        ("from labkit import check, show_strides", {"labkit"}),
    ],
)
def test_slow_imports_are_chosen_by_the_names_in_a_labs_notebooks(
    tmp_path: Path, source: str, expected: set[str]
) -> None:
    folder = tmp_path / "source" / "ps1"
    folder.mkdir(parents=True)
    assert find_course_import_groups(tmp_path, ["ps1"]) == EVERYTHING, "there is no notebook yet"
    for name, text in (("p1", "1 + 1"), ("p2", source)):
        nbformat.write(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(text)]), folder / f"{name}.ipynb")
    assert find_course_import_groups(tmp_path, ["ps1"]) == find_course_import_groups(tmp_path) == expected


def test_a_traceback_imports_nothing_and_looks_through_no_modules(fork_server: ForkServerClient) -> None:
    """Either would cost every submission tens of milliseconds."""
    before = "import inspect, sys\nloaded, looked = set(sys.modules), []\nfound = inspect.ismodule\n"
    before += "inspect.ismodule = lambda each: looked.append(each) or found(each)"
    after = "inspect.ismodule = found\nprint(sorted(set(sys.modules) - loaded), len(looked) < 100)"
    cells = {"before": before, "raises": "def f(): raise ValueError\nf()", "after": after}
    results = examine_steps(
        [Step(name, StepKind.STUDENT, source) for name, source in cells.items()], fork_server.start_process
    )
    assert "ValueError" in str(results["raises"].outputs)
    assert "[] True" in str(results["after"].outputs), results["after"].outputs


def test_two_processes_of_a_check_meet_over_loopback(fork_server: ForkServerClient) -> None:
    if "network namespace" not in fork_server.layers:
        pytest.skip("gloo needs a network namespace")
    answer = (
        "import torch, torch.distributed as dist\ndef total(rank, world_size):\n"
        "    t = torch.tensor([float(rank + 1)])\n    dist.all_reduce(t)\n    return t\n"
    )
    check = (
        "from labkit import check, probes\nwith check('both hold the sum'):\n"
        "    got = [r.item() for r in probes.ranks(total)]\n    assert got == [3.0, 3.0], str(got)\n"
    )
    steps = [
        Step("exercise-total", StepKind.STUDENT, answer, exercise="total"),
        Step("check-total", StepKind.CHECK, check),
    ]
    (outcome,) = examine_steps(steps, fork_server.start_process)["check-total"].outcomes
    assert outcome.passed, outcome.seen


def test_a_submission_finds_the_random_state_that_every_other_finds(fork_server: ForkServerClient) -> None:
    draws = "import random, torch, numpy as np\nprint(random.random(), torch.rand(1).item(), np.random.rand())"
    first, second = (
        examine_steps([Step("a", StepKind.STUDENT, draws)], fork_server.start_process)["a"].outputs for _ in range(2)
    )
    assert first == second


def test_the_warm_process_has_one_thread_and_its_end_leaves_nothing() -> None:
    fork_server = ForkServerClient(ProcessSettings(LEVEL), server_process=start_fork_server_process(1, ()))
    runner = SubmissionRunner(fork_server.start_process, TimeBudget(Timeouts()))
    runner.run("import os\nif os.fork() == 0:\n    import time\n    time.sleep(3600)\n", 1)
    assert len(os.listdir(f"/proc/{fork_server.server_process.process.pid}/task")) == 1
    pids = [child.pid for child in psutil.Process(fork_server.server_process.process.pid).children(recursive=True)]
    assert len(pids) >= 2
    fork_server.close()
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), "all processes of the server have ended")
    assert not fork_server.server_process.home.exists()


def test_a_warm_process_that_died_is_replaced_for_the_next_submission(tmp_path: Path) -> None:
    limits = Limits()
    groups = frozenset({COMPILER})
    first = converters.get_fork_server(LEVEL, limits, tmp_path, groups)
    assert converters.get_fork_server(LEVEL, limits, tmp_path, groups) is first
    first.server_process.process.kill()
    with pytest.raises(GradlabError, match="the fork server is lost"):
        first.start_process()
    second = converters.get_fork_server(LEVEL, limits, tmp_path, groups)
    assert second is not first
    second.start_process().kill()
    converters.close_fork_servers()
    assert second.server_process.process.poll() is not None


@pytest.mark.parametrize("order", ["start", "why"])
def test_an_order_whose_reply_was_not_read_is_the_last(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next order would take that reply for its own and mix up two submissions."""

    def break_off(*_: object) -> None:
        raise StoppedError("working with this result took too long")

    server = ForkServerClient(
        ProcessSettings(find_strongest_level(find_layers()), Limits()), server_process=start_fork_server_process(1, ())
    )
    try:
        with monkeypatch.context() as broken:
            broken.setattr(client, "receive", break_off)
            with pytest.raises(StoppedError):
                server.start_process() if order == "start" else server.explain_end(1)
        assert server.lost
        with pytest.raises(GradlabError, match="lost"):
            server.start_process()
    finally:
        server.close()


def test_a_course_that_every_submission_could_read_is_refused(tmp_path: Path) -> None:
    refuse_readable_secrets([tmp_path / "course"], [Path(sys.prefix)])
    with pytest.raises(GradlabError, match="keep the course in a folder of its own"):
        refuse_readable_secrets([Path(sys.prefix) / "course"], [Path(sys.prefix)])
