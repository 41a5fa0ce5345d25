"""Where a quiz opens, what its mark says, and what a reload keeps."""

import re

import pytest
from conftest import change_notebook, open_lab
from playwright.sync_api import Page, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]


def test_a_quiz_keeps_its_first_try_and_opens_where_something_is_left(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and two graders."""
    change_notebook(student, solution="(x * x).sum()")
    open_lab(student, page)
    quiz = find_panel(page).get_by_role("button", name=re.compile("^A quiz"))
    pager = page.locator(".gradlab-pager")
    rule = "Compare says which statements are true"
    quiz.click()
    expect(pager).to_contain_text("Question 1 of 2")
    expect(pager).not_to_contain_text(rule)
    page.get_by_label("q1 b").check()
    expect(pager).to_contain_text(rule)
    compare = pager.get_by_role("button", name="Compare")
    compare.focus()
    page.keyboard.press("Escape")
    expect(page.locator(".jp-Cell:has(.gradlab-pager)")).to_be_focused()
    compare.click()
    expect(page.get_by_text("✗ You misjudged 2 of 2 statements.")).to_be_visible()

    # A page that is left without saving has the first try, and shows the question without an answer.
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    expect(pager).to_contain_text("Question 2 of 2")
    expect(pager).to_contain_text("First try: 0 of 1 compared questions right.")
    page.get_by_label("q2 b").check()
    expect(pager).to_contain_text("Question 2 of 2")

    # After a mark, without a check, it's the one that lost points.
    page.locator('[data-command="gradlab:mark"]').click()
    expect(pager).to_contain_text("Marked: 1.11 of 2 points. Points lost: q1")
    pager.get_by_role("button", name="Question q1, which lost points").click()
    expect(page.get_by_label("q1 a")).to_be_focused()
    page.get_by_role("button", name="Next question").click()
    expect(pager).to_contain_text("Question 2 of 2")
    quiz.click()
    expect(page.get_by_label("q1 a")).to_be_focused()
