"""An assignment that changed after students submitted it is graded again, and marks by hand are kept.

Slow: nbgrader puts the assignment into its gradebook several times.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from nbgrader.api import Grade

from autograder.classroom.open_class import open_class
from autograder.gradebook.changed_cells import LOST_MARKS
from autograder.gradebook.nbgrader_course import open_course
from autograder.gradebook.submission_result import GradedCellResult
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import Cell, make_manual, make_notebook, make_solution, make_task, make_test, write
from tests.stock.strange_course import grade, make_course, read_gradebook_result

pytestmark = pytest.mark.slow
F = make_solution("f", "def f(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION")
T = make_test("t", "assert f(1) == 2\nassert f(2) == 3", 2)
WORDS = make_manual("words", "YOUR ANSWER HERE", 4)
HANDED_IN = [{**F, "source": "def f(x):\n    return x + 1 if x < 3 else 0"}, T, {**WORDS, "source": "Since."}]


@pytest.fixture
def course(two_graders: LocalExecutor, tmp_path: Path) -> Iterator[Path]:
    """Graded once, and ada's words are marked: 3 points, a comment and half a point on top."""
    root = make_course(
        tmp_path,
        {"source/a1/p.ipynb": make_notebook(F, T, WORDS), "submitted/ada/a1/p.ipynb": make_notebook(*HANDED_IN)},
    )
    grade(root, two_graders)
    with open_course(root).api.gradebook as gradebook:
        row = gradebook.find_grade("words", "p", "a1", "ada")
        row.manual_score, row.extra_credit, row.needs_manual_grade = 3.0, 0.5, False
        gradebook.find_comment("words", "p", "a1", "ada").manual_comment = "good"
        gradebook.db.commit()
    yield root


def change_and_grade(course: Path, executor: LocalExecutor, **notebooks: list[Cell]) -> list[str]:
    """Grade the assignment with these notebooks, and return the messages about the change."""
    for path in (course / "source/a1").glob("*.ipynb"):
        path.unlink()
    for name, cells in notebooks.items():
        write(course / f"source/a1/{name}.ipynb", make_notebook(*cells))
    with open_class(open_course(course), "a1", executor) as opened:
        lines = list(opened.changes)
    assert not [outcome.failure for outcome in grade(course, executor) if outcome.failure]
    return lines


def read_exercises(course: Path) -> dict[str, GradedCellResult]:
    return {exercise.name: exercise for exercise in read_gradebook_result(course, "ada").exercises}


def test_a_graded_cell_that_was_added_is_graded(course: Path, two_graders: LocalExecutor) -> None:
    (line,) = change_and_grade(
        course, two_graders, p=[F, T, make_test("u", "assert f(5) == 6", 5), WORDS, make_task("free", "Draw.")]
    )
    assert line == "a1 changed after it was submitted, and is graded again (new: p/free, p/u)"
    now = read_exercises(course)
    assert (now["t"].points, now["u"].points, now["u"].worth) == (2, 0, 5)
    assert (now["words"].points, now["words"].comment, now["words"].needs_manual_grade) == (3.5, "good", False)
    assert now["free"].needs_manual_grade


def test_a_graded_cell_that_was_dropped_is_gone_and_its_marks_by_hand_are_written_down(
    course: Path, two_graders: LocalExecutor
) -> None:
    (line,) = change_and_grade(course, two_graders, p=[F, T])
    assert "(removed: p/words). Marks by hand for removed cells are kept in" in line
    assert set(read_exercises(course)) == {"t"} and read_gradebook_result(course, "ada").worth == 2
    rows = [json.loads(row) for row in (course / "results/a1" / LOST_MARKS).read_text().splitlines()]
    ada = {"student": "ada", "notebook": "p", "cell": "words"}
    assert rows == [ada | {"points": 3.0, "extra credit": 0.5}, ada | {"comment": "good"}]


