"""A lab from the home to its mark by keyboard alone."""

import pytest
from conftest import ARTIFACTS, find_card
from keyboard import Keyboard
from playwright.sync_api import Page, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]


def test_a_student_needs_no_mouse(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    keys = Keyboard(page)
    page.goto(student.address("lab") + "&reset")
    begin = page.get_by_role("button", name="Begin with lab 1")
    page.wait_for_function("document.activeElement !== document.body")
    keys.reach(begin)
    keys.reach(find_panel(page).get_by_role("button", name="Begin: Squares"), "Shift+Tab")
    keys.reach(begin)
    keys.press("Enter")
    expect(page.get_by_text("Mode: Command")).to_be_visible()

    # The arrow keys stop at folded cells, which have to be run, too.
    active = page.locator(".jp-Notebook .jp-Cell.jp-mod-active")
    expect(active).to_be_focused()
    keys.press("ArrowDown")
    expect(active).to_contain_text("import torch")
    keys.press("ArrowDown")
    expect(active).to_contain_text("use_device")
    keys.press("ArrowUp")
    expect(active).to_contain_text("import torch")
    keys.press("ArrowUp")
    expect(active).to_contain_text("After this lab")

    # A prediction, and its explanation.
    choice = page.get_by_role("radio", name="that of the first element")
    keys.reach(choice)
    keys.press("Space")
    expect(choice).to_be_checked()
    keys.reach(page.get_by_role("button", name="Compare").first)
    keys.press("Enter")
    expect(page.get_by_text("You predicted: that of the first element. It is: never negative.")).to_be_visible()
    keys.reach(page.locator("summary").filter(has_text="Explanation"))
    keys.press("Enter")
    expect(page.get_by_role("paragraph").filter(has_text="Each square is never negative")).to_be_visible()

    # The key goes forward, to controls and into editors, and then back to what was left out.
    keys.press("Control+Alt+n")
    expect(page.get_by_role("checkbox", name="q1 a")).to_be_focused()
    keys.press("Control+Alt+n")
    expect(page.get_by_text("Mode: Edit")).to_be_visible()
    keys.press("Control+Alt+n")
    expect(page.get_by_role("alert").filter(has_text="Back to sum_of_squares: it isn't written.")).to_be_visible()

    # An exercise. Its check leaves the cursor in the cell.
    expect(page.get_by_text("Mode: Edit")).to_be_visible()
    keys.press("Control+End")
    keys.press("Shift+Home")
    keys.type("return x.sum() ** 2")
    keys.press("Control+Alt+c")
    expect(find_card(page)).to_contain_text("your result is 49")
    keys.press("Shift+Home")
    keys.type("return (x * x).sum()")
    keys.press("Control+Alt+c")
    expect(find_card(page)).to_contain_text("passed so far; not done yet")
    keys.press("Escape")
    keys.reach(find_card(page).get_by_role("button", name="Mark it now"))
    keys.press("Enter")
    expect(find_card(page)).to_contain_text("Marked: 2 of 2 points, full marks")
    keys.expect_focus()

    # The feedback page, and back.
    keys.reach(find_card(page).get_by_role("button", name="Show the feedback page"))
    keys.press("Enter")
    back = page.frame_locator("iframe").get_by_role("button", name="Open A quiz in the notebook")
    keys.reach(back)
    keys.press("Enter")

    # The quiz.
    first = page.get_by_role("checkbox", name="q1 a")
    expect(first).to_be_focused()
    keys.press("Space")
    expect(first).to_be_checked()
    keys.reach(page.get_by_role("button", name="Next question"))
    keys.press("Enter")
    expect(page.get_by_role("checkbox", name="q2 a")).to_be_focused()
    last = page.get_by_role("checkbox", name="q2 b")
    keys.reach(last)
    keys.press("Space")
    keys.reach(page.get_by_role("button", name="Compare").last)
    keys.press("Enter")
    expect(page.get_by_text("You judged all 2 statements correctly")).to_be_visible()
    keys.expect_focus()
    page.screenshot(path=ARTIFACTS / "course_keyboard.png")
    keys.press("Control+Alt+m")
    expect(find_panel(page).get_by_role("button", name="A quiz")).to_contain_text("2 of 2 points")
    keys.expect_focus()
