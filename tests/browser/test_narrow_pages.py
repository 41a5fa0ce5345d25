"""Pages on a telephone and in both themes: long names break, nothing makes a page wider, all of it can be read."""

import shutil
from datetime import datetime
from pathlib import Path
from typing import Literal

import nbformat
import pytest
from accessibility import SERIOUS, find_faults
from layout import find_broken_words, is_fitting
from markupsafe import Markup
from playwright.sync_api import Page

from autograder.authoring.course_folder import build_course, read_course
from autograder.desk import html_pages, question_page
from autograder.desk.desk_handlers import SHARED
from autograder.desk.html_pages import render_overview, render_question
from autograder.desk.marks import DeskMark
from autograder.desk.question_page import QuestionSummary, ShownAnswer
from autograder.desk.rubric import Rubric
from autograder.gradebook.cell_address import CellAddress
from autograder.gradebook.class_results import ClassResults, Column, Member
from autograder.gradebook.submission_result import GradedCellResult, SubmissionResult
from autograder.model.marks import Mark
from autograder.model.notes import Note
from autograder.model.term import Term
from autograder.reports.feedback import render_feedback_page
from autograder.reports.lab_pages import render_lab_page, write_lab_pages
from autograder.reports.lab_report import render_report
from autograder.reports.notice_page import render_notice_page
from autograder.reports.similar_pairs import AlikeExercise, SearchResult, SimilarPair
from autograder.reports.similarity_page import render_similar_page
from autograder.reports.term_page import write_term_page
from labkit.outcome import Outcome

pytestmark = pytest.mark.browser
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
LAB = "05_attention_and_its_gradients"
NAMES = ("masked_scaled_dot_product_attention", "standardize_features_per_channel", "why")
STUDENTS = ("maximilian_von_oberndorf_1", "alexandra.papadopoulou-smith@university.example")
FORMULA = " + ".join(rf"\text{{a name of its own, {number}}}" for number in range(4))
FAILED = Outcome("rows", "rows_of_masked_scaled_attention sum to one", seen="nan", misconception="exp overflows")


def open_page(page: Page, folder: Path, text: str) -> Page:
    path = folder / "x.html"
    path.write_text(text, encoding="utf-8")
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(path.as_uri())
    for scheme in SCHEMES:
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colors change at once
        faults = find_faults(page, "body", SERIOUS)
        assert not faults, (scheme, faults)
    return page


def make_class() -> ClassResults:
    members = tuple(
        Member(
            student,
            has_submitted=True,
            graded=True,
            marks=dict.fromkeys(NAMES, Mark(1.0)),
            submitted=datetime(2027, 2, 1, 17, 58),
            checks={NAMES[0]: (FAILED,)},
            answers=dict.fromkeys(NAMES, "x = 1"),
            notes=(Note(words="Something was put right."),),
        )
        for student in STUDENTS
    )
    return ClassResults(LAB, tuple(Column(name, 3) for name in NAMES), members)


def test_the_feedback_page_breaks_no_word(page: Page, tmp_path: Path) -> None:
    exercises = tuple(
        GradedCellResult(
            name=name, points=None if name == "why" else 0, by_hand=name == "why", worth=3, checks=(FAILED,)
        )
        for name in NAMES
    )
    result = SubmissionResult(student=STUDENTS[1], lab=LAB, points=0, worth=9, exercises=exercises)
    open_page(page, tmp_path, render_feedback_page(result, nbformat.v4.new_notebook()))
    assert is_fitting(page)
    assert find_broken_words(page, "h1, h2, p, th, td") == []


def test_the_report_breaks_no_word(page: Page, tmp_path: Path) -> None:
    open_page(page, tmp_path, render_report(make_class()))
    assert is_fitting(page)
    assert find_broken_words(page, "h1, h2, p, th, td, dt, dd, li, summary") == []


def test_the_page_of_similar_submissions_breaks_no_word(page: Page, tmp_path: Path) -> None:
    pair = SimilarPair(*STUDENTS, 9.0, tuple(AlikeExercise(name, 1.0, 0, True) for name in NAMES))
    open_page(page, tmp_path, render_similar_page(make_class(), SearchResult((pair,), 5.0, 40)))
    assert is_fitting(page)
    assert find_broken_words(page, "h1, h2, p, th, td, summary, span") == []


