"""A stock assignment's cells may have any names, even those of a lab's cells."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import make_manual, make_notebook, make_solution, make_test, read_marks, run
from tests.stock.strange_course import grade, make_course

pytestmark = pytest.mark.slow
SOURCE = make_notebook(
    make_solution("exercise-1", "### BEGIN SOLUTION\nx = 1  # the answer\n### END SOLUTION"),
    make_test("check-1", "assert x == 1", 3),
    make_test("question-1", "assert x > 0", 5),
    make_test("1", "assert x < 2", 7),
    make_manual("check-essay", "Why?", 11),
)
NAMES = ["check-1", "question-1", "1", "check-essay"]
EXCUSED = '[[excuse]]\nlab = "a1"\nexercise = "1"\nreason = "the test was wrong"\n'


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The student `right` has all answers right, `wrong` has them wrong, and 1 is excused for all."""
    wrong = SOURCE.replace("x = 1  # the answer", "x = -1")
    assert wrong != SOURCE
    files = {"source/a1/p.ipynb": SOURCE, "submitted/right/a1/p.ipynb": SOURCE, "submitted/wrong/a1/p.ipynb": wrong}
    root = make_course(tmp_path_factory.mktemp("labels"), files | {"term.toml": EXCUSED}, "")
    assert not [outcome.failure for outcome in grade(root, two_graders) if outcome.failure]
    return root


def test_an_excuse_applies_to_the_cell_of_exactly_this_name(course: Path) -> None:
    assert read_marks(course, "wrong", "a1", "p") == {"check-1": 0, "question-1": 0, "1": 7, "check-essay": None}


def test_the_report_and_the_export_lose_no_point(course: Path) -> None:
    run(course, "gradlab", "report", "a1")
    with (course / "results" / "a1.csv").open(encoding="utf-8") as file:
        right, wrong = csv.DictReader(file)
    assert [float(right[name] or -1) for name in NAMES] == [3, 5, 7, -1]
    assert (float(right["points"]), float(right["worth"]), float(wrong["points"])) == (15, 26, 7)
    document = json.loads((course / "results" / "a1.json").read_text())
    assert {each["name"]: each["by_hand"] for each in document["exercises"]} == dict.fromkeys(NAMES[:3], False) | {
        "check-essay": True
    }


def test_two_notebooks_keep_cells_of_one_name_apart(two_graders: LocalExecutor, tmp_path: Path) -> None:
    one, two = (make_notebook(make_test("check-1", f"assert {x}", x)) for x in (1, 2))
    files = {
        f"{folder}/a1/{name}.ipynb": text
        for folder in ("source", "submitted/ada")
        for name, text in (("check-1", one), ("question-1", two))
    }
    course = make_course(tmp_path, files, "")
    assert not [outcome.failure for outcome in grade(course, two_graders) if outcome.failure]
    run(course, "gradlab", "report", "a1")
    with (course / "results" / "a1.csv").open(encoding="utf-8") as file:
        (ada,) = csv.DictReader(file)
    assert (ada["points"], ada["check-1/check-1"], ada["question-1/check-1"]) == ("3.0", "1.0", "2.0")
