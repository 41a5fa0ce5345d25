"""The course's home, which JupyterLab opens with."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from accessibility import find_faults
from conftest import ARTIFACTS, LAB, change_notebook, expect_text_to_stay_rendered, open_lab
from playwright.sync_api import Page, expect

from tests.lab_server import LabServer, run_lab_server

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


def test_the_courses_own_pages_open_from_the_home_and_the_panel(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    page.goto(grader_free_server.address("lab") + "&reset")
    page.get_by_role("article", name="A small course").get_by_role("button", name="How a lab works").click()
    expect(page.get_by_role("tab", name="00_start_here.ipynb")).to_be_visible()
    expect(page.locator(".jp-Cell.jp-mod-active").get_by_role("heading", name="How a lab works")).to_be_in_viewport()
    page.get_by_role("region", name="Pages").get_by_role("button", name="Glossary").click()
    expect(page.get_by_role("tab", name="00_glossary.ipynb")).to_be_visible()


@pytest.mark.nightly
def test_the_text_of_the_courses_own_pages_stays_rendered(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    start = grader_free_server.folder / "00_start_here.ipynb"
    notebook = nbformat.read(start, as_version=4)
    notebook.cells.append(nbformat.v4.new_markdown_cell("My own notes."))
    nbformat.write(notebook, start)
    for name, texts in (("00_glossary", ["Glossary"]), ("00_start_here", ["A small course", "How a lab works"])):
        page.goto(grader_free_server.address(f"lab/tree/{name}.ipynb") + "&reset")
        expect(page.locator("#jp-main-statusbar").get_by_text("| Idle")).to_be_visible()
        for text in texts:
            expect_text_to_stay_rendered(page, page.locator(".jp-Notebook .jp-Cell").filter(has_text=text).first)
    own = page.locator(".jp-Notebook .jp-Cell").filter(has_text="My own notes.")
    own.focus()
    page.keyboard.press("Enter")
    expect(own.locator(".cm-content")).to_be_focused()


def test_the_home_returns_to_where_the_student_was(grader_free_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab and a kernel."""
    path = grader_free_server.folder / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.cell_type == "code").execution_count = 1
    nbformat.write(notebook, path)
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(grader_free_server.address("lab") + "&reset")
    home = page.get_by_role("article", name="A small course")
    expect(home.get_by_text("You last worked on it today.")).to_be_visible()
    width = home.evaluate("node => node.getBoundingClientRect().width")
    assert width > 250, f"the page is {width} pixels wide on a telephone"
    home.get_by_role("button", name="Continue with sum_of_squares").click()
    expect(
        page.locator(".jp-Notebook .jp-Cell").filter(has_text=re.compile("def sum_of_squares")).first
    ).to_be_in_viewport()


@pytest.mark.nightly
def test_the_panels_title_opens_the_home_and_an_exercise_opens_ready_to_be_written(
    grader_free_server: LabServer, page: Page
) -> None:
    """Slow: starts JupyterLab and a kernel."""
    folded = nbformat.v4.new_code_cell("# " + "a long comment " * 40, metadata={"jupyter": {"source_hidden": True}})
    change_notebook(grader_free_server, folded)
    open_lab(grader_free_server, page)
    expect(page.locator(".jp-PlaceholderText").first).to_be_visible()
    outer = page.locator(".jp-WindowedPanel-outer").first
    assert outer.evaluate("node => node.scrollWidth <= node.clientWidth"), "a folded cell is wider than the notebook"
    panel = page.get_by_role("region", name="Course", exact=True)
    panel.get_by_role("button", name="A small course").click()
    expect(page.get_by_role("article", name="A small course")).to_be_visible()
    panel.get_by_role("button", name=re.compile("^sum_of_squares")).click()
    answer = page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").first.locator(".cm-content")
    expect(answer).to_be_focused()
    page.keyboard.type("return 0")
    expect(answer).to_contain_text("return 0")
    expect(answer).not_to_contain_text("NotImplementedError")


@pytest.fixture
def milestones(course: Path) -> Path:
    """The student's folder with three labs: the first is done, the second is next. Two of them have an accuracy."""
    folder = course / "work"
    notebook = nbformat.read(folder / LAB / f"{LAB}.ipynb", as_version=4)
    labs = (LAB, "Squares", "a network that reads 88% of the digits", 88), ("02_cubes", "Cubes", "a smaller network", 0)
    for name, title, milestone, accuracy in (*labs, ("03_roots", "Roots", "a network that reads all digits", 97)):
        path = folder / name / f"{name}.ipynb"
        path.parent.mkdir(exist_ok=True)
        notebook.metadata["gradlab"] |= {"lab": name, "title": title, "milestone": milestone, "accuracy": accuracy}
        nbformat.write(notebook, path)
    first = folder / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(first, as_version=4)
    for cell in notebook.cells:
        if cell.metadata.gradlab.get("points"):
            cell.metadata.gradlab["points"] = 0.0  # no work with points is left
    next(cell for cell in notebook.cells if cell.cell_type == "code").execution_count = 1
    nbformat.write(notebook, first)
    return folder


@pytest.mark.nightly
def test_the_home_and_the_panel_are_readable_in_the_dark_and_on_a_telephone(
    milestones: Path, tmp_path_factory: pytest.TempPathFactory, page: Page
) -> None:
    """Slow: starts JupyterLab in its dark theme."""
    with run_lab_server(milestones, tmp_path_factory.mktemp("home"), theme="JupyterLab Dark", course=True) as server:
        page.goto(server.address("lab") + "&reset")
        home = page.get_by_role("article", name="A small course")
        line = home.get_by_role("region", name="Milestones")
        expect(line).to_contain_text("Lab 1 gets you a network that reads 88% of the digits.")
        expect(line).to_contain_text("After lab 2, you'll have a smaller network.")
        expect(line.get_by_role("img", name="88% from lab 1, 97% from lab 3")).to_be_visible()
        expect(
            page.get_by_role("region", name="Course", exact=True).get_by_role("button", name="Begin: Cubes")
        ).to_be_visible()
        for part in (".gradlab-Home", ".gradlab-Panel"):
            assert page.locator(part).evaluate("node => getComputedStyle(node).colorScheme") == "dark"
        assert find_faults(page) == []
        page.screenshot(path=ARTIFACTS / "course_dark.png")

        page.set_viewport_size({"width": 320, "height": 800})
        measure_excess = "node => node.scrollWidth - node.clientWidth"
        assert page.locator(".gradlab-Panel").evaluate(measure_excess) == 0
        page.goto(server.address("lab") + "&reset")  # a narrow window opens without the panel
        expect(line).to_be_visible()
        assert page.locator(".gradlab-Home").evaluate(measure_excess) == 0
        page.screenshot(path=ARTIFACTS / "course_narrow.png")


@pytest.mark.nightly
def test_a_folder_without_labs_opens_as_usual(home_server: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    for path in home_server.folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    page.goto(home_server.address("lab") + "&reset")
    expect(page.get_by_role("tab", name="Launcher")).to_be_visible()
    expect(page.locator(".gradlab-Home")).to_have_count(0)
