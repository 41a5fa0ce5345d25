"""A class is graded with nbgrader_config.py's settings for stock nbgrader: students' files, limits, skipped cells.

Slow: nbgrader puts an assignment into a new gradebook.
"""

from __future__ import annotations

from pathlib import Path

import nbformat
import pytest

from autograder.model.note_sentences import describe_notes
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import make_cell, make_notebook, make_solution, make_test, read_marks
from tests.stock.strange_course import grade, load_student_document, make_course

pytestmark = pytest.mark.slow
SOURCE = make_notebook(
    make_cell("import helper"),
    make_solution("f", "### BEGIN SOLUTION\nx = 1\n### END SOLUTION"),
    make_test("theirs", "assert helper.twice(2) == 4"),
    make_test("given", "import fixed\nassert fixed.N == 3"),
    make_test("trains", "import time\ntime.sleep(1.5)\nassert x == 1"),
    make_cell("raise SystemError('never run')") | {"metadata": {"tags": ["skip-execution"]}},
    make_test("hangs", "while x:\n    pass"),
)
SETTINGS = """
c.Autograde.exclude_overwriting = {"a1": ["helper.py"]}
c.Execute.timeout_func = lambda cell: 60 if "sleep" in cell.source else 1
"""


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {
        "source/a1/p.ipynb": SOURCE,
        "source/a1/helper.py": "def twice(x):\n    return 2 * x\n",
        "source/a1/fixed.py": "N = 3\n",
    }
    for student, helper in (("wrote", "twice = lambda x: x + x\n"), ("stub", "def twice(x):\n    ...\n")):
        files[f"submitted/{student}/a1/p.ipynb"] = SOURCE
        files[f"submitted/{student}/a1/helper.py"] = helper
        files[f"submitted/{student}/a1/fixed.py"] = "N = 0\n"
    root = make_course(tmp_path_factory.mktemp("settings"), files, SETTINGS)
    assert not [outcome.failure for outcome in grade(root, two_graders) if outcome.failure]
    return root


def test_a_file_that_students_write_is_the_students_and_any_other_the_courses(course: Path) -> None:
    writer_marks, stub_marks = (read_marks(course, student, "a1", "p") for student in ("wrote", "stub"))
    assert (writer_marks["theirs"], stub_marks["theirs"]) == (1, 0)
    assert writer_marks["given"] == stub_marks["given"] == 1
    assert (course / "autograded/stub/a1/helper.py").read_text().endswith("...\n")
    assert (course / "autograded/stub/a1/fixed.py").read_text() == "N = 3\n"


def test_a_cell_has_the_time_limit_that_the_course_gives_it(course: Path) -> None:
    marks = read_marks(course, "wrote", "a1", "p")
    assert marks["trains"] == 1 and marks["hangs"] == 0
    assert any("limit of 1 s" in note for note in describe_notes(load_student_document(course, "wrote").notes))


def test_a_cell_with_the_tag_is_not_run(course: Path) -> None:
    notebook = nbformat.read(course / "autograded/wrote/a1/p.ipynb", as_version=4)
    (tagged_cell,) = [cell for cell in notebook.cells if "never run" in cell.source]
    assert tagged_cell.outputs == []
