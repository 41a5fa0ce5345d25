"""The way through a lab to its end: what Next and Continue lead to, and what is said once the lab is done."""

from pathlib import Path

import nbformat
import pytest
from conftest import ARTIFACTS, LAB, change_notebook, open_lab
from playwright.sync_api import Page, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.gate]

MILESTONE = "a function that squares 88% of the numbers"


def add_lab(course: Path, name: str, title: str) -> None:
    """Add a copy of the first lab under another name, and give both a milestone."""
    first, second = (course / each / f"{each}.ipynb" for each in (LAB, name))
    notebook = nbformat.read(first, as_version=4)
    notebook.metadata["gradlab"] |= {"milestone": MILESTONE, "accuracy": 88}
    nbformat.write(notebook, first)
    notebook.metadata["gradlab"] |= {"lab": name, "title": title, "milestone": "one that cubes", "accuracy": 97}
    second.parent.mkdir()
    nbformat.write(notebook, second)


def test_a_lab_is_done_once_nothing_in_it_can_change(student: LabServer, page: Page) -> None:
    """One statement is judged wrongly, so the lab can't reach full marks. Slow: starts JupyterLab and a grader."""
    add_lab(student.folder, "02_cubes", "Cubes")
    path = change_notebook(student, solution="(x * x).sum()")
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.metadata.gradlab.kind == "question").source = "It is a product."
    nbformat.write(notebook, path)
    page.set_viewport_size({"width": 1280, "height": 620})
    open_lab(student, page)
    panel = find_panel(page)

    # From an editor, the key shows the quiz rendered, with the focus on its first control.
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").locator(".cm-content").click()
    page.keyboard.press("Control+Alt+n")
    expect(page.get_by_role("checkbox", name="q1 a")).to_be_focused()
    page.get_by_role("checkbox", name="q1 b").check()
    page.locator(".gradlab-pager").get_by_role("button", name="Compare").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("✗ You misjudged 2 of 2 statements.")).to_be_in_viewport(ratio=1)
    expect(page.get_by_role("button", name="Show why")).to_have_count(0)
    page.get_by_role("button", name="Next question").click()
    page.get_by_role("checkbox", name="q2 b").check()
    page.locator(".gradlab-pager").get_by_role("button", name="Compare").click()
    expect(page.get_by_text("You judged all 2 statements correctly")).to_be_in_viewport(ratio=1)

    page.keyboard.press("Control+Alt+m")
    expect(panel.get_by_role("button", name="A quiz")).to_contain_text("1.11 of 2 points")
    expect(panel.get_by_role("button", name="Compare your answer: Why")).to_be_visible()
    expect(panel.get_by_text("Lab 1 is done")).to_have_count(0)
    page.keyboard.press("Control+Alt+n")
    expect(page.locator(".gradlab-own").get_by_role("button", name="Compare")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_label("Points for why").select_option("1")
    page.get_by_role("button", name="Save this mark").click()

    finish = panel.get_by_role("region", name="Finished")
    expect(finish).to_contain_text("Lab 1 is done")
    expect(finish).to_contain_text(f"It gets you {MILESTONE}.")
    expect(panel.get_by_role("button", name="Begin: Cubes")).to_be_visible()
    card = page.locator(".gradlab-card").last
    page.screenshot(path=ARTIFACTS / "course_lab_done.png")
    page.keyboard.press("Control+Alt+n")
    end = page.get_by_role("alert").filter(has_text="Lab 1 is done.")
    expect(end.get_by_role("button", name="Begin lab 2")).to_be_visible()
    page.keyboard.press("Control+Alt+m")
    expect(page.get_by_role("alert").filter(has_text="Lab 1 is done: 4.11 of 5 points")).to_be_visible()
    page.locator(".jp-Notebook .jp-Cell").filter(has_text="def interview").locator(".cm-content").click()
    page.keyboard.press("Control+Alt+c")
    expect(card).to_contain_text(f"Lab 1 is done. It gets you {MILESTONE}.")
    page.screenshot(path=ARTIFACTS / "course_lab_done_card.png")

    page.keyboard.press("Control+Alt+h")
    home = page.locator(".gradlab-Home")
    expect(home).to_contain_text(f"Lab 1 gets you {MILESTONE}. After lab 2, you'll have one that cubes.")
    expect(home.get_by_role("listitem").filter(has_text="Lab 1: ")).to_contain_text("done")
    expect(home.get_by_role("button", name="Begin with lab 2")).to_be_visible()
    page.screenshot(path=ARTIFACTS / "course_lab_done_home.png")
    panel.get_by_role("button", name="Begin: Cubes").click()
    expect(panel.get_by_role("heading", name="2 Cubes")).to_be_visible()
    expect(panel.get_by_role("button", name="Begin: Cubes")).to_be_visible()
