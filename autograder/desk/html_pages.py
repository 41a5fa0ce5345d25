"""Renders the desk's pages as HTML, with every value escaped, and the scripts' data as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from markupsafe import Markup

from autograder.desk.class_status import StatusLine
from autograder.desk.mark_log import GivenMark, describe_giver
from autograder.desk.marks import MAX_COMMENT, DeskMark
from autograder.desk.question_page import QuestionPage, QuestionSummary
from autograder.desk.rubric import MAX_ITEMS, MAX_TEXT, Rubric
from autograder.gradebook.cell_address import CellAddress
from autograder.reports.page_templates import build_jinja_environment
from labkit.points import format_points


def render_overview(
    base: str, labs: Mapping[str, Sequence[QuestionSummary]], titles: Mapping[str, str], problem: str = ""
) -> str:
    """Render the overview.

    Args:
        base: The address of the desk's pages.
        labs: The questions by lab.
        titles: The labs' titles.
        problem: The reason if there are no questions.
    """
    return _render("overview.html.j2", base=base, labs=labs, titles=titles, problem=problem)


def render_status(base: str, lines: Sequence[StatusLine]) -> str:
    """Render the page about the class's parts."""
    return _render("status.html.j2", base=base, lines=lines)


def render_question(base: str, page: QuestionPage, xsrf: str) -> str:
    """Render the page of one question.

    Args:
        base: The address of the desk's pages.
        xsrf: Jupyter's token, which the page sends with each request so no other page can send it.
    """
    address = page.address
    marks = encode_marks({answer.student: answer.mark for answer in page.answers}, page.given, address)
    state = {
        "base": base,
        "xsrf": xsrf,
        "place": {"lab": address.lab, "notebook": address.notebook, "cell": address.cell},
        "worth": address.worth,
        "marks": marks,
        "rubric": encode_rubric(page.rubric),
        "comments": page.comments,
        "mostItems": MAX_ITEMS,
        "longestItem": MAX_TEXT,
    }
    bounds = {"longest_comment": MAX_COMMENT}
    return _render("question.html.j2", base=base, page=page, address=address, state=state, marks=marks, **bounds)


def encode_marks(marks: Mapping[str, DeskMark], given: Mapping[str, GivenMark], address: CellAddress) -> dict[str, Any]:
    """Encode the marks for the page's script.

    Args:
        given: The last mark that each student was given on the desk.
    """
    now = datetime.now(UTC)
    return {
        student: {
            "points": mark.points,
            "comment": mark.comment,
            "chosen": mark.chosen,
            "waits": mark.needs_manual_grade,
            "version": mark.version,
            "told": describe_mark(mark, address),
            "giver": describe_giver(mark, given.get(student), now),
        }
        for student, mark in marks.items()
    }


def encode_rubric(rubric: Rubric) -> dict[str, Any]:
    return {"items": [item.model_dump() for item in rubric.items], "version": rubric.version}


def describe_mark(mark: DeskMark, address: CellAddress) -> str:
    """Describe the state of an answer."""
    worth = format_points(address.worth)
    if mark.needs_manual_grade and mark.points is not None:
        return f"waits again, since the answer changed: it had {format_points(mark.points)} of {worth}"
    if mark.needs_manual_grade:
        return "waits"
    if mark.points is not None:
        return f"{format_points(mark.points)} of {worth}"
    if mark.is_blank and address.by_hand:
        return f"not written, 0 of {worth}"
    return f"{format_points(mark.auto or 0.0)} of {worth}" + ("" if address.by_hand else " from checks")


def wrap_in_box(words: Markup) -> Markup:
    """Put prose in a box, which the keyboard can scroll if it's wide."""
    wide = "<table" in words or 'display="block"' in words
    return Markup('<div class="words"{}>{}</div>').format(Markup(' tabindex="0"' if wide else ""), words)


def _render(template: str, **values: Any) -> str:
    return build_jinja_environment("autograder.desk").get_template(template).render(box=wrap_in_box, **values)
