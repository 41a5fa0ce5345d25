"""The smoke walk in each browser and each front end that the course supports."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from accessibility import find_faults
from conftest import ROOT, skip_without
from playwright.sync_api import Page
from smoke_walk import FrontEnd, walk_lab

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
