"""Tests outside the student process accept only values, however they are returned; a failure costs one cell."""

from pathlib import Path

import pytest

from autograder.classroom.open_class import grade_lab
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.result_documents import load_document
from autograder.gradebook.result_reader import read_result
from autograder.reports.feedback import write_feedback
from autograder.stock.proxy_tests import NoValueError, guard_proxy
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import (
    OURS,
    answer_notebook,
    make_notebook,
    make_solution,
    make_task,
    make_test,
    read_marks,
    write,
)

SOURCE = make_notebook(
    make_solution(
        "index", "### BEGIN SOLUTION\ndef index(words, into):\n    into['words'] = sorted(set(words))\n### END SOLUTION"
    ),
    make_test(
        "filled", "seen = {}\nindex(['b', 'a', 'b'], seen)\nassert len(seen['words']) == 2 and 'a' in seen['words']", 5
    ),
    make_solution(
        "mark", "### BEGIN SOLUTION\ndef mark(grid):\n    for row in grid:\n        row.append(9)\n### END SOLUTION"
    ),
    make_test("marked", "grid = [[0, 1], [1, 1]]\nmark(grid)\nassert all(9 in row for row in grid)", 5),
    make_solution("factors", "### BEGIN SOLUTION\ndef factors(n):\n    return [n]\n### END SOLUTION"),
    make_test("product", "import math\nmath.prod(factors(60)) // 20", 3),
    make_task("explore", "Look.\n### BEGIN MARK SCHEME\nSECRET-SCHEME\n### END MARK SCHEME"),
)
YES = """class Yes:
    def __len__(self): return 2
    def __contains__(self, x): return True
    def __bool__(self): return True
"""
READS = "print(open('p1.ipynb').read())\n"
ANSWERS = {
    "right": {
        "index": "def index(words, into):\n    into.update(words=list(dict.fromkeys(words)))",
        "mark": "def mark(grid):\n    for row in grid:\n        row += [9]",
        "factors": "def factors(n):\n    return [n // 2, 2]",
    },
    "wrong": {
        "index": "def index(words, into):\n    into['words'] = words",
        "mark": "def mark(grid):\n    pass",
        "factors": READS + "def factors(n):\n    return []",
    },
    "liar": {
        "index": YES + "def index(words, into):\n    into['words'] = Yes()",
        "mark": YES + "def mark(grid):\n    grid[:] = [Yes(), Yes()]",
        "factors": "def factors(n):\n    return [10 ** 18] * 300",
    },
}


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("beside")
    write(root / "nbgrader_config.py", OURS)
    write(root / "source/ps1/p1.ipynb", SOURCE)
    for student, answers in ANSWERS.items():
        write(root / f"submitted/{student}/ps1/p1.ipynb", answer_notebook(SOURCE, answers))
    outcomes = list(grade_lab(open_course(root), "ps1", two_graders))
    assert not [each.failure for each in outcomes if each.failure]
    return root


@pytest.mark.slow
def test_an_object_that_claims_to_equal_everything_is_no_value_in_an_argument_either(course: Path) -> None:
    """Slow: a class is graded."""
    marks_by_student = {student: read_marks(course, student) for student in ANSWERS}
    assert (
        marks_by_student["right"]["filled"],
        marks_by_student["right"]["marked"],
        marks_by_student["right"]["product"],
    ) == (5, 5, 3)
    assert (marks_by_student["wrong"]["filled"], marks_by_student["wrong"]["marked"]) == (0, 0)
    result = load_document(course, "ps1", "liar")
    assert result is not None
    labels = {cell.id for cell in result.cells if cell.own_process}
    assert {"p1/filled", "p1/marked"} <= labels, "only the submission's own process says so, and the result names it"
    honest = load_document(course, "ps1", "right")
    assert honest is not None and not any(cell.own_process for cell in honest.cells)


@pytest.mark.parametrize("left", [(object(),), [[object()]], {"a": ({"b": (object(),)},)}])
def test_an_object_is_found_wherever_it_is_in_an_argument(left: object) -> None:
    fill = guard_proxy(lambda into: into.append(left))
    with pytest.raises(NoValueError):
        fill([])


@pytest.mark.slow
def test_a_number_too_long_to_be_written_costs_its_cell(course: Path) -> None:
    """Slow: the same class."""
    result = load_document(course, "ps1", "liar")
    assert result is not None and not result.empty
    assert read_marks(course, "liar")["product"] == 0


@pytest.mark.slow
def test_a_mark_scheme_is_in_no_file_that_a_submission_reads(course: Path) -> None:
    """Slow: the same class."""
    result = read_result(f"sqlite:///{course}/gradebook.db", course, "ps1", "wrong")
    (path,) = write_feedback([result], course, "ps1")
    page = path.read_text()
    assert "BEGIN MARK SCHEME" not in page
    assert "SECRET-SCHEME" not in page
    assert "grade_id" in page
