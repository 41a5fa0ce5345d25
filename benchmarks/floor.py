"""The floor: every cell of a submission, checks included, in a fork of one warm process, its pictures rendered.

Run as `python -m benchmarks.floor COURSE LAB`, it prints JSON: student -> seconds, and the points of each check cell.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
import torch

from autograder.examiner.submission import Step
from autograder.runner.grading import steps_of
from autograder.runner.warm_main import FIRST_USED, make_forks_cheap
from autograder.student.figures import draw_once
from autograder.student.kernel import Kernel
from autograder.submission.read import read_file, read_notebook
from autograder.submission.repair import repair


def main(course: Path, lab: str) -> None:
    torch.set_num_threads(1)
    kernel = Kernel()
    for name in FIRST_USED:
        importlib.import_module(name)
    draw_once()
    source = nbformat.read(course / "source" / lab / f"{lab}.ipynb", as_version=4)
    make_forks_cheap()
    found = {}
    for folder in sorted((course / "submitted").iterdir()):
        notebook, notes = read_file(folder / lab / f"{lab}.ipynb")
        steps = steps_of(repair(read_notebook(notebook, notes), source).notebook)
        if not found:
            _in_a_fork(steps, kernel)  # warms up
        found[folder.name] = _in_a_fork(steps, kernel)
    print(json.dumps(found))


def _in_a_fork(steps: Sequence[Step], kernel: Kernel) -> dict[str, Any]:
    reading, writing = os.pipe()
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            os.write(writing, json.dumps(_points(steps, kernel)).encode())
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        points = json.loads(pipe.read())
    _, _, used = os.wait4(child, 0)
    return {"wall": time.perf_counter() - started, "cpu": used.ru_utime + used.ru_stime, "points": points}


def _points(steps: Sequence[Step], kernel: Kernel) -> dict[str, float]:
    """Points of each check cell, as nbgrader reads them: from the text of its last value."""
    torch.set_num_threads(1)
    points = {}
    for step in steps:
        outputs = kernel.run(step.source)
        if step.kind == "check":
            points[step.id] = 0.0
            with contextlib.suppress(IndexError, KeyError, ValueError):
                points[step.id] = float(outputs[-1]["data"]["text/plain"])
    return points


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
