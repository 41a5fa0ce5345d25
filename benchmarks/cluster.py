"""What a second machine gains: a class graded by one worker of a Dask cluster, and by two, with one thread each."""

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

import nbformat
import torch

from autograder.authoring.course_folder import read_course, read_labs
from autograder.authoring.notebooks import build_source_notebook
from autograder.base.stop_request import StopRequest
from autograder.demo.students import make_class
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import GradingSettings, NotebookFile, Task
from autograder.model.course import Lab
from autograder.workers.cluster import DaskExecutor

ROOT = Path(__file__).parent.parent
SUBMISSIONS = 40
RUNS = 2
BUSY_CELL = "import time\nwhile time.process_time() < {seconds}:\n    sum(range(1000))\n"
BUSY_SECONDS = 1.0  # of computing in each submission, as in a lab that trains something


def run(submissions: int = SUBMISSIONS, runs: int = RUNS) -> str:
    """Return a Markdown table of wall-clock seconds, means of runs taken in alternation, and their ratio."""
    lab = next(read_labs(read_course(ROOT)))
    tasks = _make_tasks(lab, submissions)
    seconds = {1: 0.0, 2: 0.0}
    for _ in range(runs):
        for workers in seconds:
            seconds[workers] += _measure_grading(tasks, workers) / runs
    ratio = seconds[1] / seconds[2]
    return (
        "# A second worker of a cluster\n\n"
        f"{submissions} submissions of {lab.name}, each with a cell that computes for {BUSY_SECONDS:g} s in addition "
        f"to its answers; means of {runs} runs. The workers, with one thread each, were started by `dask worker` and "
        f"warm, on one machine with {os.cpu_count()} cores. Python {platform.python_version()}, "
        f"torch {torch.__version__}.\n\n"
        "| workers | wall seconds | compared with one | efficiency |\n|---|---|---|---|\n"
        f"| 1 | {seconds[1]:.1f} | 1 | |\n"
        f"| 2 | {seconds[2]:.1f} | {ratio:.2f} times as fast | {ratio / 2:.0%} |\n"
    )


def _make_tasks(lab: Lab, count: int) -> list[Task]:
    """Make tasks of the demo's right and wrong answers, repeated until there are enough.

    The damaged and the blank notebooks compute nothing, so they are left out.
    """
    files = [m.file for m in make_class(lab) if m.student.startswith(("all_right", "right_in", "wrong"))]
    source = nbformat.writes(build_source_notebook(lab)).encode()
    tasks = []
    for number in range(count):
        notebook = json.loads(files[number % len(files)])
        cell = nbformat.v4.new_code_cell(BUSY_CELL.format(seconds=BUSY_SECONDS), id="computes")
        notebook["cells"].insert(1, cell)
        file = json.dumps(notebook).encode()
        tasks.append(Task(lab.name, f"student_{number}", (NotebookFile(lab.name, file),), source, GradingSettings()))
    return tasks


def _measure_grading(tasks: Sequence[Task], workers: int) -> float:
    """Measure the seconds of grading these tasks, after every worker has graded some."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        scheduler_file = Path(folder) / "scheduler.json"
        options = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", str(scheduler_file)]
        stack.enter_context(_start_dask("scheduler", "--port", "0", *options))
        while not scheduler_file.exists() or not scheduler_file.read_text().strip():
            time.sleep(0.05)
        address = json.loads(scheduler_file.read_text())["address"]
        for number in range(workers):
            worker_folder = ["--local-directory", f"{folder}/{number}"]
            stack.enter_context(_start_dask("worker", "--nthreads", "1", *options, *worker_folder))
        _grade_tasks(tasks[: 4 * workers], address)
        start = time.perf_counter()
        _grade_tasks(tasks, address)
        return time.perf_counter() - start


def _grade_tasks(tasks: Sequence[Task], address: str) -> None:
    outcomes = list(DaskExecutor(address).grade(iter(tasks), GradingSettings(), (), StopRequest()))
    if len(outcomes) < len(tasks) or not all(isinstance(outcome, GradedSubmission) for _, outcome in outcomes):
        raise SystemExit("a submission was not graded, so the times can't be compared")


@contextlib.contextmanager
def _start_dask(*arguments: str) -> Iterator[None]:
    command = [str(Path(sys.executable).parent / "dask"), *arguments]
    with subprocess.Popen(command, start_new_session=True, stderr=subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGKILL)
