"""In Notebook 7, each notebook has one browser tab, and each tab learns what was done in the others."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from conftest import ARTIFACTS, LAB, change_notebook, write
from playwright.sync_api import Page, expect
from smoke_walk import click_to_tab, find_panel
from test_lab_end import add_lab

from tests.classroom.graded_class import be_patient
from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]


@pytest.fixture
def server(course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    home = tmp_path_factory.mktemp("home")
    with run_lab_server(course / "work", home, course=True, start=("notebook",)) as server:
        yield server


@pytest.mark.nightly
def test_an_open_notebook_keeps_its_tab_and_its_work_shows_in_the_others(server: LabServer, page: Page) -> None:
    """Slow: starts Notebook 7, a kernel and a grader."""
    page.goto(server.address("tree"))
    lab = click_to_tab(find_panel(page).get_by_role("button", name="Begin: Squares"))
    write(lab, "def sum_of_squares", "return (x * x).sum()")
    find_panel(page).get_by_role("button", name="Begin: Squares").click()
    expect(lab.locator(".jp-Notebook h1")).to_be_in_viewport()
    exercise = lab.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares")
    expect(exercise).to_contain_text("(x * x).sum()")

    lab.keyboard.press("ControlOrMeta+s")
    find_panel(page).get_by_role("button", name="Continue: sum_of_squares in Squares").click()
    expect(exercise.get_by_role("textbox")).to_be_focused()
    lab.get_by_role("button", name="Mark my work", exact=True).click()
    expect(find_panel(page)).to_contain_text("2 of 5 points")
    find_panel(lab).get_by_role("button", name="Show the latest feedback page").click()
    expect(find_panel(lab)).to_contain_text("2 of 5 points")
    find_panel(page).screenshot(path=ARTIFACTS / "browser_tabs_panel.png")
    assert len(page.context.pages) == 3, "the first page, the notebook and its feedback page"

    # A newer mark is on the page that is open, and a key leads to the tab with the home.
    feedback = page.context.pages[-1]
    expect(feedback.locator(".gradlab-score")).to_contain_text("2 of 5 points")
    write(lab, "def sum_of_squares", "return x.sum()")
    lab.get_by_role("button", name="Mark my work", exact=True).click()
    expect(feedback.locator(".gradlab-score")).to_contain_text("0 of 5 points")
    lab.keyboard.press("Control+Alt+h")
    find_panel(lab).get_by_role("button", name="A small course", exact=True).click()
    expect(page.get_by_role("button", name="Continue: sum_of_squares in Squares").first).to_be_visible()
    assert len(page.context.pages) == 3


@pytest.mark.nightly
def test_a_tab_that_gets_the_focus_reads_the_course_again(server: LabServer, page: Page) -> None:
    """Slow: starts Notebook 7."""
    page.goto(server.address("tree"))
    expect(find_panel(page).get_by_role("button", name="Begin: Squares")).to_be_visible()
    change_notebook(server, solution="(x * x).sum()")
    page.evaluate("window.dispatchEvent(new Event('focus'))")
    expect(find_panel(page).get_by_role("button", name="Continue: sum_of_squares in Squares")).to_be_visible()


@pytest.mark.nightly
def test_a_second_tab_of_a_notebook_warns_of_the_first(server: LabServer, page: Page) -> None:
    """Slow: starts Notebook 7 and a kernel."""
    page.goto(server.address(f"notebooks/{LAB}/{LAB}.ipynb"))
    expect(find_panel(page).get_by_role("button", name=re.compile("^sum_of_squares"))).to_be_visible()
    second = page.context.new_page()  # as if the student had copied the address: no link joins the two
    second.goto(page.url)
    expect(second.get_by_role("alert").filter(has_text="also open in another tab")).to_be_visible()
    expect(page.get_by_role("alert").filter(has_text="also open in another tab")).to_have_count(0)
    second.screenshot(path=ARTIFACTS / "browser_tabs_second.png")


def test_a_mark_waits_for_that_of_another_tab_and_is_cancelled_alone(
    course: Path, server: LabServer, page: Page
) -> None:
    """Slow: starts Notebook 7, two kernels and a grader."""
    be_patient(course)  # the first mark ends only when it's cancelled
    add_lab(server.folder, "02_cubes", "Cubes")
    change_notebook(server, nbformat.v4.new_code_cell("while True:\n    pass"), solution="(x * x).sum()")
    page.goto(server.address("tree"))
    first = click_to_tab(find_panel(page).get_by_role("button", name="Continue: sum_of_squares in Squares"))
    first.get_by_role("button", name="Mark my work", exact=True).click()
    endless = first.get_by_role("alert").filter(has_text=re.compile("Marking lab 1: .*“while True:”"))
    expect(endless).to_be_visible()

    second = click_to_tab(find_panel(page).get_by_role("button", name="Cubes"))
    second.get_by_role("button", name="Mark my work", exact=True).click()
    waiting = second.get_by_role("alert").filter(has_text="Lab 2 waits for lab 1")
    waiting.get_by_role("button", name="Cancel").click()
    expect(second.get_by_role("alert").filter(has_text="Not marked: you cancelled it.")).to_be_visible()
    expect(endless).to_be_visible()
    endless.get_by_role("button", name="Cancel").click()
    expect(first.get_by_role("alert").filter(has_text="Not marked: you cancelled it.")).to_be_visible()
