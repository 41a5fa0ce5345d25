"""Everything that a student wrote is on the page and on the desk, even if no test or question is about it.

Slow: nbgrader puts three assignments into a new gradebook.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.classroom.answer_cells import StockAnswerCells
from autograder.desk.course_desk import read_cells
from autograder.gradebook.cell_address import CellAddress
from autograder.model.note_sentences import describe_notes
from autograder.reports.feedback import write_feedback
from autograder.workers.executors import LocalExecutor
from tests.page_text import read_page_text
from tests.stock.stock_course import (
    Cell,
    make_cell,
    make_given,
    make_manual,
    make_notebook,
    make_solution,
    make_task,
    make_test,
)
from tests.stock.strange_course import grade, load_student_document, make_course, read_gradebook_result

pytestmark = pytest.mark.slow
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
WORDS, CODE, DRAW = (
    make_manual("words", "YOUR ANSWER HERE"),
    make_manual("code", STUB, kind="code"),
    make_task("draw", "Draw."),
)
F = make_solution("f", "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION")
T = make_test("t", "assert f() == 1\n### BEGIN HIDDEN TESTS\nassert f() < 2\n### END HIDDEN TESTS")
MORE = make_solution("more", "### BEGIN SOLUTION\nm = 1\n### END SOLUTION")
SOURCE = [make_given("q", "## Why?", "markdown"), WORDS, F, T, CODE, DRAW, make_cell("## The end", "markdown"), MORE]


def make_text(source: str) -> Cell:
    return make_cell(source, "markdown")


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    below = [*SOURCE[:2], make_text("My *first* law."), make_text("My second law.")]
    below += [
        *SOURCE[2:4],
        make_text("A word on f."),
        CODE,
        make_cell("print(6 * 7)"),
        DRAW,
        make_text("My drawing."),
        SOURCE[6],
    ]
    below += [make_cell("m = 1000 + 1"), {**MORE, "source": "m = 23"}, make_cell("print('after', m)")]
    practice = [make_solution("g", "### BEGIN SOLUTION\ng = 1\n### END SOLUTION"), make_cell("g + 40")]
    source = make_notebook(make_manual("w", "YOUR ANSWER HERE"))
    files = {
        "source/a1/p.ipynb": make_notebook(*SOURCE),
        "submitted/below/a1/p.ipynb": make_notebook(*below),
        "submitted/blank/a1/p.ipynb": make_notebook(*SOURCE[:2], F, T, *SOURCE[4:]),
        "source/a2/p.ipynb": make_notebook(*practice),
        "submitted/below/a2/p.ipynb": make_notebook({**practice[0], "source": "g = 2"}, practice[1]),
        "source/a3/p.ipynb": make_notebook(*practice),
        "source/a3/q.ipynb": source,
        "submitted/below/a3/p.ipynb": make_notebook({**practice[0], "source": "g = 2"}, practice[1]),
        "submitted/below/a3/q.ipynb": source,
    }
    root = make_course(tmp_path_factory.mktemp("unseen"), files)
    for lab in ("a1", "a2", "a3"):
        assert not [outcome.failure for outcome in grade(root, two_graders, lab) if outcome.failure]
    return root


def read_page(course: Path, student: str, lab: str = "a1", name: str = "p") -> str:
    pages = write_feedback([read_gradebook_result(course, student, lab)], course, lab)
    (page_path,) = [path for path in pages if path.stem == name]
    return page_path.read_text()


def list_desk_texts(course: Path, name: str, by_hand: bool = True, task: bool = False) -> list[str]:
    place = CellAddress("a1", "p", name, "", None, 1.0, by_hand, task)
    return [
        each.source for each in StockAnswerCells().select(read_cells(course / "autograded/below/a1/p.ipynb"), place)
    ]


def test_an_answer_below_its_cell_waits_for_a_person(course: Path) -> None:
    exercises = {e.name: e for e in read_gradebook_result(course, "below").exercises}
    assert exercises["words"].points is None and exercises["code"].points is None
    assert exercises["words"].needs_manual_grade and not exercises["words"].comment
    assert any(
        "used as your answer to words" in note for note in describe_notes(load_student_document(course, "below").notes)
    )


def test_a_blank_answer_gets_nothing_at_once(course: Path) -> None:
    exercises = {e.name: e for e in read_gradebook_result(course, "blank").exercises}
    assert exercises["words"].points == 0 and not exercises["words"].needs_manual_grade


@pytest.mark.parametrize(
    "part",
    [
        "My <em>first</em> law.",
        "My second law.",
        "A word on f.",
        "print(6 * 7)",
        "My drawing.",
        "m = 1000 + 1",
    ],
)
def test_everything_that_was_written_is_on_the_page_once(course: Path, part: str) -> None:
    page = read_page(course, "below")
    is_in_a_cell = read_page_text(page.split("</table>")[-1]).count(part) == 1
    is_a_paragraph = page.count(f"<p>{part}") == 1
    assert is_in_a_cell or is_a_paragraph


def test_work_outside_the_answers_is_on_the_page(course: Path) -> None:
    page = read_page_text(read_page(course, "below"))
    assert "Also in your notebook" in page
    assert "m = 23" in page
    assert "print('after', m)" in page
    assert "The end" not in page


def test_output_after_a_hidden_test_is_not_on_the_page(course: Path) -> None:
    page = read_page(course, "below")
    assert "HIDDEN" not in page
    assert "after 23" not in page


def test_everything_that_was_written_is_on_the_desk(course: Path) -> None:
    assert list_desk_texts(course, "words") == ["My *first* law.", "My second law."]
    assert list_desk_texts(course, "code") == ["A word on f.", "print(6 * 7)"]
    assert list_desk_texts(course, "draw", task=True) == ["My drawing."]
    assert "def f()" in list_desk_texts(course, "t", by_hand=False)[0]


@pytest.mark.parametrize("lab", ["a2", "a3"])
def test_a_notebook_without_a_graded_cell_has_its_page(course: Path, lab: str) -> None:
    page = read_page_text(read_page(course, "below", lab))
    assert "g = 2" in page and "42" in page
    assert ("Nothing in this notebook is graded" in page) == (lab == "a2")
