"""A mark by hand holds for what a person read: text, pictures, and the cells beside the answer."""

from typing import Any

import nbformat

from autograder.base.digest import digest
from autograder.grading.lab_submission import _digest_answers
from autograder.grading.stock_submission import digest_answers


def answer(text: str, **pictures: str) -> Any:
    metadata = {"nbgrader": {"grade_id": "question-why", "solution": True, "grade": True, "schema_version": 3}}
    cell = nbformat.v4.new_markdown_cell(text, metadata=metadata, id="question-why")
    if pictures:
        cell.attachments = {name: {"image/png": data} for name, data in pictures.items()}
    return cell


def added(source: str) -> Any:
    return nbformat.v4.new_code_cell(source)


def digests(*cells: Any) -> tuple[str, str]:
    """Of a lab's answer, and of the same one in a stock assignment."""
    course = nbformat.v4.new_markdown_cell(
        "next", metadata={"nbgrader": {"grade_id": "next", "locked": True}}, id="next"
    )
    notebook = nbformat.v4.new_notebook(cells=[*cells, course, added("elsewhere")])
    (lab,) = _digest_answers(notebook.cells).values()
    (stock,) = digest_answers({"p": notebook}).values()
    return lab, stock


def test_the_digest_of_a_plain_text_is_that_of_earlier_versions() -> None:
    assert set(digests(answer("so"))) == {digest("so")[:16]}


def test_another_picture_or_another_cell_next_to_it_is_another_answer() -> None:
    forms = [
        digests(answer("so")),
        digests(answer("so", a="AAAA")),
        digests(answer("so", a="BBBB")),
        digests(answer("so", b="AAAA")),
        digests(answer("so"), added("plot()")),
        digests(answer("so"), added("plot(1)")),
        digests(answer("so"), added("plot()"), added("1")),
    ]
    for kind in zip(*forms, strict=True):
        assert len(set(kind)) == len(forms)
