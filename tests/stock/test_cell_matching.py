"""Each submitted cell is matched with one of a stock assignment by name, text, what it defines, or its position."""

from __future__ import annotations

from nbformat import NotebookNode

from autograder.intake.repair_notes import RepairLog
from autograder.stock.cell_matching import StockSubmittedCell, match_cells
from autograder.stock.content import StockCell, StockNotebook
from tests.intake.claiming import claim, gather

STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
ANSWER = "def f(x):\n    return x + 1"
TEST = "assert f(1) == 2"
BLANK = "YOUR ANSWER HERE"
HEADING = "## Question 2"
SOURCE = StockNotebook(
    name="p1",
    kernelspec={},
    cells=(
        StockCell(id="f", cell_type="code", source="the solution", released=STUB, solution=True, defines=("f",)),
        StockCell(id="t", cell_type="code", source=f"{TEST}\nassert f(2) == 3", released=TEST, grade=True, locked=True),
        StockCell(id="why", cell_type="markdown", source=BLANK, released=BLANK, grade=True, solution=True),
    ),
    order=("id f", "id t", f"text {HEADING}", "id why"),
    unkept_texts=(HEADING,),
)


def match(*cells: NotebookNode) -> tuple[list[StockSubmittedCell], RepairLog]:
    log = RepairLog()
    return match_cells(gather(*cells), SOURCE, log), log


def list_identities(*cells: NotebookNode) -> list[tuple[str, str]]:
    """(the course cell that it matches, text) of each cell."""
    return [(piece.identity, piece.text) for piece in match(*cells)[0]]


def write_text(text: str) -> NotebookNode:
    return claim(text, kind="markdown")


def test_a_cell_is_matched_by_its_name_whatever_its_text() -> None:
    assert list_identities(claim("f = None", "f"), claim("assert True", "t")) == [
        ("f", "f = None"),
        ("t", "assert True"),
    ]


def test_the_last_written_copy_of_an_answer_counts() -> None:
    copies = [claim(text, "why", "markdown") for text in ("So.", "Since it is.", BLANK)]
    pieces, log = match(*copies)
    assert [piece.identity for piece in pieces] == ["", "why", ""]
    assert log.repeated == ["why"]


def test_a_cell_without_a_name_is_the_missing_cell_with_its_text() -> None:
    assert list_identities(claim(STUB), claim(TEST)) == [("f", STUB), ("t", TEST)]


def test_a_text_that_two_cells_have_identifies_neither() -> None:
    assert list_identities(claim(TEST), claim(TEST)) == [("", TEST), ("", TEST)]


def test_a_cell_that_nbgrader_does_not_keep_is_the_courses() -> None:
    heading, own = match(write_text(HEADING), write_text("My heading"))[0]
    assert heading.is_given
    assert not own.is_given


def test_a_program_without_a_name_is_the_last_cell_that_defines_the_same_names() -> None:
    assert list_identities(claim("f = len"), claim(ANSWER)) == [("", "f = len"), ("f", ANSWER)]


def test_a_program_after_its_tests_replaces_the_unwritten_one() -> None:
    pieces, log = match(claim(STUB, "f"), claim(TEST, "t"), claim(ANSWER))
    assert [(piece.identity, piece.text) for piece in pieces] == [("f", ANSWER), ("t", TEST)]
    assert log.whole == ["Your cell 3, which begins `def f(x):`, was used as your answer to f."]


def test_a_program_before_its_tests_stays_where_it_is() -> None:
    cells = claim(STUB, "f"), claim(ANSWER), claim(TEST, "t")
    assert list_identities(*cells) == [("f", STUB), ("", ANSWER), ("t", TEST)]


def test_a_written_program_is_not_replaced() -> None:
    cells = claim("f = len", "f"), claim(TEST, "t"), claim(ANSWER)
    assert list_identities(*cells) == [("f", "f = len"), ("t", TEST), ("", ANSWER)]


def test_the_first_text_below_a_blank_answer_is_the_answer() -> None:
    pieces, log = match(claim(BLANK, "why", "markdown"), write_text("Since it is."), write_text("And so on."))
    assert [(piece.identity, piece.text) for piece in pieces] == [("why", "Since it is."), ("", "And so on.")]
    assert log.whole == ["Your cell 2, which begins `Since it is.`, was used as your answer to why."]


def test_a_written_answer_is_not_replaced() -> None:
    cells = claim("It is.", "why", "markdown"), write_text("And so on.")
    assert list_identities(*cells) == [("why", "It is."), ("", "And so on.")]


def test_the_answer_of_a_missing_cell_is_the_first_text_after_the_course_cell_before_it() -> None:
    pieces, log = match(write_text("Hello."), write_text(HEADING), write_text("Since it is."))
    assert [piece.identity for piece in pieces] == ["", "", "why"]
    assert len(log.whole) == 1


def test_code_below_a_blank_text_needs_a_reader() -> None:
    blank, code = match(claim(BLANK, "why", "markdown"), claim("1 + 1"))[0]
    assert blank.needs_reader
    assert code.is_students


def test_a_text_above_a_blank_answer_needs_a_reader() -> None:
    *_, blank = match(write_text(HEADING), write_text("Since it is."), claim(BLANK, "why", "markdown"))[0]
    assert blank.needs_reader


def test_a_blank_answer_without_a_text_near_it_needs_no_reader() -> None:
    (blank,) = match(claim(BLANK, "why", "markdown"))[0]
    assert not blank.needs_reader
