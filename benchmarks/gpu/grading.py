"""Grades submissions as `gradlab grade` does, sandboxed and in parallel, but without a course's folder or gradebook."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import nbformat

from autograder.authoring.notebooks import build_source_notebook
from autograder.base.device import Device
from autograder.base.errors import GradlabError
from autograder.base.stop_request import StopRequest
from autograder.grading.lab_submission import GradedSubmission
from autograder.grading.task import ExamineSettings, NotebookFile, Task, make_settings
from autograder.model.course import Lab
from autograder.model.result import ResultDocument
from autograder.sandbox import find_layers, find_strongest_level
from autograder.workers.pool import grade_all


@dataclass(frozen=True)
class DeviceGrades:
    """Submissions graded on one device."""

    results: Mapping[str, ResultDocument]
    """By student."""
    outputs: Mapping[str, Mapping[str, str]]
    """The outputs of every cell as JSON, by student and cell id."""
    seconds: float
    """The wall-clock time of all of them together."""


def grade_submissions(
    lab: Lab, submissions: Iterable[tuple[str, bytes]], device: Device, jobs: int, **settings: Any
) -> DeviceGrades:
    """Grade submissions on a device.

    Args:
        submissions: (student, notebook) of each.
        jobs: How many are graded at a time.
        settings: Options of c.Examine.

    Raises:
        GradlabError: If a submission can't be graded.
    """
    task_settings = make_settings(ExamineSettings(isolation=find_strongest_level(find_layers()), **settings), device)
    source = nbformat.writes(build_source_notebook(lab)).encode()
    tasks = [
        Task(lab.name, student, (NotebookFile(lab.name, content),), source, task_settings)
        for student, content in submissions
    ]
    results, outputs, start = {}, {}, time.perf_counter()
    for task, outcome in grade_all(tasks, task_settings, jobs, (), StopRequest()):
        if not isinstance(outcome, GradedSubmission):
            raise GradlabError(f"{lab.name}, {task.student}: {outcome.reason}")
        results[task.student] = outcome.result
        cells = json.loads(outcome.notebooks[lab.name])["cells"]
        outputs[task.student] = {cell["id"]: json.dumps(cell.get("outputs", [])) for cell in cells}
    return DeviceGrades(results, outputs, time.perf_counter() - start)


def find_failed_checks(result: ResultDocument) -> set[str]:
    """Return "cell: check", with their ids, for each check that didn't pass."""
    return {f"{cell.id}: {check.id}" for cell in result.cells for check in cell.checks if not check.passed}
