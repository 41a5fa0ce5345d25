"""By keys and by the command palette, students reach the panel and the feedback page, and return to what they wrote."""

import re
from pathlib import Path

import pytest
from conftest import ARTIFACTS, LAB, change_notebook, open_lab
from playwright.sync_api import Locator, Page, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]

PANEL, FEEDBACK = "Control+Alt+p", "Control+Alt+f"


def find_editor(page: Page) -> Locator:
    """The exercise's text."""
    return page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").get_by_role("textbox")


def expect_notebook_focus(page: Page) -> None:
    expect(page.locator(".jp-Notebook :focus, .jp-Notebook:focus")).to_have_count(1)


def choose_command(page: Page, label: str) -> None:
    page.keyboard.press("ControlOrMeta+Shift+C")
    search = page.locator(".lm-CommandPalette-input:visible")
    expect(search).to_be_focused()
    page.keyboard.type(label)
    expect(page.locator(".lm-CommandPalette-item.lm-mod-active")).to_contain_text(label)
    page.keyboard.press("Enter")


def test_each_place_has_a_key_and_a_command_that_lead_back(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab, a kernel and a grader."""
    page.set_viewport_size({"width": 1800, "height": 1000})
    change_notebook(student, solution="(x * x).sum()")
    open_lab(student, page)
    find_editor(page).click()
    page.keyboard.press(FEEDBACK)
    expect(page.get_by_role("alert").filter(has_text="Squares has no feedback page yet.")).to_be_visible()
    expect(find_editor(page)).to_be_focused()

    # The page opens next to the notebook, and what the student types still goes there.
    page.keyboard.press("Control+Alt+m")
    expect(page.get_by_role("alert").filter(has_text="Ctrl+Alt+F goes there")).to_be_visible()
    title = page.frame_locator("iframe").get_by_role("heading", name="Squares", exact=True)
    expect(title).to_be_visible()
    expect(find_editor(page)).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("  # still here")
    expect(find_editor(page)).to_contain_text("# still here")
    # So does a page that was open already, with a cell selected.
    page.keyboard.press("Escape")
    before = page.evaluate("document.activeElement.className")
    page.keyboard.press("Control+Alt+m")
    expect(page.frame_locator("iframe").get_by_text("# still here")).to_be_visible()
    assert page.evaluate("document.activeElement.className") == before

    page.keyboard.press(FEEDBACK)
    expect(title).to_be_focused()
    page.screenshot(path=ARTIFACTS / "course_places_page.png")
    page.keyboard.press(FEEDBACK)
    expect_notebook_focus(page)
    page.keyboard.press(PANEL)
    expect(find_panel(page).locator("button:not([data-key=home])").first).to_be_focused()
    page.screenshot(path=ARTIFACTS / "course_places_panel.png")
    page.keyboard.press(PANEL)
    expect_notebook_focus(page)

    choose_command(page, "Show the Course panel")
    expect(find_panel(page).locator("button:not([data-key=home])").first).to_be_focused()
    page.keyboard.press("Escape")
    expect_notebook_focus(page)
    choose_command(page, "Show the feedback page")
    expect(title).to_be_focused()
    # A panel that's folded away opens.
    page.keyboard.press("ControlOrMeta+B")
    expect(find_panel(page)).to_be_hidden()
    page.keyboard.press(PANEL)
    expect(find_panel(page).locator("button:not([data-key=home])").first).to_be_focused()
    choose_command(page, "Show the course's home")
    expect(page.get_by_role("article", name="A small course")).to_be_visible()
    expect(page.get_by_role("button", name=re.compile("^Continue with"))).to_be_visible()


@pytest.mark.nightly
def test_notebook_seven_has_the_panels_key(course: Path, tmp_path_factory: pytest.TempPathFactory, page: Page) -> None:
    """Slow: starts a server and a kernel."""
    home = tmp_path_factory.mktemp("home")
    with run_lab_server(course / "work", home, course=True, start=("notebook",)) as server:
        page.goto(server.address(f"notebooks/{LAB}/{LAB}.ipynb"))
        expect(find_panel(page).get_by_role("button", name="sum_of_squares").first).to_be_visible()
        find_editor(page).click()
        page.keyboard.press(PANEL)
        expect(find_panel(page).locator("button:not([data-key=home])").first).to_be_focused()
        page.keyboard.press(PANEL)
        expect_notebook_focus(page)
        # In a narrow window, the panel gives way to what it leads to.
        page.set_viewport_size({"width": 400, "height": 700})
        page.keyboard.press(PANEL)
        find_panel(page).get_by_role("button", name=re.compile("^sum_of_squares")).click()
        expect(find_panel(page)).to_be_hidden()
        expect(find_editor(page)).to_be_focused()


@pytest.mark.parametrize("width", [320, pytest.param(400, marks=pytest.mark.nightly)])
def test_in_a_narrow_window_the_panel_gives_way_to_what_it_leads_to(
    grader_free_server: LabServer, page: Page, width: int
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    page.set_viewport_size({"width": width, "height": 700})
    open_lab(grader_free_server, page)
    expect(find_panel(page)).to_be_hidden()
    page.keyboard.press(PANEL)
    find_panel(page).get_by_role("button", name=re.compile("^sum_of_squares")).click()
    expect(find_panel(page)).to_be_hidden()
    expect(find_editor(page)).to_be_focused()
    expect(page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").first).to_be_in_viewport()
    page.screenshot(path=ARTIFACTS / f"places_narrow_{width}.png")

    page.keyboard.press(PANEL)
    expect(find_panel(page).locator(".gradlab-continue")).to_be_focused()
    page.screenshot(path=ARTIFACTS / f"places_narrow_{width}_panel.png")
    page.keyboard.press("Escape")
    expect(find_panel(page)).to_be_hidden()
    expect_notebook_focus(page)
