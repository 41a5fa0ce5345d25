"""Each submitted cell is matched with a cell of the course by text, by name, by what it defines, or by its position."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode

from autograder.intake.cell_matching import MAX_SPLITS, match_cells
from autograder.intake.releases import Releases
from autograder.intake.repair_notes import RepairLog
from autograder.intake.submitted_cells import create_cell
from tests.intake.claiming import claim, gather

GIVEN = "import torch\nSTEP = 3"
STUB = "def double(x):\n    ..."
ANSWER = "def double(x):\n    return 2 * x"
SHIFT_STUB = "def shift(x):\n    ..."
SHIFT = "def shift(x):\n    return x + STEP"
CHECK = "assert double(1) == 2"


def make_course_cell(name: str, text: str, cell_type: str = "code", **metadata: Any) -> NotebookNode:
    """A cell of the source notebook, whose kind is the first word of its name."""
    cell = create_cell(cell_type, text)
    cell.id = name
    cell.metadata["gradlab"] = {"kind": name.partition("-")[0], **metadata}
    return cell


CELLS = [
    make_course_cell("given-1", GIVEN),
    make_course_cell("exercise-double", "the solution", exercise="double", stub=STUB),
    make_course_cell("check-double", CHECK),
    make_course_cell("exercise-shift", "the solution", exercise="shift", stub=SHIFT_STUB),
    make_course_cell("question-why", "the answer", "markdown", exercise="why", stub="Write here."),
]
COURSE = {cell.id: cell for cell in CELLS}


def match(*cells: NotebookNode, releases: Releases | None = None) -> tuple[list[tuple[str, str]], RepairLog]:
    """((identity, text) of each cell, what was repaired)."""
    log = RepairLog()
    pieces = match_cells(gather(*cells), COURSE, log, releases or Releases())
    return [(piece.identity, piece.text) for piece in pieces], log


def test_an_answer_is_matched_by_its_name() -> None:
    matched, log = match(claim(ANSWER, "exercise-double"))
    assert matched == [("exercise-double", ANSWER)]
    assert log == RepairLog()


def test_a_unique_id_is_a_name_too() -> None:
    matched, _ = match(claim("y = 1", id="exercise-double"))
    assert matched == [("exercise-double", "y = 1")]


def test_an_id_that_two_cells_have_names_neither() -> None:
    matched, _ = match(claim("y = 1", id="exercise-double"), claim("z = 1", id="exercise-double"))
    assert matched == [("", "y = 1"), ("", "z = 1")]


def test_a_cell_without_a_name_is_the_course_cell_with_its_text() -> None:
    matched, _ = match(claim(STUB))
    assert matched == [("exercise-double", STUB)]


def test_the_text_of_a_cell_counts_more_than_its_name() -> None:
    matched, _ = match(claim(STUB, "exercise-shift"))
    assert matched == [("exercise-double", STUB)]


def test_a_cell_that_nothing_matches_is_the_students_own() -> None:
    matched, log = match(claim("my_notes = 1", "no-such-cell"))
    assert matched == [("", "my_notes = 1")]
    assert log == RepairLog()


def test_course_code_leaves_only_its_position() -> None:
    matched, log = match(claim(GIVEN, "given-1"))
    assert matched == [("given-1", "")]
    assert log == RepairLog()


def test_course_code_that_was_changed_is_reported() -> None:
    matched, log = match(claim("import torch\nSTEP = 4", "given-1"))
    assert matched == [("given-1", "")]
    assert log.changed == ["given-1"]


def test_an_answer_that_was_written_into_course_code_stays() -> None:
    matched, log = match(claim(f"{CHECK}\n{ANSWER}", "check-double"))
    assert matched == [("check-double", ""), ("exercise-double", ANSWER)]
    assert log.changed == ["check-double"]


def test_course_code_that_was_merged_into_an_answer_is_removed() -> None:
    matched, log = match(claim(f"{ANSWER}\n{CHECK}", "exercise-double"))
    assert matched == [("exercise-double", ANSWER)]
    assert log.merged == ["check-double"]


def test_an_answer_without_a_name_is_found_by_what_it_defines() -> None:
    matched, log = match(claim(ANSWER))
    assert matched == [("exercise-double", ANSWER)]
    assert log.adopted == ["exercise-double"]


def test_an_unwritten_cell_gives_way_to_the_cell_that_defines_its_name() -> None:
    matched, log = match(claim(STUB, "exercise-double"), claim(ANSWER))
    assert matched == [("exercise-double", ANSWER)]
    assert log.adopted == ["exercise-double"]


def test_the_last_of_several_definitions_counts() -> None:
    matched, _ = match(claim("double = None"), claim(ANSWER))
    assert matched == [("", "double = None"), ("exercise-double", ANSWER)]


def test_two_answers_in_one_cell_are_separated() -> None:
    matched, log = match(claim(f"{ANSWER}\n\n{SHIFT}", "exercise-double"))
    assert ("exercise-shift", SHIFT) in matched
    assert log.merged == ["exercise-shift"]


def test_halves_of_an_answer_are_joined() -> None:
    first, second = "def double(x):", "    return 2 * x"
    matched, log = match(claim(first, "exercise-double"), claim(second, "exercise-double"))
    assert matched == [("exercise-double", ANSWER)]
    assert log.split == ["exercise-double"]


def test_versions_of_an_answer_are_not_joined() -> None:
    matched, log = match(claim(ANSWER, "exercise-double"), claim(f"{ANSWER} + 0", "exercise-double"))
    assert matched == [("exercise-double", ANSWER), ("exercise-double", f"{ANSWER} + 0")]
    assert log.split == []


def test_the_number_of_joined_cells_is_limited() -> None:
    halves = [claim(f"part_{number} = {number}", "exercise-double") for number in range(MAX_SPLITS + 9)]
    matched, log = match(*halves)
    assert len(log.split) == MAX_SPLITS
    assert len(matched) == 9


def test_cells_in_another_order_are_reported() -> None:
    _, log = match(claim(SHIFT, "exercise-shift"), claim(ANSWER, "exercise-double"))
    assert log.moved == ["exercise-double"]


def test_changed_settings_are_reported() -> None:
    _, log = match(claim(ANSWER, "exercise-double", points=100))
    assert log.settings == ["exercise-double"]


def test_a_stub_of_an_earlier_release_is_the_current_stub() -> None:
    earlier = "def double(x):\n    pass  # your code"
    matched, log = match(claim(earlier), releases=Releases({earlier: "exercise-double"}))
    assert matched == [("exercise-double", STUB)]
    assert log.outdated == ["exercise-double"]


def test_course_code_of_an_earlier_release_is_dropped() -> None:
    matched, _ = match(claim("STEP = 2", "given-1"), releases=Releases({"STEP = 2": "given-1"}))
    assert matched == []


def test_the_first_text_at_its_position_is_the_answer_to_a_question_without_a_cell() -> None:
    shift = claim(SHIFT, "exercise-shift")
    matched, log = match(shift, claim("Since it is.", kind="markdown"), claim("And so on.", kind="markdown"))
    assert matched[1:] == [("question-why", "Since it is."), ("", "And so on.")]
    assert log.placed == ["question-why"]


def test_code_is_no_answer_to_a_question() -> None:
    matched, log = match(claim(SHIFT, "exercise-shift"), claim("1 + 1"))
    assert matched[1:] == [("", "1 + 1")]
    assert log.placed == []


def test_a_text_elsewhere_is_no_answer_to_a_question() -> None:
    matched, _ = match(claim("Hello.", kind="markdown"), claim(SHIFT, "exercise-shift"))
    assert matched == [("", "Hello."), ("exercise-shift", SHIFT)]