def test_a_graded_cell_that_was_renamed_keeps_its_marks_by_hand(course: Path, two_graders: LocalExecutor) -> None:
    new_cell = {**WORDS, "metadata": {"nbgrader": {**WORDS["metadata"]["nbgrader"], "grade_id": "why"}}}
    change_and_grade(course, two_graders, p=[F, T, new_cell])
    now = read_exercises(course)["why"]
    assert (now.points, now.comment, now.needs_manual_grade) == (3.5, "good", False)
    assert not (course / "results/a1" / LOST_MARKS).exists()


def test_a_graded_cell_that_was_split_is_graded_in_its_parts(course: Path, two_graders: LocalExecutor) -> None:
    change_and_grade(
        course, two_graders, p=[F, make_test("t1", "assert f(1) == 2"), make_test("t2", "assert f(4) == 5"), WORDS]
    )
    now = read_exercises(course)
    assert (now["t1"].points, now["t2"].points, now["words"].points) == (1, 0, 3.5) and "t" not in now


def test_points_that_changed_count_and_marks_by_hand_stay(course: Path, two_graders: LocalExecutor) -> None:
    question = make_manual("words", "YOUR ANSWER HERE", 8)
    assert change_and_grade(course, two_graders, p=[F, make_test("t", T["source"], 6), question]) == []
    now = read_exercises(course)
    assert (now["t"].points, now["words"].points, now["words"].worth) == (6, 3.5, 8)


def test_a_cell_of_another_kind_is_graded_as_it_is_now(course: Path, two_graders: LocalExecutor) -> None:
    change_and_grade(
        course, two_graders, p=[F, T, {**WORDS, "cell_type": "code", "execution_count": None, "outputs": []}]
    )
    assert read_exercises(course)["words"].points == 3.5


def test_notebooks_can_be_added_and_removed(course: Path, two_graders: LocalExecutor) -> None:
    cells = [make_solution("g", "### BEGIN SOLUTION\ng = 1\n### END SOLUTION"), make_test("g_is", "assert g == 1")]
    change_and_grade(course, two_graders, p=[F, T, WORDS], q=cells)
    assert read_exercises(course)["p/words"].points == 3.5 and read_exercises(course)["q/g_is"].points == 0
    change_and_grade(course, two_graders, q=cells)
    assert set(read_exercises(course)) == {"g_is"}
    with open_course(course).api.gradebook as gradebook:
        assert gradebook.db.query(Grade).count() == 1


def test_a_notebook_that_was_renamed_keeps_its_marks_by_hand(course: Path, two_graders: LocalExecutor) -> None:
    (line,) = change_and_grade(course, two_graders, first=[F, T, WORDS])
    assert "removed: p/t, p/words" in line
    now = read_exercises(course)["words"]
    assert (now.points, now.comment, now.needs_manual_grade) == (3.5, "good", False)
    assert not (course / "results/a1" / LOST_MARKS).exists()


def test_marks_by_hand_in_a_notebook_that_is_gone_are_written_down(course: Path, two_graders: LocalExecutor) -> None:
    cells = [make_solution("g", "### BEGIN SOLUTION\ng = 1\n### END SOLUTION"), make_test("g_is", "assert g == 1")]
    (line,) = change_and_grade(course, two_graders, q=cells)
    assert "are kept in" in line and len((course / "results/a1" / LOST_MARKS).read_text().splitlines()) == 2


def test_a_gradebook_from_before_follows_a_source_that_changed(course: Path, two_graders: LocalExecutor) -> None:
    """Like one that stock nbgrader made, which doesn't record its source."""
    (course / "results/a1/.prepared").unlink()
    (line,) = change_and_grade(course, two_graders, p=[F, T, make_test("u", "assert f(5) == 6", 5), WORDS])
    assert "new: p/u" in line and read_exercises(course)["words"].points == 3.5


def test_nothing_is_lost_if_nothing_changed(course: Path, two_graders: LocalExecutor) -> None:
    assert change_and_grade(course, two_graders, p=[F, T, WORDS]) == []
    assert read_exercises(course)["words"].points == 3.5
