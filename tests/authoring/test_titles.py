"""Students read the heading of a quiz or of a question instead of its name."""

from pathlib import Path

import pytest

from autograder.authoring.titles import find_title
from autograder.model.course import Cell, CellKind, Lab
from autograder.model.quiz_statement import QuizStatement

STATEMENT = QuizStatement(question="q1", letter="a", text="It is.", true=True, reason="So.")


def make_cell(kind: CellKind, source: str, name: str = "", quiz: tuple[QuizStatement, ...] = ()) -> Cell:
    cell_id = f"{kind}-{name or len(source)}"
    return Cell(kind=kind, id=cell_id, source=source, path=Path("lab.py"), line=1, lines=(), name=name, quiz=quiz)


def find_title_after(text: str, cell: Cell, name: str = "") -> str:
    lab = Lab.model_construct(cells=(make_cell(CellKind.PROSE, text, name), cell))
    return find_title(cell, lab)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("## In your own words (2 points)\n\nWhy?", "In your own words"),
        ("## Part 1\n\n### What does `clone` cost? (1 point)\n\nSay it.", "What does clone cost?"),
        ("Say why.", "Why the row is heavy"),
    ],
)
def test_a_question_is_called_what_the_heading_above_it_says(text: str, title: str) -> None:
    question = make_cell(CellKind.QUESTION, "### BEGIN SOLUTION\nSo.\n### END SOLUTION", "why_the_row_is_heavy")
    assert find_title_after(text, question) == title


def test_a_question_may_have_its_heading_in_its_own_cell() -> None:
    question = make_cell(CellKind.QUESTION, "## Why?\n\n### BEGIN SOLUTION\nSo.", "reason")
    assert find_title_after("## A part", question) == "Why?"


def test_a_quiz_is_called_what_its_introduction_is_called() -> None:
    quiz = make_cell(CellKind.EXERCISE, "def interview(): ...", "interview", (STATEMENT,))
    assert find_title_after("## Interview questions\n\n**q1. One**", quiz, "interview") == "Interview questions"


def test_an_exercise_keeps_the_name_that_students_write() -> None:
    exercise = make_cell(CellKind.EXERCISE, "def slots(x): ...", "slots")
    assert find_title_after("### Your turn: slots, 3 points", exercise) == ""


def test_two_questions_of_a_real_lab_have_different_titles(labs: list[Lab]) -> None:
    for lab in labs:
        titles = [title for cell in lab.cells if (title := find_title(cell, lab))]
        assert titles and len(titles) == len(set(titles)), lab.name
