"""Students' work in unexpected places: taken as the answer, or left for a person to read, never lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from nbformat import NotebookNode

from autograder.intake.cell_origin import is_students, is_to_be_read
from autograder.model.metadata import get_cell_name
from autograder.stock.content import StockNotebook
from autograder.stock.notebook_repair import build_released_notebook
from tests.stock.stock_course import (
    Cell,
    make_cell,
    make_given,
    make_manual,
    make_notebook,
    make_solution,
    make_task,
    make_test,
    write,
)
from tests.stock.strange_course import read_course_notebook, repair_source

STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
Q1, Q2 = make_given("q1", "## Question 1", "markdown"), make_cell("## Question 2", "markdown")
WORDS, CODE = make_manual("words", "YOUR ANSWER HERE"), make_manual("code", STUB, kind="code")
F = make_solution("f", "def f(x):\n    ### BEGIN SOLUTION\n    return x + 1\n    ### END SOLUTION")
F_STUB = make_solution("f", "def f(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()")
T = make_test("t", "assert f(1) == 2\n### BEGIN HIDDEN TESTS\nassert f(2) == 3\n### END HIDDEN TESTS")
T_RELEASED = make_test("t", "assert f(1) == 2")
SOURCE = [Q1, WORDS, Q2, F, T, CODE, make_task("free", "Draw.")]


@pytest.fixture
def course(tmp_path: Path) -> StockNotebook:
    return read_course_notebook(tmp_path, make_notebook(*SOURCE))


def drop_name(one: Cell) -> Cell:
    return {**one, "metadata": {}}


def make_text(source: str) -> Cell:
    return make_cell(source, "markdown")


def describe_cells(graded_notebook: NotebookNode) -> list[tuple[str, str]]:
    """(nbgrader's name or "own" or "course", text) of each cell."""
    return [
        (get_cell_name(each) if "nbgrader" in each.metadata else "own" if is_students(each) else "course", each.source)
        for each in graded_notebook.cells
    ]


def find_cell(graded_notebook: NotebookNode, name: str) -> Any:
    (cell,) = [each for each in graded_notebook.cells if get_cell_name(each) == name]
    return cell


def test_a_text_below_a_blank_answer_is_the_answer(course: StockNotebook) -> None:
    repaired, notes = repair_source(
        make_notebook(Q1, WORDS, make_text("Since it is."), make_text("And so on."), Q2, F_STUB, T, CODE), course
    )
    assert find_cell(repaired, "words").source == "Since it is."
    assert describe_cells(repaired)[:4] == [
        ("q1", "## Question 1"),
        ("words", "Since it is."),
        ("own", "And so on."),
        ("course", "## Question 2"),
    ]
    assert notes[0] == "Your cell 3, which begins `Since it is.`, was used as your answer to words."


def test_code_below_blank_code_is_the_answer(course: StockNotebook) -> None:
    repaired, _ = repair_source(make_notebook(*SOURCE[:6], make_cell("total = 1"), make_cell("print(total)")), course)
    assert find_cell(repaired, "code").source == "total = 1"
    assert ("own", "print(total)") in describe_cells(repaired)


def test_an_answer_whose_cell_lost_its_name_is_found_by_its_position(course: StockNotebook) -> None:
    repaired, notes = repair_source(
        make_notebook(Q1, make_text("Since it is."), Q2, F, T, make_cell("total = 1")), course
    )
    assert find_cell(repaired, "words").source == "Since it is." and find_cell(repaired, "code").source == "total = 1"
    assert len([note for note in notes if "was used as your answer" in note]) == 2


def test_a_written_answer_stays_with_the_text_below_it(course: StockNotebook) -> None:
    answer = {**WORDS, "source": "In its cell."}
    repaired, notes = repair_source(make_notebook(Q1, answer, make_text("More."), *SOURCE[2:]), course)
    assert find_cell(repaired, "words").source == "In its cell."
    assert ("own", "More.") in describe_cells(repaired)
    assert not notes


@pytest.mark.parametrize(
    "cells",
    [
        [Q1, WORDS, make_cell("plot(1)"), Q2],
        [Q1, make_text("Since it is."), WORDS, Q2],
        [Q1, make_cell("1 + 1"), WORDS, Q2],
    ],
)
def test_a_person_reads_text_next_to_a_blank_answer_that_may_belong_to_it(
    cells: list[Cell], course: StockNotebook
) -> None:
    repaired, _ = repair_source(make_notebook(*cells, *SOURCE[3:]), course)
    assert find_cell(repaired, "words").source == "YOUR ANSWER HERE" and is_to_be_read(find_cell(repaired, "words"))


def test_a_blank_answer_on_its_own_waits_for_no_one(course: StockNotebook) -> None:
    repaired, notes = repair_source(make_notebook(*SOURCE), course)
    assert not any(is_to_be_read(each) for each in repaired.cells) and not notes
    below, _ = repair_source(
        make_notebook(Q1, WORDS, Q2, make_text("Written below the next question."), *SOURCE[3:]), course
    )
    assert not is_to_be_read(find_cell(below, "words"))


def test_text_after_one_answer_does_not_belong_to_the_next_one(tmp_path: Path) -> None:
    second = make_manual("second", "YOUR ANSWER HERE")
    course = read_course_notebook(tmp_path, make_notebook(WORDS, second))
    repaired, _ = repair_source(make_notebook({**WORDS, "source": "A"}, make_text("B"), second), course)
    assert describe_cells(repaired) == [("words", "A"), ("own", "B"), ("second", "YOUR ANSWER HERE")]
    assert not is_to_be_read(find_cell(repaired, "second"))


@pytest.mark.parametrize("order", [0, 1])
def test_the_written_copy_of_a_duplicated_answer_counts(order: int, course: StockNotebook) -> None:
    copies = [WORDS, {**WORDS, "source": "Written."}]
    repaired, _ = repair_source(make_notebook(Q1, *(copies if order else copies[::-1]), *SOURCE[2:]), course)
    assert find_cell(repaired, "words").source == "Written."


def test_a_function_below_its_tests_is_taken_for_the_answer(course: StockNotebook) -> None:
    late = make_cell("def f(x):\n    return x + 1")
    repaired, notes = repair_source(make_notebook(Q1, WORDS, Q2, F_STUB, T_RELEASED, late, CODE), course)
    names = [name for name, _ in describe_cells(repaired)]
    assert find_cell(repaired, "f").source == late["source"] and names.index("f") < names.index("t")
    assert "Your cell 6, which begins `def f(x):`, was used as your answer to f." in notes


def test_a_function_above_its_tests_stays_where_it_is(course: StockNotebook) -> None:
    repaired, _ = repair_source(
        make_notebook(Q1, WORDS, Q2, F_STUB, make_cell("def f(x):\n    return x + 1"), T_RELEASED, CODE), course
    )
    assert find_cell(repaired, "f").source == F_STUB["source"]


def test_tests_without_their_names_are_the_courses_by_their_text(course: StockNotebook) -> None:
    repaired, _ = repair_source(
        make_notebook(*(drop_name(each) for each in (Q1, WORDS, Q2, F, T_RELEASED, CODE))), course
    )
    assert [name for name, _ in describe_cells(repaired)] == ["q1", "words", "course", "f", "t", "code", "free"]
    assert "HIDDEN" in find_cell(repaired, "t").source


def test_tests_are_restored_after_an_answer_that_lost_its_name(course: StockNotebook) -> None:
    answer = make_cell("def f(y):\n    return 1 + y")
    repaired, notes = repair_source(make_notebook(Q1, WORDS, Q2, answer, CODE), course)
    names = [name for name, _ in describe_cells(repaired)]
    assert names.index("f") + 1 == names.index("t") < names.index("code")
    assert any("put back: t, which begins `assert f(1) == 2`; free, which begins `Draw.`" in note for note in notes)


def test_tests_are_restored_before_the_next_cell_if_the_answer_was_not_found(course: StockNotebook) -> None:
    answer = make_cell("g = lambda x: x + 1")
    repaired, _ = repair_source(make_notebook(Q1, WORDS, Q2, answer, {**CODE, "source": "1"}), course)
    assert [name for name, _ in describe_cells(repaired)] == ["q1", "words", "course", "own", "t", "code", "free"]


def test_a_restored_test_keeps_the_magic_of_its_cell(tmp_path: Path) -> None:
    course = read_course_notebook(tmp_path, make_notebook(F, make_test("t", "%%capture out\nassert f(1) == 2")))
    repaired, _ = repair_source(make_notebook(F), course)
    assert find_cell(repaired, "t").source.startswith("%%capture out\n")


def test_a_footer_that_nbgrader_adds_to_each_notebook_is_no_answer(tmp_path: Path) -> None:
    write(tmp_path / "source/footer.ipynb", make_notebook(make_text("Hand in by Friday.")))
    write(tmp_path / "release/a1/p.ipynb", make_notebook(make_text("Added by another step."), WORDS))
    config = {"IncludeHeaderFooter": {"footer": "source/footer.ipynb"}}
    course = read_course_notebook(tmp_path, make_notebook(WORDS), config)
    for line in ("Hand in by Friday.", "Added by another step."):
        repaired, notes = repair_source(make_notebook(WORDS, make_text(line)), course)
        assert find_cell(repaired, "words").source == "YOUR ANSWER HERE"
        assert not is_to_be_read(find_cell(repaired, "words"))
        assert not notes


@pytest.mark.parametrize("name", ["told", "words", "t"])
def test_a_cell_that_nbgrader_has_only_a_name_for_is_the_courses(name: str, tmp_path: Path) -> None:
    """nbgrader keeps the name when an instructor turns a graded cell into an ordinary one."""
    instruction, setup = (
        make_cell("Read chapter 2.", "markdown", grade_id=name),
        make_cell("import math", grade_id="setup"),
    )
    course = read_course_notebook(tmp_path, make_notebook(setup, WORDS, instruction, F, T, instruction))
    repaired, notes = repair_source(make_notebook(setup, WORDS, instruction, F_STUB, T_RELEASED, instruction), course)
    assert [each for each, _ in describe_cells(repaired)] == [
        "course",
        "words",
        "course",
        "f",
        "t",
        "course",
    ] and not notes
    assert find_cell(repaired, "words").source == "YOUR ANSWER HERE" and not is_to_be_read(find_cell(repaired, "words"))


def test_a_mark_scheme_that_students_never_had_is_no_change_and_in_no_file(tmp_path: Path) -> None:
    scheme = "Draw.\n=== BEGIN MARK SCHEME ===\nTwo points.\n=== END MARK SCHEME ==="
    course = read_course_notebook(tmp_path, make_notebook(WORDS, make_task("free", scheme)))
    repaired, notes = repair_source(make_notebook(WORDS, make_task("free", "Draw.")), course)
    assert find_cell(repaired, "free").source == scheme and not notes
    assert "Two points" not in json.dumps(build_released_notebook(repaired, course))


def test_notes_name_what_a_student_finds_in_the_notebook(course: StockNotebook) -> None:
    changed_test = {**T_RELEASED, "source": "pass", "metadata": json.loads(json.dumps(T["metadata"]))}
    changed_test["metadata"]["nbgrader"]["points"] = 50
    _, notes = repair_source(make_notebook(*SOURCE[:4], changed_test, *SOURCE[5:]), course)
    place = "t, your cell 5, which begins `assert f(1) == 2`"
    assert notes == [
        f"Changed course cells were restored: {place}.",
        f"Changed settings of cells (points, locks, tags) do not count: {place}.",
    ]


@pytest.mark.parametrize("attachments", [{"p.png": {"image/png": "BBBB"}}, {}])
def test_a_locked_text_has_the_courses_pictures(attachments: Any, tmp_path: Path) -> None:
    course_cell = {**make_given("q1", "## Question 1\n![p](attachment:p.png)", "markdown")}
    course = read_course_notebook(
        tmp_path, make_notebook({**course_cell, "attachments": {"p.png": {"image/png": "AAAA"}}}, WORDS)
    )
    repaired, _ = repair_source(make_notebook({**course_cell, "attachments": attachments}, WORDS), course)
    assert find_cell(repaired, "q1").attachments == {"p.png": {"image/png": "AAAA"}}
