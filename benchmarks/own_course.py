"""A course made for stock nbgrader, with none of Gradlab's cells, graded by gradlab and by nbgrader autograde.

To choose the size of the class: `python -m benchmarks.own_course --students 24`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from autograder.gradebook.nbgrader_course import open_course
from autograder.sandbox import find_layers, find_strongest_level
from benchmarks.command_cost import Cost, compute_submission_cost, measure_command
from benchmarks.comparison import find_differing_marks, read_marks
from benchmarks.graders import JOBS, STOCK_CONFIG

LAB = "ps1"
STUDENTS = 120
FEW = 4  # submissions of the smaller class, whose cost is subtracted to leave out the start of the command
SMALLEST = 2  # submissions of a class that takes hardly longer than the start
CONFIG = """from autograder.nbgrader_plugin import configure

c = get_config()
c.CourseDirectory.course_id = "own"
configure(c)
"""
ADD_MISSING = "c.OverwriteCells.add_missing_cells = True\n"  # as Gradlab does
EXERCISES = 6
ANSWERS = (
    "    return [v * k for v in x]",
    "    return [k * v for v in x] if x else []",
    "    return x * k",
    "    raise NotImplementedError()",
)


def run(students: int = STUDENTS) -> str:
    """Return Markdown with a table of one class, graded by both."""
    few = min(FEW, students // 2)
    with tempfile.TemporaryDirectory() as folder:
        costs, few_costs = _measure_class(Path(folder) / "whole", students), _measure_class(Path(folder) / "small", few)
        smallest = _measure_class(Path(folder) / "smallest", SMALLEST)
        marks = [read_marks(Path(folder) / "whole" / grader, LAB) for grader in ("gradlab", "nbgrader")]
    rows = []
    each = {grader: compute_submission_cost(costs[grader], students, few_costs[grader], few) for grader in costs}
    for grader, cost in costs.items():
        rows.append(
            f"| {grader} | {cost.wall / students * 1000:.0f} | {each[grader].wall * 1000:.0f} | "
            f"{each[grader].cpu * 1000:.0f} |\n"
        )
    ratio, each_ratio = costs["nbgrader"].wall / costs["gradlab"].wall, each["nbgrader"].wall / each["gradlab"].wall
    cells = sum(map(len, marks[1].values()))
    return (
        f"# A course made for stock nbgrader\n\n{students} submissions of {EXERCISES} exercises with plain asserts, "
        f"{JOBS} jobs, {os.cpu_count()} cores, Python {platform.python_version()}, nbgrader {version('nbgrader')}, "
        f"isolation {find_strongest_level(find_layers())}.\n\n"
        "| grader | ms per submission, whole command | without start-up | CPU without start-up |\n|---|---|---|---|\n"
        f"{''.join(rows)}\n"
        f"nbgrader takes {ratio:.1f} times as long as gradlab for the whole command, and {each_ratio:.1f} times as "
        f"long without start-up. Marks that differ: {len(find_differing_marks(*marks))} of {cells}.\n\n"
        f"{SMALLEST} submissions: gradlab took {smallest['gradlab'].wall:.1f} s "
        f"({smallest['gradlab'].cpu:.1f} s of CPU), nbgrader {smallest['nbgrader'].wall:.1f} s "
        f"({smallest['nbgrader'].cpu:.1f} s of CPU).\n"
    )


def _measure_class(folder: Path, students: int) -> dict[str, Cost]:
    """Measure the cost of grading a class of this size with each grader, which gets its own course."""
    gradlab_course, stock_course = folder / "gradlab", folder / "nbgrader"
    _write_course(gradlab_course, students)
    shutil.copytree(gradlab_course, stock_course)
    (gradlab_course / "nbgrader_config.py").write_text(CONFIG)
    (stock_course / "nbgrader_config.py").write_text(STOCK_CONFIG + ADD_MISSING)
    for course in (gradlab_course, stock_course):
        with open_course(course).api.gradebook:
            pass  # creates the gradebook, which isn't measured
        measure_command([sys.executable, "-m", "nbgrader", "generate_assignment", LAB, "--force"], course)
    level = find_strongest_level(find_layers())
    grade = [sys.executable, "-m", "autograder.cli", "grade", LAB, "--jobs", str(JOBS), "--isolation", level]
    autograde = [sys.executable, "-m", "nbgrader", "autograde", LAB]
    return {"gradlab": measure_command(grade, gradlab_course), "nbgrader": measure_command(autograde, stock_course)}


def _write_course(root: Path, students: int) -> None:
    for number in range(students + 1):
        folder = root / "submitted" / f"student_{number:04}" if number else root / "source"
        path = folder / LAB / "p1.ipynb"
        path.parent.mkdir(parents=True)
        answers = [ANSWERS[(number + turn * bool(number)) % len(ANSWERS)] for turn in range(EXERCISES)]
        path.write_text(_build_notebook(answers if number else [ANSWERS[0]] * EXERCISES, is_source=number == 0))


def _build_notebook(answers: Sequence[str], is_source: bool) -> str:
    cells = [cell for number, answer in enumerate(answers) for cell in _build_cells(number, answer, is_source)]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {"kernelspec": kernelspec}, "cells": cells})


def _build_cells(number: int, answer: str, is_source: bool) -> Iterator[dict[str, Any]]:
    """Yield an exercise's cells: the answer, a test that calls its function, and one that reads a variable."""
    begin, end = ("    ### BEGIN SOLUTION\n", "\n    ### END SOLUTION") if is_source else ("", "")
    text = f"def scale_{number}(x, k):\n{begin}{answer}{end}\nlast_{number} = {number}"
    yield _build_cell(text, grade_id=f"scale-{number}", solution=True)
    call_test = f"assert scale_{number}([1, 2], 3) == [3, 6]\nassert scale_{number}([], 3) == []"
    yield _build_cell(call_test, grade_id=f"check-calls-{number}", grade=True, locked=True, points=2)
    variable_test = f"assert last_{number} == {number}"
    yield _build_cell(variable_test, grade_id=f"check-looks-{number}", grade=True, locked=True, points=1)


def _build_cell(source: str, **flags: Any) -> dict[str, Any]:
    defaults = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    metadata = {"nbgrader": defaults | flags}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=STUDENTS)
    print(run(parser.parse_args().students))
