"""A course made for stock nbgrader, without a cell of Gradlab's: graded by gradlab and by nbgrader autograde.

`python -m benchmarks.own_course --students 24` does it for classes of your choice.
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
from benchmarks.compare import differing_marks, marks_in
from benchmarks.measure import Cost, cost_of, per_submission
from benchmarks.paths import JOBS, STOCK

LAB = "ps1"
STUDENTS = 120
FEW = 4  # of which the start of a command is told
SMALL = 2  # submissions of a class whose time is the start
CONFIG = """from autograder.nbgrader_plugin import configure

c = get_config()
c.CourseDirectory.course_id = "own"
configure(c)
"""
MISSING = "c.OverwriteCells.add_missing_cells = True\n"  # what Gradlab does
EXERCISES = 6
ANSWERS = (
    "    return [v * k for v in x]",
    "    return [k * v for v in x] if x else []",
    "    return x * k",
    "    raise NotImplementedError()",
)


def run(students: int = STUDENTS) -> str:
    """A Markdown table of one class, timed by turns on this machine."""
    few = min(FEW, students // 2)
    with tempfile.TemporaryDirectory() as folder:
        whole, small = _costs(Path(folder) / "whole", students), _costs(Path(folder) / "small", few)
        smallest = _costs(Path(folder) / "smallest", SMALL)
        marks = [marks_in(Path(folder) / "whole" / path, LAB) for path in ("gradlab", "nbgrader")]
    rows, each = [], {path: per_submission(whole[path], students, small[path], few) for path in whole}
    for path, cost in whole.items():
        rows.append(
            f"| {path} | {cost.wall / students * 1000:.0f} | {each[path].wall * 1000:.0f} | "
            f"{each[path].cpu * 1000:.0f} |\n"
        )
    ratio, beyond = whole["nbgrader"].wall / whole["gradlab"].wall, each["nbgrader"].wall / each["gradlab"].wall
    cells = sum(map(len, marks[1].values()))
    return (
        f"# A course made for stock nbgrader\n\n{students} submissions of {EXERCISES} exercises with plain asserts, "
        f"{JOBS} jobs, {os.cpu_count()} cores, Python {platform.python_version()}, nbgrader {version('nbgrader')}, "
        f"isolation {find_strongest_level(find_layers())}.\n\n"
        "| path | ms a submission, whole command | without the start | CPU of that |\n|---|---|---|---|\n"
        f"{''.join(rows)}\n"
        f"nbgrader's time against gradlab's: {ratio:.1f} times for the whole command, {beyond:.1f} times without the "
        f"start. Marks that differ: {len(differing_marks(*marks))} of {cells}.\n\n"
        f"{SMALL} submissions: gradlab took {smallest['gradlab'].wall:.1f} s ({smallest['gradlab'].cpu:.1f} s of CPU), "
        f"nbgrader {smallest['nbgrader'].wall:.1f} s ({smallest['nbgrader'].cpu:.1f} s of CPU).\n"
    )


def _costs(folder: Path, students: int) -> dict[str, Cost]:
    """Of a class of so many, by path, in a course of its own each."""
    ours, stock = folder / "gradlab", folder / "nbgrader"
    _write_course(ours, students)
    shutil.copytree(ours, stock)
    (ours / "nbgrader_config.py").write_text(CONFIG)
    (stock / "nbgrader_config.py").write_text(STOCK + MISSING)
    for course in (ours, stock):
        with open_course(course).api.gradebook:
            pass  # a new gradebook is nobody's work
        cost_of([sys.executable, "-m", "nbgrader", "generate_assignment", LAB, "--force"], course)
    level = find_strongest_level(find_layers())
    grade = [sys.executable, "-m", "autograder.cli", "grade", LAB, "--jobs", str(JOBS), "--isolation", level]
    autograde = [sys.executable, "-m", "nbgrader", "autograde", LAB]
    return {"gradlab": cost_of(grade, ours), "nbgrader": cost_of(autograde, stock)}


def _write_course(root: Path, students: int) -> None:
    for number in range(students + 1):
        folder = root / "submitted" / f"student_{number:04}" if number else root / "source"
        path = folder / LAB / "p1.ipynb"
        path.parent.mkdir(parents=True)
        answers = [ANSWERS[(number + turn * bool(number)) % len(ANSWERS)] for turn in range(EXERCISES)]
        path.write_text(_notebook(answers if number else [ANSWERS[0]] * EXERCISES, solved=number == 0))


def _notebook(answers: Sequence[str], solved: bool) -> str:
    cells = [cell for number, answer in enumerate(answers) for cell in _cells(number, answer, solved)]
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return json.dumps({"nbformat": 4, "nbformat_minor": 4, "metadata": {"kernelspec": kernelspec}, "cells": cells})


def _cells(number: int, answer: str, solved: bool) -> Iterator[dict[str, Any]]:
    """An exercise whose tests call a function, and look at a variable."""
    begin, end = ("    ### BEGIN SOLUTION\n", "\n    ### END SOLUTION") if solved else ("", "")
    text = f"def scale_{number}(x, k):\n{begin}{answer}{end}\nlast_{number} = {number}"
    yield _cell(text, grade_id=f"scale-{number}", solution=True)
    calls = f"assert scale_{number}([1, 2], 3) == [3, 6]\nassert scale_{number}([], 3) == []"
    yield _cell(calls, grade_id=f"check-calls-{number}", grade=True, locked=True, points=2)
    looks = f"assert last_{number} == {number}"
    yield _cell(looks, grade_id=f"check-looks-{number}", grade=True, locked=True, points=1)


def _cell(source: str, **flags: Any) -> dict[str, Any]:
    known = {"grade": False, "locked": False, "solution": False, "task": False, "schema_version": 3}
    metadata = {"nbgrader": known | flags}
    return {"cell_type": "code", "execution_count": None, "metadata": metadata, "outputs": [], "source": source}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=STUDENTS)
    print(run(parser.parse_args().students))
