"""The graders that are compared, each as its command is installed, on a class that lies in a course's folder."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

from autograder.runner.grading import grade_task
from autograder.runner.task import Task, settings_of
from autograder.runner.warm import Warm
from autograder.sandbox import available, strongest_level
from benchmarks.classroom import ROOT
from benchmarks.compare import Marks
from benchmarks.measure import Cost, cost_of, descendants, memory

JOBS = 2
STOCK = 'c = get_config()\nc.CourseDirectory.course_id = "stock"\n'  # nothing of Gradlab


@dataclass(frozen=True)
class Floor:
    """walls, cpus: seconds of each submission."""

    walls: list[float]
    cpus: list[float]
    marks: Marks


def floor(course: Path, lab: str) -> Floor:
    text = cost_of([sys.executable, "-m", "benchmarks.floor", str(course), lab], ROOT).output
    found = json.loads(text.strip().splitlines()[-1])
    marks = {student: one["points"] for student, one in found.items()}
    return Floor([one["wall"] for one in found.values()], [one["cpu"] for one in found.values()], marks)


def gradlab(course: Path, lab: str, jobs: int = JOBS, sample: float = 0.0, again: bool = False) -> Cost:
    """The whole command, examiner and sandbox on, at this machine's best level."""
    level = strongest_level(available())
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
    settings = settings_of(strongest_level(available()))
    warm = Warm(settings.isolation, settings.limits, [course])
    seen = [0]
    ask = warm._ask

    def look_first(order: list[int]) -> object:
        own = descendants(order[1])
        seen.append(sum(memory(each, "Private_Clean", "Private_Dirty") for each in own))
        return ask(order)

    warm._ask = look_first  # type: ignore[method-assign]
    try:
        grade_task(Task(lab, student, path.read_bytes(), "", (), "", source, settings), warm)
    finally:
        warm.close()
    return max(seen)
