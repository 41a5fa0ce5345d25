"""Submissions graded as `gradlab grade` does it, sandboxed and side by side, without a course folder or a gradebook."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Event
from typing import Any

import nbformat

from autograder.authoring.notebooks import build_source_notebook
from autograder.base.errors import GradlabError
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import ExamineSettings, NotebookFile, Task, make_settings
from autograder.model.course import Lab
from autograder.model.result import Result
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.pool import grade_all


@dataclass(frozen=True)
class Class:
    """results: by student. outputs: of every cell, by student and cell id. seconds: of all together."""

    results: Mapping[str, Result]
    outputs: Mapping[str, Mapping[str, str]]
    seconds: float


def grade(lab: Lab, submissions: Iterable[tuple[str, bytes]], device: str, jobs: int, **settings: Any) -> Class:
    """submissions: (student, notebook). settings: of c.Examine. GradlabError if one is not graded."""
    chosen = make_settings(ExamineSettings(isolation=find_strongest_level(find_layers()), **settings), device)
    source = nbformat.writes(build_source_notebook(lab)).encode()
    tasks = [
        Task(lab.name, student, (NotebookFile(lab.name, content),), source, chosen) for student, content in submissions
    ]
    results, outputs, start = {}, {}, time.perf_counter()
    for task, outcome in grade_all(tasks, chosen, jobs, (), Event()):
        if not isinstance(outcome, GradedSubmission):
            raise GradlabError(f"{lab.name}, {task.student}: {outcome.reason}")
        results[task.student] = outcome.result
        cells = json.loads(outcome.notebooks[lab.name])["cells"]
        outputs[task.student] = {cell["id"]: json.dumps(cell.get("outputs", [])) for cell in cells}
    return Class(results, outputs, time.perf_counter() - start)


def failing(result: Result) -> set[str]:
    """The ids of the checks that did not pass, behind the name of their cell."""
    return {f"{cell.id}: {check.id}" for cell in result.cells for check in cell.checks if not check.passed}