def test_the_page_of_the_term_breaks_no_word(page: Page, tmp_path: Path) -> None:
    write_term_page([make_class()], Term(), tmp_path / "term.html")
    open_page(page, tmp_path, (tmp_path / "term.html").read_text())
    assert is_fitting(page)
    assert find_broken_words(page, "h1, h2, p, th, td") == []


@pytest.mark.parametrize("lab", [LAB, "W" * 60])
def test_the_desks_pages_are_no_wider(page: Page, tmp_path: Path, lab: str) -> None:
    """As files, with the assets that the server delivers: the test measures their style."""
    shutil.copytree(Path(html_pages.__file__).parent / "static", tmp_path / "static")
    for name, path in SHARED.items():
        (tmp_path / "static" / name).write_bytes(path.read_bytes())
    place = CellAddress(lab, lab, f"question-{NAMES[0]}", "1", "2", 3.0, by_hand=True, task=False)
    open_page(
        page,
        tmp_path,
        render_overview(tmp_path.as_uri(), {lab: [QuestionSummary(place, NAMES[0], 2, 1, 1)]}, {lab: lab}),
    )
    assert is_fitting(page)
    assert lab != LAB or find_broken_words(page, "h1, h2, th, td") == []
    answer = ShownAnswer(STUDENTS[1], "", (), (FAILED,), DeskMark(needs_manual_grade=True, auto=0.0), "", "")
    text = Markup("Why is it so?")
    desk_page = question_page.QuestionPage(place, NAMES[0], lab, text, text, (answer,), Rubric(), {}, ())
    open_page(page, tmp_path, render_question(tmp_path.as_uri(), desk_page, ""))
    assert is_fitting(page)
    assert lab != LAB or find_broken_words(page, "h1, h2, li") == []


def test_the_page_of_a_submission_without_a_mark_is_no_wider(page: Page, tmp_path: Path) -> None:
    text = render_notice_page("Attention and its gradients", STUDENTS[1], "2027-02-01 17:58 UTC", "Not marked yet.")
    assert is_fitting(open_page(page, tmp_path, text))


def test_the_text_of_a_course_is_no_wider(page: Page, tmp_path: Path, small_course: Path) -> None:
    build_course(read_course(small_course))
    for path in write_lab_pages(read_course(small_course), tmp_path / "site"):
        assert is_fitting(open_page(page, tmp_path, path.read_text()))


def render_texts(course: Path, *texts: str) -> str:
    """The page of a lab with these texts."""
    cells = [nbformat.v4.new_markdown_cell(text) for text in texts]
    return render_lab_page(nbformat.v4.new_notebook(cells=cells), read_course(course).labs[0], None, None)


def expect_scrolling(page: Page, selector: str) -> None:
    part = page.locator(selector)
    part.evaluate("one => one.scrollTo(9999, 0)")
    assert part.evaluate("one => one.scrollLeft > 0 && one.getBoundingClientRect().right <= innerWidth")


def test_a_wide_table_and_a_wide_formula_scroll_on_their_own(page: Page, tmp_path: Path, small_course: Path) -> None:
    row = f"| {' | '.join(['differentiable'] * 6)} |"
    table = "\n".join((row, f"|{'---|' * 6}", row))
    open_page(page, tmp_path, render_texts(small_course, table, f"$${FORMULA}$$"))
    assert is_fitting(page)
    assert find_broken_words(page, "main :is(td, th)") == []
    expect_scrolling(page, "[aria-label=Table]")
    expect_scrolling(page, "[aria-label=Formula]")


def test_a_wide_formula_in_a_line_scrolls_with_its_paragraph(page: Page, small_course: Path) -> None:
    """axe doesn't know that the keyboard scrolls any part of a page in a browser, so it isn't asked."""
    page.set_viewport_size({"width": 320, "height": 640})
    page.set_content(render_texts(small_course, f"In a line ${FORMULA}$ of text.", f"- ${FORMULA}$"))
    assert is_fitting(page)
    expect_scrolling(page, "main > p")
    expect_scrolling(page, "main > ul")


def test_a_word_that_is_wider_than_the_window_is_broken(page: Page, tmp_path: Path) -> None:
    result = SubmissionResult(student="W" * 80, lab="W" * 90, points=0, worth=9)
    open_page(page, tmp_path, render_feedback_page(result, nbformat.v4.new_notebook()))
    assert is_fitting(page) and find_broken_words(page, "h1")
