"""Whatever a student wrote is on the page and on the desk, also where no test and no question is about it.

Slow: nbgrader puts three assignments into a new gradebook.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from autograder.desk.answer_cells import StockAnswers
from autograder.desk.place import GradedPlace, read_cells
from autograder.model.messages import describe_notes
from autograder.reports.feedback import write_feedback
from autograder.workers.executors import LocalExecutor
from tests.stock.stock_course import Cell, by_hand, cell, given, graded, notebook, solution, task
from tests.stock.strange_course import document, grade, in_gradebook, made

pytestmark = pytest.mark.slow
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
WORDS, CODE, DRAW = by_hand("words", "YOUR ANSWER HERE"), by_hand("code", STUB, kind="code"), task("draw", "Draw.")
F = solution("f", "def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION")
T = graded("t", "assert f() == 1\n### BEGIN HIDDEN TESTS\nassert f() < 2\n### END HIDDEN TESTS")
MORE = solution("more", "### BEGIN SOLUTION\nm = 1\n### END SOLUTION")
SOURCE = [given("q", "## Why?", "markdown"), WORDS, F, T, CODE, DRAW, cell("## The end", "markdown"), MORE]


def text(source: str) -> Cell:
    return cell(source, "markdown")


@pytest.fixture(scope="module")
def course(two_graders: LocalExecutor, tmp_path_factory: pytest.TempPathFactory) -> Path:
    below = [*SOURCE[:2], text("My *first* law."), text("My second law.")]
    below += [*SOURCE[2:4], text("A word on f."), CODE, cell("print(6 * 7)"), DRAW, text("My drawing."), SOURCE[6]]
    below += [cell("m = 1000 + 1"), {**MORE, "source": "m = 23"}, cell("print('after', m)")]
    practice = [solution("g", "### BEGIN SOLUTION\ng = 1\n### END SOLUTION"), cell("g + 40")]
    source = notebook(by_hand("w", "YOUR ANSWER HERE"))
    files = {
        "source/a1/p.ipynb": notebook(*SOURCE),
        "submitted/below/a1/p.ipynb": notebook(*below),
        "submitted/blank/a1/p.ipynb": notebook(*SOURCE[:2], F, T, *SOURCE[4:]),
        "source/a2/p.ipynb": notebook(*practice),
        "submitted/below/a2/p.ipynb": notebook({**practice[0], "source": "g = 2"}, practice[1]),
        "source/a3/p.ipynb": notebook(*practice),
        "source/a3/q.ipynb": source,
        "submitted/below/a3/p.ipynb": notebook({**practice[0], "source": "g = 2"}, practice[1]),
        "submitted/below/a3/q.ipynb": source,
    }
    root = made(tmp_path_factory.mktemp("unseen"), files)
    for lab in ("a1", "a2", "a3"):
        assert not [done.failure for done in grade(root, two_graders, lab) if done.failure]
    return root


def page(course: Path, student: str, lab: str = "a1", name: str = "p") -> str:
    pages = write_feedback([in_gradebook(course, student, lab)], course, lab)
    (found,) = [path for path in pages if path.stem == name]
    return found.read_text()


def on_the_desk(course: Path, name: str, by_hand: bool = True, task: bool = False) -> list[str]:
    place = GradedPlace("a1", "p", name, "", None, 1.0, by_hand, task)
    return [each.source for each in StockAnswers().select(read_cells(course / "autograded/below/a1/p.ipynb"), place)]


def test_an_answer_below_its_cell_waits_for_a_person(course: Path) -> None:
    found = {e.name: e for e in in_gradebook(course, "below").exercises}
    assert found["words"].points is None and found["code"].points is None
    assert found["words"].waits and not found["words"].comment
    assert any("taken for your answer to words" in note for note in describe_notes(document(course, "below").notes))


def test_a_blank_answer_gets_nothing_at_once(course: Path) -> None:
    found = {e.name: e for e in in_gradebook(course, "blank").exercises}
    assert found["words"].points == 0 and not found["words"].waits


def test_everything_that_was_written_is_on_the_page_once(course: Path) -> None:
    found = page(course, "below")
    for part in (
        "My <em>first</em> law.",
        "My second law.",
        "A word on f.",
        "print(6 * 7)",
        "My drawing.",
        "m = 1000 + 1",
    ):
        assert found.split("</table>")[-1].count(part) == 1 or found.count(f"<p>{part}") == 1, part
    assert "m = 23" in found and "print(&#39;after&#39;, m)" in found
    assert "Also in your notebook" in found and "The end" not in found
    assert "HIDDEN" not in found and "after 23" not in found, "what cells printed after a hidden test is left out"


def test_everything_that_was_written_is_on_the_desk(course: Path) -> None:
    assert on_the_desk(course, "words") == ["My *first* law.", "My second law."]
    assert on_the_desk(course, "code") == ["A word on f.", "print(6 * 7)"]
    assert on_the_desk(course, "draw", task=True) == ["My drawing."]
    assert "def f()" in on_the_desk(course, "t", by_hand=False)[0]


@pytest.mark.parametrize("lab", ["a2", "a3"])
def test_a_notebook_without_a_graded_cell_has_its_page(course: Path, lab: str) -> None:
    found = page(course, "below", lab)
    assert "g = 2" in found and "42" in found
    assert ("Nothing in this notebook is graded" in found) == (lab == "a2")
