"""What a second machine gains: a class graded by one worker of a dask cluster, and by two, of one thread each."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from threading import Event

import nbformat
import torch

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.notebooks import build_source_notebook
from autograder.demo.students import make_class
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import NotebookFile, Settings, Task
from autograder.model.course import Lab
from autograder.workers.cluster import DaskExecutor

ROOT = Path(__file__).parent.parent
SUBMISSIONS = 40
RUNS = 2
COMPUTES = "import time\nwhile time.process_time() < {seconds}:\n    sum(range(1000))\n"
SECONDS = 1.0  # of computing in each submission, as in a lab that trains something


def run(submissions: int = SUBMISSIONS, runs: int = RUNS) -> str:
    """A Markdown table of wall-clock seconds, means of runs that were taken in alternation, and their ratio."""
    lab = next(read_labs(read_course(ROOT)))
    tasks = _tasks(lab, submissions)
    seconds = {1: 0.0, 2: 0.0}
    for _ in range(runs):
        for workers in seconds:
            seconds[workers] += _graded(tasks, workers) / runs
    ratio = seconds[1] / seconds[2]
    return (
        "# A second worker of a cluster\n\n"
        f"{submissions} submissions of {lab.name}, each with a cell that computes for {SECONDS:g} s beside its "
        f"answers; means of {runs} runs. Workers of one thread, started by `dask worker` and warm, on one machine of "
        f"{os.cpu_count()} cores. Python {platform.python_version()}, torch {torch.__version__}.\n\n"
        "| workers | wall seconds | against one | efficiency |\n|---|---|---|---|\n"
        f"| 1 | {seconds[1]:.1f} | 1 | |\n"
        f"| 2 | {seconds[2]:.1f} | {ratio:.2f} times as fast | {ratio / 2:.0%} |\n"
    )


def _tasks(lab: Lab, count: int) -> list[Task]:
    """Answers of every kind over and over. The damaged and the blank ones compute nothing, and stay out."""
    files = [m.file for m in make_class(lab) if m.student.startswith(("all_right", "right_in", "wrong"))]
    course = nbformat.writes(build_source_notebook(lab)).encode()
    tasks = []
    for number in range(count):
        notebook = json.loads(files[number % len(files)])
        cell = nbformat.v4.new_code_cell(COMPUTES.format(seconds=SECONDS), id="computes")
        notebook["cells"].insert(1, cell)
        file = json.dumps(notebook).encode()
        tasks.append(Task(lab.name, f"student_{number}", (NotebookFile(lab.name, file),), course, Settings()))
    return tasks


def _graded(tasks: Sequence[Task], workers: int) -> float:
    """Seconds that grading takes once every worker has graded something."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        found = Path(folder) / "scheduler.json"
        options = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(found)]
        stack.enter_context(_dask("scheduler", "--port", "0", *options))
        while not found.exists() or not found.read_text().strip():
            time.sleep(0.05)
        address = json.loads(found.read_text())["address"]
        for number in range(workers):
            place = ["--local-directory", f"{folder}/{number}"]
            stack.enter_context(_dask("worker", "--nthreads", "1", *options, *place))
        _all_graded(tasks[: 4 * workers], address)
        started = time.perf_counter()
        _all_graded(tasks, address)
        return time.perf_counter() - started


def _all_graded(tasks: Sequence[Task], address: str) -> None:
    outcomes = list(DaskExecutor(address).grade(iter(tasks), Settings(), (), Event()))
    if len(outcomes) < len(tasks) or not all(isinstance(outcome, GradedSubmission) for _, outcome in outcomes):
        raise SystemExit("a submission was not graded: nothing can be compared")


@contextlib.contextmanager
def _dask(*arguments: str) -> Iterator[None]:
    command = [str(Path(sys.executable).parent / "dask"), *arguments]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
