"""The notebooks of an assignment are files in one folder, as with nbgrader: a later one may run an earlier one.

Slow: nbgrader puts an assignment into a new gradebook.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import answer_notebook, make_cell, make_notebook, make_solution, make_test, read_marks
from tests.stock.strange_course import grade, make_course

pytestmark = pytest.mark.slow
TOOLS = make_notebook(
    make_solution("twice", "def twice(x):\n    ### BEGIN SOLUTION\n    return 2 * x\n    ### END SOLUTION"),
    make_test(
        "twice_is", "assert twice(2) == 4\n### BEGIN HIDDEN TESTS\nassert twice(71) == 142\n### END HIDDEN TESTS"
    ),
)
USES = make_notebook(
    make_cell("%run a_tools.ipynb"),
    make_test("uses", "assert twice(4) == 8"),
    make_test("reads", "import json\nassert len(json.load(open('b_uses.ipynb'))['cells']) == 4"),
    make_cell("texts = open('a_tools.ipynb').read()\nprint('HIDDEN' in texts, 'twice(71)' in texts)"),
)


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    files = {"source/a1/a_tools.ipynb": TOOLS, "source/a1/b_uses.ipynb": USES}
    for student, text in (("right", "def twice(x):\n    return x + x"), ("wrong", "def twice(x):\n    return x")):
        files[f"submitted/{student}/a1/a_tools.ipynb"] = answer_notebook(TOOLS, {"twice": text})
        files[f"submitted/{student}/a1/b_uses.ipynb"] = USES
    root = make_course(tmp_path_factory.mktemp("beside"), files)
    assert not [outcome.failure for outcome in grade(root, two_graders) if outcome.failure]
    return root


def test_a_notebook_can_run_the_students_own_earlier_one(course: Path) -> None:
    assert read_marks(course, "right", "a1", "b_uses") == {"uses": 1, "reads": 1}
    assert read_marks(course, "wrong", "a1", "b_uses") == {"uses": 0, "reads": 1}


def test_no_hidden_test_is_in_another_notebooks_file(course: Path) -> None:
    assert "False False" in (course / "autograded/right/a1/b_uses.ipynb").read_text()
    assert "HIDDEN" in (course / "autograded/right/a1/a_tools.ipynb").read_text()
