"""The labs as assignments of otter-grader, in an environment of its own that has the project's packages too.

The tests of an assignment run the check cells as they are. Each check is a test case that passes where the check pays,
so that the points are those of the course.
"""

from __future__ import annotations

import json
import sysconfig
import venv
from pathlib import Path

import nbformat

from autograder.authoring.notebooks import build_source_notebook
from autograder.model.course import Lab
from benchmarks.measure import Cost, cost_of

VERSION = "7.0.0"
TEST = """
import contextlib
from labkit.check import record_outcomes
from labkit.outcome import select_earning
from otter.test_files import test_case

OK_FORMAT = False
name = {name!r}
cell = {cell!r}
seen = []

def pays(label, env):
    if not seen:
        with record_outcomes() as outcomes, contextlib.suppress(Exception):
            exec(compile(cell, name, "exec"), dict(env))
        seen.append([outcome.label for outcome in select_earning(outcomes)])
    assert label in seen[0]
"""
CASE = """
@test_case(points={points!r}, hidden={hidden!r})
def test_{number}(env):
    pays({label!r}, env)
"""


def install(folder: Path) -> Path:
    """The `otter` of a new environment in this folder; what the project has is not installed again."""
    venv.create(folder, with_pip=True)
    python = folder / "bin" / "python"
    own = sysconfig.get_path("purelib")
    (there,) = (folder / "lib").glob("*/site-packages")
    (there / "project.pth").write_text(f"import site; site.addsitedir({own!r})\n")
    cost_of([str(python), "-m", "pip", "install", "--quiet", f"otter-grader=={VERSION}"], folder)
    return folder / "bin" / "otter"


def assignment(otter: Path, lab: Lab, folder: Path) -> Path:
    """The autograder of a lab, a zip file in this folder, which is made."""
    tests = folder / "tests"
    tests.mkdir(parents=True)
    sources = {cell.id: cell.source for cell in build_source_notebook(lab).cells}
    for exercise in lab.exercises:
        total = sum(check.weight for check in exercise.checks)
        text = TEST.format(name=exercise.check_id, cell=sources[exercise.check_id])
        for number, check in enumerate(exercise.checks):
            points = exercise.points * check.weight / total
            text += CASE.format(points=points, hidden=check.hidden, number=number, label=check.label)
        (tests / f"{exercise.check_id}.py").write_text(text)
    options = ["--no-environment", "--no-requirements", "--no-config"]
    cost_of([str(otter), "generate", "-t", str(tests), "-o", str(folder / "autograder.zip"), *options], folder)
    return folder / "autograder.zip"


def grade(otter: Path, autograder: Path, submission: Path, folder: Path) -> tuple[Cost, dict[str, float]]:
    """The cost of `otter run`, and the points of each check cell. folder: is made.

    A student's notebook of otter holds no hidden checks, and none of the visible ones need to run there twice.
    """
    folder.mkdir(parents=True)
    notebook = nbformat.read(submission, as_version=4)
    notebook.cells = [c for c in notebook.cells if not c.metadata.get("nbgrader", {}).get("grade")]
    nbformat.write(notebook, folder / submission.name)
    cost = cost_of(
        [str(otter), "run", "-a", str(autograder), "-o", str(folder), "--no-logo", str(folder / submission.name)],
        folder,
    )
    results = json.loads((folder / "results.json").read_text())
    return cost, {test["name"].split(" ")[0]: test["score"] for test in results["tests"] if "max_score" in test}
