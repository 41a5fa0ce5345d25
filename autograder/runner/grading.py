"""Grades one submission that came through the door: a notebook in, a result document out."""

from __future__ import annotations

import ast
import platform
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import nbformat
import torch
from nbformat import NotebookNode
from nbgrader.utils import is_grade

from autograder.build.checks import read_checks
from autograder.build.regions import find_regions
from autograder.course import Check
from autograder.examiner.clock import Patience
from autograder.examiner.submission import Seen, Step, examine
from autograder.result import CheckOutcome, GradedCell, Result, Versions
from autograder.runner.warm import Warm
from labkit.outcome import earned
from labkit.verdict import Verdict


def grade_notebook(
    notebook: NotebookNode, lab: str, student: str, notes: list[str], warm: Warm, patience: Patience
) -> Result:
    """The result of a repaired notebook, whose code cells get their outputs here.

    notes: what was repaired. Raises GradlabError where no student process can be started.
    """
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    steps = steps_of(notebook)
    seen = examine(steps, exercises_of(steps), warm.student, patience)
    graded = []
    for number, cell in enumerate(code, start=1):
        came = seen[identity(cell)]
        cell.execution_count = number
        if is_grade(cell):
            graded.append(_graded(cell, came))
            cell.outputs = [_verdict(came, graded[-1], number)]
        else:
            cell.outputs = [nbformat.from_dict(output) for output in came.outputs]
            for output in cell.outputs:
                if output.output_type == "execute_result":
                    output.execution_count = number
    versions = Versions(gradlab=version("gradlab"), python=platform.python_version(), torch=torch.__version__)
    return Result(
        lab=lab,
        student=student,
        versions=versions,
        isolation=tuple(warm.layers),
        notes=(*notes, *_limits(seen)),
        cells=tuple(graded),
    )


def identity(cell: NotebookNode) -> str:
    """nbgrader's name for a cell of the course's, or the cell's own id."""
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", cell.id))


def steps_of(notebook: NotebookNode) -> list[Step]:
    """The code cells, as the examiner takes them."""
    return [_step(cell) for cell in notebook.cells if cell.cell_type == "code"]


def exercises_of(steps: Sequence[Step]) -> list[str]:
    """The names that stand for the student's objects."""
    return [s.id.removeprefix("exercise-") for s in steps if s.id.startswith("exercise-")]


def _step(cell: NotebookNode) -> Step:
    flags = cell.metadata.get("nbgrader", {})
    kind = "check" if is_grade(cell) else "given" if flags.get("locked") else "student"
    return Step(identity(cell), kind, cell.source)


def _graded(cell: NotebookNode, came: Seen) -> GradedCell:
    checks = {check.label: check for check in _checks(cell)}
    worth = float(cell.metadata.nbgrader.points)
    outcomes = [CheckOutcome(hidden=checks[o.label].hidden, **o.as_dict()) for o in came.outcomes]
    return GradedCell(id=identity(cell), points=earned(came.outcomes, worth), worth=worth, checks=tuple(outcomes))


def _checks(cell: NotebookNode) -> tuple[Check, ...]:
    path = Path(identity(cell))  # only errors would name it, and the builder has found those
    return read_checks(ast.parse(cell.source), find_regions(cell.source, path, 1), path, 1)


def _verdict(came: Seen, graded: GradedCell, number: int) -> NotebookNode:
    verdict = Verdict(came.outcomes, graded.worth, graded.worth, True, graded.points)
    shown: NotebookNode = nbformat.v4.new_output("execute_result", verdict._repr_mimebundle_(), execution_count=number)
    return shown


def _limits(seen: dict[str, Seen]) -> list[str]:
    return [
        f"{cell}: {came.stopped}. The cells after it ran without it." for cell, came in seen.items() if came.stopped
    ]
