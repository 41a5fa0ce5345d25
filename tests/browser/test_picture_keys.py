"""Keys in a picture of a lab: Escape leads back to its cell, and JupyterLab's and the course's own keys work."""

import nbformat
import pytest
from conftest import change_notebook, open_lab
from playwright.sync_api import Page, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]

DRAWN = "from labkit import explore_broadcasting\nexplore_broadcasting((4, 1), (3,))"


def test_keys_that_a_picture_has_no_use_for_work_in_it(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    path = change_notebook(grader_free_server, nbformat.v4.new_code_cell(DRAWN))
    open_lab(grader_free_server, page)
    cell = page.locator(".jp-Notebook .jp-Cell").first
    cell.locator(".cm-content").click()
    page.keyboard.press("Control+Enter")
    field = cell.get_by_role("textbox", name="shape a")

    # What is typed belongs to the picture.
    field.click()
    page.keyboard.press("Control+a")
    page.keyboard.type("5, 1")
    expect(cell.locator(".gradlab-picture")).to_contain_text("the result has shape (5, 3)")

    with page.expect_response(lambda each: each.request.method == "PUT" and path.name in each.url):
        page.keyboard.press("Control+s")
    page.keyboard.press("Control+Shift+c")
    expect(page.get_by_role("searchbox").or_(page.locator(".lm-CommandPalette-input")).first).to_be_focused()
    page.keyboard.press("Escape")

    field.focus()
    page.keyboard.press("Control+Alt+p")
    expect(find_panel(page).locator(":focus")).to_have_count(1)

    field.focus()
    page.keyboard.press("Escape")
    expect(cell).to_be_focused()
    expect(page.get_by_text("Mode: Command")).to_be_visible()

    # The key goes forward from the picture's cell.
    field.focus()
    page.keyboard.press("Control+Alt+n")
    expect(page.get_by_text("Mode: Edit")).to_be_visible()
