"""Every way to an exercise ends with it in view, although JupyterLab renders a long notebook's cells only as they come near."""

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from conftest import ARTIFACTS, LAB, change_notebook
from playwright.sync_api import Page, expect
from smoke_walk import find_panel

from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]

SECTIONS = 60
# The first is JupyterLab's default.
WINDOWING = (
    pytest.param("contentVisibility", marks=pytest.mark.gate),
    *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("full", "defer")),
)


def make_sections(name: str) -> list[nbformat.NotebookNode]:
    """Text, code and long outputs, whose heights JupyterLab doesn't know before it shows them."""
    cells = []
    for number in range(SECTIONS):
        words = "\n\n".join(f"Paragraph {line} of section {number}. " * 9 for line in range(number % 7))
        cells.append(nbformat.v4.new_markdown_cell(f"## {name} {number}\n\n{words}"))
        output = nbformat.v4.new_output("stream", name="stdout", text="line\n" * (number % 23))
        cells.append(nbformat.v4.new_code_cell("x = 1\n" * (number % 11 + 1), outputs=[output], execution_count=1))
    return cells


@pytest.fixture(params=WINDOWING)
def student(
    request: pytest.FixtureRequest, course: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LabServer]:
    """A student's server on a long notebook, with each way that JupyterLab has to render one."""
    home = tmp_path_factory.mktemp("home")
    with run_lab_server(course / "work", home, course=True, windowing=request.param) as server:
        path = change_notebook(server, *make_sections("Before"))
        notebook = nbformat.read(path, as_version=4)
        notebook.cells += make_sections("After")
        nbformat.write(notebook, path)
        yield server


def expect_place(page: Page) -> None:
    editor = page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").get_by_role("textbox")
    expect(editor).to_be_focused()
    expect(editor).to_be_in_viewport()
    expect(page.locator(".jp-Notebook").get_by_role("heading", name="Squares", level=2)).to_be_in_viewport()


def expect_place_kept(page: Page) -> None:
    """The exercise is in view, and stays there for as many frames as JupyterLab needs to render the rest."""
    expect_place(page)
    page.evaluate("async () => { for (let i = 0; i < 90; i++) await new Promise(requestAnimationFrame); }")
    expect_place(page)


def test_every_way_leads_to_the_exercise(student: LabServer, page: Page) -> None:
    """Slow: starts JupyterLab."""
    work = find_panel(page).get_by_role("button", name=re.compile("^sum_of_squares"))
    page.goto(student.address(f"lab/tree/{LAB}/{LAB}.ipynb") + "&reset")
    work.click()
    expect_place_kept(page)

    # A reload leads back to the same place. The panel is there before the notebook is rendered.
    page.reload()
    editor = page.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares").get_by_role("textbox")
    expect(editor).to_be_in_viewport()
    page.reload()
    work.click()
    expect_place_kept(page)
    page.screenshot(path=ARTIFACTS / "ways_reload.png")

    page.keyboard.press("Control+Alt+n")
    expect(page.get_by_label("q1 a")).to_be_focused()
    expect(page.get_by_role("heading", name="A quiz")).to_be_in_viewport()

    page.keyboard.press("Control+Alt+h")
    home = page.get_by_role("article", name="A small course")
    # The home may draw itself again while Playwright aims at a button.
    home.get_by_role("button", name=re.compile("^Continue|^Begin")).dispatch_event("click")
    expect(page.locator(".jp-Notebook")).to_be_visible()
    work.click()
    expect_place_kept(page)
