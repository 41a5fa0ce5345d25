"""What keys do to the course's own cells: Enter, Reset, and keys that would change them."""

import re

import nbformat
import pytest
from conftest import change_notebook, expect_text_to_stay_rendered, find_card, open_lab
from playwright.sync_api import Page, expect

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]


def test_enter_leads_to_the_controls_of_a_text(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    change_notebook(grader_free_server)
    open_lab(grader_free_server, page)
    cells = page.locator(".jp-Notebook .jp-Cell")
    for text, control in (
        ("What is the sign of a sum", page.get_by_role("radio", name="that of the first element")),
        ("Each square is never negative", page.locator("summary").filter(has_text="Explanation")),
        ("Select all true statements", page.get_by_role("checkbox", name="q1 a")),
    ):
        cells.filter(has_text=text).focus()
        page.keyboard.press("Enter")
        expect(control).to_be_focused()
        expect(page.get_by_text("Mode: Command")).to_be_visible()
    expect(page.get_by_role("paragraph").filter(has_text="Each square is never negative")).to_be_visible()
    # From the cell, Tab goes to its first control. JupyterLab's buttons for a cell would come first.
    quiz = cells.filter(has_text="Select all true statements")
    quiz.focus()
    page.keyboard.press("Tab")
    expect(page.get_by_role("checkbox", name="q1 a")).to_be_focused()


@pytest.mark.nightly
def test_only_the_students_own_texts_open_for_editing(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    change_notebook(grader_free_server, nbformat.v4.new_markdown_cell("My own notes."))
    open_lab(grader_free_server, page)
    cells = page.locator(".jp-Notebook .jp-Cell")
    for text in ("After this lab", "Each square is never negative", "What is the sign of a sum", "Select all true"):
        expect_text_to_stay_rendered(page, cells.filter(has_text=text))
    for text in ("My own notes.", "Double-click here"):
        cell = cells.filter(has_text=text)
        for is_by_key in (True, False):
            if is_by_key:
                cell.focus()
                page.keyboard.press("Enter")
            else:
                cell.locator(".jp-RenderedMarkdown").get_by_text(text).dblclick()
            expect(cell.locator(".cm-content")).to_be_focused()
            page.keyboard.press("Shift+Enter")  # renders it
            expect(cell.locator(".cm-content:visible")).to_have_count(0)


def test_enter_leads_from_a_check_to_its_card_and_keeps_the_check_folded(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    change_notebook(grader_free_server, solution="(x * x).sum()")
    open_lab(grader_free_server, page)
    check = page.locator(".jp-Notebook .jp-Cell").filter(has_text="# @title Check: ").first
    check.focus()
    page.keyboard.press("Enter")  # there's no card yet
    expect(page.get_by_text("Mode: Command")).to_be_visible()
    expect(check.locator(".jp-InputPlaceholder")).to_be_visible()
    page.keyboard.press("Control+Alt+c")
    first = find_card(page).get_by_role("button", name="Mark it now")
    expect(first).to_be_visible()
    check.focus()
    page.keyboard.press("Enter")
    expect(first).to_be_focused()
    page.keyboard.press("Escape")
    expect(check).to_be_focused()
    expect(check.locator(".jp-InputPlaceholder")).to_be_visible()
    expect(page.get_by_text("Mode: Command")).to_be_visible()


@pytest.mark.nightly
def test_the_courses_code_stays_code(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    change_notebook(grader_free_server, nbformat.v4.new_code_cell("own = 1"))
    open_lab(grader_free_server, page)
    cells = page.locator(".jp-Notebook .jp-Cell")
    written, course = "your answer in it is graded", "it belongs to the course"
    for text, reason in (("# @title Check: ", course), ("def sum_of_squares", written), ("import torch", course)):
        cell = cells.filter(has_text=text).first
        for key in ("M", "R", "1"):
            cell.focus()
            page.keyboard.press(key)
        expect(page.get_by_role("alert").filter(has_text=f"This cell can't become text: {reason}")).to_be_visible()
        expect(cell).to_have_class(re.compile("jp-CodeCell"))
    own = cells.filter(has_text="own = 1")
    own.focus()
    page.keyboard.press("M")
    expect(own).to_have_class(re.compile("jp-MarkdownCell"))


@pytest.mark.nightly
def test_only_the_selected_exercise_is_reset(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    change_notebook(grader_free_server, nbformat.v4.new_code_cell("own = 1"), solution="(x * x).sum()")
    open_lab(grader_free_server, page)
    cells = page.locator(".jp-Notebook .jp-Cell")
    dialog = page.get_by_role("dialog")
    for text in ("own = 1", "After this lab", "import torch", "What is the sign of a sum"):
        cells.filter(has_text=text).first.focus()
        page.keyboard.press("Control+Alt+r")
        expect(page.get_by_role("alert").filter(has_text="Nothing here can be reset")).to_be_visible()
        expect(dialog).to_have_count(0)
    for text in ("def sum_of_squares", "# @title Check: "):
        cells.filter(has_text=text).first.focus()
        page.keyboard.press("Control+Alt+r")
        expect(dialog).to_contain_text("Reset sum_of_squares?")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
