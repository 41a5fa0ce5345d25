"""The graders that are compared, each as its command is installed, on a class that lies in a course's folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import nbformat

from autograder.forkserver.client import ForkServer, ProcessSettings
from autograder.grading.lab_cells import parse_cells
from autograder.grading.lab_submission import grade_lab_task
from autograder.grading.task import ExamineSettings, NotebookFile, Task, make_settings
from autograder.intake.notebook_reading import read_file, read_notebook
from autograder.intake.repair import repair_lab_notebook
from autograder.rpc.frames import WireValue
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.compile_cache import prepare_compile_cache
from benchmarks.floor import Run, new_floor
from benchmarks.measure import Cost, cost_of, descendants, memory

JOBS = 2
STOCK = 'c = get_config()\nc.CourseDirectory.course_id = "stock"\n'  # nothing of Gradlab


def floor(course: Path, lab: str) -> dict[str, Run]:
    """Of each student who submitted this lab, after one run that warms up."""
    source = nbformat.read(course / "source" / lab / f"{lab}.ipynb", as_version=4)
    submissions = {folder.name: folder / lab / f"{lab}.ipynb" for folder in sorted((course / "submitted").iterdir())}
    repaired = {
        name: repair_lab_notebook(read_notebook(*read_file(path)), source) for name, path in submissions.items()
    }
    steps = {name: [cell.step for cell in parse_cells(one.notebook)] for name, one in repaired.items()}
    with new_floor() as process:
        process.run(next(iter(steps.values())))
        return {name: process.run(each) for name, each in steps.items()}


def gradlab(course: Path, lab: str, jobs: int = JOBS, sample: float = 0.0, again: bool = False) -> Cost:
    """The whole command, examiner and sandbox on, at this machine's best level."""
    level = find_strongest_level(find_layers())
    options = ["--jobs", str(jobs), "--isolation", level, *(["--again"] if again else [])]
    return cost_of([sys.executable, "-m", "autograder.cli", "grade", lab, *options], course, sample)


def stock(course: Path, lab: str) -> Cost:
    """nbgrader autograde, with nothing of Gradlab in its configuration."""
    (course / "nbgrader_config.py").write_text(STOCK)
    return cost_of([sys.executable, "-m", "nbgrader", "autograde", lab], course)


def student_memory(course: Path, lab: str, student: str) -> int:
    """Bytes that the processes of one submission hold beyond what they share, where most was seen."""
    path = course / "submitted" / student / lab / f"{lab}.ipynb"
    source = (course / "source" / lab / path.name).read_bytes()
    settings = make_settings(ExamineSettings(isolation=find_strongest_level(find_layers())))
    process_settings = ProcessSettings(settings.isolation, settings.limits, compiled=prepare_compile_cache(source))
    fork_server = ForkServer(process_settings, [course])
    seen = [0]
    ask = fork_server._ask

    def look_first(order: list[WireValue], read: Callable[[WireValue], object]) -> object:
        pid = order[1] if len(order) > 1 else None
        if isinstance(pid, int):
            seen.append(sum(memory(each, "Private_Clean", "Private_Dirty") for each in descendants(pid)))
        return ask(order, read)

    fork_server._ask = look_first  # type: ignore[method-assign, assignment]
    try:
        grade_lab_task(Task(lab, student, (NotebookFile(lab, path.read_bytes()),), source, settings), fork_server)
    finally:
        fork_server.close()
    return max(seen)
