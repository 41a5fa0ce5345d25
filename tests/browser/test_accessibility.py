"""The course's own parts in windows of a laptop, zoomed to 150 %, and of a telephone."""

import re

import pytest
from accessibility import OWN_PARTS, find_faults
from conftest import ARTIFACTS, change_notebook, find_card, open_lab
from playwright.sync_api import Page, expect
from smoke_walk import check, find_panel

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]

SIZES = [(1024, 768), (853, 667), (320, 640)]  # at 150 %, a window of 1280 pixels is 853 of its pixels wide
# What ends to the right of the outermost of our elements around it. Code scrolls on its own.
CUT_OFF = """(parts, own) => parts
  .filter(part => !part.parentElement.closest(own))
  .flatMap(part => [...part.querySelectorAll('*')]
    .filter(each => !each.closest('pre') && each.checkVisibility())
    .filter(each => each.getBoundingClientRect().right > part.getBoundingClientRect().right + 1))
  .map(each => each.outerHTML.slice(0, 200))"""

# Fulfilled once the page is drawn in its new size: changes of media queries are reported before that.
DRAWN = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def test_axe_finds_nothing_and_nothing_is_cut_off_at_any_width(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    change_notebook(grader_free_server, solution="x.sum() ** 2")
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.goto(grader_free_server.address("lab") + "&reset")
        expect(page.get_by_role("article", name="A small course")).to_be_visible()
        expect_no_faults(page, f"home_{width}")
        assert find_cut_off(page) == []

    open_lab(grader_free_server, page)
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    check(page)
    expect(find_card(page)).to_contain_text("your result is 49")
    page.get_by_role("radio", name="that of the first element").check()
    page.get_by_role("button", name="Compare").first.click()
    page.get_by_role("checkbox", name="q1 a").check()
    for width, height in reversed(SIZES):
        page.set_viewport_size({"width": width, "height": height})
        expect_no_faults(page, f"notebook_{width}")
        assert find_cut_off(page) == []
    show = page.get_by_role("tab", name="Course", exact=True).first
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        page.evaluate(DRAWN)  # until then, the panel may fold, or show itself
        if not find_panel(page).is_visible():
            show.click()
        expect(find_panel(page).get_by_role("button", name=re.compile("^sum_of_squares"))).to_be_visible()
        expect_no_faults(page, f"panel_{width}")


@pytest.mark.nightly
def test_a_button_says_the_key_that_does_the_same(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    change_notebook(grader_free_server, solution="(x * x).sum()")
    open_lab(grader_free_server, page)
    for command, key in (("run-check", "C"), ("mark", "M"), ("next", "N"), ("run-all-checks", "A"), ("reset", "R")):
        button = page.locator(f".jp-NotebookPanel-toolbar [data-command='gradlab:{command}']")
        expect(button).to_have_attribute("aria-keyshortcuts", f"Control+Alt+{key}")
        expect(button).to_have_attribute("title", re.compile(rf"\(Ctrl\+Alt\+{key}\)$"))
    home = find_panel(page).get_by_role("button", name="A small course")
    expect(home).to_have_attribute("aria-keyshortcuts", "Control+Alt+H")
    expect(home).to_have_attribute("title", "Show the course's home (Ctrl+Alt+H)")
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    check(page)
    mark = find_card(page).get_by_role("button", name="Mark it now")
    expect(mark).to_have_attribute("aria-keyshortcuts", "Control+Alt+M")
    expect_no_faults(page, "keys")


def find_cut_off(page: Page) -> list[str]:
    """The course's own elements that end to the right of what holds them."""
    found: list[str] = page.locator(OWN_PARTS).evaluate_all(CUT_OFF, OWN_PARTS)
    return found


def expect_no_faults(page: Page, name: str) -> None:
    page.screenshot(path=ARTIFACTS / f"course_{name}.png")
    assert find_faults(page) == []
