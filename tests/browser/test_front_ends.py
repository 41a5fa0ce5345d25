"""The smoke walk in each browser and each front end that the course supports."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from accessibility import find_faults
from conftest import LAB, ROOT, find_card, skip_without
from playwright.sync_api import Page, expect
from smoke_walk import FrontEnd, check, click_to_tab, find_panel, walk_lab

from tests.lab_server import LabServer, run_lab_server

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.nightly]

PYTHONS = {"newest": sys.executable, "oldest": str(ROOT / ".venv-oldest/bin/python")}


@pytest.fixture(params=[f"{age} {module}" for age in PYTHONS for module in ("jupyterlab", "notebook")])
def front_end(request: pytest.FixtureRequest) -> FrontEnd:
    """JupyterLab or Notebook 7, as installed here or in the oldest version that the course supports."""
    age, module = request.param.split()
    if not Path(PYTHONS[age]).is_file():
        skip_without("no .venv-oldest: make .venv-oldest/.installed creates it")
    return FrontEnd(module, PYTHONS[age], has_tabs=module == "notebook")


@pytest.fixture
def server(front_end: FrontEnd, course: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabServer]:
    start, home = (front_end.module,), tmp_path_factory.mktemp("home")
    with run_lab_server(course / "work", home, course=True, start=start, python=front_end.python) as server:
        yield server


@pytest.mark.parametrize("browser", ["chromium", "firefox-esr"], indirect=True)
def test_a_lab_is_done_from_its_first_page_to_its_mark(server: LabServer, front_end: FrontEnd, page: Page) -> None:
    """Slow: starts a server, a kernel and a grader."""
    lab = front_end.open_lab(page, server)
    walk_lab(lab, front_end)
    lab.bring_to_front()
    assert find_faults(lab) == []


@pytest.mark.parametrize("front_end", ["newest notebook"], indirect=True)
def test_a_new_tab_goes_to_the_exercise_that_the_panel_named(server: LabServer, page: Page) -> None:
    """Slow: starts a server and a kernel."""
    path = server.folder / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    next(cell for cell in notebook.cells if cell.cell_type == "code").execution_count = 1
    nbformat.write(notebook, path)
    page.goto(server.address("tree"))
    lab = click_to_tab(find_panel(page).get_by_role("button", name="Continue: sum_of_squares in Squares"))
    exercise = lab.locator(".jp-Notebook .jp-Cell").filter(has_text="def sum_of_squares")
    expect(exercise.get_by_role("textbox")).to_be_focused()
    expect(lab).to_have_url(re.compile(f"{LAB}.ipynb$"))
    check(lab)
    expect(find_card(lab)).to_contain_text("not written yet")  # a server that ends while a kernel starts hangs
