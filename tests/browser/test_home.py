"""The course's home, which JupyterLab opens with."""

import re
import shutil

import nbformat
import pytest
from accessibility import find_faults
from conftest import ARTIFACTS, LAB
from playwright.sync_api import Page, expect

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_the_first_page_says_what_the_course_is_for_and_leads_into_it(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    start = grader_free_server.folder / "00_start_here.ipynb"
    notebook = nbformat.read(start, as_version=4)
    notebook.metadata["gradlab"]["about"] = "You'll square numbers."
    nbformat.write(notebook, start)
    page.goto(grader_free_server.address("lab") + "&reset")
    home = page.get_by_role("article", name="A small course")
    expect(home.get_by_text("You'll square numbers.")).to_be_visible()
    expect(page.get_by_role("tab", name="Launcher")).to_have_count(0)
    expect(page.get_by_role("menuitem", name="Nbgrader")).to_have_count(0)
    expect(home.get_by_role("listitem")).to_contain_text("Squares")
    page.screenshot(path=ARTIFACTS / "course_home.png")
    assert find_faults(page) == []

    home.get_by_role("button", name="Begin with lab 1").click()
    expect(page.get_by_role("tab", name=f"{LAB}.ipynb")).to_be_visible()


def test_the_home_returns_to_where_the_student_was(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    path = grader_free_server.folder / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.cell_type == "code").execution_count = 1
    nbformat.write(notebook, path)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(grader_free_server.address("lab") + "&reset")
    home = page.get_by_role("article", name="A small course")
    expect(home.get_by_text("You were there today.")).to_be_visible()
    width = home.evaluate("node => node.getBoundingClientRect().width")
    assert width > 250, f"the page is {width} pixels wide on a telephone"
    home.get_by_role("button", name="Continue with sum_of_squares").click()
    expect(
        page.locator(".jp-Notebook .jp-Cell").filter(has_text=re.compile("def sum_of_squares")).first
    ).to_be_in_viewport()


def test_a_folder_without_labs_opens_as_usual(home_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    for path in home_server.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    page.goto(home_server.address("lab") + "&reset")
    expect(page.get_by_role("tab", name="Launcher")).to_be_visible()
    expect(page.locator(".gradlab-Home")).to_have_count(0)
