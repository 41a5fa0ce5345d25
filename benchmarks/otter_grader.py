"""The labs as assignments of otter-grader, in its own environment, which also has the project's packages.

An assignment's tests run the check cells unchanged. Each check is a test case that passes if the check earns its
points, so the points are those of the course.
"""

from __future__ import annotations

import json
import sysconfig
import venv
from pathlib import Path

import nbformat

from autograder.authoring.notebooks import build_source_notebook
from autograder.model.course import Lab
from benchmarks.command_cost import Cost, measure_command

VERSION = "7.0.0"
TEST = """
import contextlib
from labkit.check import record_outcomes
from labkit.outcome import select_earning
from otter.test_files import test_case

OK_FORMAT = False
name = {name!r}
cell = {cell!r}
earning = []

def assert_earns(label, env):
    if not earning:
        with record_outcomes() as outcomes, contextlib.suppress(Exception):
            exec(compile(cell, name, "exec"), dict(env))
        earning.append([outcome.label for outcome in select_earning(outcomes)])
    assert label in earning[0]
"""
CASE = """
@test_case(points={points!r}, hidden={hidden!r})
def test_{number}(env):
    assert_earns({label!r}, env)
"""


def install_otter(folder: Path) -> Path:
    """Create an environment in this folder, and return the path of its `otter`.

    What the project's environment has isn't installed again.
    """
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    project_packages = sysconfig.get_path("purelib")
    (packages,) = (folder / "lib").glob("*/site-packages")
    (packages / "project.pth").write_text(f"import site; site.addsitedir({project_packages!r})\n")
    measure_command([str(python), "-m", "pip", "install", "--quiet", f"otter-grader=={VERSION}"], folder)
    return folder / "bin" / "otter"


def build_assignment(otter: Path, lab: Lab, folder: Path) -> Path:
    """Build a lab's autograder for otter, and return the path of its zip file in this folder, which is created."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    sources = {cell.id: cell.source for cell in build_source_notebook(lab).cells}
    for exercise in lab.exercises:
        total = sum(check.weight for check in exercise.checks)
        text = TEST.format(name=exercise.check_id, cell=sources[exercise.check_id])
        for number, check in enumerate(exercise.checks):
            points = exercise.worth * check.weight / total
            text += CASE.format(points=points, hidden=check.hidden, number=number, label=check.label)
        (tests / f"{exercise.check_id}.py").write_text(text)
    options = ["--no-environment", "--no-requirements", "--no-config"]
    measure_command([str(otter), "generate", "-t", str(tests), "-o", str(folder / "autograder.zip"), *options], folder)
    return folder / "autograder.zip"


def grade_notebook(otter: Path, autograder: Path, submission: Path, folder: Path) -> tuple[Cost, dict[str, float]]:
    """Grade a notebook with `otter run`, without its check cells.

    An otter student's notebook has no hidden checks, and the visible ones needn't run twice.

    Args:
        autograder: The zip file of build_assignment.
        folder: Where otter runs; it is created.

    Returns:
        The cost of the command, and the points of each check cell.
    """
    folder.mkdir(parents=True)
    notebook = nbformat.read(submission, as_version=4)
    notebook.cells = [c for c in notebook.cells if not c.metadata.get("nbgrader", {}).get("grade")]
    nbformat.write(notebook, folder / submission.name)
    cost = measure_command(
        [str(otter), "run", "-a", str(autograder), "-o", str(folder), "--no-logo", str(folder / submission.name)],
        folder,
    )
    results = json.loads((folder / "results.json").read_text())
    return cost, {test["name"].split(" ")[0]: test["score"] for test in results["tests"] if "max_score" in test}
