"""If the extension doesn't load, students read what to do: on the page, or below the first cell that imports labkit."""

import pytest
from conftest import ARTIFACTS, LAB, open_lab
from lab_pages import NotebookPage
from playwright.sync_api import Page, Route, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]

ADVICE = "The Course panel isn't loaded on this page."
FAILURE = "The Course panel and its buttons did not load."


def refuse(route: Route) -> None:
    route.fulfill(status=404, body="")


def break_script(route: Route) -> None:
    route.fulfill(content_type="text/javascript", body="export const NAMES = [;")


@pytest.mark.nightly
def test_the_first_cell_says_that_there_is_no_panel_and_the_panel_hides_it(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    path = f"{LAB}/{LAB}.ipynb"
    NotebookPage(page, grader_free_server, path).run("import torch")
    expect(page.get_by_text(ADVICE)).to_have_count(1)
    expect(page.get_by_text(ADVICE)).to_be_hidden()
    expect(page.get_by_text(FAILURE)).to_have_count(0)

    # Without its files, JupyterLab shows the notebook, and not a word about the extension.
    grader_free_server.end_kernels()
    page.route("**/gradlab-course/**", refuse)
    NotebookPage(page, grader_free_server, path).run("import torch")
    expect(find_panel(page)).to_have_count(0)
    expect(page.get_by_text(ADVICE)).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_missing_panel.png")


@pytest.mark.parametrize("script", ["plugin.js", "panel.js"])
@pytest.mark.nightly
def test_a_script_that_fails_is_reported_on_the_page(grader_free_server: LabServer, page: Page, script: str) -> None:
    """Slow: starts JupyterLab."""
    page.route(f"**/gradlab-course/js/{script}", break_script)
    open_lab(grader_free_server, page)
    failure = page.get_by_role("alert").filter(has_text=FAILURE)
    expect(failure).to_contain_text("Reload this page.")
    page.screenshot(path=ARTIFACTS / f"course_failed_{script}.png")
    failure.get_by_role("button", name="Close").click()
    expect(failure).to_have_count(0)
