"""A C function that works endlessly on a student's value costs only that cell."""

from pathlib import Path

import pytest

from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.stock import notebook_execution
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import (
    OURS,
    answer_notebook,
    make_notebook,
    make_solution,
    make_test,
    read_marks,
    release,
    run,
    write,
)

pytestmark = pytest.mark.gate

SOURCE = make_notebook(
    make_solution("word", "### BEGIN SOLUTION\ndef word():\n    return 'ab'\n### END SOLUTION"),
    make_solution("count", "### BEGIN SOLUTION\ndef count():\n    return 3\n### END SOLUTION"),
    make_test("before", "assert count() > 0"),
    make_test("matches", "import re\nassert re.match('(a+)+$', word()) is None"),
    make_test("factorial", "import math\nassert math.factorial(count()) > 5"),
    make_test("memory", "assert len([0] * count()) == count()"),
    make_test("after", "assert word().startswith('a')", 2),
)
ANSWERS = {
    "right": {"word": "def word(): return 'ab'", "count": "def count(): return 3"},
    "regex": {"word": "def word(): return 'a' * 60 + 'b'", "count": "def count(): return 3"},
    "both": {"word": "def word(): return 'a' * 60 + 'b'", "count": "def count(): return 10 ** 9"},
}
EACH = {"before": 1, "matches": 1, "factorial": 1, "memory": 1, "after": 2}
WANTED = {
    "right": EACH,
    "regex": EACH | {"matches": 0},
    "both": EACH | {"matches": 0, "factorial": 0, "memory": 0},
}


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    write(tmp_path / "nbgrader_config.py", OURS)
    write(tmp_path / "source/ps1/p1.ipynb", SOURCE)
    for student, answers in ANSWERS.items():
        write(tmp_path / f"submitted/{student}/ps1/p1.ipynb", answer_notebook(SOURCE, answers))
    monkeypatch.setattr(notebook_execution, "EXAMINER_SECONDS", 1.0)
    monkeypatch.setattr(notebook_execution, "SHORT_SECONDS", 1.0)
    return tmp_path


@pytest.mark.slow
@pytest.mark.nightly
def test_an_endless_call_costs_its_cell_in_a_class(course: Path) -> None:
    """Slow: cells run into their limits."""
    outcomes = list(grade_lab(open_course(course), "ps1", LocalExecutor(2)))
    assert not [each.failure for each in outcomes if each.failure]
    assert {student: read_marks(course, student) for student in ANSWERS} == WANTED
    result = load_document(course, "ps1", "both")
    assert result is not None and not result.empty
    outside_cells = {each.id for each in result.cells if not each.own_process}
    assert {"p1/before", "p1/matches", "p1/after"} <= outside_cells


@pytest.mark.nightly
@pytest.mark.slow
def test_an_endless_call_costs_its_cell_with_nbgraders_own_command(course: Path) -> None:
    """Slow: the same, with limits of a minute, which this command's process counts."""
    release(course, ["ps1"])
    output = run(course, "nbgrader", "autograde", "ps1")
    assert "exit status 0" in output, output
    assert {student: read_marks(course, student) for student in ANSWERS} == WANTED
