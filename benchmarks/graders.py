"""The graders that are compared: each grades a class in a course's folder with the command as installed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import nbformat

from autograder.forkserver.client import ForkServerClient, ProcessSettings
from autograder.grading.lab_cells import parse_cells
from autograder.grading.lab_submission import grade_lab_task
from autograder.grading.task import ExamineSettings, NotebookFile, Task, make_settings
from autograder.intake.notebook_reading import read_file, read_notebook
from autograder.intake.repair import repair_lab_notebook
from autograder.rpc.frames import WireValue
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.compile_cache import prepare_compile_cache
from benchmarks.command_cost import Cost, list_descendants, measure_command, measure_memory
from benchmarks.floor import FloorRun, start_floor

JOBS = 2
STOCK_CONFIG = 'c = get_config()\nc.CourseDirectory.course_id = "stock"\n'  # without any of Gradlab's settings


def run_floor(course: Path, lab: str) -> dict[str, FloorRun]:
    """Run each submission of this lab on the floor, after one run that warms up, and return the runs by student."""
    source = nbformat.read(course / "source" / lab / f"{lab}.ipynb", as_version=4)
    submissions = {folder.name: folder / lab / f"{lab}.ipynb" for folder in sorted((course / "submitted").iterdir())}
    repaired = {
        name: repair_lab_notebook(read_notebook(*read_file(path)), source) for name, path in submissions.items()
    }
    steps = {name: [cell.step for cell in parse_cells(one.notebook)] for name, one in repaired.items()}
    with start_floor() as process:
        process.run(next(iter(steps.values())))
        return {name: process.run(each) for name, each in steps.items()}


def run_gradlab(
    course: Path, lab: str, jobs: int = JOBS, sample_seconds: float = 0.0, include_current: bool = False
) -> Cost:
    """Run `gradlab grade` with the strongest isolation that this machine allows.

    Args:
        jobs: How many submissions are graded at a time.
        sample_seconds: The time between two samples of its memory; 0 takes none.
        include_current: Whether to grade submissions again whose results are current.
    """
    level = find_strongest_level(find_layers())
    options = ["--jobs", str(jobs), "--isolation", level, *(["--again"] if include_current else [])]
    return measure_command([sys.executable, "-m", "autograder.cli", "grade", lab, *options], course, sample_seconds)


def run_nbgrader(course: Path, lab: str) -> Cost:
    """Run `nbgrader autograde`, after removing everything of Gradlab from the course's configuration."""
    (course / "nbgrader_config.py").write_text(STOCK_CONFIG)
    return measure_command([sys.executable, "-m", "nbgrader", "autograde", lab], course)


def measure_student_memory(course: Path, lab: str, student: str) -> int:
    """Measure the private memory of one submission's processes: the bytes of the largest sample."""
    path = course / "submitted" / student / lab / f"{lab}.ipynb"
    source = (course / "source" / lab / path.name).read_bytes()
    settings = make_settings(ExamineSettings(isolation=find_strongest_level(find_layers())))
    process_settings = ProcessSettings(settings.isolation, settings.limits, compiled=prepare_compile_cache(source))
    fork_server = ForkServerClient(process_settings, [course])
    samples = [0]
    ask = fork_server._ask

    def measure_and_ask(order: list[WireValue], read: Callable[[WireValue], object]) -> object:
        pid = order[1] if len(order) > 1 else None
        if isinstance(pid, int):
            samples.append(
                sum(measure_memory(each, "Private_Clean", "Private_Dirty") for each in list_descendants(pid))
            )
        return ask(order, read)

    fork_server._ask = measure_and_ask  # type: ignore[method-assign, assignment]
    try:
        grade_lab_task(Task(lab, student, (NotebookFile(lab, path.read_bytes()),), source, settings), fork_server)
    finally:
        fork_server.close()
    return max(samples)
