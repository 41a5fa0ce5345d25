"""A mark by hand is for what a person read: text, pictures, and the cells next to the answer."""

from typing import Any

import nbformat

from autograder.base.digest import digest
from autograder.grading import lab_submission, stock_submission


def make_answer(text: str, **pictures: str) -> Any:
    metadata = {"nbgrader": {"grade_id": "question-why", "solution": True, "grade": True, "schema_version": 3}}
    cell = nbformat.v4.new_markdown_cell(text, metadata=metadata, id="question-why")
    if pictures:
        cell.attachments = {name: {"image/png": data} for name, data in pictures.items()}
    return cell


def make_added_cell(source: str) -> Any:
    return nbformat.v4.new_code_cell(source)


def digest_both(*cells: Any) -> tuple[str, str]:
    """The digests of a lab's answer, and of the same one in a stock assignment."""
    course = nbformat.v4.new_markdown_cell(
        "next", metadata={"nbgrader": {"grade_id": "next", "locked": True}}, id="next"
    )
    notebook = nbformat.v4.new_notebook(cells=[*cells, course, make_added_cell("elsewhere")])
    (lab,) = lab_submission.digest_answers(notebook.cells).values()
    (stock,) = stock_submission.digest_answers({"p": notebook}).values()
    return lab, stock


def test_the_digest_of_a_plain_text_is_that_of_earlier_versions() -> None:
    assert set(digest_both(make_answer("so"))) == {digest("so")[:16]}


def test_another_picture_or_another_cell_next_to_it_is_another_answer() -> None:
    forms = [
        digest_both(make_answer("so")),
        digest_both(make_answer("so", a="AAAA")),
        digest_both(make_answer("so", a="BBBB")),
        digest_both(make_answer("so", b="AAAA")),
        digest_both(make_answer("so"), make_added_cell("plot()")),
        digest_both(make_answer("so"), make_added_cell("plot(1)")),
        digest_both(make_answer("so"), make_added_cell("plot()"), make_added_cell("1")),
    ]
    for kind in zip(*forms, strict=True):
        assert len(set(kind)) == len(forms)


def test_the_courses_own_code_below_an_answer_is_no_part_of_it() -> None:
    course = nbformat.v4.new_code_cell("x = 1", metadata={"gradlab": {"kind": "scratch"}})
    assert digest_both(make_answer("so"), course)[0] == digest_both(make_answer("so"))[0]
