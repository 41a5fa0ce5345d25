"""The commands' advice on what to do next works, for assignments of several notebooks or without a graded cell.

Slow: nbgrader puts two assignments into a new gradebook, and each command starts a new process.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from tests.stock.autotests import AUTOTESTS, MADE
from tests.stock.stock_course import answer_notebook, make_cell, make_manual, make_notebook, make_solution, run, write
from tests.stock.strange_course import make_course

pytestmark = pytest.mark.slow
ASKED = make_notebook(make_manual("w", "YOUR ANSWER HERE"))
ANSWERED = make_notebook(make_manual("w", "Since."))
PRACTICE = make_notebook(make_solution("g", "### BEGIN SOLUTION\ng = 1\n### END SOLUTION"), make_cell("g"))


@pytest.fixture(scope="module")
def course(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {f"source/a1/{name}.ipynb": ASKED for name in "pq"} | {"source/a2/p.ipynb": PRACTICE}
    files |= {f"submitted/ada/a1/{name}.ipynb": ANSWERED for name in "pq"} | {"submitted/ada/a2/p.ipynb": PRACTICE}
    return make_course(tmp_path_factory.mktemp("advice"), files)


@pytest.mark.nightly
def test_several_notebooks_of_one_student_are_handed_out_by_the_instructor(course: Path) -> None:
    output = run(course, "gradlab", "grade", "a1")
    assert "1 graded; 1 awaiting manual marking. Next: gradlab desk, gradlab feedback a1, gradlab report a1" in output
    output = run(course, "gradlab", "feedback", "a1")
    assert "1 submission has answers that a person must still read" in output
    assert "2 feedback pages in" in output
    assert "Next: hand them out" in output
    assert "release_feedback" not in output
    output = run(course, "gradlab", "feedback", "a1", "--zip", "csv")
    assert "exit status 0" in output, output
    with zipfile.ZipFile(course / "results/a1.csv.zip") as archive:
        assert sorted(archive.namelist()) == ["ada/p.html", "ada/q.html"]


@pytest.mark.nightly
def test_a_name_with_spaces_can_be_pasted_into_a_shell(course: Path) -> None:
    write(course / "source/Problem Set 1/p.ipynb", ASKED)
    output = run(course, "gradlab", "grade", "Problem Set 1")
    assert "gradlab collect 'Problem Set 1' ZIP" in output
    write(course / "submitted/ada/Problem Set 1/p.ipynb", ANSWERED)
    output = run(course, "gradlab", "grade", "Problem Set 1")
    assert "Next: gradlab desk, gradlab feedback 'Problem Set 1', gradlab report 'Problem Set 1'" in output


def test_a_kernel_that_nbgrader_starts_writes_nothing_to_the_terminal(course: Path) -> None:
    write(course / "source/a3/made.ipynb", MADE)
    write(course / "source/a3/autotests.yml", AUTOTESTS)
    write(course / "submitted/ada/a3/made.ipynb", answer_notebook(MADE, {"made": "n = 5"}))
    output = run(course, "gradlab", "grade", "a3")
    assert "1 graded" in output and "IPKernelApp" not in output


@pytest.mark.nightly
def test_without_a_graded_cell_every_command_that_is_named_works(course: Path) -> None:
    output = run(course, "gradlab", "grade", "a2")
    assert "Next: gradlab feedback a2, gradlab report a2" in output
    assert "1 feedback page in" in run(course, "gradlab", "feedback", "a2")
    for command in (["report", "a2"], ["similar", "a2"], ["status"], ["export"], ["feedback", "a2", "--zip", "csv"]):
        output = run(course, "gradlab", *command)
        assert "exit status 0" in output and "Traceback" not in output, output
    assert "nothing to excuse" in run(course, "gradlab", "excuse", "a2", "t")
